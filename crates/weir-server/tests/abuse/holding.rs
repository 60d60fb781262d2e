//! 1 100 connections of one address that hold what they can, for as long as they like.

use crate::attack::{Attack, DEAF, HALF_BODY, HALF_CHUNK, HALF_HANDSHAKE, HALF_HEAD};
use crate::site::{CROWD, Site, patient};

const OPEN: &str = "weir_connections_open";
const BODY_BYTES: &str = "weir_http_body_bytes_in_flight";

/// While the attack holds, others are served and no permit is taken.
async fn withstands(site: Site, attack: Attack) {
    assert_eq!(site.in_flight().await, 0, "permits are taken");
    site.serves().await;
    assert_eq!(site.in_flight().await, 0, "permits are taken");
    assert_eq!(attack.open(), CROWD, "the attack was over before the test");
    drop(attack);
    site.serves().await;
    site.app.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_bodies_take_no_permit() {
    let site = Site::start(patient()).await;
    let attack = Attack::start(site.address(), CROWD, HALF_BODY).await;
    site.reaches(BODY_BYTES, CROWD).await;
    withstands(site, attack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_chunks_take_no_permit() {
    let site = Site::start(patient()).await;
    let attack = Attack::start(site.address(), CROWD, HALF_CHUNK).await;
    site.reaches(BODY_BYTES, CROWD).await;
    withstands(site, attack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_heads_keep_nobody_out() {
    let site = Site::start(patient()).await;
    let attack = Attack::start(site.address(), CROWD, HALF_HEAD).await;
    site.reaches(OPEN, CROWD).await;
    withstands(site, attack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_handshakes_keep_nobody_out() {
    let site = Site::start_tls(patient()).await;
    let attack = Attack::start(site.address(), CROWD, HALF_HANDSHAKE).await;
    site.reaches(OPEN, CROWD).await;
    withstands(site, attack).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_that_nobody_reads_take_no_permit() {
    let site = Site::start(patient()).await;
    let asked = "weir_http_requests_total{method=\"GET\",route=\"/openapi.json\",status=\"200\"}";
    let before = site.app.get("/metrics").admin().send().await.text();
    assert!(before.contains(asked), "{before}");
    let attack = Attack::start(site.address(), CROWD, DEAF).await;
    site.reaches(asked, CROWD).await;
    withstands(site, attack).await;
}
