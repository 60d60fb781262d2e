//! A job's item: its lease, its last run, and when it is due.
//!
//! | attribute | content |
//! |---|---|
//! | `beat` | count of takes, renewals and ends; waiting instances see by it that the owner is alive |
//! | `owner`, `lease_until_ms`, `lease_ms` | instance that runs the job, expiry and length of its lease |
//! | `fence` | the beat at which the lease was taken; only its holder may write by it |
//! | `due_ms`, `due_in_ms` | when the next run is due, and how long that is after the last |
//! | `last_*` | the last run |
//! | `runs`, `failures`, `failed_in_row` | counts over all instances |
//! | `passes_owed`, `passes_done` | full passes of a feed job; one is due while they differ |

use weir_api::server::JobOutcome;
use weir_table::Item;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) started_ms: u64,
    pub(super) finished_ms: u64,
    pub(super) duration_ms: u64,
    pub(super) items: u64,
    pub(super) detail: Option<String>,
    /// The reason of the failure, if it failed.
    pub(super) error: Option<String>,
}

impl Ended {
    /// The stored text of the outcome.
    pub(super) fn outcome_text(&self) -> &'static str {
        if self.error.is_none() { "ok" } else { "failed" }
    }

    pub(super) fn outcome(&self) -> JobOutcome {
        match self.error {
            None => JobOutcome::Ok,
            Some(_) => JobOutcome::Failed,
        }
    }
}

/// The item of a job. A missing item has default values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) beat: u64,
    pub(super) owner: Option<String>,
    pub(super) lease_until_ms: u64,
    pub(super) lease_ms: u64,
    pub(super) due_ms: u64,
    pub(super) due_in_ms: u64,
    pub(super) last_started_ms: Option<u64>,
    pub(super) last: Option<Ended>,
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) failed_in_row: u64,
    pub(super) passes_owed: u64,
    pub(super) passes_done: u64,
}

pub(super) const BEAT: &str = "beat";
pub(super) const OWNER: &str = "owner";
pub(super) const LEASE_UNTIL: &str = "lease_until_ms";
pub(super) const LEASE: &str = "lease_ms";
pub(super) const FENCE: &str = "fence";
pub(super) const DUE: &str = "due_ms";
pub(super) const DUE_IN: &str = "due_in_ms";
pub(super) const STARTED: &str = "last_started_ms";
pub(super) const FINISHED: &str = "last_finished_ms";
pub(super) const DURATION: &str = "last_duration_ms";
pub(super) const OUTCOME: &str = "last_outcome";
pub(super) const ITEMS: &str = "last_items";
pub(super) const ERROR: &str = "last_error";
pub(super) const DETAIL: &str = "last_detail";
pub(super) const RUNS: &str = "runs";
pub(super) const FAILURES: &str = "failures";
pub(super) const FAILED_IN_ROW: &str = "failed_in_row";
pub(super) const PASSES_OWED: &str = "passes_owed";
pub(super) const PASSES_DONE: &str = "passes_done";

impl Record {
    pub(super) fn read(item: &Item) -> Record {
        let maybe = |name: &str| item.i64(name).and_then(|n| u64::try_from(n).ok());
        let number = |name: &str| maybe(name).unwrap_or(0);
        Record {
            beat: number(BEAT),
            owner: item.s(OWNER).map(str::to_owned),
            lease_until_ms: number(LEASE_UNTIL),
            lease_ms: number(LEASE),
            due_ms: number(DUE),
            due_in_ms: number(DUE_IN),
            last_started_ms: maybe(STARTED),
            last: maybe(FINISHED).map(|finished_ms| Ended {
                started_ms: number(STARTED),
                finished_ms,
                duration_ms: number(DURATION),
                items: number(ITEMS),
                detail: item.s(DETAIL).map(str::to_owned),
                error: item.s(ERROR).map(str::to_owned),
            }),
            runs: number(RUNS),
            failures: number(FAILURES),
            failed_in_row: number(FAILED_IN_ROW),
            passes_owed: number(PASSES_OWED),
            passes_done: number(PASSES_DONE),
        }
    }

    /// Whether a full pass of a feed job is due.
    pub(super) fn owes_pass(&self) -> bool {
        self.passes_owed > self.passes_done
    }
}
