//! The rate of honest requests while an attack holds, compared with the rate without one in the same run.
//!
//! Each window with the attack is compared with the windows before and after it, so that a machine that gets slower
//! meanwhile slows all three, and the median of all rounds counts; the attackers are idle once they are connected. A figure of time is measured at full length only
//! (`WEIR_TEST_ALL=1`); `make tests ARGS=\"-E 'test(keep_their_rate)'\"` runs a short form that compares nothing.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use weir_testkit::eventually;

use crate::attack::{Attack, DEAF, HALF_BODY, HALF_CHUNK, HALF_HANDSHAKE, HALF_HEAD};
use crate::site::{CROWD, Site, patient};

/// Honest clients, each with one connection.
const CLIENTS: usize = 4;
/// The part of their rate that they must keep, in percent.
const KEPT_PERCENT_MIN: u64 = 80;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_clients_keep_their_rate() {
    let all = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    let (rounds, window) =
        if all { (15, Duration::from_secs(1)) } else { (1, Duration::from_millis(200)) };
    let check = |name: &str, mut kept: Vec<u64>| {
        kept.sort_unstable();
        let median = kept.get(kept.len() / 2).copied().unwrap_or_default();
        println!("{name}: a median of {median} % of the requests is served, of {kept:?}");
        assert!(!all || median >= KEPT_PERCENT_MIN, "{name}: {kept:?}");
    };
    let site = Site::start(patient()).await;
    let request = acquire_request(&site).await;
    let kinds =
        [("bodies", HALF_BODY), ("chunks", HALF_CHUNK), ("heads", HALF_HEAD), ("readers", DEAF)];
    for (name, bytes) in kinds {
        let served = async || served(&site, &request, window).await;
        check(name, kept(&site, bytes.as_bytes(), rounds, served).await);
    }
    site.app.stop().await.unwrap();

    let site = Site::start_tls(patient()).await;
    let token = site.app.token("ns:default").await;
    let served = async || served_over_tls(&site, &token, window).await;
    check("handshakes", kept(&site, HALF_HANDSHAKE, rounds, served).await);
    site.app.stop().await.unwrap();
}

/// The part of their rate that honest clients keep in each round, in percent.
async fn kept(site: &Site, bytes: &[u8], rounds: u32, served: impl AsyncFn() -> u64) -> Vec<u64> {
    let mut kept = Vec::new();
    let mut before = served().await;
    for _ in 0..rounds {
        let attack = Attack::start(site.address(), CROWD, bytes).await;
        site.reaches("weir_connections_open", CROWD).await;
        let attacked = served().await;
        drop(attack);
        let left = async || (site.metric("weir_connections_open").await < 10).then_some(());
        eventually(left).await;
        let after = served().await;
        kept.push(attacked * 200 / (before + after).max(1));
        before = after;
    }
    kept
}

/// Requests over TLS that honest clients complete in a window, each on a new connection; each must succeed.
async fn served_over_tls(site: &Site, token: &str, window: Duration) -> u64 {
    let take = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}});
    let call = site.app.post("/v1/namespaces/default/acquire", &take).bearer(token);
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let call = call.clone();
        clients.spawn(async move {
            let (started, mut count) = (Instant::now(), 0);
            while started.elapsed() < window {
                let reply = call.clone().send().await;
                assert_eq!(reply.status, 200, "{}", reply.text());
                count += 1;
            }
            count
        });
    }
    clients.join_all().await.into_iter().sum()
}

/// Requests that honest clients complete in a window; each must succeed.
async fn served(site: &Site, request: &str, window: Duration) -> u64 {
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let mut stream = TcpStream::connect(site.address()).await.unwrap();
        let request = request.to_owned();
        clients.spawn(async move {
            let (started, mut count) = (Instant::now(), 0);
            while started.elapsed() < window {
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut response = vec![0; 8 * 1024];
                let read = stream.read(&mut response).await.unwrap();
                let text = String::from_utf8_lossy(response.get(..read).unwrap_or_default());
                assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with('}'), "{text}");
                count += 1;
            }
            count
        });
    }
    clients.join_all().await.into_iter().sum()
}

async fn acquire_request(site: &Site) -> String {
    let token = site.app.token("ns:default").await;
    let body = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}}).to_string();
    let (method, length) = (Method::POST, body.len());
    format!(
        "{method} /v1/namespaces/default/acquire HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}
