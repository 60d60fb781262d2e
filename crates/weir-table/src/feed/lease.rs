//! A consumer's item for one shard: its position, who reads it and until when.
//!
//! | attribute | holds |
//! |---|---|
//! | `position` | where to read next; absent until something was read |
//! | `start` | where reading begins while there is no position |
//! | `generation` | of the start it belongs to; a restart makes items of older ones void |
//! | `owner` | who reads the shard |
//! | `lease_until_ms` | until when nobody else may |
//! | `ended` | that the shard has been read to its end |
//! | `until` | while a stretch is under way: its last change |
//! | `through` | while a stretch is under way: the last item of it that was written |

use crate::error::{Error, Result};
use crate::expr::{Condition, Update, attr, remove, set};
use crate::item::Item;
use crate::key::Key;
use crate::request::Write;
use crate::value::Name;

use super::{POSITION_ATTRIBUTE, Position, keys};

pub(super) const GENERATION: &str = "generation";
const START: &str = "start";
const OWNER: &str = "owner";
const LEASE_UNTIL: &str = "lease_until_ms";
const ENDED: &str = "ended";
const UNTIL: &str = "until";
const THROUGH: &str = "through";

/// What the item of a shard says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) shard: String,
    pub(super) generation: u64,
    /// Where reading goes on.
    pub(super) position: Position,
    pub(super) owner: Option<String>,
    pub(super) until_ms: u64,
    pub(super) ended: bool,
    /// The stretch that is under way.
    pub(super) marks: Option<Marks>,
}

/// A stretch that was written in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marks {
    /// The position of its last change.
    pub(super) until: String,
    /// The last item that was written, in the words of `settle`.
    pub(super) through: String,
}

impl Lease {
    pub(super) fn read(item: &Item) -> Result<Lease> {
        let damaged = |what: &str| {
            let problem = format!("an item of the positions table has no {what}");
            Error::backend("reading a consumer's position", problem)
        };
        let number = |name: &str| item.i64(name).and_then(|n| u64::try_from(n).ok());
        let position = match item.s(POSITION_ATTRIBUTE) {
            Some(position) => Position::After(position.to_owned()),
            None => item.s(START).and_then(start_from_text).ok_or_else(|| damaged("position"))?,
        };
        Ok(Lease {
            shard: keys::shard_of(item).ok_or_else(|| damaged("shard"))?.to_owned(),
            generation: number(GENERATION).ok_or_else(|| damaged("generation"))?,
            position,
            owner: item.s(OWNER).map(str::to_owned),
            until_ms: number(LEASE_UNTIL).unwrap_or(0),
            ended: item.get(ENDED).and_then(|v| v.as_bool()).unwrap_or(false),
            marks: match (item.s(UNTIL), item.s(THROUGH)) {
                (Some(until), Some(through)) => {
                    Some(Marks { until: until.to_owned(), through: through.to_owned() })
                }
                (None, None) => None,
                _ => return Err(damaged("whole stretch")),
            },
        })
    }

    /// Whether `owner` may read the shard at `now_ms`.
    pub(super) fn is_free_for(&self, owner: &str, now_ms: u64) -> bool {
        match &self.owner {
            Some(other) => other == owner || self.until_ms <= now_ms,
            None => true,
        }
    }
}

/// A start as an attribute holds it.
pub(super) fn start_to_text(start: &Position) -> String {
    match start {
        Position::Oldest => "oldest".into(),
        Position::Latest => "latest".into(),
        Position::After(position) => format!("after {position}"),
    }
}

/// Reads what [`start_to_text`] wrote.
pub(super) fn start_from_text(text: &str) -> Option<Position> {
    match text {
        "oldest" => Some(Position::Oldest),
        "latest" => Some(Position::Latest),
        other => other.strip_prefix("after ").map(|position| Position::After(position.to_owned())),
    }
}

/// Writes to the item of one shard, by one reader.
#[derive(Debug, Clone)]
pub(super) struct LeaseWrites<'a> {
    pub(super) table: &'a Name,
    pub(super) key: Key,
    pub(super) owner: &'a str,
}

impl LeaseWrites<'_> {
    fn update(&self, update: Update, when: Condition) -> Write {
        Write::update(self.table.clone(), self.key.clone(), update).when(when)
    }

    fn is_ours(&self) -> Condition {
        attr(OWNER).eq(self.owner)
    }

    /// Makes the item, leased to us, unless there is one of this start already.
    pub(super) fn register(&self, start: &Position, generation: u64, until_ms: u64) -> Write {
        let item = keys::keyed(&self.key)
            .with(START, start_to_text(start))
            .with(GENERATION, generation)
            .with(OWNER, self.owner)
            .with(LEASE_UNTIL, until_ms);
        let item = match start {
            Position::After(position) => item.with(POSITION_ATTRIBUTE, position.as_str()),
            Position::Oldest | Position::Latest => item,
        };
        let none = attr(GENERATION).absent();
        Write::put(self.table.clone(), item).when(none.or(attr(GENERATION).lt(generation)))
    }

    /// Takes the lease if it is free: nobody's, ours or over.
    pub(super) fn acquire(&self, generation: u64, now_ms: u64, until_ms: u64) -> Write {
        let free = attr(OWNER).absent().or(self.is_ours()).or(attr(LEASE_UNTIL).le(now_ms));
        let open = attr(GENERATION).eq(generation).and(attr(ENDED).absent());
        let taken = set(OWNER, self.owner).set(LEASE_UNTIL, until_ms);
        self.update(taken, open.and(free))
    }

    /// Moves the position from `from` to `to` and extends the lease, if both are still ours.
    pub(super) fn advance(
        &self,
        from: &Position,
        to: &Position,
        ended: bool,
        until_ms: u64,
    ) -> Write {
        let mut update = set(LEASE_UNTIL, until_ms);
        if let Position::After(position) = to {
            update = update.set(POSITION_ATTRIBUTE, position.as_str());
        }
        if ended {
            update = update.set(ENDED, true);
        }
        // A position that was passed over a stretch in part would count the rest of it never.
        self.update(update, self.unmoved(from, None))
    }

    /// It is ours, and stands where we believe: at `from`, with just this stretch under way.
    fn unmoved(&self, from: &Position, marks: Option<&Marks>) -> Condition {
        let position = match from {
            Position::After(position) => attr(POSITION_ATTRIBUTE).eq(position.as_str()),
            Position::Oldest | Position::Latest => attr(POSITION_ATTRIBUTE).absent(),
        };
        let stretch = match marks {
            Some(Marks { until, through }) => {
                attr(UNTIL).eq(until.as_str()).and(attr(THROUGH).eq(through.as_str()))
            }
            None => attr(UNTIL).absent(),
        };
        self.is_ours().and(position).and(stretch)
    }

    /// Notes that the stretch from `from` is written as far as `to` says.
    pub(super) fn step(
        &self,
        from: &Position,
        marks: Option<&Marks>,
        to: &Marks,
        until_ms: u64,
    ) -> Write {
        let update = set(LEASE_UNTIL, until_ms)
            .set(UNTIL, to.until.as_str())
            .set(THROUGH, to.through.as_str());
        // What a power cut takes of it is written again; the last group, which moves the position, is made to last.
        self.update(update, self.unmoved(from, marks)).flushed()
    }

    /// Moves the position past a stretch, of which all is written.
    pub(super) fn finish(
        &self,
        from: &Position,
        marks: Option<&Marks>,
        until: &str,
        ended: bool,
        until_ms: u64,
    ) -> Write {
        let mut update = set(LEASE_UNTIL, until_ms).set(POSITION_ATTRIBUTE, until);
        if marks.is_some() {
            update = update.remove(UNTIL).remove(THROUGH);
        }
        if ended {
            update = update.set(ENDED, true);
        }
        self.update(update, self.unmoved(from, marks))
    }

    /// Extends the lease and nothing else, if it is ours.
    pub(super) fn renew(&self, until_ms: u64) -> Write {
        self.update(set(LEASE_UNTIL, until_ms), self.is_ours())
    }

    /// Gives the lease back.
    pub(super) fn release(&self) -> Write {
        self.update(remove(OWNER).remove(LEASE_UNTIL), self.is_ours())
    }

    /// Removes the item of a shard that was read to its end and is gone.
    pub(super) fn forget_ended(&self) -> Write {
        Write::delete(self.table.clone(), self.key.clone()).when(attr(ENDED).eq(true))
    }

    /// Removes the item of an older start.
    pub(super) fn forget_older(&self, generation: u64) -> Write {
        Write::delete(self.table.clone(), self.key.clone())
            .when(attr(GENERATION).lt(generation).or(attr(GENERATION).absent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_come_back() {
        for start in [Position::Oldest, Position::Latest, Position::After("7-1".into())] {
            assert_eq!(start_from_text(&start_to_text(&start)), Some(start));
        }
        assert_eq!(start_from_text("somewhere"), None);
    }

    #[test]
    fn a_lease_is_free_when_over_or_our_own() {
        let lease = |owner: Option<&str>| Lease {
            shard: "log".into(),
            generation: 1,
            position: Position::Oldest,
            owner: owner.map(str::to_owned),
            until_ms: 100,
            ended: false,
            marks: None,
        };
        assert!(lease(None).is_free_for("me", 0));
        assert!(lease(Some("me")).is_free_for("me", 0));
        assert!(!lease(Some("you")).is_free_for("me", 99));
        assert!(lease(Some("you")).is_free_for("me", 100));
    }
}
