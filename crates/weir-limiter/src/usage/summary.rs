//! Sums snapshots.

use std::collections::BTreeMap;

use weir_table::Backend;
use weir_table::retry::Listed;

use super::{Filter, Snapshot, Summary, list};
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::ids::LimitName;
use crate::limiter::Namespace;

/// Most pages to sum.
const PAGES_MAX: u32 = 200;

type Amounts = BTreeMap<LimitName, i64>;

pub(super) async fn summarize<B: Backend>(ns: &Namespace<B>, filter: &Filter) -> Result<Summary> {
    let mut filter = Filter { limit: list::PAGE_MAX, cursor: None, ..filter.clone() };
    let mut sums = Sums::default();
    for _ in 0..PAGES_MAX {
        let Listed { items, cursor } = list::page(ns, &filter).await?;
        for snapshot in &items {
            sums.add(snapshot);
        }
        if cursor.is_none() {
            return Ok(sums.finish());
        }
        filter.cursor = cursor;
    }
    Err(Error::invalid("from", "too many snapshots to sum; request a shorter time range"))
}

/// Sums in millitokens, of snapshots sorted by time.
#[derive(Debug, Default)]
struct Sums {
    snapshots: u64,
    events: i64,
    total: Amounts,
    peak: Amounts,
    /// Sums of the present window.
    current: Amounts,
    current_ms: i64,
}

impl Sums {
    fn add(&mut self, snapshot: &Snapshot) {
        if self.current_ms != snapshot.start_ms {
            self.end_window();
            self.current_ms = snapshot.start_ms;
        }
        self.snapshots += 1;
        self.events = self.events.saturating_add(snapshot.events);
        for (limit, milli) in &snapshot.used_milli {
            for sums in [&mut self.total, &mut self.current] {
                let sum = sums.entry(limit.clone()).or_default();
                *sum = sum.saturating_add(*milli);
            }
        }
    }

    fn end_window(&mut self) {
        for (limit, milli) in std::mem::take(&mut self.current) {
            let peak = self.peak.entry(limit).or_insert(milli);
            *peak = milli.max(*peak);
        }
    }

    fn finish(mut self) -> Summary {
        self.end_window();
        let tokens = |amounts: Amounts| {
            amounts.into_iter().map(|(limit, milli)| (limit, milli.div_euclid(MILLI))).collect()
        };
        Summary {
            snapshots: self.snapshots,
            total: tokens(self.total),
            peak: tokens(self.peak),
            events: self.events,
        }
    }
}
