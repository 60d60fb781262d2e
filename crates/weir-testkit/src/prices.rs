//! List prices of DynamoDB in us-east-1, on demand, in November 2026, for the months in `docs/cost.md`.

use weir_table::Item;

use crate::ledger::Row;

/// Price of a million write request units, in thousandths of a dollar.
pub const MILLION_WRITES_MILLIUSD: u64 = 625;
/// Price of a million read request units, in thousandths of a dollar.
pub const MILLION_READS_MILLIUSD: u64 = 125;
/// Price of a gigabyte stored for a month, in thousandths of a dollar.
pub const GIGABYTE_MILLIUSD: u64 = 250;
/// Bytes that DynamoDB adds to each item and each entry of an index.
pub const OVERHEAD_BYTES: u64 = 100;

/// Price of thousandths of units, in billionths of a dollar.
#[must_use]
pub fn nanousd(write_milliunits: u64, read_milliunits: u64) -> u64 {
    let writes = write_milliunits * MILLION_WRITES_MILLIUSD;
    (writes + read_milliunits * MILLION_READS_MILLIUSD) / 1_000
}

/// Price of an operation, in billionths of a dollar.
#[must_use]
pub fn operation_nanousd(row: &Row) -> u64 {
    nanousd(row.table_write() + row.index_write(), row.read())
}

/// Price of a month of these bytes, in billionths of a dollar.
#[must_use]
pub fn stored_nanousd(bytes: u64) -> u64 {
    bytes * GIGABYTE_MILLIUSD / 1_000
}

/// Bytes that an item takes with its entries in indexes, of which each is given with its size.
#[must_use]
pub fn stored_bytes(item: &Item, entries: impl IntoIterator<Item = u64>) -> u64 {
    let entries: u64 = entries.into_iter().map(|bytes| bytes + OVERHEAD_BYTES).sum();
    item.size() as u64 + OVERHEAD_BYTES + entries
}

/// Billionths of a dollar as dollars and cents.
#[must_use]
pub fn usd(nano: u64) -> String {
    let cents = nano / 10_000_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}
