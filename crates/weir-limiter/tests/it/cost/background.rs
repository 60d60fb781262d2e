//! What the jobs do. The position of the feed, which they write in the same transaction, is not in it.

use weir_limiter::aggregate::ObservedChanges;
use weir_limiter::bucket::Bucket;
use weir_limiter::config::Level;
use weir_table::Transaction;
use weir_table::feed::Change;

use crate::acquire::{granted, request};
use crate::fed::{self, bucket_id};
use crate::scene::{Scene, limit_name, resource};
use weir_testkit::ledger::Ledger;

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>) {
    usage(scene, ledger).await;
    maintain(scene, ledger).await;
    propagation(scene, ledger).await;
}

/// `count` changes of one bucket, at the scene's time.
fn changes(scene: &Scene, count: i64) -> Vec<Change> {
    let id = bucket_id(scene, "counted", "gpt-4");
    let bucket = |taken: i64| {
        let mut bucket = Bucket::full(&super::limits().limits, 0, 1, scene.now_ms());
        bucket.take(&limit_name("rpm"), taken * 1_000);
        bucket
    };
    let used = |n| fed::used(&id, 0, scene.now_ms(), &bucket(n), &bucket(n + 1));
    (0..count).map(used).collect()
}

async fn usage(scene: &Scene, ledger: &mut Ledger<'_>) {
    for (name, changes) in [
        ("usage of one change, the month's first", changes(scene, 1)),
        ("usage of one change", changes(scene, 1)),
        ("usage of 10 changes of one bucket", changes(scene, 10)),
    ] {
        let writes = fed::usage_writes(&scene.limiter, &changes);
        let counting = scene.store.transact(Transaction::new(writes));
        assert!(ledger.note(name, counting).await.unwrap().is_applied());
    }
}

async fn maintain(scene: &Scene, ledger: &mut Ledger<'_>) {
    let id = bucket_id(scene, "maintained", "gpt-4");
    let full = Bucket::full(&super::limits().limits, 0, 1, scene.now_ms());
    let mut low = full.clone();
    low.take(&limit_name("rpm"), 900_000);
    fed::put(scene, &id, &low).await;
    let change = fed::used(&id, 0, scene.now_ms(), &full, &low);
    let name = "a look at a bucket in use that needs nothing";
    let looked =
        ledger.note(name, fed::maintain(&scene.limiter, std::slice::from_ref(&change))).await;
    assert_eq!(looked.unwrap(), 0);
    scene.clock.advance_ms(10_000);
    let refilled =
        ledger.note("a refill ahead of need", fed::maintain(&scene.limiter, &[change])).await;
    assert_eq!(refilled.unwrap(), 1);
}

async fn propagation(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = &scene.ns;
    let what = resource("rare");
    let level = Level::Resource(what.clone());
    ns.set_limits(&level, super::limits(), "test").await.unwrap();
    let ask =
        weir_limiter::acquire::Acquire { resource: what, ..request("user-1", &[("rpm", 1)], &[]) };
    granted(ns.acquire(&ask).await.unwrap());
    let mut changed = super::limits();
    changed.limits.truncate(1);
    ns.set_limits(&level, changed, "test").await.unwrap();
    let mut change = fed::used(
        &bucket_id(scene, "x", "rare"),
        0,
        scene.now_ms(),
        &Bucket::full(&[], 0, 1, 0),
        &Bucket::full(&[], 0, 1, 0),
    );
    change.key = weir_limiter::keys::resource_config(ns.id(), &ask.resource);
    change.old = None;
    change.new = Some(weir_table::Item::new().with("l_rpm_cp", 1).into());
    let mut seen = ObservedChanges::default();
    scene.limiter.observe(&mut seen, [change]).unwrap();
    let writes = scene.limiter.propagation_writes(&seen);
    assert_eq!(writes.len(), 1);
    let noting = scene.store.transact(Transaction::new(writes));
    let name = "a note that a resource's limits changed";
    ledger.note(name, noting).await.unwrap();
    scene.clock.advance_ms(10_000);
    let name = "its one live bucket brought to them";
    let (written, _) = ledger.note(name, scene.limiter.run_propagation()).await.unwrap();
    assert_eq!(written, 1);
}
