//! Writes what a stretch came to: sorted by item, in groups, each group in one transaction with the shard's item.
//!
//! The shard's item says the position, the last change of the stretch (`until`) and the last item written (`through`). A
//! group is written only if all three are what its writer believes, and moves them; so of two writers of one group one is
//! refused, and a group whose answer was lost is found written.

use serde::{Deserialize, Serialize};

use super::Position;
use super::consumer::Consumer;
use super::lease::Marks;
use super::stretch::Stretch;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::limits::TRANSACT_MAX;
use crate::request::{Action, Transacted, Transaction, Verdict, Write};
use crate::value::Name;

/// Writes of one group; the shard's item is one more.
const GROUP_MAX: usize = TRANSACT_MAX - 1;
/// Tries to write a group when another transaction is at the same items.
const CONFLICT_TRIES: u32 = 8;
/// How long to wait after the first conflict; it grows by as much with each.
const CONFLICT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// An item that a stretch writes. Their order is that of the writes; it is kept in `through` and must not change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spot {
    table: Name,
    key: Key,
}

impl Spot {
    fn to_text(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|source| Error::backend("noting an item", source))
    }

    fn parse(text: &str) -> Result<Spot> {
        serde_json::from_str(text)
            .map_err(|source| Error::backend("reading how far a stretch was written", source))
    }
}

/// What one transaction came to.
enum Step {
    Written,
    /// Another instance has moved the shard's item.
    Lost,
    /// It is too much for a transaction.
    TooMuch(Error),
}

impl<B: Backend> Consumer<B> {
    /// Writes what the changes of `stretch` came to, and moves the position past them. The writes name no item twice and
    /// have no conditions; which they are must depend on the changes alone, because after a crash they are made
    /// again, and those that were written are left out.
    ///
    /// Returns false when another instance has taken the shard over: then its work counts, and what was written here is
    /// part of it.
    ///
    /// # Errors
    /// A write is not allowed, or the store fails; the stretch then comes again, unless all of it was written.
    pub async fn settle(&mut self, stretch: Stretch, writes: Vec<Write>) -> Result<bool> {
        let Some(until) = stretch.until().map(str::to_owned) else { return Ok(true) };
        let mut rest = self.in_order(writes).await?;
        if let Some(marks) = &stretch.marks {
            let through = Spot::parse(&marks.through)?;
            rest.drain(..rest.partition_point(|(spot, _)| *spot <= through));
        }
        let settled = self.write_groups(&stretch, &until, &rest).await;
        match settled {
            Ok(true) => self.settled(&stretch, &until),
            // What the shard's item says now, only the item can tell.
            Ok(false) | Err(_) => self.lose(&stretch.shard),
        }
        settled
    }

    async fn write_groups(
        &self,
        stretch: &Stretch,
        until: &str,
        mut rest: &[(Spot, Write)],
    ) -> Result<bool> {
        let mut marks = stretch.marks.clone();
        let mut group_max = GROUP_MAX;
        loop {
            let (group, after) = rest.split_at(rest.len().min(group_max));
            let writes = self.writes(&stretch.shard);
            let until_ms = self.clock.now_ms() + self.lease_ms;
            let (from, was) = (&stretch.from, marks.as_ref());
            let (checkpoint, now) = match group.last().filter(|_| !after.is_empty()) {
                None => (writes.finish(from, was, until, stretch.ended, until_ms), None),
                Some((spot, _)) => {
                    check_place(from)?;
                    let to = Marks { until: until.to_owned(), through: spot.to_text()? };
                    (writes.step(from, was, &to, until_ms), Some(to))
                }
            };
            match self.write_group(group, checkpoint).await? {
                Step::Written if now.is_none() => return Ok(true),
                Step::Written => (marks, rest) = (now, after),
                Step::Lost => return Ok(false),
                Step::TooMuch(error) if group.len() <= 1 => return Err(error),
                Step::TooMuch(_) => group_max = group.len() / 2,
            }
        }
    }

    async fn write_group(&self, group: &[(Spot, Write)], checkpoint: Write) -> Result<Step> {
        for attempt in 1..=CONFLICT_TRIES {
            let writes = group.iter().map(|(_, write)| write.clone());
            let all = Transaction::new(writes.chain([checkpoint.clone()]));
            match self.store.transact(all).await {
                Ok(Transacted::Applied) => return Ok(Step::Written),
                // The shard's item is the last, and the only one with a condition.
                Ok(Transacted::Refused(verdicts))
                    if matches!(verdicts.last(), Some(Verdict::Failed(_))) =>
                {
                    return Ok(Step::Lost);
                }
                Ok(Transacted::Refused(_)) | Err(Error::Conflict) => {}
                Err(error) if error.is_invalid() => return Ok(Step::TooMuch(error)),
                Err(error) => return Err(error),
            }
            tokio::time::sleep(CONFLICT_PAUSE * attempt).await;
        }
        Err(Error::Conflict)
    }

    /// The writes in order of their items.
    async fn in_order(&self, writes: Vec<Write>) -> Result<Vec<(Spot, Write)>> {
        let mut all = Vec::with_capacity(writes.len());
        for write in writes {
            all.push((self.spot(&write).await?, write));
        }
        all.sort_by(|(one, _), (two, _)| one.cmp(two));
        let twice = all.windows(2).find_map(|pair| match pair {
            [(one, _), (two, _)] if one == two => Some(one),
            _ => None,
        });
        match twice {
            Some(spot) => {
                let problem = format!("name the item {} of {:?} twice", spot.key, spot.table);
                Err(Error::invalid("writes", problem))
            }
            None => Ok(all),
        }
    }

    async fn spot(&self, write: &Write) -> Result<Spot> {
        let key = match &write.action {
            Action::Update(key, _) | Action::Delete(key) if write.condition.is_none() => {
                key.clone()
            }
            Action::Put(item) if write.condition.is_none() => {
                self.store.spec(&write.table).await?.key_of(item)?
            }
            _ => {
                let problem = "the writes of a stretch have none: they could not be decided again";
                return Err(Error::invalid("condition", problem));
            }
        };
        Ok(Spot { table: write.table.clone(), key })
    }

    /// Notes that the position was moved past a stretch.
    fn settled(&mut self, stretch: &Stretch, until: &str) {
        if stretch.ended {
            self.lose(&stretch.shard);
            return;
        }
        let until_ms = self.clock.now_ms() + self.lease_ms;
        match self.held.get_mut(&stretch.shard) {
            Some(held) if held.stored == stretch.from => {
                held.stored = Position::After(until.to_owned());
                held.reached = stretch.next.clone();
                held.until_ms = until_ms;
                held.marks = None;
            }
            _ => self.lose(&stretch.shard),
        }
    }
}

/// A stretch can be come back to only if it begins at a place in the shard.
fn check_place(from: &Position) -> Result<()> {
    match from {
        Position::After(_) => Ok(()),
        Position::Oldest | Position::Latest => {
            let problem = "of the first change are more than a transaction takes";
            Err(Error::invalid("writes", problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(table: &str, key: Key) -> Spot {
        Spot { table: table.into(), key }
    }

    #[test]
    fn the_text_of_an_item_is_kept_and_read_back() {
        let one = spot("t", Key::new("a", 5));
        assert_eq!(
            one.to_text().unwrap(),
            r#"{"table":"t","key":{"partition":{"S":"a"},"sort":{"N":"5"}}}"#
        );
        for spot in
            [one, spot("t", Key::partition(vec![0u8, 255])), spot("u", Key::new("ä\n", "z"))]
        {
            assert_eq!(Spot::parse(&spot.to_text().unwrap()).unwrap(), spot);
        }
        assert!(Spot::parse("{}").is_err());
    }

    #[test]
    fn items_are_ordered_by_table_then_key() {
        let spots = [
            spot("a", Key::new("z", 1)),
            spot("b", Key::new("a", 9)),
            spot("b", Key::new("a", 10)),
            spot("b", Key::new("aa", 1)),
        ];
        assert!(spots.is_sorted());
    }
}
