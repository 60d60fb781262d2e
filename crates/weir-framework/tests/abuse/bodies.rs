//! Bodies that are too large, never end, or trickle.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::sleep;
use weir_framework::listen::Settings;

use crate::site::{BODY_MAX, Site, rest, soon, status};

const CHUNKED: &str = "POST /count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test]
async fn a_body_of_the_largest_size_is_taken() {
    let site = Site::open(Settings::default()).await;
    let head = format!(
        "POST /count HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {BODY_MAX}\r\n\r\n"
    );
    let answer = site.ask(head + &"x".repeat(BODY_MAX)).await;
    assert!(answer.ends_with(&format!("\r\n\r\n{BODY_MAX}")), "{answer}");
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_gets_413() {
    let site = Site::open(Settings::default()).await;
    let length = 50 * 1024 * 1024;
    let head = format!("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
    // The client goes on sending before it reads, and still learns why.
    let mut stream = site.send(&head).await;
    for _ in 0..64 {
        let sent = soon(stream.write_all(&[b'x'; 64 * 1024])).await;
        assert!(sent.is_ok(), "reset before the answer could be read");
    }
    let answer = rest(&mut stream).await;
    assert_eq!(status(&answer), "413", "{answer}");
    site.serves().await;
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let site = Site::open(Settings::default()).await;
    let mut stream = site.send(CHUNKED).await;
    let chunk = format!("{:x}\r\n{}\r\n", 1024, "x".repeat(1024));
    let endless = async { while stream.write_all(chunk.as_bytes()).await.is_ok() {} };
    soon(endless).await;
    site.serves().await;
}

#[tokio::test]
async fn chunks_that_are_none_end_the_request() {
    let site = Site::open(Settings::default()).await;
    for bad in ["zz\r\nabc\r\n", "ffffffffffffffffff\r\nabc", "-1\r\nabc\r\n"] {
        let answer = site.ask(format!("{CHUNKED}{bad}")).await;
        assert_eq!(status(&answer), "400", "{bad}: {answer}");
        site.serves().await;
    }
    let extension = "1;".to_owned() + &"x".repeat(64 * 1024);
    let answer = site.ask(format!("{CHUNKED}{extension}")).await;
    assert_ne!(status(&answer), "200", "{answer}");
    site.serves().await;
}

#[tokio::test]
async fn a_body_that_trickles_is_cut() {
    let site =
        Site::open(Settings { body_timeout: Duration::from_secs(1), ..Settings::default() }).await;
    let mut stream =
        site.send("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n").await;
    let trickle = async {
        while stream.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    soon(trickle).await;
    site.serves().await;
}

#[tokio::test]
async fn a_slow_body_with_some_pace_is_taken() {
    let site =
        Site::open(Settings { body_timeout: Duration::from_secs(2), ..Settings::default() }).await;
    let mut stream = site
        .send(
            "POST /count HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 40960\r\n\r\n",
        )
        .await;
    // Longer than the timeout as a whole; each piece earns more time than it takes.
    for _ in 0..10 {
        soon(stream.write_all(&[b'x'; 4096])).await.unwrap();
        sleep(Duration::from_millis(300)).await;
    }
    let answer = rest(&mut stream).await;
    assert!(answer.ends_with("\r\n\r\n40960"), "{answer}");
}
