//! Commits a window: its writes, sorted by item, in groups, each group in one transaction with the shard's item.
//!
//! The shard's item records the position, the window's last change (`until`) and the last item written (`through`). A group
//! is written on condition that all three are unchanged, and moves them. So of two writers of one group one is refused,
//! and a group whose response was lost is found written.

use serde::{Deserialize, Serialize};

use super::Position;
use super::consumer::Consumer;
use super::lease::Checkpoint;
use super::window::FeedWindow;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::limits::TRANSACT_MAX;
use crate::request::{Action, Transacted, Transaction, Verdict, Write};
use crate::value::Name;

/// Writes of one group; the shard's item is one more.
const GROUP_MAX: usize = TRANSACT_MAX - 1;
/// Attempts to write a group while another transaction touches the same items.
const CONFLICT_TRIES: u32 = 8;
/// The pause after the first conflict; it grows by as much with each.
const CONFLICT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// An item that a window writes. Its order is the order of the writes. The text is stored in `through` and must not change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemRef {
    table: Name,
    key: Key,
}

impl ItemRef {
    fn to_text(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|source| Error::backend("encoding a feed checkpoint", source))
    }

    fn parse(text: &str) -> Result<ItemRef> {
        serde_json::from_str(text)
            .map_err(|source| Error::backend("reading a feed checkpoint", source))
    }
}

/// The outcome of one group's transaction.
enum GroupOutcome {
    Written,
    /// Another instance has moved the shard's item.
    Lost,
    /// The group exceeds what a transaction may hold.
    TooLarge(Error),
}

impl<B: Backend> Consumer<B> {
    /// Writes what the window's changes came to, and moves the position past them. No two writes name the same item, and
    /// none has a condition. The writes must depend on the changes alone: after a crash they are computed again, and
    /// those already written are skipped.
    ///
    /// Returns false when another instance has taken the shard over. It continues from what was written here.
    ///
    /// # Errors
    /// A write is not allowed, or the store fails; the window is then returned again, unless all of it was written.
    pub async fn commit(&mut self, window: FeedWindow, writes: Vec<Write>) -> Result<bool> {
        let Some(until) = window.until().map(str::to_owned) else { return Ok(true) };
        let mut rest = self.in_order(writes).await?;
        if let Some(checkpoint) = &window.checkpoint {
            let through = ItemRef::parse(&checkpoint.through)?;
            rest.drain(..rest.partition_point(|(item, _)| *item <= through));
        }
        let committed = self.write_groups(&window, &until, &rest).await;
        match committed {
            Ok(true) => self.moved_past(&window, &until),
            // The next call reads the shard's item to learn its state.
            Ok(false) | Err(_) => self.forget(&window.shard),
        }
        committed
    }

    async fn write_groups(
        &self,
        window: &FeedWindow,
        until: &str,
        mut rest: &[(ItemRef, Write)],
    ) -> Result<bool> {
        let mut checkpoint = window.checkpoint.clone();
        let mut group_max = GROUP_MAX;
        loop {
            let (group, after) = rest.split_at(rest.len().min(group_max));
            let writes = self.writes(&window.shard);
            let until_ms = self.clock.now_ms() + self.lease_ms;
            let (from, was) = (&window.from, checkpoint.as_ref());
            let (write, now) = match group.last().filter(|_| !after.is_empty()) {
                None => (writes.finish(from, was, until, window.ended, until_ms), None),
                Some((item, _)) => {
                    check_resumable(from)?;
                    let to = Checkpoint { until: until.to_owned(), through: item.to_text()? };
                    (writes.checkpoint(from, was, &to, until_ms), Some(to))
                }
            };
            match self.write_group(group, write).await? {
                GroupOutcome::Written if now.is_none() => return Ok(true),
                GroupOutcome::Written => (checkpoint, rest) = (now, after),
                GroupOutcome::Lost => return Ok(false),
                GroupOutcome::TooLarge(error) if group.len() <= 1 => return Err(error),
                GroupOutcome::TooLarge(_) => group_max = group.len() / 2,
            }
        }
    }

    async fn write_group(
        &self,
        group: &[(ItemRef, Write)],
        checkpoint: Write,
    ) -> Result<GroupOutcome> {
        for attempt in 1..=CONFLICT_TRIES {
            let writes = group.iter().map(|(_, write)| write.clone());
            let all = Transaction::new(writes.chain([checkpoint.clone()]));
            match self.store.transact(all).await {
                Ok(Transacted::Applied) => return Ok(GroupOutcome::Written),
                // The shard's item is the last, and the only one with a condition.
                Ok(Transacted::Refused(verdicts))
                    if matches!(verdicts.last(), Some(Verdict::Failed(_))) =>
                {
                    return Ok(GroupOutcome::Lost);
                }
                Ok(Transacted::Refused(_)) | Err(Error::Conflict) => {}
                Err(error) if error.is_invalid() => return Ok(GroupOutcome::TooLarge(error)),
                Err(error) => return Err(error),
            }
            tokio::time::sleep(CONFLICT_PAUSE * attempt).await;
        }
        Err(Error::Conflict)
    }

    /// Sorts the writes by item, and refuses two of one item.
    async fn in_order(&self, writes: Vec<Write>) -> Result<Vec<(ItemRef, Write)>> {
        let mut all = Vec::with_capacity(writes.len());
        for write in writes {
            all.push((self.item_of(&write).await?, write));
        }
        all.sort_by(|(one, _), (two, _)| one.cmp(two));
        let twice = all.windows(2).find_map(|pair| match pair {
            [(one, _), (two, _)] if one == two => Some(one),
            _ => None,
        });
        match twice {
            Some(item) => {
                let problem = format!("two writes of the item {} in {:?}", item.key, item.table);
                Err(Error::invalid("writes", problem))
            }
            None => Ok(all),
        }
    }

    async fn item_of(&self, write: &Write) -> Result<ItemRef> {
        let key = match &write.action {
            Action::Update(key, _) | Action::Delete(key) if write.condition.is_none() => {
                key.clone()
            }
            Action::Put(item) if write.condition.is_none() => {
                self.store.spec(&write.table).await?.key_of(item)?
            }
            _ => {
                let problem = "the writes of a feed window must have no condition";
                return Err(Error::invalid("condition", problem));
            }
        };
        Ok(ItemRef { table: write.table.clone(), key })
    }

    /// Records that the position was moved past a window.
    fn moved_past(&mut self, window: &FeedWindow, until: &str) {
        if window.ended {
            self.forget(&window.shard);
            return;
        }
        let until_ms = self.clock.now_ms() + self.lease_ms;
        match self.held.get_mut(&window.shard) {
            Some(held) if held.stored == window.from => {
                held.stored = Position::After(until.to_owned());
                held.reached = window.next.clone();
                held.until_ms = until_ms;
                held.checkpoint = None;
            }
            _ => self.forget(&window.shard),
        }
    }
}

/// A window can be resumed only if it begins at a known position.
fn check_resumable(from: &Position) -> Result<()> {
    match from {
        Position::After(_) => Ok(()),
        Position::Oldest | Position::Latest => {
            let problem = "the writes of a consumer's first change exceed one transaction";
            Err(Error::invalid("writes", problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(table: &str, key: Key) -> ItemRef {
        ItemRef { table: table.into(), key }
    }

    #[test]
    fn item_texts_round_trip() {
        let one = item("t", Key::new("a", 5));
        assert_eq!(
            one.to_text().unwrap(),
            r#"{"table":"t","key":{"partition":{"S":"a"},"sort":{"N":"5"}}}"#
        );
        for item in
            [one, item("t", Key::partition(vec![0u8, 255])), item("u", Key::new("ä\n", "z"))]
        {
            assert_eq!(ItemRef::parse(&item.to_text().unwrap()).unwrap(), item);
        }
        assert!(ItemRef::parse("{}").is_err());
    }

    #[test]
    fn items_are_ordered_by_table_then_key() {
        let items = [
            item("a", Key::new("z", 1)),
            item("b", Key::new("a", 9)),
            item("b", Key::new("a", 10)),
            item("b", Key::new("aa", 1)),
        ];
        assert!(items.is_sorted());
    }
}
