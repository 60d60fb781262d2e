//! Stopping: idle connections close, requests under way finish, nobody new comes in.

use std::time::Duration;

use tokio::net::TcpStream;
use weir_framework::listen::Settings;

use crate::site::{HELLO, Site, answer, is_hello, rest, soon};

const SLOW: &str = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

/// Waits for the thread of a connection to learn of the stop, which cannot be seen from outside.
const PATIENCE: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(2), Duration::from_secs(10)];

#[tokio::test]
async fn a_stop_closes_what_is_idle_and_finishes_what_is_under_way() {
    for patience in PATIENCE {
        if says_that_it_is_the_last(&stopped_after(patience).await) {
            return;
        }
    }
    panic!("the last answer does not say that it is the last");
}

fn says_that_it_is_the_last(answer: &str) -> bool {
    answer.contains("connection: close")
}

/// Stops a server with a request under way, which is answered `patience` later. Returns the answer.
async fn stopped_after(patience: Duration) -> String {
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
    tokio::time::sleep(patience).await;

    site.gate.add_permits(1);
    let response = rest(&mut busy).await;
    assert!(response.ends_with("done"), "{response}");
    site.stopped().await;
    response
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
