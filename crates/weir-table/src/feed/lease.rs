//! A consumer's item for one shard: its position, its lease, and the checkpoint of a partly committed window.
//!
//! | attribute | value |
//! |---|---|
//! | `position` | where to read next; absent until something was read |
//! | `start` | where reading begins while there is no position |
//! | `generation` | the consumer's start that the item belongs to; a restart voids items of older ones |
//! | `owner` | the instance that reads the shard |
//! | `lease_until_ms` | when its lease expires, or when it was given back |
//! | `ended` | whether the shard has been read to its end |
//! | `until` | checkpoint: the window's last change |
//! | `through` | checkpoint: the last item that the window has written |

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
/// How far clocks of instances differ. A lease that ends later than one taken now could was taken by a wrong clock, and
/// would hold up all others until then.
const CLOCKS_DIFFER_MS: u64 = 60_000;
const ENDED: &str = "ended";
const UNTIL: &str = "until";
const THROUGH: &str = "through";

/// The item of a shard, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) shard: String,
    pub(super) generation: u64,
    /// The position to read next.
    pub(super) position: Position,
    pub(super) owner: Option<String>,
    pub(super) until_ms: u64,
    pub(super) ended: bool,
    /// The partly committed window.
    pub(super) checkpoint: Option<Checkpoint>,
}

/// How far a window is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The position of the window's last change.
    pub(super) until: String,
    /// The last item that was written, as text of the `commit` module.
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
            checkpoint: match (item.s(UNTIL), item.s(THROUGH)) {
                (Some(until), Some(through)) => {
                    Some(Checkpoint { until: until.to_owned(), through: through.to_owned() })
                }
                (None, None) => None,
                _ => return Err(damaged("complete checkpoint")),
            },
        })
    }

    /// Whether `owner`, who leases for `lease_ms`, may read the shard at `now_ms`.
    pub(super) fn is_free_for(&self, owner: &str, lease_ms: u64, now_ms: u64) -> bool {
        match &self.owner {
            Some(other) => {
                let is_over = self.until_ms <= now_ms || self.until_ms > latest(lease_ms, now_ms);
                other == owner || is_over
            }
            None => true,
        }
    }
}

/// When the shard of an item was leased last, or a little later.
#[cfg(feature = "embedded")]
pub(crate) fn seen_ms(item: &Item) -> Option<u64> {
    item.i64(LEASE_UNTIL).and_then(|ms| u64::try_from(ms).ok())
}

/// The latest end of a lease that is taken by a right clock.
fn latest(lease_ms: u64, now_ms: u64) -> u64 {
    now_ms.saturating_add(lease_ms).saturating_add(CLOCKS_DIFFER_MS)
}

/// The text of a start, as stored.
pub(super) fn start_to_text(start: &Position) -> String {
    match start {
        Position::Oldest => "oldest".into(),
        Position::Latest => "latest".into(),
        Position::After(position) => format!("after {position}"),
    }
}

/// Parses the text of [`start_to_text`].
pub(super) fn start_from_text(text: &str) -> Option<Position> {
    match text {
        "oldest" => Some(Position::Oldest),
        "latest" => Some(Position::Latest),
        other => other.strip_prefix("after ").map(|position| Position::After(position.to_owned())),
    }
}

/// Builds the writes of one owner to the item of one shard.
#[derive(Debug, Clone)]
pub(super) struct LeaseWrites<'a> {
    pub(super) table: &'a Name,
    pub(super) key: Key,
    pub(super) owner: &'a str,
}

impl LeaseWrites<'_> {
    /// Positions are essential: the log of a full disk is trimmed as far as its consumers have read.
    fn update(&self, update: Update, when: Condition) -> Write {
        Write::update(self.table.clone(), self.key.clone(), update).when(when).essential()
    }

    fn is_ours(&self) -> Condition {
        attr(OWNER).eq(self.owner)
    }

    /// Creates the item, leased to the owner, unless this start has one already.
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
        let is_new = none.or(attr(GENERATION).lt(generation));
        Write::put(self.table.clone(), item).when(is_new).essential()
    }

    /// Takes the lease for `lease_ms` if it is free: unowned, the owner's own, expired, or taken by a wrong clock.
    pub(super) fn acquire(&self, generation: u64, lease_ms: u64, now_ms: u64) -> Write {
        let is_over =
            attr(LEASE_UNTIL).le(now_ms).or(attr(LEASE_UNTIL).gt(latest(lease_ms, now_ms)));
        let free = attr(OWNER).absent().or(self.is_ours()).or(is_over);
        let open = attr(GENERATION).eq(generation).and(attr(ENDED).absent());
        let taken = set(OWNER, self.owner).set(LEASE_UNTIL, now_ms.saturating_add(lease_ms));
        self.update(taken, open.and(free))
    }

    /// Moves the position from `from` to `to` and extends the lease, if the owner still has the lease and no window is
    /// partly committed.
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
        self.update(update, self.unmoved(from, None))
    }

    /// The owner has the lease, and both position and checkpoint are as expected.
    fn unmoved(&self, from: &Position, checkpoint: Option<&Checkpoint>) -> Condition {
        let position = match from {
            Position::After(position) => attr(POSITION_ATTRIBUTE).eq(position.as_str()),
            Position::Oldest | Position::Latest => attr(POSITION_ATTRIBUTE).absent(),
        };
        let progress = match checkpoint {
            Some(Checkpoint { until, through }) => {
                attr(UNTIL).eq(until.as_str()).and(attr(THROUGH).eq(through.as_str()))
            }
            None => attr(UNTIL).absent(),
        };
        self.is_ours().and(position).and(progress)
    }

    /// Records that the window that begins at `from` is written as far as `to`.
    pub(super) fn checkpoint(
        &self,
        from: &Position,
        was: Option<&Checkpoint>,
        to: &Checkpoint,
        until_ms: u64,
    ) -> Write {
        let update = set(LEASE_UNTIL, until_ms)
            .set(UNTIL, to.until.as_str())
            .set(THROUGH, to.through.as_str());
        // A group lost in a power cut is written again; only the last one, which moves the position, is synced.
        self.update(update, self.unmoved(from, was)).flushed()
    }

    /// Moves the position past a window that is written completely.
    pub(super) fn finish(
        &self,
        from: &Position,
        was: Option<&Checkpoint>,
        until: &str,
        ended: bool,
        until_ms: u64,
    ) -> Write {
        let mut update = set(LEASE_UNTIL, until_ms).set(POSITION_ATTRIBUTE, until);
        if was.is_some() {
            update = update.remove(UNTIL).remove(THROUGH);
        }
        if ended {
            update = update.set(ENDED, true);
        }
        self.update(update, self.unmoved(from, was))
    }

    /// Extends the lease and leaves the position alone.
    pub(super) fn renew(&self, until_ms: u64) -> Write {
        self.update(set(LEASE_UNTIL, until_ms), self.is_ours())
    }

    /// Gives the lease back.
    pub(super) fn release(&self, now_ms: u64) -> Write {
        self.update(remove(OWNER).set(LEASE_UNTIL, now_ms), self.is_ours())
    }

    /// Deletes the item of a shard that was read to its end and is no longer listed.
    pub(super) fn forget_ended(&self) -> Write {
        Write::delete(self.table.clone(), self.key.clone()).when(attr(ENDED).eq(true))
    }

    /// Deletes the item if it belongs to an older start.
    pub(super) fn forget_older(&self, generation: u64) -> Write {
        Write::delete(self.table.clone(), self.key.clone())
            .when(attr(GENERATION).lt(generation).or(attr(GENERATION).absent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_texts_round_trip() {
        for start in [Position::Oldest, Position::Latest, Position::After("7-1".into())] {
            assert_eq!(start_from_text(&start_to_text(&start)), Some(start));
        }
        assert_eq!(start_from_text("somewhere"), None);
    }

    #[test]
    fn a_lease_is_free_when_expired_or_owned_by_the_caller() {
        let lease = |owner: Option<&str>| Lease {
            shard: "log".into(),
            generation: 1,
            position: Position::Oldest,
            owner: owner.map(str::to_owned),
            until_ms: 200_000,
            ended: false,
            checkpoint: None,
        };
        let is_free = |of: Option<&str>, now_ms| lease(of).is_free_for("me", 30_000, now_ms);
        assert!(is_free(None, 200_000) && is_free(Some("me"), 200_000));
        assert!(!is_free(Some("you"), 199_999) && is_free(Some("you"), 200_000));
        assert!(!is_free(Some("you"), 110_000));
        assert!(is_free(Some("you"), 109_999), "a clock that was ahead holds up nobody");
    }
}
