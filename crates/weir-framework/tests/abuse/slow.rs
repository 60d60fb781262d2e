//! Clients that take their time: heads that drip, answers nobody reads, connections nobody uses.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::sleep;
use weir_framework::listen::Settings;

use crate::site::{HELLO, Site, answer, is_hello, rest, soon};

const SLOW_CLIENTS: usize = 300;
const DRIP: Duration = Duration::from_millis(100);

#[tokio::test]
async fn heads_that_drip_are_cut_while_others_are_served() {
    let site =
        Site::open(Settings { header_timeout: Duration::from_secs(2), ..Settings::default() })
            .await;
    let mut slow = JoinSet::new();
    for _ in 0..SLOW_CLIENTS {
        let mut stream = site.send("GET /hello HTTP/1.1\r\nHost: x\r\n").await;
        slow.spawn(async move {
            while stream.write_all(b"a").await.is_ok() {
                sleep(DRIP).await;
            }
        });
    }
    // Some are cut meanwhile, none has to be: what counts is that others are served throughout.
    let mut cut = 0;
    while cut < SLOW_CLIENTS {
        site.serves().await;
        soon(slow.join_next()).await.unwrap().unwrap();
        cut += 1;
    }
    site.serves().await;
}

#[tokio::test]
async fn a_second_head_that_drips_is_cut_too() {
    let site =
        Site::open(Settings { header_timeout: Duration::from_secs(1), ..Settings::default() })
            .await;
    let mut stream = site.send(HELLO).await;
    assert!(is_hello(&answer(&mut stream, "hello").await));
    let dripping = async {
        while stream.write_all(b"G").await.is_ok() {
            sleep(DRIP).await;
        }
    };
    soon(dripping).await;
    site.serves().await;
}

#[tokio::test]
async fn connections_that_say_nothing_are_closed() {
    let short = Duration::from_secs(1);
    let site = Site::open(Settings { header_timeout: short, ..Settings::default() }).await;
    let mut silent = site.connect().await;
    assert_eq!(rest(&mut silent).await, "");
    site.serves().await;

    let site = Site::open(Settings { idle_timeout: short, ..Settings::default() }).await;
    let mut idle = site.send(HELLO).await;
    let response = rest(&mut idle).await;
    assert!(is_hello(&response), "{response}");
    site.serves().await;
}

#[tokio::test]
async fn a_request_may_take_longer_than_every_wait_for_its_client() {
    let short = Duration::from_secs(1);
    let site = Site::open(Settings {
        header_timeout: short,
        idle_timeout: short,
        write_timeout: short,
        body_timeout: short,
        ..Settings::default()
    })
    .await;
    let mut stream = site.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await;
    soon(site.entered.acquire()).await.unwrap().forget();
    sleep(short * 2).await;
    site.gate.add_permits(1);
    let response = rest(&mut stream).await;
    assert!(response.ends_with("done"), "{response}");
}

#[tokio::test]
async fn a_client_that_never_reads_is_cut() {
    // Long enough that a reader on a busy machine is not taken for one that never reads.
    let write_timeout = Duration::from_secs(2);
    let site = Site::open(Settings { write_timeout, ..Settings::default() }).await;
    let request = "GET /big HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut deaf = site.send(request).await;
    // One that reads gets all of it, though it pauses now and then.
    let mut reader = site.send(request).await;
    let mut piece = vec![0; 1024 * 1024];
    let mut read = 0;
    while read < crate::site::BIG {
        let more = soon(reader.read(&mut piece)).await.unwrap();
        assert!(more > 0, "cut after {read} bytes");
        read += more;
    }
    site.serves().await;
    // The other one was cut: what its kernel had taken is there, the rest never comes.
    sleep(write_timeout * 2).await;
    let mut taken = Vec::new();
    soon(deaf.read_to_end(&mut taken)).await.ok();
    assert!(taken.len() < crate::site::BIG);
    site.serves().await;
}

#[tokio::test]
async fn a_client_that_only_asks_and_never_reads_is_cut() {
    let site =
        Site::open(Settings { write_timeout: Duration::from_millis(500), ..Settings::default() })
            .await;
    let mut stream = site.connect().await;
    let many = HELLO.repeat(1000);
    let asking = async { while stream.write_all(many.as_bytes()).await.is_ok() {} };
    soon(asking).await;
    site.serves().await;
}
