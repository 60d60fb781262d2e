//! Which shards may be read now. Pure.
//!
//! A shard that was split or merged names its parent, whose changes come first; so a child waits
//! until its parent has been read to its end, or is no longer listed.

use std::collections::{BTreeMap, BTreeSet};

use super::lease::Lease;
use super::{FeedShard, Position};

/// How a consumer started: from where, and which shards there were then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) generation: u64,
    pub(super) from: Position,
    pub(super) shards: BTreeSet<String>,
}

impl Start {
    /// Where reading of a shard begins. One that came later is read whole.
    pub(super) fn of(&self, shard: &str) -> Position {
        if self.shards.contains(shard) { self.from.clone() } else { Position::Oldest }
    }
}

/// What to do about a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move {
    /// Nobody has read it: make its item.
    Register(String, Position),
    /// Its lease is free: take it.
    Acquire(String),
    /// It was read to its end and is no longer listed: forget it.
    Forget(String),
}

/// How long a shard that was read to its end is remembered after it is no longer listed. Listed
/// again and forgotten, it would be read a second time.
pub(super) const FORGET_AFTER_MS: u64 = 48 * 60 * 60 * 1000;

/// What `owner` may do at `now_ms`.
pub(super) fn plan(
    start: &Start,
    listed: &[FeedShard],
    leases: &[Lease],
    owner: &str,
    now_ms: u64,
) -> Vec<Move> {
    let known: BTreeMap<&str, &Lease> = leases
        .iter()
        .filter(|lease| lease.generation == start.generation)
        .map(|lease| (lease.shard.as_str(), lease))
        .collect();
    let there: BTreeSet<&str> = listed.iter().map(|shard| shard.id.as_str()).collect();
    let closed = closed_before(start, listed);
    let is_passed = |parent: &str| {
        !there.contains(parent)
            || closed.contains(parent)
            || known.get(parent).is_some_and(|lease| lease.ended)
    };
    let ready = listed
        .iter()
        .filter(|shard| !closed.contains(shard.id.as_str()))
        .filter(|shard| shard.parent.as_deref().is_none_or(is_passed))
        .filter_map(|shard| match known.get(shard.id.as_str()) {
            None => Some(Move::Register(shard.id.clone(), start.of(&shard.id))),
            Some(lease) if lease.ended || !lease.is_free_for(owner, now_ms) => None,
            Some(_) => Some(Move::Acquire(shard.id.clone())),
        });
    let gone = leases
        .iter()
        .filter(|lease| lease.ended && !there.contains(lease.shard.as_str()))
        .filter(|lease| lease.until_ms.saturating_add(FORGET_AFTER_MS) <= now_ms)
        .map(|lease| Move::Forget(lease.shard.clone()));
    ready.chain(gone).collect()
}

/// Shards that had a child when a consumer of "from now on" started: nothing new comes there.
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
            marks: None,
        }
    }

    fn start(from: Position) -> Start {
        Start { generation: 2, from, shards: ["a".to_owned()].into() }
    }

    #[test]
    fn children_wait_for_their_parents() {
        let listed = [shard("a", None), shard("b", Some("a")), shard("c", Some("b"))];
        let moves = |leases: &[Lease]| plan(&start(Position::Latest), &listed, leases, "me", 0);
        assert_eq!(moves(&[]), [Move::Register("a".into(), Position::Latest)]);
        assert_eq!(
            moves(&[lease("a", None, true)]),
            [Move::Register("b".into(), Position::Oldest)],
            "a shard that came later is read whole"
        );
        assert_eq!(
            moves(&[lease("a", None, true), lease("b", Some("me"), false)]),
            [Move::Acquire("b".into())]
        );
    }

    #[test]
    fn a_parent_that_is_gone_holds_nobody_up() {
        let listed = [shard("b", Some("a"))];
        let moves = plan(&start(Position::Oldest), &listed, &[], "me", 0);
        assert_eq!(moves, [Move::Register("b".into(), Position::Oldest)]);
    }

    #[test]
    fn from_now_on_begins_in_all_open_shards_at_once() {
        let listed =
            [shard("a", None), shard("b", Some("a")), shard("c", Some("a")), shard("d", Some("c"))];
        let mut start = start(Position::Latest);
        start.shards = ["a", "b", "c"].map(str::to_owned).into();
        let moves = plan(&start, &listed, &[], "me", 0);
        assert_eq!(
            moves,
            [
                Move::Register("b".into(), Position::Latest),
                Move::Register("c".into(), Position::Latest),
            ],
            "d came later and waits for c"
        );
    }

    #[test]
    fn a_lease_of_another_is_kept_until_it_is_over() {
        let listed = [shard("a", None)];
        let leases = [lease("a", Some("you"), false)];
        let moves = |now_ms| plan(&start(Position::Oldest), &listed, &leases, "me", now_ms);
        assert_eq!(moves(99), []);
        assert_eq!(moves(100), [Move::Acquire("a".into())]);
    }

    #[test]
    fn shards_read_to_their_end_are_forgotten_when_gone() {
        let leases = [lease("a", None, true), lease("b", None, false)];
        let moves = |now_ms| plan(&start(Position::Oldest), &[], &leases, "me", now_ms);
        assert_eq!(moves(FORGET_AFTER_MS), []);
        assert_eq!(moves(FORGET_AFTER_MS + 100), [Move::Forget("a".into())]);
    }

    #[test]
    fn items_of_an_older_start_are_void() {
        let listed = [shard("a", None)];
        let old = Lease { generation: 1, ..lease("a", Some("you"), false) };
        let moves = plan(&start(Position::Oldest), &listed, &[old], "me", 0);
        assert_eq!(moves, [Move::Register("a".into(), Position::Oldest)]);
    }
}
