//! Accumulates the usage of bucket changes into writes of snapshots. Pure.
//!
//! Usage is the growth of a bucket's `b_{limit}_tc`: takes add to it, refunds subtract, refills leave it alone. A new item
//! grows from zero, so first takes are recorded; a deleted one records nothing.

use std::collections::{BTreeMap, HashMap};

use compact_str::CompactString;
use weir_table::expr::{Update, add};
use weir_table::feed::{Change, Merge};
use weir_table::{Item, Key, KeyValue, Name, Value, Write};

use super::Window;
use super::snapshot::{self, EVENTS, WINDOW, WINDOW_START};
use super::window::{HOUR_MS, iso};
use crate::bucket::MILLI;
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::item::{self, Field, RF, TTL};
use crate::keys;

/// Usage that is not written yet: an entry for each bucket and hour, by the partition key of the bucket's item.
#[derive(Debug, Default)]
pub struct UsageAccumulator {
    buckets: HashMap<String, Vec<Hour>>,
    hours: usize,
}

/// The usage of one hour; days and months are sums of hours.
#[derive(Debug)]
struct Hour {
    start_ms: i64,
    sum: Sum,
}

/// Millitokens by limit, and the number of changes that used them.
#[derive(Debug, Default)]
struct Sum {
    /// Few limits, so a list.
    used: Vec<(CompactString, i64)>,
    events: i64,
}

impl Sum {
    fn add(&mut self, used: impl IntoIterator<Item = (CompactString, i64)>, events: i64) {
        self.events += events;
        for (limit, milli) in used {
            match self.used.iter_mut().find(|(known, _)| *known == limit) {
                Some((_, total)) => *total = total.saturating_add(milli),
                None => self.used.push((limit, milli)),
            }
        }
    }
}

impl UsageAccumulator {
    /// Adds a change. In a `shared` table amounts are whole tokens, as zae-limiter reads them.
    pub(crate) fn add(&mut self, change: &Change, shared: bool) -> weir_table::Result<()> {
        let Some(pk) = bucket_of(change) else { return Ok(()) };
        let used = used(change, shared)?;
        let events = match change.merged {
            // One of the merged changes may have refunded what another used.
            Some(merged) => i64::from(merged.counted),
            None if used.is_empty() => 0,
            None if shared => i64::try_from(used.len()).unwrap_or(i64::MAX),
            None => 1,
        };
        if events == 0 {
            return Ok(());
        }
        let at_ms = i64::try_from(change.at_ms).unwrap_or(i64::MAX);
        let start_ms = Window::Hourly.start_ms(at_ms);
        // Only the first change of a bucket copies its key.
        match self.buckets.get_mut(pk) {
            Some(hours) => {
                if let Some(hour) = hours.iter_mut().find(|hour| hour.start_ms == start_ms) {
                    hour.sum.add(used, events);
                    return Ok(());
                }
                hours.push(Hour { start_ms, sum: Sum { used, events } });
            }
            None => {
                let hour = Hour { start_ms, sum: Sum { used, events } };
                self.buckets.insert(pk.to_owned(), vec![hour]);
            }
        }
        self.hours += 1;
        Ok(())
    }

    /// Number of entries. Each gives up to three writes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hours
    }

    /// Whether nothing was used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hours == 0
    }

    /// The writes that record the usage, no item twice.
    pub(crate) fn writes(self, table: &Name, shared: bool) -> Vec<Write> {
        let mut sums: BTreeMap<SnapshotKey, Sum> = BTreeMap::new();
        for (pk, hours) in self.buckets {
            let Some((ns, entity, resource, _)) = keys::parse_bucket(&pk) else { continue };
            for Hour { start_ms, sum } in hours {
                for window in Window::ALL {
                    let start_ms = window.start_ms(start_ms);
                    let key = (ns.clone(), entity.clone(), resource.clone(), window, start_ms);
                    sums.entry(key).or_default().add(sum.used.iter().cloned(), sum.events);
                }
            }
        }
        sums.iter().map(|(key, sum)| write(table, key, sum, shared)).collect()
    }
}

/// Identifies a snapshot.
type SnapshotKey = (NamespaceId, EntityId, Resource, Window, i64);

/// The feed may merge changes of a bucket in the same hour: its counters show the total. In a `shared` table each limit of
/// each change is an event, so there it may not.
pub(crate) fn merge(shared: bool) -> Option<Merge> {
    let merge = Merge {
        items: |key| bucket_in(key).is_some(),
        within_ms: HOUR_MS.unsigned_abs(),
        counted: |attribute| Field::Consumed.is_in(attribute),
    };
    (!shared).then_some(merge)
}

/// The partition key of the bucket that changed, if it is one. Decodes nothing.
pub(crate) fn bucket_of(change: &Change) -> Option<&str> {
    bucket_in(&change.key)
}

/// The partition key, if the key is a bucket's.
pub(crate) fn bucket_in(key: &Key) -> Option<&str> {
    match (&key.partition, &key.sort) {
        (KeyValue::S(pk), Some(KeyValue::S(sk)))
            if keys::is_bucket_sort(sk) && keys::is_bucket(pk) =>
        {
            Some(pk)
        }
        _ => None,
    }
}

/// Millitokens that a change of a bucket used, of each limit with any.
fn used(change: &Change, whole: bool) -> weir_table::Result<Vec<(CompactString, i64)>> {
    if change.new.is_none() {
        return Ok(Vec::new());
    }
    let (old, Some(new)) = change.pick(|name| name == RF || Field::Consumed.is_in(name))? else {
        return Ok(Vec::new());
    };
    // A counter that vanished alone counts back, but one of a removed limit does not: only the whole images tell them apart.
    let lost = |old: &Item| old.attrs().keys().any(|name| new.get(name).is_none());
    if old.as_ref().is_some_and(lost) {
        let (old, new) = change.images()?;
        return Ok(new.map_or_else(Vec::new, |new| growth(old.as_ref(), &new, whole)));
    }
    Ok(growth(old.as_ref(), &new, whole))
}

/// Growth of a bucket's counters in millitokens, of each limit with any.
pub(crate) fn growth(old: Option<&Item>, new: &Item, whole: bool) -> Vec<(CompactString, i64)> {
    // An incomplete item is replaced by a bucket that starts at zero.
    let old = old.filter(|old| old.i64(RF).is_some());
    let counted = |item: Option<&Item>, attribute: &str| {
        let milli = item.and_then(|item| item.i64(attribute)).unwrap_or_default();
        // Both counters are rounded to whole tokens, so that fractions never add up.
        if whole { milli.div_euclid(MILLI) * MILLI } else { milli }
    };
    let mut grown: Vec<(CompactString, i64)> = counters(new)
        .filter_map(|(name, limit)| {
            let by = counted(Some(new), name).saturating_sub(counted(old, name));
            (by != 0 && LimitName::new(limit).is_ok()).then_some((limit.into(), by))
        })
        .collect();
    let lost = old.into_iter().flat_map(counters).filter(|(name, _)| new.get(name).is_none());
    for (name, limit) in lost {
        let by = counted(old, name);
        let limit_exists = item::limits_in(new).iter().any(|there| there == limit);
        if by != 0 && limit_exists && LimitName::new(limit).is_ok() {
            grown.push((limit.into(), by.saturating_neg()));
        }
    }
    grown
}

/// The counters of a bucket, with the names of their limits.
fn counters(item: &Item) -> impl Iterator<Item = (&Name, &str)> {
    item.attrs().keys().filter_map(|name| Some((name, Field::Consumed.limit_in(name)?)))
}

fn write(table: &Name, key: &SnapshotKey, sum: &Sum, shared: bool) -> Write {
    let (ns, entity, resource, window, start_ms) = key;
    let window_key = window.key(*start_ms);
    let attributes: [(&str, Value); 8] = [
        ("entity_id", entity.as_str().into()),
        ("resource", resource.as_str().into()),
        (WINDOW, window.name().into()),
        (WINDOW_START, iso(*start_ms).into()),
        ("GSI2PK", keys::resource_partition(ns, resource).into()),
        ("GSI2SK", keys::gsi2_usage(&window_key, entity).into()),
        ("GSI4PK", ns.as_str().into()),
        ("GSI4SK", keys::entity_partition(ns, entity).into()),
    ];
    let mut update = add(EVENTS, sum.events);
    for (name, value) in attributes {
        update = update.set_if_absent(name, value);
    }
    if let Some(ttl) = window.ttl(*start_ms, shared) {
        update = update.set_if_absent(TTL, ttl);
    }
    let update = sum.used.iter().fold(update, counted);
    // Written in one transaction with the feed's checkpoint: usage that a power failure loses is recorded again.
    Write::update(table.clone(), keys::usage(ns, entity, resource, &window_key), update).flushed()
}

fn counted(update: Update, (limit, milli): &(CompactString, i64)) -> Update {
    update.add(limit.as_str(), snapshot::tokens(*milli))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_table::request::Action;

    fn bucket(tc: &[(&str, i64)]) -> Item {
        let item = Item::new().with("PK", "abcdefghijk/BUCKET#u#gpt-4#0").with("SK", "#STATE");
        let item = item.with(RF, 1_i64).with("b_wcu_tc", 5_000_i64);
        tc.iter().fold(item, |item, (limit, tc)| item.with(format!("b_{limit}_tc"), *tc))
    }

    fn change(old: Option<Item>, new: Option<Item>) -> Change {
        Change {
            table: "t".into(),
            key: weir_table::Key::new("abcdefghijk/BUCKET#u#gpt-4#0", "#STATE"),
            old: old.map(Into::into),
            new: new.map(Into::into),
            at_ms: 1_768_478_400_000,
            expired: false,
            position: "1".into(),
            merged: None,
        }
    }

    fn of(old: Option<Item>, new: Option<Item>) -> Vec<(String, i64)> {
        let used = used(&change(old, new), false).unwrap();
        used.into_iter().map(|(limit, milli)| (limit.to_string(), milli)).collect()
    }

    #[test]
    fn growth_of_the_counters_is_what_was_used() {
        let used = |limit: &str, by| vec![(limit.to_owned(), by)];
        let five = || Some(bucket(&[("rpm", 5_000)]));
        assert_eq!(of(None, five()), used("rpm", 5_000), "a first write counts");
        assert_eq!(of(five(), Some(bucket(&[("rpm", 7_250)]))), used("rpm", 2_250));
        assert_eq!(of(five(), Some(bucket(&[("rpm", 4_000)]))), used("rpm", -1_000));
        assert_eq!(of(five(), five()), [], "a refill counts nothing");
        assert_eq!(of(five(), None), [], "a removed item counts nothing");
        assert_eq!(of(five(), Some(bucket(&[]))), [], "a removed limit counts nothing");
        let added = Some(bucket(&[("rpm", 5_000), ("tpm", 9_000)]));
        assert_eq!(of(five(), added), used("tpm", 9_000));
        let mut bare = bucket(&[("rpm", -3_000)]);
        bare.remove(RF);
        assert_eq!(of(Some(bare), five()), used("rpm", 5_000), "a bare item is no bucket");
        let half = Some(bucket(&[]).with("b_rpm_tk", 5_i64));
        assert_eq!(of(five(), half), used("rpm", -5_000), "a limit that lost its counter alone");
    }

    #[test]
    fn whole_tokens_never_drift_from_the_counter() {
        let parts = [0, 333, 667, 1_000, 1_999, 2_001, 1_500, 0];
        let mut total = 0;
        for pair in parts.windows(2) {
            let [old, new] = pair else { continue };
            let change = change(Some(bucket(&[("rpm", *old)])), Some(bucket(&[("rpm", *new)])));
            total += used(&change, true).unwrap().first().map_or(0, |(_, milli)| *milli);
            assert_eq!(total, new / 1_000 * 1_000);
        }
    }

    #[test]
    fn three_windows_are_written_and_no_item_twice() {
        let changes = [
            change(None, Some(bucket(&[("rpm", 1_000)]))),
            change(Some(bucket(&[("rpm", 1_000)])), Some(bucket(&[("rpm", 1_333)]))),
        ];
        let mut usage = UsageAccumulator::default();
        for change in &changes {
            usage.add(change, false).unwrap();
        }
        assert_eq!(usage.len(), 1, "one entry for each bucket and hour");
        let writes = usage.writes(&"t".into(), false);
        let keys: Vec<String> = writes
            .iter()
            .map(|write| match &write.action {
                Action::Update(key, _) => key.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        let entity = "abcdefghijk/ENTITY#u | #USAGE#gpt-4#";
        let windows = ["2026-01-15T12:00:00Z", "2026-01-15", "2026-01"];
        assert_eq!(keys, windows.map(|window| format!("{entity}{window}")));
    }
}
