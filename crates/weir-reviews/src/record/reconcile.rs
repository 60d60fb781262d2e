//! Brings what is stored of a review to what is wanted, in as few transactions as possible.
//!
//! The items in the review's partition are compared with the wanted ones; only the differences are written. So the same
//! function writes a new review, continues after a failure, replaces a review, and adds a consensus. A response and its
//! cost metric are always written together; so the partition tells which cost metrics exist.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::limits::TRANSACT_MAX;
use weir_table::{Backend, Item, Name, Query, Write};

use super::{assemble, units_of};
use crate::bounds::{REVIEW_PAGES_MAX, TRANSACTION_BYTES_MAX};
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::items::{Fence, ItemContext, Lookup, State, cost_key_of};
use crate::keys::{self, ReviewRef};
use crate::review::{RecordedFinding, RecordedReview, ReviewStatus};
use crate::reviews::Reviews;

/// Writes that belong together.
pub(crate) type Unit = Vec<Write>;

impl<B: Backend> Reviews<B> {
    /// Everything in the partition of a review.
    pub(crate) async fn children(&self, review: &ReviewRef) -> Result<Vec<Item>> {
        let partition = keys::review_partition(review);
        let mut query = Query::partition(self.table().clone(), partition);
        let mut items = Vec::new();
        for _ in 0..REVIEW_PAGES_MAX {
            let page = self.store().query(&query).await?;
            items.extend(page.items);
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(items),
            }
        }
        Err(Error::damaged(format!("review {:?}", review.id.as_str()), "it has too many items"))
    }

    /// Ends a revision: writes what differs from `existing`, removes raw outputs of older revisions, and shows the review to
    /// readers. Returns false when another writer has ended the revision or taken it over.
    pub(super) async fn end_revision(
        &self,
        lookup: &Lookup,
        context: &ItemContext,
        recorded: &mut RecordedReview,
        existing: &[Item],
    ) -> Result<bool> {
        let findings = existing.iter().filter(|item| is_finding(item));
        let before = findings.map(RecordedFinding::decode).collect::<Result<Vec<_>>>()?;
        assemble::keep_feedback(recorded, before);
        let units = changes(self.table(), units_of(context, recorded), existing)?;
        let ended = ended(lookup, recorded);
        let stale: Vec<&String> = lookup.raws.difference(&ended.raws).collect();
        let in_flight = lookup.raws_in_flight || !lookup.has_whole_claims();
        // A query may meet a part of a transaction. So the review is written after everything that belongs to it.
        let last = self.last_writes(lookup, &ended, context, recorded)?;
        if faults::is(Fault::ReviewFirst) {
            let is_ended = self.transact(last).await?.is_applied();
            return Ok(is_ended && self.write_fenced(&ended.fence(), transactions(units)).await?);
        }
        if !self.write_fenced(&lookup.fence(), transactions(units)).await? {
            return Ok(false);
        }
        self.delete_raws(stale, in_flight).await?;
        Ok(self.transact(last).await?.is_applied())
    }

    /// Does transactions one after the other, each only while the fence holds. Returns false when it does not.
    pub(crate) async fn write_fenced(&self, fence: &Fence, all: Vec<Vec<Write>>) -> Result<bool> {
        for mut writes in all {
            if !faults::is(Fault::RevisionUnchecked) {
                writes.push(fence.check(self.table()));
            }
            if !self.transact(writes).await?.is_applied() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The writes that show a review to readers.
    fn last_writes(
        &self,
        lookup: &Lookup,
        ended: &Lookup,
        context: &ItemContext,
        recorded: &RecordedReview,
    ) -> Result<Vec<Write>> {
        let review = recorded.review.encode(context);
        // Another writer may have noted itself in the lookup; that must not be overwritten.
        let end = lookup.exact_fence().put(self.table(), ended);
        let mut writes = vec![end, Write::put(self.table().clone(), review)];
        writes.extend(self.rollups_of_end(recorded)?);
        Ok(writes)
    }
}

/// The lookup of an ended revision. Of the raw outputs that may exist it keeps those that a response names.
fn ended(lookup: &Lookup, recorded: &RecordedReview) -> Lookup {
    let named = recorded.responses.iter().filter_map(|response| response.raw_key.as_deref());
    let named: BTreeSet<&str> = named.collect();
    let is_named = |sort: &&String| {
        keys::parse_raw_expiry_sort(sort).is_some_and(|(_, raw_key)| named.contains(raw_key))
    };
    let state = match recorded.review.status {
        ReviewStatus::Failed => State::Failed,
        ReviewStatus::Completed | ReviewStatus::InProgress => State::Completed,
    };
    Lookup {
        state,
        raws: lookup.raws.iter().filter(is_named).cloned().collect(),
        raws_in_flight: false,
        begun_at_ms: None,
        version: lookup.version + 1,
        ..lookup.clone()
    }
}

/// The writes that turn the existing items of a partition into the wanted ones.
fn changes(table: &Name, wanted: Vec<Vec<Item>>, existing: &[Item]) -> Result<Vec<Unit>> {
    let known = existing.iter().filter_map(|item| Some((item.s("SK")?, item)));
    let mut known: BTreeMap<&str, &Item> = known.collect();
    let mut units = Vec::new();
    for items in wanted {
        let old = items.first().and_then(|item| known.remove(item.s("SK")?));
        if old.is_some() && old == items.first() {
            continue;
        }
        let mut unit: Unit = Vec::new();
        if let Some(old) = old {
            let replaced = dependent_key(old)?;
            let is_wanted = items.iter().any(|item| keys::key_of(item) == replaced);
            let stale = replaced.filter(|_| !is_wanted);
            unit.extend(stale.map(|key| Write::delete(table.clone(), key)));
        }
        unit.extend(items.into_iter().map(|item| Write::put(table.clone(), item)));
        units.push(unit);
    }
    if !faults::is(Fault::StaleChildren) {
        let stale = known.into_values().map(|item| removal(table, item));
        units.extend(stale.collect::<Result<Vec<Unit>>>()?);
    }
    Ok(units)
}

/// The writes that remove an item of a review's partition, with its cost metric if it is a response.
pub(crate) fn removal(table: &Name, item: &Item) -> Result<Unit> {
    let keys = keys::key_of(item).into_iter().chain(dependent_key(item)?);
    Ok(keys.map(|key| Write::delete(table.clone(), key)).collect())
}

/// The key of the cost metric of a response; other items have none.
fn dependent_key(item: &Item) -> Result<Option<weir_table::Key>> {
    let is_response = item.s("SK").is_some_and(|sk| sk.starts_with(keys::MODEL_PREFIX));
    is_response.then(|| cost_key_of(item)).transpose()
}

fn is_finding(item: &Item) -> bool {
    item.s("SK").is_some_and(|sk| sk.starts_with(keys::FINDING_PREFIX))
}

/// Distributes units over transactions, each with room for a fence.
pub(crate) fn transactions(units: Vec<Unit>) -> Vec<Vec<Write>> {
    let mut all: Vec<Vec<Write>> = Vec::new();
    let mut bytes = 0;
    for unit in units {
        let size: usize = unit.iter().map(size).sum();
        match all.last_mut() {
            Some(writes)
                if writes.len() + unit.len() < TRANSACT_MAX
                    && bytes + size <= TRANSACTION_BYTES_MAX =>
            {
                bytes += size;
                writes.extend(unit);
            }
            _ => {
                bytes = size;
                all.push(unit);
            }
        }
    }
    all
}

fn size(write: &Write) -> usize {
    match &write.action {
        weir_table::request::Action::Put(item) => item.size(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_table::Key;

    fn put(number: usize, bytes: usize) -> Write {
        let item = keys::item(Key::new("p", format!("{number}")));
        Write::put("t", item.with("x", "x".repeat(bytes)))
    }

    fn sizes(units: Vec<Unit>) -> Vec<usize> {
        transactions(units).iter().map(Vec::len).collect()
    }

    #[test]
    fn transactions_have_room_for_the_fence() {
        let units = |count: usize, of: usize| -> Vec<Unit> {
            (0..count).map(|_| (0..of).map(|number| put(number, 1)).collect()).collect()
        };
        assert!(sizes(units(0, 1)).is_empty());
        assert_eq!(sizes(units(99, 1)), [99]);
        assert_eq!(sizes(units(100, 1)), [99, 1]);
        assert_eq!(sizes(units(50, 2)), [98, 2], "units stay together");
        assert_eq!(sizes(units(2_000, 1)).iter().sum::<usize>(), 2_000);
        let large: Vec<Unit> = (0..20).map(|number| vec![put(number, 300_000)]).collect();
        assert_eq!(sizes(large), [10, 10]);
    }

    #[test]
    fn only_differences_are_written() {
        let item = |sk: &str, x: &str| keys::item(Key::new("p", sk)).with("x", x);
        let existing = [item("FINDING#a", "1"), item("FINDING#b", "1"), item("FINDING#c", "1")];
        let wanted = vec![
            vec![item("FINDING#a", "1")],
            vec![item("FINDING#b", "2")],
            vec![item("FINDING#d", "1")],
        ];
        let units = changes(&"t".into(), wanted, &existing).unwrap();
        let expected = [
            Write::put("t", item("FINDING#b", "2")),
            Write::put("t", item("FINDING#d", "1")),
            Write::delete("t", Key::new("p", "FINDING#c")),
        ];
        assert_eq!(units.concat(), expected);
    }
}
