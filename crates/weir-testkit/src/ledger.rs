//! Operations on DynamoDB and what each of them came to: requests, and units that AWS bills.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "for tests: a failure here is a failed test"
)]

use std::collections::BTreeMap;

use weir_table::dynamodb::{Capacity, Dynamo, Usage, Verb};

use crate::scales::{Units, Weight};
use crate::watched::Watch;

/// The calls and costs of one operation, verb by verb.
#[derive(Debug, Clone)]
pub struct Row {
    name: String,
    used: BTreeMap<Verb, Usage>,
    /// Writes in its transactions.
    together: u64,
    /// The costs, by our calculator.
    weight: Weight,
}

impl Row {
    fn between(
        name: &str,
        (together, weight): (u64, Weight),
        before: &Capacity,
        after: &Capacity,
    ) -> Row {
        let used = |(verb, after): (&Verb, &Usage)| {
            let before = before.verbs.get(verb).copied().unwrap_or_default();
            assert_eq!((after.retries, after.throttles), (before.retries, before.throttles));
            let used = Usage {
                calls: after.calls - before.calls,
                refused: after.refused - before.refused,
                read_milliunits: after.read_milliunits - before.read_milliunits,
                write_milliunits: after.write_milliunits - before.write_milliunits,
                index_read_milliunits: after.index_read_milliunits - before.index_read_milliunits,
                index_write_milliunits: after.index_write_milliunits
                    - before.index_write_milliunits,
                ..Usage::default()
            };
            (*verb, used)
        };
        let used = after.verbs.iter().map(used).filter(|(_, used)| used.calls > 0).collect();
        let row = Row { name: name.to_owned(), used, together, weight };
        row.check_calculator();
        row
    }

    fn sum(&self, of: impl Fn(&Usage) -> u64) -> u64 {
        self.used.values().map(of).sum()
    }

    /// How often what was called.
    #[must_use]
    pub fn calls(&self) -> Vec<(Verb, u64)> {
        self.used.iter().map(|(verb, used)| (*verb, used.calls)).collect()
    }

    /// Write milliunits of the table.
    #[must_use]
    pub fn table_write(&self) -> u64 {
        let all = self.alone(|used| used.write_milliunits - used.index_write_milliunits);
        all + self.weight.all.tables * 1_000
    }

    /// Write milliunits of indexes.
    #[must_use]
    pub fn index_write(&self) -> u64 {
        self.alone(|used| used.index_write_milliunits) + self.weight.all.indexes * 1_000
    }

    /// A sum over all but transactions.
    fn alone(&self, of: impl Fn(&Usage) -> u64) -> u64 {
        let others = self.used.iter().filter(|(verb, _)| **verb != Verb::Transact);
        others.map(|(_, used)| of(used)).sum()
    }

    /// Read milliunits of table and indexes.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.sum(|used| used.read_milliunits)
    }

    fn cost_text(&self) -> String {
        let calls = self.used.iter().map(|(verb, used)| {
            let refused = match used.refused {
                0 => String::new(),
                1 if used.calls == 1 => " (refused)".to_owned(),
                refused => format!(" ({refused} refused)"),
            };
            let of = match self.together {
                writes if *verb == Verb::Transact => format!(" of {writes}"),
                _ => String::new(),
            };
            format!("{} {}{of}{refused}", used.calls, request(*verb))
        });
        let calls: Vec<String> = calls.collect();
        if calls.is_empty() { "none".to_owned() } else { calls.join(", ") }
    }

    /// Our calculator agrees with what DynamoDB Local reports. Of a refused transaction it reports less.
    fn check_calculator(&self) {
        let Some(used) = self.used.get(&Verb::Transact) else { return };
        let indexes = used.index_write_milliunits / 1_000;
        let reported = Units { tables: used.write_milliunits / 1_000 - indexes, indexes };
        let expected = self.weight.reported;
        if used.refused == 0 {
            assert_eq!(reported, expected, "{self:?}");
        }
        let is_less = reported.tables <= expected.tables && reported.indexes <= expected.indexes;
        assert!(is_less, "{self:?}");
    }

    fn line(&self) -> String {
        let [table, index, read] = [self.table_write(), self.index_write(), self.read()].map(units);
        format!("| {} | {} | {table} | {index} | {read} |", self.name, self.cost_text())
    }
}

/// The rows of one table of the page.
#[derive(Debug)]
pub struct Ledger<'s> {
    watch: &'s Watch,
    dynamo: &'s Dynamo,
    rows: Vec<Row>,
}

impl<'s> Ledger<'s> {
    /// Of what is done on `dynamo`, under `watch`, which weighs transactions.
    #[must_use]
    pub fn new(watch: &'s Watch, dynamo: &'s Dynamo) -> Ledger<'s> {
        Ledger { watch, dynamo, rows: Vec::new() }
    }

    /// Does something and notes what it came to.
    pub async fn note<T>(&mut self, name: &str, operation: impl Future<Output = T>) -> T {
        let watch = self.watch;
        let (written, weight) = (watch.written_together(), watch.weight());
        let before = self.dynamo.capacity();
        let done = operation.await;
        let after = self.dynamo.capacity();
        let together = (watch.written_together() - written, watch.weight() - weight);
        self.rows.push(Row::between(name, together, &before, &after));
        done
    }

    /// The calls and costs of an operation.
    #[must_use]
    pub fn row(&self, name: &str) -> &Row {
        self.rows.iter().find(|row| row.name == name).expect("a row of this name")
    }

    /// The table of the page.
    #[must_use]
    pub fn table(&self) -> Vec<String> {
        let head =
            "| operation | requests | write units, table | write units, indexes | read units |";
        let rule = "|---|---|--:|--:|--:|";
        let rows = self.rows.iter().map(Row::line);
        [head.to_owned(), rule.to_owned()].into_iter().chain(rows).collect()
    }
}

/// Thousandths of units as units.
#[must_use]
pub fn units(milli: u64) -> String {
    match milli % 1_000 {
        0 => (milli / 1_000).to_string(),
        500 => format!("{}.5", milli / 1_000),
        other => panic!("{other} thousandths of a unit"),
    }
}

/// The name of a verb at AWS.
fn request(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GetItem",
        Verb::BatchGet => "BatchGetItem",
        Verb::TransactGet => "TransactGetItems",
        Verb::Query => "Query",
        Verb::Scan => "Scan",
        Verb::Put => "PutItem",
        Verb::Update => "UpdateItem",
        Verb::Delete => "DeleteItem",
        Verb::BatchWrite => "BatchWriteItem",
        Verb::Transact => "TransactWriteItems",
        Verb::Tables => "DescribeTable",
        Verb::Feed => "GetRecords",
    }
}
