//! Stopping: idle connections close, requests under way finish, nobody new comes in.

use std::time::Duration;

use tokio::net::TcpStream;
use weir_framework::listen::Settings;

use crate::site::{HELLO, Site, answer, is_hello, rest, soon};

const SLOW: &str = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn a_stop_closes_what_is_idle_and_finishes_what_is_under_way() {
    let mut site = Site::open(Settings::default()).await;
    let mut used = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut used, "hello").await));
    let mut unused = site.connect().await;
    let mut busy = site.send(SLOW).await;
    soon(site.entered.acquire()).await.unwrap().forget();

    site.tell_to_stop();
    assert_eq!(rest(&mut used).await, "", "closed while idle");
    assert_eq!(rest(&mut unused).await, "", "closed before its first request");
    let refused = TcpStream::connect(site.address()).await;
    assert!(refused.is_err(), "a new connection was taken");
    // Told on another thread: if the answer were ready by then, it would not say that it is the last.
    tokio::time::sleep(Duration::from_millis(200)).await;

    site.gate.add_permits(1);
    let said = rest(&mut busy).await;
    assert!(said.contains("connection: close"), "{said}");
    assert!(said.ends_with("done"), "{said}");
    site.stopped().await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let mut site =
        Site::open(Settings { drain_timeout: Duration::from_millis(200), ..Settings::default() })
            .await;
    let mut busy = site.send(SLOW).await;
    soon(site.entered.acquire()).await.unwrap().forget();
    site.tell_to_stop();
    assert_eq!(rest(&mut busy).await, "");
    site.stopped().await;
}
