//! A feed window: a long part of a shard that is read page by page and committed as one, though its writes may need
//! several transactions.
//!
//! 1. [`Consumer::next_window`] finds a shard with changes. [`Consumer::read`] returns more of them for as long as the
//!    caller wants. The caller folds each page into an accumulator and drops it.
//! 2. [`Consumer::commit`] writes the result in the order of item keys, in groups. Each group is one transaction with the
//!    shard's item, which records how far the window is written; the last group moves the position.
//! 3. A partly committed window is resumed by whoever reads the shard next: from the same position to the same last change.
//!    It yields the same writes, and those already written are skipped.
//!
//! So each change counts once, if a caller's writes depend on the changes alone.

use std::collections::BTreeSet;

use super::consumer::Consumer;
use super::lease::Checkpoint;
use super::{Change, FeedPage, Position};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::limits;

/// Empty reads in a row before the end of a window counts as missing. A DynamoDB stream returns empty pages and remembers
/// how far it was read, so the next attempt continues there.
const EMPTY_READS_MAX: usize = 100;

/// A part of one shard that is committed as one.
#[derive(Debug)]
pub struct FeedWindow {
    pub(super) shard: String,
    /// The position in the table, which stays until the whole window is committed.
    pub(super) from: Position,
    /// The position to read next.
    pub(super) next: Position,
    /// The page that was read and not yet returned: its changes, how many were merged into them, and the last position.
    pending: Vec<Change>,
    pending_read: usize,
    pending_last: Option<String>,
    /// The position of the last change that was returned.
    last: Option<String>,
    /// How many changes were returned.
    read: usize,
    /// How far an earlier attempt committed it.
    pub(super) checkpoint: Option<Checkpoint>,
    /// Whether all of its changes were read.
    is_complete: bool,
    /// Whether the shard ends with it.
    pub(super) ended: bool,
    reaches_end: bool,
}

impl FeedWindow {
    fn new(
        shard: &str,
        from: &Position,
        next: &Position,
        checkpoint: Option<&Checkpoint>,
    ) -> FeedWindow {
        FeedWindow {
            shard: shard.to_owned(),
            from: from.clone(),
            next: next.clone(),
            pending: Vec::new(),
            pending_read: 0,
            pending_last: None,
            last: None,
            read: 0,
            checkpoint: checkpoint.cloned(),
            is_complete: false,
            ended: false,
            reaches_end: false,
        }
    }

    /// The shard's id.
    #[must_use]
    pub fn shard(&self) -> &str {
        &self.shard
    }

    /// Whether the caller chooses where it ends: it is not resumed, and nothing has ended it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.is_resumed() && !self.is_complete
    }

    /// Whether the shard had nothing after it when it was read.
    #[must_use]
    pub fn reaches_end(&self) -> bool {
        self.reaches_end
    }

    /// How many changes were returned; merged ones count one by one.
    #[must_use]
    pub fn changes_read(&self) -> usize {
        self.read
    }

    /// Whether an earlier attempt committed part of it. All of it must be read then, whatever bounds the caller has.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.checkpoint.is_some()
    }

    /// The position of the last change that was returned.
    pub(super) fn until(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Changes must not be merged where the window's end is a certain change.
    fn may_merge(&self) -> bool {
        !self.is_resumed() && matches!(self.from, Position::After(_))
    }

    fn add_page(&mut self, page: FeedPage) -> Result<()> {
        let FeedPage { mut changes, read, last, next, ended } = page;
        let found = changes.len();
        if let Some(checkpoint) = &self.checkpoint {
            let last = changes.iter().position(|change| change.position == checkpoint.until);
            if last.is_none() && ended {
                return Err(Error::Trimmed);
            }
            self.is_complete = last.is_some();
            changes.truncate(last.map_or(changes.len(), |last| last + 1));
        } else if matches!(self.from, Position::After(_)) {
            self.ended = ended;
            self.reaches_end = ended || changes.is_empty();
            self.is_complete = self.reaches_end;
        } else {
            // `Oldest` and `Latest` cannot be returned to. So the first change is a window of its own, and the next window
            // begins at its position.
            changes.truncate(1);
            self.is_complete = true;
        }
        let is_cut = changes.len() < found;
        let last = if is_cut { changes.last().map(|last| last.position.clone()) } else { last };
        self.next = match &last {
            Some(last) if self.is_complete && !self.ended => Position::After(last.to_string()),
            _ => next,
        };
        self.pending_read = if is_cut { changes.len() } else { read };
        self.pending_last = last.map(String::from);
        self.pending = changes;
        Ok(())
    }

    fn take_page(&mut self) -> Vec<Change> {
        if let Some(last) = self.pending_last.take() {
            self.last = Some(last);
        }
        self.read += std::mem::take(&mut self.pending_read);
        std::mem::take(&mut self.pending)
    }
}

impl<B: Backend> Consumer<B> {
    /// A partly committed window, or else one that begins with the next changes of some shard; `None` when this instance
    /// has nothing new to read. Pages have at most `max` changes. Shards in `skip` are left out.
    ///
    /// # Errors
    /// [`Error::Trimmed`] when the feed no longer has the changes; otherwise the store fails.
    pub async fn next_window(
        &mut self,
        max: usize,
        skip: &BTreeSet<String>,
    ) -> Result<Option<FeedWindow>> {
        let now_ms = self.maintain_leases().await?;
        for shard in self.round_robin().into_iter().filter(|shard| !skip.contains(shard)) {
            let Some(held) = self.held.get(&shard) else { continue };
            let checkpoint = held.checkpoint.as_ref();
            let mut window = FeedWindow::new(&shard, &held.stored, &held.reached, checkpoint);
            self.last_read.clone_from(&shard);
            if window.is_resumed() {
                return Ok(Some(window));
            }
            let page = self.read_page(&window, max).await?;
            if !page.changes.is_empty() {
                window.add_page(page)?;
                return Ok(Some(window));
            }
            self.skip_empty(&shard, page, now_ms).await?;
        }
        Ok(None)
    }

    /// The window's next changes, at most `max` unless they are merged; none when it ends here. A caller that has enough
    /// stops reading.
    ///
    /// # Errors
    /// [`Error::Trimmed`] when the feed no longer has the changes; otherwise the store fails.
    pub async fn read(&mut self, window: &mut FeedWindow, max: usize) -> Result<Vec<Change>> {
        for _ in 0..EMPTY_READS_MAX {
            if !window.pending.is_empty() || window.is_complete {
                return Ok(window.take_page());
            }
            let page = self.read_page(window, max).await?;
            window.add_page(page)?;
        }
        let problem = format!("shard {}: the last change was not found", window.shard);
        Err(Error::backend("resuming a feed window", problem))
    }

    async fn read_page(&self, window: &FeedWindow, max: usize) -> Result<FeedPage> {
        match self.merge {
            Some(merge) if window.may_merge() => {
                self.store.feed_read_merged(&self.table, &window.shard, &window.next, merge).await
            }
            _ => {
                let max = max.clamp(1, limits::FEED_READ_MAX);
                self.store.feed_read(&self.table, &window.shard, &window.next, max).await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    fn page(positions: &[&str], next: &str, ended: bool) -> FeedPage {
        let change = |position: &&str| Change {
            table: "t".into(),
            key: Key::partition("a"),
            old: None,
            new: None,
            at_ms: 0,
            expired: false,
            position: (*position).into(),
            merged: None,
        };
        let changes = positions.iter().map(change).collect();
        FeedPage::new(changes, Position::After(next.into()), ended)
    }

    fn after(position: &str) -> Position {
        Position::After(position.into())
    }

    fn window(from: Position, until: Option<&str>) -> FeedWindow {
        let checkpoint = until.map(|until| Checkpoint { until: until.into(), through: "x".into() });
        FeedWindow::new("s", &from, &from, checkpoint.as_ref())
    }

    #[test]
    fn a_resumed_window_ends_with_the_same_change() {
        let mut window = window(after("1"), Some("4"));
        window.add_page(page(&["2", "3"], "3", false)).unwrap();
        assert_eq!((window.take_page().len(), window.is_complete), (2, false));
        window.add_page(page(&[], "3", false)).unwrap();
        assert!(!window.is_complete, "an empty page is not the end");
        window.add_page(page(&["4", "5", "6"], "6", true)).unwrap();
        assert_eq!((window.take_page().len(), window.is_complete, window.ended), (1, true, false));
        assert_eq!((window.until(), &window.next), (Some("4"), &after("4")));
    }

    #[test]
    fn a_shard_that_ends_before_a_resumed_window_was_trimmed() {
        let trimmed = window(after("1"), Some("4")).add_page(page(&["2"], "2", true));
        assert!(matches!(trimmed, Err(Error::Trimmed)));
    }

    #[test]
    fn the_first_change_of_a_consumer_is_a_window_of_its_own() {
        for from in [Position::Oldest, Position::Latest] {
            let mut window = window(from, None);
            window.add_page(page(&["1", "2"], "2", true)).unwrap();
            assert_eq!((window.take_page().len(), window.is_complete), (1, true));
            assert_eq!((window.ended, &window.next), (false, &after("1")));
        }
    }

    #[test]
    fn a_window_ends_with_its_shard() {
        let mut window = window(after("1"), None);
        window.add_page(page(&["2"], "2", true)).unwrap();
        assert!(window.reaches_end() && window.ended && !window.is_open());
    }
}
