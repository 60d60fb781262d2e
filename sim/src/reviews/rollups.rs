//! Compares rollups with the completed reviews.

use std::collections::BTreeMap;

use weir_calendar::Day;
use weir_reviews::rollup::{DayRange, DayRollup, Level, RunReport, Summary, read_days};

use super::{NOON_MS, Simulation, clients};
use crate::check::{Check, Violation};
use crate::model::review::{Review, Stage};
use crate::task::at_once;

/// Days before and after the first of a run within which all its reviews are.
const DAYS_BEFORE: i64 = 40;
const DAYS_AFTER: i64 = 160;

/// Whether a run has taken every mark.
pub(super) fn is_complete(report: &RunReport) -> bool {
    report.contended == 0 && report.failed == 0 && !report.has_more
}

impl Simulation {
    /// After a full pass every day is the sum of its reviews.
    pub(super) fn check_rollups(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let repositories =
            clients::repos().map(|repo| Level::Repository(clients::owner(), repo)).into_iter();
        let first = Day::utc(NOON_MS);
        let range = DayRange::new(first.plus_days(-DAYS_BEFORE), first.plus_days(DAYS_AFTER));
        let range = range.expect("a range of days");
        for level in repositories.chain([Level::All]) {
            let (store, table) = (self.observer.store(), self.observer.rollup_table());
            let read = at_once(read_days(store, &table, &level, range));
            let expected = self.summed(&level);
            if read.as_ref().ok() != Some(&expected) {
                let found = format!("{level:?} is {read:?}, and the reviews have {expected:?}");
                violations.push(Violation::new(Check::RollupComplete, found));
            }
        }
        violations
    }

    /// The sums of the completed reviews.
    fn summed(&self, level: &Level) -> BTreeMap<Day, DayRollup> {
        let mut days = BTreeMap::<Day, DayRollup>::new();
        let completed = self.reviews.values().filter(|of| of.stage == Stage::Completed);
        for summary in completed.filter_map(Review::ended).map(|of| Summary::of(&of)) {
            let of = Level::Repository(summary.id.owner.clone(), summary.id.repo.clone());
            if *level == Level::All || *level == of {
                days.entry(summary.id.day).or_default().merge(&summary.rollup);
            }
        }
        days.retain(|_, rollup| !rollup.is_empty());
        days
    }
}
