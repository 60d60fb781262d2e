//! Follows a feed for a scenario: every shard, from a start, until enough changes were seen.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use weir_table::feed::{Change, Position};

use crate::fixture::Fixture;

/// How long a feed may take to show a change; Streams need seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// How many changes one read asks for.
const READ: usize = 100;

/// A reader of all shards of one table's feed.
pub(crate) struct Follower<'t> {
    t: &'t Fixture,
    table: &'static str,
    /// Where to read on; none when the shard has ended.
    positions: BTreeMap<String, Option<Position>>,
    seen: Vec<(String, Change)>,
}

impl<'t> Follower<'t> {
    /// Follows from the oldest change.
    pub(crate) async fn new(t: &'t Fixture, table: &'static str) -> Self {
        let mut follower = Follower { t, table, positions: BTreeMap::new(), seen: Vec::new() };
        follower.poll().await;
        follower
    }

    /// Follows from now on.
    pub(crate) async fn latest(t: &'t Fixture, table: &'static str) -> Self {
        let mut follower = Follower { t, table, positions: BTreeMap::new(), seen: Vec::new() };
        for shard in t.store.feed_shards(table).await.unwrap() {
            follower.positions.insert(shard.id, Some(Position::Latest));
        }
        follower.poll().await;
        follower
    }

    /// Reads until `count` changes were seen, and once more to see that there are no more.
    pub(crate) async fn until(&mut self, count: usize) -> Vec<Change> {
        let deadline = Instant::now() + PATIENCE;
        while self.seen.len() < count && Instant::now() < deadline {
            sleep(PAUSE).await;
            self.poll().await;
        }
        self.poll().await;
        let changes: Vec<Change> = self.seen.iter().map(|(_, change)| change.clone()).collect();
        assert_eq!(changes.len(), count, "{changes:#?}");
        changes
    }

    /// The shard that a seen change came from.
    pub(crate) fn shard_of(&self, change: &Change) -> String {
        self.seen.iter().find(|(_, seen)| seen == change).unwrap().0.clone()
    }

    /// Reads every shard to its present end. A shard comes after its parent, so an item's changes
    /// stay in order.
    async fn poll(&mut self) {
        for shard in self.t.store.feed_shards(self.table).await.unwrap() {
            let parent = shard.parent.and_then(|parent| self.positions.get(&parent));
            if parent.is_some_and(Option::is_some) {
                continue;
            }
            self.positions.entry(shard.id.clone()).or_insert(Some(Position::Oldest));
            self.read_to_end(&shard.id).await;
        }
    }

    async fn read_to_end(&mut self, shard: &str) {
        while let Some(Some(from)) = self.positions.get(shard).cloned() {
            let page = self.t.store.feed_read(self.table, shard, &from, READ).await.unwrap();
            let next = if page.ended { None } else { Some(page.next) };
            self.positions.insert(shard.to_owned(), next);
            if page.changes.is_empty() {
                return;
            }
            self.seen.extend(page.changes.into_iter().map(|change| (shard.to_owned(), change)));
        }
    }
}
