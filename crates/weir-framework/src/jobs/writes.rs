//! The writes to a job's item. The holder of a lease writes on condition of its fence, so its writes are refused
//! when another instance has taken the job over.

use std::time::Duration;

use weir_api::server::JobOutcome;
use weir_table::Write;
use weir_table::expr::{Condition, Update, add, attr, set};

use super::backoff::millis;
use super::keys::{self, JOBS_TABLE};
use super::record::{
    BEAT, DETAIL, DUE, DUE_IN, DURATION, ERROR, Ended, FAILED_IN_ROW, FAILURES, FENCE, FINISHED,
    ITEMS, LEASE, LEASE_UNTIL, OUTCOME, OWNER, PASSES_DONE, PASSES_OWED, RUNS, Record, STARTED,
};

fn update(job: &str, update: Update) -> Write {
    // If such a write is lost, the work is repeated, which is safe because jobs are idempotent. Jobs run on a full disk too,
    // because some of them make room.
    Write::update(JOBS_TABLE, keys::job(job), update).flushed().essential()
}

fn holds(fence: u64) -> Condition {
    attr(FENCE).eq(fence)
}

/// Takes the lease if the item is unchanged. `owe` records in the same write that a full pass is due.
pub(super) fn take(
    job: &str,
    seen: &Record,
    owner: &str,
    now_ms: u64,
    lease: Duration,
    owe: bool,
) -> Write {
    let unchanged = match seen.beat {
        0 => attr(BEAT).absent(),
        beat => attr(BEAT).eq(beat),
    };
    let taken = set(OWNER, owner)
        .set(LEASE_UNTIL, now_ms.saturating_add(millis(lease)))
        .set(LEASE, millis(lease))
        .set(FENCE, seen.beat + 1)
        .set(STARTED, now_ms)
        .add(BEAT, 1);
    if owe {
        let write = update(job, taken.add(PASSES_OWED, 1)).when(unchanged);
        // A full pass that is due must not be lost, or changes would be missed forever.
        return Write { durability: weir_table::Durability::Synced, ..write };
    }
    update(job, taken).when(unchanged)
}

/// Renews the lease from now on.
pub(super) fn renew(job: &str, fence: u64, now_ms: u64, lease: Duration) -> Write {
    let renewed = set(LEASE_UNTIL, now_ms.saturating_add(millis(lease))).add(BEAT, 1);
    update(job, renewed).when(holds(fence))
}

/// The end of a run under a lease, and when the next one is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finish<'a> {
    pub(super) ended: &'a Ended,
    pub(super) failed_in_row: u64,
    pub(super) due_in: Duration,
    /// The number of the full pass that was made, if one was.
    pub(super) pass: Option<u64>,
}

/// Records the end of the run and releases the lease.
pub(super) fn end(job: &str, fence: u64, finish: &Finish<'_>) -> Write {
    let due_in_ms = millis(finish.due_in);
    let due_ms = finish.ended.finished_ms.saturating_add(due_in_ms);
    let mut done = give_back(result(finish.ended, 1, failed(finish.ended)))
        .set(FAILED_IN_ROW, finish.failed_in_row)
        .set(DUE, due_ms)
        .set(DUE_IN, due_in_ms);
    if let Some(pass) = finish.pass {
        done = done.set(PASSES_DONE, pass);
    }
    update(job, done).when(holds(fence))
}

/// Releases the lease; the run does not count.
pub(super) fn release(job: &str, fence: u64) -> Write {
    update(job, give_back(Update::default())).when(holds(fence))
}

/// Records the last of `runs` runs without a lease.
pub(super) fn record(job: &str, ended: &Ended, runs: u64, failures: u64) -> Write {
    update(job, result(ended, runs, failures))
}

/// Whether a run counts as failed, as a number to add.
pub(super) fn failed(ended: &Ended) -> u64 {
    u64::from(ended.outcome() == JobOutcome::Failed)
}

fn give_back(update: Update) -> Update {
    update.remove(OWNER).remove(LEASE_UNTIL).remove(LEASE).remove(FENCE).add(BEAT, 1)
}

fn result(ended: &Ended, runs: u64, failures: u64) -> Update {
    let result = add(RUNS, runs)
        .add(FAILURES, failures)
        .set(STARTED, ended.started_ms)
        .set(FINISHED, ended.finished_ms)
        .set(DURATION, ended.duration_ms)
        .set(OUTCOME, ended.outcome_text())
        .set(ITEMS, ended.items);
    let result = text(result, ERROR, ended.error.as_deref());
    text(result, DETAIL, ended.detail.as_deref())
}

fn text(update: Update, name: &str, text: Option<&str>) -> Update {
    match text {
        Some(text) => update.set(name, text),
        None => update.remove(name),
    }
}
