//! Bodies: their memory as a whole, and what clients without credentials may send.

use std::time::Duration;

use weir_framework::testing::ADMIN_KEY;
use weir_testkit::{eventually, eventually_eq};

use crate::attack::{Attack, HALF_BODY};
use crate::site::{Site, builder, patient};

const IN_FLIGHT: &str = "weir_http_body_bytes_in_flight";
const REJECTED: &str = "weir_http_requests_rejected_total{reason=\"body_memory\"}";
const MIB: usize = 1024 * 1024;
/// Bodies at the same time, as many as took 226 MB when nothing bounded them.
const BODIES: usize = 200;
const MEMORY_MAX: usize = 8 * MIB;

/// The start of a body of 1 MiB, by an authorized client.
fn large_body(sent: usize) -> Vec<u8> {
    let head = format!(
        "POST /v1/tokens HTTP/1.1\r\nHost: x\r\nX-API-Key: {ADMIN_KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {MIB}\r\n\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.resize(bytes.len() + sent, b' ');
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_half_sent_bodies_is_bounded_as_a_whole() {
    let bounded = patient().settings(|s| s.edge.body_bytes_in_flight_max = MEMORY_MAX);
    let site = Site::start(bounded).await;
    let token = site.app.token("ns:default").await;
    let attack = Attack::start(site.address(), BODIES, large_body(MIB / 2)).await;
    // Half a MiB may take a whole one, because memory grows by doubling.
    site.reaches(REJECTED, BODIES - 2 * MEMORY_MAX / MIB).await;
    for _ in 0..20 {
        assert!(site.metric(IN_FLIGHT).await <= MEMORY_MAX as u64);
        site.acquire(&token).await;
        site.probe().await;
    }
    assert!(site.metric(IN_FLIGHT).await > 0, "some bodies are still on their way");
    drop(attack);
    eventually_eq(0, async || site.metric(IN_FLIGHT).await).await;
    site.serves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_body_may_be_sent_again_later() {
    let bounded = patient().settings(|s| s.edge.body_bytes_in_flight_max = 2 * MIB);
    let site = Site::start(bounded).await;
    let attack = Attack::start(site.address(), 2, large_body(MIB - 1)).await;
    eventually(async || (site.metric(IN_FLIGHT).await >= MIB as u64 * 3 / 2).then_some(())).await;
    let refused = Attack::start(site.address(), 1, large_body(MIB)).await.answers().await;
    let [refused] = refused.as_slice() else { panic!("{refused:?}") };
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    drop(attack);
    eventually_eq(0, async || site.metric(IN_FLIGHT).await).await;
    site.serves().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announced_length_takes_no_memory() {
    let site = Site::start(patient()).await;
    let attack = Attack::start(site.address(), BODIES, large_body(1)).await;
    eventually_eq(BODIES as u64, async || site.metric(IN_FLIGHT).await).await;
    drop(attack);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_without_credentials_send_small_bodies() {
    let site = Site::start(builder()).await;
    let head = "POST /auth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let announced = format!("{head}Content-Length: 16385\r\n\r\n{{");
    let chunk = format!("4001\r\n{}\r\n", "x".repeat(0x4001));
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}");
    for request in [announced, chunked] {
        let answers = Attack::start(site.address(), 1, request).await.answers().await;
        assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 413 ")), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_without_credentials_send_their_bodies_soon() {
    let hasty = patient().settings(|s| s.edge.public_body_timeout = Duration::from_millis(200));
    let site = Site::start(hasty).await;
    let answers = Attack::start(site.address(), 5, HALF_BODY).await.answers().await;
    assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 408 ")), "{answers:?}");
}
