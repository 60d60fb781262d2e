//! A stretch: a long part of a shard that is read chunk by chunk and written as one, though its writes need several
//! transactions.
//!
//! 1. [`Consumer::stretch`] finds a shard with changes, [`Consumer::read_on`] reads on in it for as long as the caller
//!    likes. The caller folds each chunk into a tally and drops it.
//! 2. [`Consumer::settle`] writes what the tally came to, in order of the items, group by group. Each group is one
//!    transaction with the shard's item, which says how far it was written; the last one moves the position.
//! 3. A stretch that was left in part is handed out again, to whoever reads the shard next: it is read from the same
//!    position to the same last change, so it comes to the same writes, of which those that were written are left out.
//!
//! So each change counts once, if what a caller writes depends on the changes alone.

use std::collections::BTreeSet;

use super::consumer::Consumer;
use super::lease::Marks;
use super::{Change, FeedPage, Position};
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::limits;

/// Reads in a row that may bring nothing before the end of a stretch. A DynamoDB stream has such, and remembers how far
/// it was read, so another try goes on there.
const EMPTY_READS_MAX: usize = 100;

/// A part of one shard.
#[derive(Debug)]
pub struct Stretch {
    pub(super) shard: String,
    /// The position in the table, which stays until all is written.
    pub(super) from: Position,
    /// Where reading goes on.
    pub(super) next: Position,
    /// What was read and not yet handed out, how many changes it tells, and the position of the last of them.
    pending: Vec<Change>,
    pending_read: usize,
    pending_last: Option<String>,
    /// The position of the last change that was handed out.
    last: Option<String>,
    /// How many changes were handed out.
    read: usize,
    /// How far it was written before.
    pub(super) marks: Option<Marks>,
    /// Whether nothing more belongs to it.
    is_whole: bool,
    /// Whether the shard ends with it.
    pub(super) ended: bool,
    /// Whether there was nothing after it when it was read.
    is_last: bool,
}

impl Stretch {
    fn new(shard: &str, from: &Position, next: &Position, marks: Option<&Marks>) -> Stretch {
        Stretch {
            shard: shard.to_owned(),
            from: from.clone(),
            next: next.clone(),
            pending: Vec::new(),
            pending_read: 0,
            pending_last: None,
            last: None,
            read: 0,
            marks: marks.cloned(),
            is_whole: false,
            ended: false,
            is_last: false,
        }
    }

    /// The shard it is of.
    #[must_use]
    pub fn shard(&self) -> &str {
        &self.shard
    }

    /// Whether more may be read: it was not left in part, and nothing has ended it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.is_left() && !self.is_whole
    }

    /// Whether there was nothing after it when it was read.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// How many changes were handed out of it, each of those that are told as one counted.
    #[must_use]
    pub fn read(&self) -> usize {
        self.read
    }

    /// Whether it was left in part. Then all of it is to be read, whatever bounds the caller has.
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.marks.is_some()
    }

    /// The position of its last change, of those that were handed out.
    pub(super) fn until(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Whether several changes may be told as one: not where a certain one is looked for.
    fn may_merge(&self) -> bool {
        !self.is_left() && matches!(self.from, Position::After(_))
    }

    /// Takes in what was read.
    fn take_in(&mut self, page: FeedPage) -> Result<()> {
        let FeedPage { mut changes, read, last, next, ended } = page;
        let found = changes.len();
        if let Some(marks) = &self.marks {
            let last = changes.iter().position(|change| change.position == marks.until);
            if last.is_none() && ended {
                return Err(Error::Trimmed);
            }
            self.is_whole = last.is_some();
            changes.truncate(last.map_or(changes.len(), |last| last + 1));
        } else if matches!(self.from, Position::After(_)) {
            self.ended = ended;
            self.is_last = ended || changes.is_empty();
            self.is_whole = self.is_last;
        } else {
            // "The oldest" and "from now on" are no places to come back to. So the first change is a stretch of its own,
            // and its position the place where the next one begins.
            changes.truncate(1);
            self.is_whole = true;
        }
        let is_cut = changes.len() < found;
        let last = if is_cut { changes.last().map(|last| last.position.clone()) } else { last };
        self.next = match &last {
            Some(last) if self.is_whole && !self.ended => Position::After(last.to_string()),
            _ => next,
        };
        self.pending_read = if is_cut { changes.len() } else { read };
        self.pending_last = last.map(String::from);
        self.pending = changes;
        Ok(())
    }

    fn hand_out(&mut self) -> Vec<Change> {
        if let Some(last) = self.pending_last.take() {
            self.last = Some(last);
        }
        self.read += std::mem::take(&mut self.pending_read);
        std::mem::take(&mut self.pending)
    }
}

impl<B: Backend> Consumer<B> {
    /// A stretch that was left in part, or else one that begins with the next changes of some shard, which are read `max`
    /// at a time; none when there is nothing new for us. Shards that were `passed` are left for later.
    ///
    /// # Errors
    /// [`Error::Trimmed`] when the feed no longer has them; otherwise the store fails.
    pub async fn stretch(
        &mut self,
        max: usize,
        passed: &BTreeSet<String>,
    ) -> Result<Option<Stretch>> {
        let now_ms = self.keep_leases().await?;
        for shard in self.turns().into_iter().filter(|shard| !passed.contains(shard)) {
            let Some(held) = self.held.get(&shard) else { continue };
            let marks = held.marks.as_ref();
            let mut stretch = Stretch::new(&shard, &held.stored, &held.reached, marks);
            self.last_read.clone_from(&shard);
            if stretch.is_left() {
                return Ok(Some(stretch));
            }
            let page = self.read_page(&stretch, max).await?;
            if !page.changes.is_empty() {
                stretch.take_in(page)?;
                return Ok(Some(stretch));
            }
            self.passed_nothing(&shard, page, now_ms).await?;
        }
        Ok(None)
    }

    /// The next changes of a stretch, at most `max` unless they are merged; none when it ends here. Whoever has enough just asks no more.
    ///
    /// # Errors
    /// [`Error::Trimmed`] when the feed no longer has them; otherwise the store fails.
    pub async fn read_on(&mut self, stretch: &mut Stretch, max: usize) -> Result<Vec<Change>> {
        for _ in 0..EMPTY_READS_MAX {
            if !stretch.pending.is_empty() || stretch.is_whole {
                return Ok(stretch.hand_out());
            }
            let page = self.read_page(stretch, max).await?;
            stretch.take_in(page)?;
        }
        let problem = format!("shard {}: the end of a stretch was not found", stretch.shard);
        Err(Error::backend("reading a stretch again", problem))
    }

    async fn read_page(&self, stretch: &Stretch, max: usize) -> Result<FeedPage> {
        match self.merge {
            Some(merge) if stretch.may_merge() => {
                self.store.feed_read_merged(&self.table, &stretch.shard, &stretch.next, merge).await
            }
            _ => {
                let max = max.clamp(1, limits::FEED_READ_MAX);
                self.store.feed_read(&self.table, &stretch.shard, &stretch.next, max).await
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

    fn begun(from: Position, until: Option<&str>) -> Stretch {
        let marks = until.map(|until| Marks { until: until.into(), through: "x".into() });
        Stretch::new("s", &from, &from, marks.as_ref())
    }

    #[test]
    fn a_stretch_that_was_left_ends_with_the_same_change() {
        let mut stretch = begun(after("1"), Some("4"));
        stretch.take_in(page(&["2", "3"], "3", false)).unwrap();
        assert_eq!((stretch.hand_out().len(), stretch.is_whole), (2, false));
        stretch.take_in(page(&[], "3", false)).unwrap();
        assert!(!stretch.is_whole, "an empty page is not the end");
        stretch.take_in(page(&["4", "5", "6"], "6", true)).unwrap();
        assert_eq!((stretch.hand_out().len(), stretch.is_whole, stretch.ended), (1, true, false));
        assert_eq!((stretch.until(), &stretch.next), (Some("4"), &after("4")));
    }

    #[test]
    fn a_shard_that_ends_before_a_stretch_that_was_left_was_trimmed() {
        let trimmed = begun(after("1"), Some("4")).take_in(page(&["2"], "2", true));
        assert!(matches!(trimmed, Err(Error::Trimmed)));
    }

    #[test]
    fn the_first_change_of_all_is_a_stretch_of_its_own() {
        for from in [Position::Oldest, Position::Latest] {
            let mut stretch = begun(from, None);
            stretch.take_in(page(&["1", "2"], "2", true)).unwrap();
            assert_eq!((stretch.hand_out().len(), stretch.is_whole), (1, true));
            assert_eq!((stretch.ended, &stretch.next), (false, &after("1")));
        }
    }

    #[test]
    fn a_stretch_ends_with_its_shard() {
        let mut stretch = begun(after("1"), None);
        stretch.take_in(page(&["2"], "2", true)).unwrap();
        assert!(stretch.is_last() && stretch.ended && !stretch.is_open());
    }
}
