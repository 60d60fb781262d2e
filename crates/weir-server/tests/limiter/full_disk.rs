//! A disk that is nearly full, full, or failing: what the server refuses, what it says, and how it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::auth::signing::KeySource;
use weir_framework::testing::{Reply, TestApp};
use weir_server::limiter::LimiterService;
use weir_table::embedded::{Embedded, Options};
use weir_table::{AnyBackend, Store};
use weir_testkit::{FaultyDisk, SmallDisk, eventually, eventually_eq};

use crate::scene::Scene;

const MIB: u64 = 1024 * 1024;

impl Scene {
    /// A server with limits on a store with these options.
    async fn on(options: Options) -> Scene {
        let embedded = Embedded::open(options).unwrap();
        let cursors = embedded.cursor_key();
        let store = Store::new(AnyBackend::Embedded(embedded), cursors);
        let services: Vec<Box<dyn weir_framework::Service>> =
            vec![Box::new(LimiterService::default())];
        let app = TestApp::builder(services).store(store).settings(|settings| {
            let secret = b"a signing key of thirty-two bytes".to_vec().into();
            settings.auth.signing = Some(KeySource::Hs256(secret));
        });
        let scene = Scene { app: app.start().await };
        scene.set_limits().await;
        scene
    }

    async fn ready(&self) -> (u16, Value) {
        let reply = self.app.get("/readyz").send().await;
        (reply.status, reply.json::<Value>()["detail"].clone())
    }

    async fn ready_becomes(&self, status: u16) {
        eventually_eq(status, async || self.ready().await.0).await;
    }

    async fn metric(&self, name: &str) -> f64 {
        let text = self.app.get("/metrics").admin().send().await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        // A metric that is missing equals no number.
        line.and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
    }
}

fn options(folder: &tempfile::TempDir, disk: &FaultyDisk) -> Options {
    let mut options = Options::new(folder.path().join("data"));
    options.disk = Arc::new(disk.clone());
    options.free_bytes_min = 8 * MIB;
    options
}

fn has_no_text_of_the_system(reply: &Reply) {
    let text = reply.text();
    for leaked in ["os error", "No space", "Input/output", "/data/", ".log"] {
        assert!(!text.contains(leaked), "{text}");
    }
}

#[tokio::test]
async fn a_nearly_full_disk_refuses_acquires_and_settles_leases() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let scene = Scene::on(options(&folder, &disk)).await;
    let lease = scene.lease(json!({"rpm": 1, "tpm": 500})).await;
    let other = scene.lease(json!({"rpm": 1, "tpm": 500})).await;
    assert_eq!(scene.ready().await.0, 200);
    disk.set_free(7 * MIB);
    scene.ready_becomes(503).await;
    let detail = "the disk is nearly full; only deletions and settlements are accepted";
    assert_eq!(scene.ready().await.1, detail);
    let ignoring = scene.app.get("/readyz?store=ignore").send().await;
    assert_eq!(ignoring.status, 200, "deletions and reads still reach the server");
    let refused = scene.acquire(json!({"rpm": 1})).await;
    has_no_text_of_the_system(&refused);
    assert_eq!(refused.header("retry-after"), "10");
    refused.problem(Code::INSUFFICIENT_STORAGE);
    let commit = json!({"actual": {"tpm": 100}});
    let settled = scene.post(&format!("leases/{lease}/commit"), &commit).await;
    assert_eq!(settled.status, 200, "{}", settled.text());
    let settled = scene.post_empty(&format!("leases/{other}/rollback")).await;
    assert_eq!(settled.status, 200, "{}", settled.text());
    assert_eq!(scene.metric("weir_store_refuses_growth").await, 1.0);
    assert_eq!(scene.metric("weir_store_refuses_writes").await, 0.0);
    assert!(scene.metric("weir_store_space_refusals_total").await >= 1.0);
    assert_eq!(scene.metric("weir_store_disk_free_bytes").await, (7 * MIB) as f64);
    disk.set_free(100 * MIB);
    scene.ready_becomes(200).await;
    assert_eq!(scene.acquire(json!({"rpm": 1})).await.status, 200);
    assert_eq!(scene.metric("weir_store_refuses_growth").await, 0.0);
    assert!(scene.metric("weir_store_fsync_duration_seconds_count").await >= 1.0);
}

#[tokio::test]
async fn a_full_disk_is_not_ready_and_says_nothing_of_the_system() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let scene = Scene::on(options(&folder, &disk)).await;
    disk.set_full(true);
    let refused = scene.acquire(json!({"rpm": 1})).await;
    has_no_text_of_the_system(&refused);
    refused.problem(Code::INSUFFICIENT_STORAGE);
    let (status, detail) = scene.ready().await;
    let expected = "the disk is full; no writes are accepted until there is room";
    assert_eq!((status, detail), (503, json!(expected)));
    assert_eq!(scene.metric("weir_store_refuses_writes").await, 1.0);
    disk.set_full(false);
    scene.ready_becomes(200).await;
    assert_eq!(scene.acquire(json!({"rpm": 1})).await.status, 200);
}

#[tokio::test]
async fn a_failed_disk_is_not_ready_and_says_nothing_of_the_system() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    let scene = Scene::on(options(&folder, &disk)).await;
    disk.fail_syncs();
    let limits = json!({"limits": [crate::scene::minutely("rpm", 5)]});
    for _ in 0..2 {
        let refused = scene.put("limits/system", &limits).await;
        has_no_text_of_the_system(&refused);
        refused.problem(Code::SERVICE_UNAVAILABLE);
    }
    let (status, detail) = scene.ready().await;
    let expected = "the disk failed; no writes are accepted until a restart";
    assert_eq!((status, detail), (503, json!(expected)));
}

/// Sets limits of its own until it is stopped, one after the other. Returns how many were answered.
async fn set_on(scene: Arc<Scene>, task: u64, stop: Arc<AtomicBool>, done: Arc<AtomicU64>) -> u64 {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let limits = json!({"limits": [crate::scene::minutely("rpm", 5)]});
        let path = format!("limits/entities/e{task}-{number}/gpt-4");
        let reply = scene.put(&path, &limits).await;
        has_no_text_of_the_system(&reply);
        match reply.status {
            200 | 201 => {
                number += 1;
                done.fetch_add(1, Ordering::Relaxed);
            }
            _ => drop(reply.problem(Code::INSUFFICIENT_STORAGE)),
        }
    }
    number
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_and_is_freed_under_load_needs_no_restart() {
    let Some(small) = SmallDisk::mount(256) else {
        return;
    };
    let options = Options { free_bytes_min: 64 * MIB, ..Options::new(small.data()) };
    let scene = Arc::new(Scene::on(options).await);
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let set_on = |task| set_on(Arc::clone(&scene), task, Arc::clone(&stop), Arc::clone(&done));
    let tasks: Vec<_> = (0..4).map(|task| tokio::spawn(set_on(task))).collect();
    let answers_more = async |more: u64| {
        let goal = done.load(Ordering::Relaxed) + more;
        eventually(async || (done.load(Ordering::Relaxed) >= goal).then_some(())).await;
    };
    for _ in 0..2 {
        answers_more(20).await;
        small.fill_to(24 * MIB);
        scene.ready_becomes(503).await;
        small.free();
        scene.ready_becomes(200).await;
    }
    answers_more(20).await;
    stop.store(true, Ordering::Relaxed);
    for (task, count) in tasks.into_iter().enumerate() {
        for number in 0..count.await.unwrap() {
            let found = scene.get(&format!("limits/entities/e{task}-{number}/gpt-4")).await;
            assert_eq!(found.status, 200, "{}", found.text());
        }
    }
}
