//! Follows the feed of a scene's table as the server's driver does: window by window, each committed with the position of
//! the feed.

use std::collections::BTreeSet;

use weir_limiter::Limiter;
use weir_limiter::aggregate::ObservedChanges;
use weir_limiter::bucket::Bucket;
use weir_limiter::item::{self, BucketId};
use weir_limiter::usage::UsageAccumulator;
use weir_table::expr::Update;
use weir_table::feed::{Change, Consumer, FeedWindow, POSITIONS_TABLE, Position, positions_spec};
use weir_table::{Key, Result, Write};

use crate::scene::{Scene, entity, resource};
use crate::watched::Watched;

/// One instance of an aggregator.
pub(crate) struct Aggregator {
    limiter: Limiter<Watched>,
    consumer: Consumer<Watched>,
}

impl Aggregator {
    /// An instance of that name. Those of a scene share the positions of the feed.
    pub(crate) async fn new(scene: &Scene, instance: &str) -> Aggregator {
        scene.store.create_table(&positions_spec(POSITIONS_TABLE)).await.unwrap();
        let table = scene.limiter.settings().table.clone();
        let consumer = Consumer::new(
            scene.store.clone(),
            table,
            "usage",
            instance,
            POSITIONS_TABLE,
            Position::Oldest,
            scene.clock.clone(),
        );
        Aggregator {
            limiter: scene.limiter.clone(),
            consumer: consumer.unwrap().merging(scene.limiter.usage_merge()),
        }
    }

    /// Reads a window of about so many changes, `chunk` at a time, and makes its writes; none when there is nothing new.
    pub(crate) async fn read_window(
        &mut self,
        max: usize,
        chunk: usize,
    ) -> Result<Option<(FeedWindow, Vec<Write>)>> {
        let Some(mut window) = self.consumer.next_window(chunk, &BTreeSet::new()).await? else {
            return Ok(None);
        };
        let (mut usage, mut observed) = (UsageAccumulator::default(), ObservedChanges::default());
        while window.is_resumed() || window.changes_read() < max {
            let some = self.consumer.read(&mut window, chunk).await?;
            if some.is_empty() {
                break;
            }
            self.limiter.accumulate_usage(&mut usage, &some).unwrap();
            self.limiter.observe(&mut observed, some).unwrap();
        }
        let mut writes = self.limiter.usage_writes(usage);
        writes.extend(self.limiter.propagation_writes(&observed));
        Ok(Some((window, writes)))
    }

    /// Commits a window. Returns whether it was done here.
    pub(crate) async fn commit(
        &mut self,
        (window, writes): (FeedWindow, Vec<Write>),
    ) -> Result<bool> {
        self.consumer.commit(window, writes).await
    }

    /// Counts a window. Returns how many changes it had; none when there is nothing new.
    pub(crate) async fn count_window(&mut self, max: usize, chunk: usize) -> Result<Option<usize>> {
        let Some(window) = self.read_window(max, chunk).await? else { return Ok(None) };
        let changes = window.0.changes_read();
        Ok(Some(if self.commit(window).await? { changes } else { 0 }))
    }

    /// Counts what there is. Returns the number of changes.
    pub(crate) async fn run(&mut self) -> Result<usize> {
        let mut changes = 0;
        while let Some(counted) = self.count_window(1_000, 10).await? {
            changes += counted;
        }
        Ok(changes)
    }
}

/// The writes that record the usage of changes.
pub(crate) fn usage_writes(limiter: &Limiter<Watched>, changes: &[Change]) -> Vec<Write> {
    let mut usage = UsageAccumulator::default();
    limiter.accumulate_usage(&mut usage, changes).unwrap();
    limiter.usage_writes(usage)
}

/// Maintains the buckets of these changes.
pub(crate) async fn maintain(
    limiter: &Limiter<Watched>,
    changes: &[Change],
) -> weir_limiter::Result<u64> {
    let mut observed = ObservedChanges::default();
    limiter.observe(&mut observed, changes.iter().cloned())?;
    limiter.maintain(&observed).await
}

/// The id of a bucket.
pub(crate) fn bucket_id(scene: &Scene, who: &str, what: &str) -> BucketId {
    BucketId { ns: scene.ns.id().clone(), entity: entity(who), resource: resource(what) }
}

/// Writes a bucket as it is.
pub(crate) async fn put(scene: &Scene, id: &BucketId, bucket: &Bucket) {
    let table = scene.limiter.settings().table.clone();
    scene.store.write(Write::put(table, item::encode(id, bucket))).await.unwrap();
}

/// The key of a bucket's item.
pub(crate) fn key(id: &BucketId, shard: u32) -> Key {
    weir_limiter::keys::bucket(&id.ns, &id.entity, &id.resource, shard)
}

/// Takes millitokens of a limit from an existing bucket, as the fast path does.
pub(crate) async fn take(scene: &Scene, id: &BucketId, limit: &str, milli: i64) {
    let update = Update::default()
        .add(format!("b_{limit}_tk").as_str(), -milli)
        .add(format!("b_{limit}_tc").as_str(), milli);
    let table = scene.limiter.settings().table.clone();
    scene.store.write(Write::update(table, key(id, 0), update)).await.unwrap();
}

/// The bucket as stored.
pub(crate) async fn stored(scene: &Scene, id: &BucketId, shard: u32) -> Option<Bucket> {
    let table = scene.limiter.settings().table.clone();
    let found = scene.store.get(&weir_table::Get::new(table, key(id, shard))).await.unwrap();
    found.as_ref().map(item::decode)
}

/// A change of a bucket at a time.
pub(crate) fn used(id: &BucketId, shard: u32, at_ms: i64, from: &Bucket, to: &Bucket) -> Change {
    Change {
        table: "weir-limiter".into(),
        key: key(id, shard),
        old: Some(item::encode(id, from).into()),
        new: Some(item::encode(id, to).into()),
        at_ms: u64::try_from(at_ms).unwrap(),
        expired: false,
        position: "1".into(),
        merged: None,
    }
}
