//! Plans which shards an instance may read now. Pure.
//!
//! A shard that was split or merged names its parent, whose changes come first. So a child waits until its parent has been
//! read to its end or is no longer listed.

use std::collections::{BTreeMap, BTreeSet};

use super::lease::Lease;
use super::{FeedShard, Position};

/// How a consumer started: at which position, and which shards existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) generation: u64,
    pub(super) from: Position,
    pub(super) shards: BTreeSet<String>,
}

impl Start {
    /// The position at which reading of a shard begins. A shard created later is read from its oldest change.
    pub(super) fn position_in(&self, shard: &str) -> Position {
        if self.shards.contains(shard) { self.from.clone() } else { Position::Oldest }
    }
}

/// An action on a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShardAction {
    /// Nobody has read it: create its item.
    Register(String, Position),
    /// Its lease is free: take it.
    Acquire(String),
    /// It was read to its end and is no longer listed: delete its item.
    Forget(String),
}

/// How long the item of a shard that was read to its end stays. A shard that is listed again after its item was deleted
/// would be read a second time.
pub(super) const FORGET_AFTER_MS: u64 = 48 * 60 * 60 * 1000;

/// The actions that an instance may take at `now_ms`, for which the lease of a shard `is_free` or not.
pub(super) fn plan(
    start: &Start,
    listed: &[FeedShard],
    leases: &[Lease],
    is_free: impl Fn(&Lease) -> bool,
    now_ms: u64,
) -> Vec<ShardAction> {
    let by_shard: BTreeMap<&str, &Lease> = leases
        .iter()
        .filter(|lease| lease.generation == start.generation)
        .map(|lease| (lease.shard.as_str(), lease))
        .collect();
    let listed_ids: BTreeSet<&str> = listed.iter().map(|shard| shard.id.as_str()).collect();
    let closed = closed_before(start, listed);
    let is_finished = |parent: &str| {
        !listed_ids.contains(parent)
            || closed.contains(parent)
            || by_shard.get(parent).is_some_and(|lease| lease.ended)
    };
    let ready = listed
        .iter()
        .filter(|shard| !closed.contains(shard.id.as_str()))
        .filter(|shard| shard.parent.as_deref().is_none_or(is_finished))
        .filter_map(|shard| match by_shard.get(shard.id.as_str()) {
            None => Some(ShardAction::Register(shard.id.clone(), start.position_in(&shard.id))),
            Some(lease) if lease.ended || !is_free(lease) => None,
            Some(_) => Some(ShardAction::Acquire(shard.id.clone())),
        });
    let gone = leases
        .iter()
        .filter(|lease| lease.ended && !listed_ids.contains(lease.shard.as_str()))
        .filter(|lease| lease.until_ms.saturating_add(FORGET_AFTER_MS) <= now_ms)
        .map(|lease| ShardAction::Forget(lease.shard.clone()));
    ready.chain(gone).collect()
}

/// Shards that already had a child when a consumer started at `Latest`: they get no more changes.
fn closed_before<'a>(start: &Start, listed: &'a [FeedShard]) -> BTreeSet<&'a str> {
    if start.from != Position::Latest {
        return BTreeSet::new();
    }
    listed
        .iter()
        .filter(|child| start.shards.contains(&child.id))
        .filter_map(|child| child.parent.as_deref())
        .filter(|parent| start.shards.contains(*parent))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(id: &str, parent: Option<&str>) -> FeedShard {
        FeedShard { id: id.into(), parent: parent.map(str::to_owned) }
    }

    fn lease(shard: &str, owner: Option<&str>, ended: bool) -> Lease {
        Lease {
            shard: shard.into(),
            generation: 2,
            position: Position::Oldest,
            owner: owner.map(str::to_owned),
            until_ms: 100,
            ended,
            checkpoint: None,
        }
    }

    fn is_mine(lease: &Lease) -> bool {
        lease.owner.as_deref() == Some("me")
    }

    fn start(from: Position) -> Start {
        Start { generation: 2, from, shards: ["a".to_owned()].into() }
    }

    #[test]
    fn children_wait_for_their_parents() {
        let listed = [shard("a", None), shard("b", Some("a")), shard("c", Some("b"))];
        let actions =
            |leases: &[Lease]| plan(&start(Position::Latest), &listed, leases, is_mine, 0);
        assert_eq!(actions(&[]), [ShardAction::Register("a".into(), Position::Latest)]);
        assert_eq!(
            actions(&[lease("a", None, true)]),
            [ShardAction::Register("b".into(), Position::Oldest)],
            "a shard created later is read from its oldest change"
        );
        assert_eq!(
            actions(&[lease("a", None, true), lease("b", Some("me"), false)]),
            [ShardAction::Acquire("b".into())]
        );
    }

    #[test]
    fn a_parent_that_is_no_longer_listed_does_not_block_its_children() {
        let listed = [shard("b", Some("a"))];
        let actions = plan(&start(Position::Oldest), &listed, &[], is_mine, 0);
        assert_eq!(actions, [ShardAction::Register("b".into(), Position::Oldest)]);
    }

    #[test]
    fn latest_begins_in_all_open_shards_at_once() {
        let listed =
            [shard("a", None), shard("b", Some("a")), shard("c", Some("a")), shard("d", Some("c"))];
        let mut start = start(Position::Latest);
        start.shards = ["a", "b", "c"].map(str::to_owned).into();
        let actions = plan(&start, &listed, &[], is_mine, 0);
        assert_eq!(
            actions,
            [
                ShardAction::Register("b".into(), Position::Latest),
                ShardAction::Register("c".into(), Position::Latest),
            ],
            "d was created later and waits for c"
        );
    }

    #[test]
    fn a_shard_is_taken_only_if_its_lease_is_free() {
        let listed = [shard("a", None)];
        let leases = [lease("a", Some("you"), false)];
        let actions =
            |is_free: bool| plan(&start(Position::Oldest), &listed, &leases, |_| is_free, 0);
        assert_eq!(actions(false), []);
        assert_eq!(actions(true), [ShardAction::Acquire("a".into())]);
    }

    #[test]
    fn items_of_finished_shards_are_deleted_when_no_longer_listed() {
        let leases = [lease("a", None, true), lease("b", None, false)];
        let actions = |now_ms| plan(&start(Position::Oldest), &[], &leases, is_mine, now_ms);
        assert_eq!(actions(FORGET_AFTER_MS), []);
        assert_eq!(actions(FORGET_AFTER_MS + 100), [ShardAction::Forget("a".into())]);
    }

    #[test]
    fn items_of_an_older_start_are_void() {
        let listed = [shard("a", None)];
        let old = Lease { generation: 1, ..lease("a", Some("you"), false) };
        let actions = plan(&start(Position::Oldest), &listed, &[old], is_mine, 0);
        assert_eq!(actions, [ShardAction::Register("a".into(), Position::Oldest)]);
    }
}
