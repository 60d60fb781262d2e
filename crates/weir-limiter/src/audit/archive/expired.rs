//! Finds events past their retention through the index of everything in a namespace. The index has keys only, and the key of
//! an event contains its time, so events that are not due are never read.

use std::collections::BTreeMap;

use ulid::Ulid;
use weir_table::{Backend, Key, Query};

use super::DAY_MS;
use crate::error::{Error, Result};
use crate::keys;
use crate::limiter::Limiter;
use crate::table::GSI4;

/// Most events remembered during a search, unless a single day has more.
const FOUND_MAX: usize = 100_000;
/// Most pages of the index to read: millions of events.
const PAGES_MAX: u32 = 2_000;

/// An event to be archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpiredEvent {
    pub(super) id: String,
    pub(super) at_ms: i64,
    pub(super) key: Key,
}

/// Events by day since 1970. Every day is complete.
pub(super) type Days = BTreeMap<i64, Vec<ExpiredEvent>>;

/// The oldest days of events. If there are too many, the newest days are left for a later run.
#[derive(Debug, Default)]
struct OldestDays {
    days: Days,
    count: usize,
    /// The first day that was left out.
    until: Option<i64>,
}

impl OldestDays {
    fn add(&mut self, event: ExpiredEvent, max: usize) {
        let day = event.at_ms / DAY_MS;
        if self.until.is_some_and(|until| day >= until) {
            return;
        }
        self.days.entry(day).or_default().push(event);
        self.count += 1;
        if self.count > max
            && self.days.len() > 1
            && let Some((last, left_out)) = self.days.pop_last()
        {
            self.count -= left_out.len();
            self.until = Some(last);
        }
    }
}

/// The event that a key belongs to, if it is one from before `before_ms`.
fn expired_event(pk: &str, sk: &str, before_ms: i64) -> Option<ExpiredEvent> {
    let id = sk.strip_prefix(keys::AUDIT_SK)?;
    let at_ms = i64::try_from(Ulid::from_string(id).ok()?.timestamp_ms()).ok()?;
    (at_ms < before_ms).then(|| ExpiredEvent { id: id.to_owned(), at_ms, key: Key::new(pk, sk) })
}

impl<B: Backend> Limiter<B> {
    /// The namespaces that may have events, and the registry.
    pub(super) async fn audited_namespaces(&self) -> Result<Vec<String>> {
        let query = Query::partition(self.table(), keys::registry_partition());
        let mut query = query.begins_with(keys::NSID_SK);
        let mut found = vec![keys::REGISTRY.to_owned()];
        for _ in 0..PAGES_MAX {
            let page = self.store().query(&query).await?;
            let sorts = page.items.iter().filter_map(|item| item.s("SK"));
            found.extend(sorts.filter_map(|sk| Some(sk.strip_prefix(keys::NSID_SK)?.to_owned())));
            if page.cursor.is_none() {
                return Ok(found);
            }
            query.cursor = page.cursor;
        }
        Err(Error::Conflict("too many namespaces to archive their audit events".to_owned()))
    }

    /// The oldest days of events before `before_ms`, and whether that is all of them.
    pub(super) async fn expired_events(&self, ns: &str, before_ms: i64) -> Result<(Days, bool)> {
        let query = Query::partition(self.table(), ns).index(GSI4);
        let mut query = query.begins_with(keys::audit_partition(ns, ""));
        let mut oldest = OldestDays::default();
        for _ in 0..PAGES_MAX {
            let page = self.store().query(&query).await?;
            for item in &page.items {
                let (Some(pk), Some(sk)) = (item.s("PK"), item.s("SK")) else { continue };
                if let Some(event) = expired_event(pk, sk, before_ms) {
                    oldest.add(event, FOUND_MAX);
                }
            }
            if page.cursor.is_none() {
                return Ok((oldest.days, oldest.until.is_none()));
            }
            query.cursor = page.cursor;
        }
        let problem = format!("namespace {ns} has too many audit events to archive");
        Err(Error::Conflict(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_whole_and_the_oldest_come_first() {
        let mut oldest = OldestDays::default();
        let event = |day: i64, n: i64| ExpiredEvent {
            id: format!("{n}"),
            at_ms: day * DAY_MS + n,
            key: Key::new("a", "b"),
        };
        for (day, n) in [(5, 0), (9, 1), (5, 2), (7, 3), (9, 4), (2, 5), (7, 6), (2, 7)] {
            oldest.add(event(day, n), 4);
        }
        let sizes: Vec<_> = oldest.days.iter().map(|(day, events)| (*day, events.len())).collect();
        assert_eq!(sizes, [(2, 2), (5, 2)]);
        assert_eq!(oldest.until, Some(7));
    }

    #[test]
    fn a_keys_time_is_that_of_its_id() {
        let id = Ulid::from_parts(1_000, 7).to_string();
        let sk = format!("{}{id}", keys::AUDIT_SK);
        assert_eq!(expired_event("ns/AUDIT#x", &sk, 1_000), None);
        assert_eq!(expired_event("ns/AUDIT#x", &sk, 1_001).unwrap().at_ms, 1_000);
        assert_eq!(expired_event("ns/AUDIT#x", "#AUDIT#of-no-time", i64::MAX), None);
    }
}
