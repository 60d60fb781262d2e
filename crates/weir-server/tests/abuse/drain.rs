//! Stopping while clients send one request after the other.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use weir_framework::Code;
use weir_testkit::eventually;

use crate::site::{Site, builder};

const CLIENTS: usize = 16;
const REQUEST: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
/// Requests of each client before the stop.
const BEFORE: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_on_a_kept_connection_is_answered_and_the_last_says_so() {
    let site = Site::start(builder()).await;
    let mut clients = JoinSet::new();
    let (ready, mut all_ready) = tokio::sync::mpsc::channel(CLIENTS);
    for _ in 0..CLIENTS {
        let (stream, ready) = (TcpStream::connect(site.address()).await.unwrap(), ready.clone());
        clients.spawn(async move {
            let mut stream = stream;
            for answered in 0_usize.. {
                if answered == BEFORE {
                    ready.send(()).await.unwrap();
                }
                stream.write_all(REQUEST.as_bytes()).await.unwrap();
                let head = response(&mut stream).await;
                assert!(head.starts_with("HTTP/1.1 200 "), "{answered}: {head}");
                if head.contains("\r\nconnection: close\r\n") {
                    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "more after the last");
                    return answered;
                }
            }
            0
        });
    }
    for _ in 0..CLIENTS {
        all_ready.recv().await.unwrap();
    }
    site.app.stop().await.unwrap();
    while let Some(answered) = clients.join_next().await {
        assert!(answered.unwrap() >= BEFORE);
    }
}

/// Reads one response; returns its head.
async fn response(stream: &mut TcpStream) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let byte = stream.read_u8().await;
        head.push(char::from(byte.unwrap_or_else(|error| panic!("{error} after {head:?}"))));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    stream.read_exact(&mut vec![0; length.parse().unwrap()]).await.unwrap();
    head
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_turns_off_before_the_listener_closes() {
    let delayed = builder().listen(|listen| listen.drain_delay = Duration::from_secs(600));
    let site = Site::start(delayed).await;
    let token = site.app.token("ns:default").await;
    site.app.begin_stop().await;
    let reply = eventually(async || {
        let reply = site.app.get("/readyz").send().await;
        (reply.status == 503).then_some(reply)
    })
    .await;
    let body: serde_json::Value = reply.json();
    assert_eq!(body["status"], "draining", "{body}");
    for path in ["/health", "/readyz?store=ignore"] {
        assert_eq!(site.app.get(path).send().await.status, 503, "{path}");
    }
    assert_eq!(site.app.get("/healthz").send().await.status, 200);
    for _ in 0..20 {
        site.acquire(&token).await;
    }
    site.app.get("/v1/jobs").send().await.problem(Code::UNAUTHORIZED);
    // A second signal ends the wait.
    site.app.stop().await.unwrap();
}
