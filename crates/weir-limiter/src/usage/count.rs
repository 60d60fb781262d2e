//! From changes of buckets to the writes that count them. Pure.
//!
//! What was used is the growth of a bucket's `b_{limit}_tc`: takes add to it, give-backs take off it, refills leave it
//! alone. An item that is new counts from zero, so first takes count; one that is removed counts nothing.

use std::collections::BTreeMap;

use weir_table::expr::{Update, add};
use weir_table::feed::Change;
use weir_table::{Item, KeyValue, Name, Value, Write};

use super::Window;
use super::snapshot::{self, EVENTS, WINDOW, WINDOW_START};
use super::window::iso;
use crate::bucket::MILLI;
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::item::{self, Field, RF, TTL};
use crate::keys;

/// Whose usage of what, and when.
type Place = (NamespaceId, EntityId, Resource, Window, i64);

/// What is added to one snapshot.
#[derive(Debug, Default)]
struct Tally {
    /// Millitokens.
    used: BTreeMap<LimitName, i64>,
    events: i64,
}

/// The writes that count `changes`, no item twice. In a `shared` table counters are whole, as its other program
/// reads them.
pub(crate) fn writes(table: &Name, changes: &[Change], shared: bool) -> Vec<Write> {
    let mut tallies: BTreeMap<Place, Tally> = BTreeMap::new();
    for change in changes {
        let Some((ns, entity, resource)) = bucket_of(change) else { continue };
        let used = used(change, shared);
        if used.is_empty() {
            continue;
        }
        let events = if shared { i64::try_from(used.len()).unwrap_or(i64::MAX) } else { 1 };
        let at_ms = i64::try_from(change.at_ms).unwrap_or(i64::MAX);
        for window in Window::ALL {
            let start_ms = window.start_ms(at_ms);
            let place = (ns.clone(), entity.clone(), resource.clone(), window, start_ms);
            let tally = tallies.entry(place).or_default();
            tally.events += events;
            for (limit, milli) in &used {
                let total = tally.used.entry(limit.clone()).or_default();
                *total = total.saturating_add(*milli);
            }
        }
    }
    tallies.iter().map(|(place, tally)| write(table, place, tally, shared)).collect()
}

fn bucket_of(change: &Change) -> Option<(NamespaceId, EntityId, Resource)> {
    let (KeyValue::S(pk), Some(KeyValue::S(sk))) = (&change.key.partition, &change.key.sort) else {
        return None;
    };
    let (ns, entity, resource, _) = keys::parse_bucket(pk).filter(|_| keys::is_bucket_sort(sk))?;
    Some((ns, entity, resource))
}

/// Millitokens that a change of a bucket used, of each limit it used any of.
pub(crate) fn used(change: &Change, whole: bool) -> Vec<(LimitName, i64)> {
    let Some(new) = &change.new else { return Vec::new() };
    // An item that is not a whole bucket is replaced by one that begins at zero.
    let old = change.old.as_ref().filter(|old| old.i64(RF).is_some());
    let counted = |item: &Item, limit: &LimitName| {
        let milli = item.i64(&Field::Consumed.of(limit)).unwrap_or_default();
        // Whole tokens are taken of both counters, so that the parts left out never add up.
        if whole { milli.div_euclid(MILLI) * MILLI } else { milli }
    };
    item::limits_in(new)
        .iter()
        .filter_map(|name| LimitName::new(name).ok())
        .filter_map(|limit| {
            let before = old.map_or(0, |old| counted(old, &limit));
            let by = counted(new, &limit).saturating_sub(before);
            (by != 0).then_some((limit, by))
        })
        .collect()
}

fn write(table: &Name, place: &Place, tally: &Tally, shared: bool) -> Write {
    let (ns, entity, resource, window, start_ms) = place;
    let window_key = window.key(*start_ms);
    let facts: [(&str, Value); 8] = [
        ("entity_id", entity.as_str().into()),
        ("resource", resource.as_str().into()),
        (WINDOW, window.name().into()),
        (WINDOW_START, iso(*start_ms).into()),
        ("GSI2PK", keys::resource_partition(ns, resource).into()),
        ("GSI2SK", keys::gsi2_usage(&window_key, entity).into()),
        ("GSI4PK", ns.as_str().into()),
        ("GSI4SK", keys::entity_partition(ns, entity).into()),
    ];
    let mut update = add(EVENTS, tally.events);
    for (name, value) in facts {
        update = update.set_if_absent(name, value);
    }
    if let Some(ttl) = window.ttl(*start_ms, shared) {
        update = update.set_if_absent(TTL, ttl);
    }
    let update = tally.used.iter().fold(update, counted);
    // It stands in one transaction with the feed's position: what a power cut takes is counted again.
    Write::update(table.clone(), keys::usage(ns, entity, resource, &window_key), update).flushed()
}

fn counted(update: Update, (limit, milli): (&LimitName, &i64)) -> Update {
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
            old,
            new,
            at_ms: 1_768_478_400_000,
            expired: false,
            position: "1".into(),
        }
    }

    fn of(old: Option<Item>, new: Option<Item>) -> Vec<(String, i64)> {
        let used = used(&change(old, new), false);
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
    }

    #[test]
    fn whole_tokens_never_drift_from_the_counter() {
        let parts = [0, 333, 667, 1_000, 1_999, 2_001, 1_500, 0];
        let mut total = 0;
        for pair in parts.windows(2) {
            let [old, new] = pair else { continue };
            let change = change(Some(bucket(&[("rpm", *old)])), Some(bucket(&[("rpm", *new)])));
            total += used(&change, true).first().map_or(0, |(_, milli)| *milli);
            assert_eq!(total, new / 1_000 * 1_000);
        }
    }

    #[test]
    fn three_windows_are_written_and_no_item_twice() {
        let changes = [
            change(None, Some(bucket(&[("rpm", 1_000)]))),
            change(Some(bucket(&[("rpm", 1_000)])), Some(bucket(&[("rpm", 1_333)]))),
        ];
        let writes = writes(&"t".into(), &changes, false);
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
