//! Operations and what each of them came to.

use std::collections::BTreeMap;

use weir_table::dynamodb::{Capacity, Usage, Verb};

use crate::scene::Scene;

/// What one operation came to, verb by verb.
#[derive(Debug, Clone)]
pub(super) struct Row {
    name: String,
    used: BTreeMap<Verb, Usage>,
    /// Writes in its transactions.
    together: u64,
}

impl Row {
    fn between(name: &str, together: u64, before: &Capacity, after: &Capacity) -> Row {
        let used = |(verb, after): (&Verb, &Usage)| {
            let before = before.verbs[verb];
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
        Row { name: name.to_owned(), used, together }
    }

    fn sum(&self, of: impl Fn(&Usage) -> u64) -> u64 {
        self.used.values().map(of).sum()
    }

    /// How often what was called.
    pub(super) fn calls(&self) -> Vec<(Verb, u64)> {
        self.used.iter().map(|(verb, used)| (*verb, used.calls)).collect()
    }

    /// Write milliunits of the table.
    pub(super) fn table_write(&self) -> u64 {
        self.sum(|used| used.write_milliunits) - self.index_write()
    }

    /// Write milliunits of indexes.
    pub(super) fn index_write(&self) -> u64 {
        self.sum(|used| used.index_write_milliunits)
    }

    /// Read milliunits of table and indexes.
    pub(super) fn read(&self) -> u64 {
        self.sum(|used| used.read_milliunits)
    }

    fn told(&self) -> String {
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

    /// Whether the report has every write of its transactions. DynamoDB Local reports those that cost the same once;
    /// each of an item up to 1 KB costs the table two units.
    fn is_whole(&self) -> bool {
        self.used.get(&Verb::Transact).is_none_or(|used| {
            used.write_milliunits - used.index_write_milliunits >= self.together * 2_000
        })
    }

    fn line(&self) -> String {
        let [mut table, mut index, read] =
            [self.table_write(), self.index_write(), self.read()].map(units);
        if !self.is_whole() {
            table = "not reported".to_owned();
            index.clone_from(&table);
        }
        format!("| {} | {} | {table} | {index} | {read} |", self.name, self.told())
    }
}

/// The rows of one table of the page.
pub(super) struct Ledger<'s> {
    scene: &'s Scene,
    rows: Vec<Row>,
}

impl<'s> Ledger<'s> {
    pub(super) fn new(scene: &'s Scene) -> Ledger<'s> {
        Ledger { scene, rows: Vec::new() }
    }

    /// Does something and notes what it came to.
    pub(super) async fn note<T>(&mut self, name: &str, operation: impl Future<Output = T>) -> T {
        let watch = &self.scene.watch;
        let (written, before) = (watch.written_together(), super::dynamo(self.scene).capacity());
        let done = operation.await;
        let after = super::dynamo(self.scene).capacity();
        let together = watch.written_together() - written;
        self.rows.push(Row::between(name, together, &before, &after));
        done
    }

    /// What an operation came to.
    pub(super) fn row(&self, name: &str) -> &Row {
        self.rows.iter().find(|row| row.name == name).unwrap()
    }

    /// The table of the page.
    pub(super) fn table(&self) -> Vec<String> {
        let head =
            "| operation | requests | write units, table | write units, indexes | read units |";
        let rule = "|---|---|--:|--:|--:|";
        let rows = self.rows.iter().map(Row::line);
        [head.to_owned(), rule.to_owned()].into_iter().chain(rows).collect()
    }
}

/// Thousandths of units as units.
pub(super) fn units(milli: u64) -> String {
    match milli % 1_000 {
        0 => (milli / 1_000).to_string(),
        500 => format!("{}.5", milli / 1_000),
        other => panic!("{other} thousandths of a unit"),
    }
}

/// What AWS calls a verb.
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
