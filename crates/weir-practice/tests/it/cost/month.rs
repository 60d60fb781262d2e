//! A month of AlgoItny's 100 000 daily users: what its design says, what its own requests cost, and what
//! ours do.

use weir_table::capacity::{WRITE_STEP, read_milliunits};
use weir_table::request::Consistency;
use weir_testkit::ledger::{Ledger, Row};
use weir_testkit::prices::{OVERHEAD_BYTES, nanousd, stored_nanousd, usd};

const MONTH_DAYS: u64 = 30;
/// What the document assumes.
const USERS: u64 = 100_000;
const CHECKS: u64 = 10_000 * MINUTES;
const SIGN_INS: u64 = 5_000 * MINUTES;
const LOOKUPS: u64 = 1_000 * MINUTES;
const FEED_PAGES: u64 = 800 * MINUTES;
const RUNS: u64 = 2_000_000;
const OTHER_READS: u64 = 2_000_000;
const OTHER_WRITES: u64 = 1_000_000;
const USAGE_DAYS: u64 = 90;
const MINUTES: u64 = 60 * 24;
/// Its sizes, in bytes.
const LOG_BYTES: u64 = 300;
const RUN_BYTES: u64 = 2_000;
/// Items of its other entities and index entries, each with its size.
const OTHER_ITEMS: [(u64, u64); 7] = [
    (10_000, 1_000),
    (5_000, 2_000),
    (25_000, 500),
    (100_000, RUN_BYTES),
    (15_000, 1_000),
    (20_000, 1_000),
    (100_000, 100),
];
/// Its volumes, for our storage.
const STORED_USERS: u64 = 10_000;
const PROBLEMS: u64 = 5_000;
const STORED_RUNS: u64 = 100_000;
const JOBS: u64 = 2_000;
const TASKS: u64 = 3_000;
/// Progress steps of a job: 10 000 of 2 000 jobs.
pub(super) const JOB_STEPS: usize = 5;
/// Actions of a user, each with a counter.
const ACTIONS: u64 = 2;
/// Users that are rolled up in one transaction.
pub(super) const ROLLUP_USERS: u64 = 33;
const ROLLUP_DAYS: u64 = 400;
const CENT: u64 = 10_000_000;

/// Bytes of stored things, with their index entries and everything beside them.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) user: u64,
    /// With five test cases.
    pub(super) problem: u64,
    pub(super) run: u64,
    pub(super) log_entry: u64,
    pub(super) counter: u64,
    pub(super) rollup: u64,
    /// With its progress steps.
    pub(super) job: u64,
    pub(super) task: u64,
}

/// A line of the month. Amounts are in billionths of a dollar; `None` if the line does not exist.
struct Line {
    name: &'static str,
    a_day: String,
    says: Option<u64>,
    recomputed: Option<u64>,
    ours: Option<u64>,
}

/// The month, line by line.
pub(super) fn table(ledger: &Ledger<'_>, stored: &Stored) -> Vec<String> {
    let lines: Vec<Line> = requests(ledger).into_iter().chain(storage(stored)).collect();
    let sum = |of: fn(&Line) -> Option<u64>| lines.iter().filter_map(of).sum::<u64>();
    let (says, recomputed, ours) =
        (sum(|line| line.says), sum(|line| line.recomputed), sum(|line| line.ours));
    assert_eq!(usd(says), "225.77", "the total of the document");
    let head = "| | a day | AlgoItny's design | its requests, recomputed | Weir |".to_owned();
    let rows = lines.iter().map(|line| {
        let [says, recomputed, ours] = [line.says, line.recomputed, line.ours].map(dollars);
        format!("| {} | {} | {says} | {recomputed} | {ours} |", line.name, line.a_day)
    });
    let [says, recomputed, ours] = [says, recomputed, ours].map(usd);
    let last = format!("| **together** |  | {says} | {recomputed} | {ours} |");
    [head, "|---|--:|--:|--:|--:|".to_owned()].into_iter().chain(rows).chain([last]).collect()
}

fn dollars(nano: Option<u64>) -> String {
    nano.map_or_else(|| "–".to_owned(), usd)
}

/// Thousandths of write and read units.
#[derive(Clone, Copy)]
struct Units {
    write: u64,
    read: u64,
}

impl Units {
    fn of_row(row: &Row) -> Units {
        Units { write: row.table_write() + row.index_write(), read: row.read() }
    }

    /// Price of a month with so many a day.
    fn month(self, a_day: u64) -> u64 {
        let times = a_day * MONTH_DAYS;
        nanousd(self.write * times, self.read * times)
    }
}

fn requests(ledger: &Ledger<'_>) -> Vec<Line> {
    let row = |name: &str| Units::of_row(ledger.row(name));
    let reads = |count: u64| {
        let one = read_milliunits(1, Consistency::Eventual);
        Units { write: 0, read: count * one }
    };
    let writes = |count: u64| Units { write: count * 1_000, read: 0 };
    // Two units of the table for 2 KB, and one of an index with keys.
    let run = writes(RUN_BYTES.div_ceil(WRITE_STEP as u64) + 1);
    // The document's amounts a day are rounded to cents.
    let line = |name, a_day: u64, says_cents: u64, recomputed: Units, ours: Option<Units>| Line {
        name,
        a_day: grouped(a_day),
        says: Some(says_cents * CENT * MONTH_DAYS),
        recomputed: Some(recomputed.month(a_day)),
        ours: ours.map(|ours| ours.month(a_day)),
    };
    let sign_in = row("sign-in by email address");
    let feed = row("public feed, 20 runs");
    vec![
        Line {
            recomputed: Some(count_queries().month(USERS)),
            ..line("rate-limit checks", CHECKS, 90, reads(1), Some(row("usage")))
        },
        line("usage logging, in Weir's check", CHECKS, 360, writes(1), None),
        line("sign-ins", SIGN_INS, 90, reads(1), Some(sign_in)),
        line("problem lookups", LOOKUPS, 9, reads(1), Some(row("a problem"))),
        line("pages of the public feed", FEED_PAGES, 14, reads(21), Some(feed)),
        line("runs recorded", RUNS, 50, run, Some(row("a public run of 2 KB"))),
        line("other reads", OTHER_READS, 13, reads(1), Some(row("a user by id"))),
        line("other writes", OTHER_WRITES, 13, writes(1), Some(row("a task result stored"))),
        Line {
            name: "rollups, every 10 s",
            a_day: grouped(CHECKS),
            says: None,
            recomputed: None,
            ours: Some(rollup_month(ledger, CHECKS)),
        },
    ]
}

/// The document's COUNT queries for a user on a day. Each reads every item that the user has logged on the day until then.
fn count_queries() -> Units {
    let read = |logged: u64| {
        let bytes = usize::try_from(logged * LOG_BYTES).unwrap();
        read_milliunits(bytes, Consistency::Eventual)
    };
    Units { write: 0, read: (0..CHECKS / USERS).map(read).sum() }
}

/// A month of rollups, in transactions of as many users as possible.
fn rollup_month(ledger: &Ledger<'_>, users_a_day: u64) -> u64 {
    Units::of_row(ledger.row("rollup of 33 users")).month(users_a_day) / ROLLUP_USERS
}

fn storage(of: &Stored) -> Vec<Line> {
    let line = |name, says, recomputed: Option<u64>, bytes: u64| Line {
        name,
        a_day: format!("{} GB", tenths(bytes)),
        says,
        recomputed: recomputed.map(stored_nanousd),
        ours: Some(stored_nanousd(bytes)),
    };
    let entries = CHECKS * USAGE_DAYS;
    let counters = USERS * ACTIONS * USAGE_DAYS * of.counter;
    let rollups = USERS * ROLLUP_DAYS * of.rollup;
    let rest = STORED_USERS * of.user + PROBLEMS * of.problem + STORED_RUNS * of.run;
    let rest = rest + JOBS * of.job + TASKS * of.task;
    let their_rest = OTHER_ITEMS.iter().map(|(items, bytes)| items * (bytes + OVERHEAD_BYTES));
    // $34.06 of storage without the log's $33.75, and $0.008 of indexes, rounded up.
    let says_rest = 32 * CENT;
    vec![
        line(
            "stored: usage log of 90 days",
            Some(3_375 * CENT),
            Some(entries * (LOG_BYTES + OVERHEAD_BYTES)),
            entries * of.log_entry,
        ),
        line("stored: counters of 90 days, rollups of 400", None, None, counters + rollups),
        line("stored: everything else", Some(says_rest), Some(their_rest.sum()), rest),
    ]
}

/// What rollups cost at other intervals: at most one for each user and interval.
pub(super) fn rollups(ledger: &Ledger<'_>) -> Vec<String> {
    let head = "| `practice.rollup_interval_secs` | users rolled up a day, at most | $ a month |";
    let mut lines = vec![head.to_owned(), "|--:|--:|--:|".to_owned()];
    for secs in [10, 600, 3_600] {
        let users = CHECKS.min(USERS * 86_400 / secs);
        lines.push(format!(
            "| {} | {} | {} |",
            grouped(secs),
            grouped(users),
            usd(rollup_month(ledger, users))
        ));
    }
    lines
}

/// A number with a space before each group of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let grouped = digits.as_bytes().rchunks(3).rev().map(|part| str::from_utf8(part).unwrap());
    grouped.collect::<Vec<_>>().join(" ")
}

/// Gigabytes with one decimal.
fn tenths(bytes: u64) -> String {
    let tenths = bytes / 100_000_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}
