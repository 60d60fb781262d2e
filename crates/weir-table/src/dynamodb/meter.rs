//! Meters the cost of calls, per verb and per table, from what DynamoDB reports.
//!
//! Units are in thousandths, because half units occur. A refused condition is billed but not reported, so
//! [`crate::capacity`] computes its cost from the old item.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::ConsumedCapacity;
use parking_lot::Mutex;

/// Tables that are metered separately; further ones are metered together as [`OTHER_TABLES`].
pub const TABLES_COUNTED_MAX: usize = 64;
/// The name of all tables beyond [`TABLES_COUNTED_MAX`].
pub const OTHER_TABLES: &str = "(other)";

/// The operation of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Reads an item.
    Get,
    /// Reads a batch of items.
    BatchGet,
    /// Reads items in a transaction.
    TransactGet,
    /// Reads a partition.
    Query,
    /// Scans a table.
    Scan,
    /// Puts an item.
    Put,
    /// Updates an item.
    Update,
    /// Deletes an item.
    Delete,
    /// Writes a batch of items.
    BatchWrite,
    /// Writes items in a transaction.
    Transact,
    /// Creates, deletes and describes tables.
    Tables,
    /// Reads the change feed.
    Feed,
}

impl Verb {
    /// All verbs, in order.
    pub const ALL: [Verb; 12] = [
        Verb::Get,
        Verb::BatchGet,
        Verb::TransactGet,
        Verb::Query,
        Verb::Scan,
        Verb::Put,
        Verb::Update,
        Verb::Delete,
        Verb::BatchWrite,
        Verb::Transact,
        Verb::Tables,
        Verb::Feed,
    ];

    /// The verb's name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::BatchGet => "batch_get",
            Verb::TransactGet => "transact_get",
            Verb::Query => "query",
            Verb::Scan => "scan",
            Verb::Put => "put",
            Verb::Update => "update",
            Verb::Delete => "delete",
            Verb::BatchWrite => "batch_write",
            Verb::Transact => "transact",
            Verb::Tables => "tables",
            Verb::Feed => "feed",
        }
    }

    fn writes(self) -> bool {
        matches!(self, Verb::Put | Verb::Update | Verb::Delete | Verb::BatchWrite | Verb::Transact)
    }
}

/// Totals of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Calls, without retries.
    pub calls: u64,
    /// Retries of calls.
    pub retries: u64,
    /// Attempts that were throttled.
    pub throttles: u64,
    /// Writes whose condition was refused.
    pub refused: u64,
    /// Read units, in thousandths.
    pub read_milliunits: u64,
    /// Write units, in thousandths, refused writes included.
    pub write_milliunits: u64,
    /// Read units of indexes, in thousandths; part of the read units.
    pub index_read_milliunits: u64,
    /// Write units of indexes, in thousandths; part of the write units.
    pub index_write_milliunits: u64,
}

/// Totals of all calls since the connection was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capacity {
    /// Totals by verb.
    pub verbs: BTreeMap<Verb, Usage>,
    /// Totals by table, for the first tables used. A batch or transaction of several tables belongs to none.
    pub tables: BTreeMap<String, Usage>,
}

#[derive(Debug, Default)]
struct Counters {
    calls: AtomicU64,
    retries: AtomicU64,
    throttles: AtomicU64,
    refused: AtomicU64,
    read_milliunits: AtomicU64,
    write_milliunits: AtomicU64,
    index_read_milliunits: AtomicU64,
    index_write_milliunits: AtomicU64,
}

impl Counters {
    fn usage(&self) -> Usage {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Usage {
            calls: read(&self.calls),
            retries: read(&self.retries),
            throttles: read(&self.throttles),
            refused: read(&self.refused),
            read_milliunits: read(&self.read_milliunits),
            write_milliunits: read(&self.write_milliunits),
            index_read_milliunits: read(&self.index_read_milliunits),
            index_write_milliunits: read(&self.index_write_milliunits),
        }
    }
}

/// The counters of one connection.
#[derive(Debug)]
pub(super) struct Meter {
    prefix: String,
    verbs: BTreeMap<Verb, Counters>,
    tables: Mutex<BTreeMap<String, Usage>>,
}

impl Meter {
    /// A meter for logical table names, which are the names on the wire without `prefix`.
    pub(super) fn new(prefix: &str) -> Meter {
        Meter {
            prefix: prefix.to_owned(),
            verbs: Verb::ALL.map(|verb| (verb, Counters::default())).into(),
            tables: Mutex::default(),
        }
    }

    pub(super) fn capacity(&self) -> Capacity {
        Capacity {
            verbs: self.verbs.iter().map(|(verb, counters)| (*verb, counters.usage())).collect(),
            tables: self.tables.lock().clone(),
        }
    }

    pub(super) fn call(&self, verb: Verb, table: &str) {
        self.count(verb, |counters| &counters.calls, 1);
        self.of_table(table, |usage| usage.calls += 1);
    }

    pub(super) fn retried(&self, verb: Verb, table: &str) {
        self.count(verb, |counters| &counters.retries, 1);
        self.of_table(table, |usage| usage.retries += 1);
    }

    pub(super) fn throttled(&self, verb: Verb, table: &str) {
        self.count(verb, |counters| &counters.throttles, 1);
        self.of_table(table, |usage| usage.throttles += 1);
    }

    /// Records a refused write of `units` write units.
    pub(super) fn refused(&self, verb: Verb, table: &str, units: u64) {
        let milliunits = units.saturating_mul(1000);
        self.count(verb, |counters| &counters.refused, 1);
        self.count(verb, |counters| &counters.write_milliunits, milliunits);
        self.of_table(table, |usage| {
            usage.refused += 1;
            usage.write_milliunits += milliunits;
        });
    }

    /// Records the capacity that DynamoDB reports.
    pub(super) fn consumed<'a>(
        &self,
        verb: Verb,
        reports: impl IntoIterator<Item = &'a ConsumedCapacity>,
    ) {
        for report in reports {
            let (read, write) = units(verb, report);
            let (index_read, index_write) = index_units(verb, report);
            self.count(verb, |counters| &counters.read_milliunits, read);
            self.count(verb, |counters| &counters.write_milliunits, write);
            self.count(verb, |counters| &counters.index_read_milliunits, index_read);
            self.count(verb, |counters| &counters.index_write_milliunits, index_write);
            let table = report.table_name().unwrap_or_default();
            self.of_table(table.strip_prefix(&self.prefix).unwrap_or(table), |usage| {
                usage.read_milliunits += read;
                usage.write_milliunits += write;
                usage.index_read_milliunits += index_read;
                usage.index_write_milliunits += index_write;
            });
        }
    }

    fn count(&self, verb: Verb, which: impl Fn(&Counters) -> &AtomicU64, amount: u64) {
        if let Some(counters) = self.verbs.get(&verb) {
            which(counters).fetch_add(amount, Ordering::Relaxed);
        }
    }

    fn of_table(&self, table: &str, change: impl Fn(&mut Usage)) {
        if table.is_empty() {
            return;
        }
        let mut tables = self.tables.lock();
        let known = tables.len() < TABLES_COUNTED_MAX || tables.contains_key(table);
        let name = if known { table } else { OTHER_TABLES };
        if let Some(usage) = tables.get_mut(name) {
            change(usage);
        } else {
            let mut usage = Usage::default();
            change(&mut usage);
            tables.insert(name.to_owned(), usage);
        }
    }
}

/// Read and write units of a report, in thousandths. Verbs of one item report only the sum.
fn units(verb: Verb, report: &ConsumedCapacity) -> (u64, u64) {
    let (read, write) = (report.read_capacity_units(), report.write_capacity_units());
    to_sides(verb, read, write, report.capacity_units())
}

/// The part of the units that indexes consumed.
fn index_units(verb: Verb, report: &ConsumedCapacity) -> (u64, u64) {
    let indexes = report.global_secondary_indexes().into_iter().flat_map(|all| all.values());
    let sides = indexes.map(|index| {
        let (read, write) = (index.read_capacity_units(), index.write_capacity_units());
        to_sides(verb, read, write, index.capacity_units())
    });
    sides.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

fn to_sides(verb: Verb, read: Option<f64>, write: Option<f64>, both: Option<f64>) -> (u64, u64) {
    if read.is_some() || write.is_some() {
        return (milli(read), milli(write));
    }
    let sum = milli(both);
    if verb.writes() { (0, sum) } else { (sum, 0) }
}

fn milli(units: Option<f64>) -> u64 {
    // Units are small multiples of a half, so the rounding is exact.
    let milli = units.unwrap_or_default() * 1000.0;
    if milli.is_finite() && milli > 0.0 { milli.round() as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(table: &str) -> aws_sdk_dynamodb::types::builders::ConsumedCapacityBuilder {
        ConsumedCapacity::builder().table_name(table)
    }

    #[test]
    fn units_go_to_their_side() {
        let meter = Meter::new("p-");
        meter.consumed(Verb::Get, [&report("p-a").capacity_units(0.5).build()]);
        meter.consumed(Verb::Put, [&report("p-a").capacity_units(2.0).build()]);
        let both = report("p-b")
            .capacity_units(6.0)
            .read_capacity_units(2.0)
            .write_capacity_units(4.0)
            .build();
        meter.consumed(Verb::Transact, [&both]);
        let capacity = meter.capacity();
        assert_eq!(capacity.verbs[&Verb::Get].read_milliunits, 500);
        assert_eq!(capacity.verbs[&Verb::Put].write_milliunits, 2000);
        assert_eq!(capacity.verbs[&Verb::Transact].read_milliunits, 2000);
        assert_eq!(capacity.tables["a"].write_milliunits, 2000);
        assert_eq!(capacity.tables["b"].write_milliunits, 4000);
        assert_eq!(capacity.tables["b"].index_write_milliunits, 0);
    }

    #[test]
    fn units_of_indexes_are_told_apart() {
        use aws_sdk_dynamodb::types::Capacity as Part;
        let meter = Meter::new("");
        let part = Part::builder().capacity_units(1.0).build();
        let put = report("a").capacity_units(3.0);
        let put = put.global_secondary_indexes("g1", part.clone());
        meter.consumed(Verb::Put, [&put.global_secondary_indexes("g2", part).build()]);
        let part = Part::builder().read_capacity_units(0.5).build();
        let query = report("a").read_capacity_units(0.5).global_secondary_indexes("g1", part);
        meter.consumed(Verb::Query, [&query.build()]);
        let usage = meter.capacity().tables["a"];
        assert_eq!((usage.write_milliunits, usage.index_write_milliunits), (3000, 2000));
        assert_eq!((usage.read_milliunits, usage.index_read_milliunits), (500, 500));
    }

    #[test]
    fn tables_past_the_bound_are_counted_together() {
        let meter = Meter::new("");
        for number in 0..TABLES_COUNTED_MAX + 10 {
            meter.call(Verb::Get, &format!("table-{number}"));
        }
        let capacity = meter.capacity();
        assert_eq!(capacity.tables.len(), TABLES_COUNTED_MAX + 1);
        assert_eq!(capacity.tables[OTHER_TABLES].calls, 10);
    }
}
