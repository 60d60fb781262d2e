//! The rate of honest requests while an attack holds, compared with the rate without one in the same run.
//!
//! Windows with and without the attack alternate, so that a machine that gets slower meanwhile slows both; the attackers are
//! idle once they are connected. Compared are the medians. A figure of time is measured at full length only
//! (`WEIR_TEST_ALL=1`); `make tests ARGS=\"-E 'test(keep_their_rate)'\"` runs a short form that compares nothing.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::attack::{Attack, DEAF, HALF_BODY, HALF_CHUNK, HALF_HEAD};
use crate::site::{CROWD, Site, patient};

/// Honest clients, each with one connection.
const CLIENTS: usize = 4;
/// The part of their rate that they must keep, in percent.
const KEPT_PERCENT_MIN: u64 = 80;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_clients_keep_their_rate() {
    let all = std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1");
    let (pairs, window) =
        if all { (9, Duration::from_secs(2)) } else { (1, Duration::from_millis(200)) };
    let site = Site::start(patient()).await;
    let request = acquire_request(&site).await;
    let kinds =
        [("bodies", HALF_BODY), ("chunks", HALF_CHUNK), ("heads", HALF_HEAD), ("readers", DEAF)];
    for (name, bytes) in kinds {
        let (mut quiet, mut attacked) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            quiet.push(served(&site, &request, window).await);
            let attack = Attack::start(site.address(), CROWD, bytes).await;
            site.reaches("weir_connections_open", CROWD).await;
            attacked.push(served(&site, &request, window).await);
            drop(attack);
            weir_testkit::eventually(async || {
                (site.metric("weir_connections_open").await < 10).then_some(())
            })
            .await;
        }
        let (quiet, attacked) = (median(quiet), median(attacked));
        let kept = attacked * 100 / quiet;
        println!("{name}: {quiet} requests without, {attacked} with the attack: {kept} %");
        assert!(!all || kept >= KEPT_PERCENT_MIN, "{name}: {kept} % of the rate is left");
    }
    site.app.stop().await.unwrap();
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

fn median(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or_default().max(1)
}
