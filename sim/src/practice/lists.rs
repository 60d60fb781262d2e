//! Compares lists with the model, when the index is still.

use std::collections::BTreeSet;

use weir_practice::keys::{GSI2, List};
use weir_practice::kinds::JobStatus;
use weir_practice::list::PageRequest;
use weir_table::Query;

use super::{SCRIPT, Simulation};
use crate::check::{Check, Violation};
use crate::task::at_once;

impl Simulation {
    /// The observer sees indexes that do not lag.
    pub(super) fn check_lists(&mut self) -> Result<(), Violation> {
        self.run.trace.say(format_args!("lists are compared"));
        let mut violations = self.check_feed();
        for plan in &self.plans {
            let listed = self.listed(&List::UsersOfPlan(*plan));
            let users = self.model.users_of(*plan);
            violations.extend(differ(&format!("users of plan {plan}"), listed.len(), users));
        }
        let users = self.listed(&List::Users).len();
        violations.extend(differ("users", users, self.model.users.len()));
        for status in JobStatus::ALL {
            let listed = self.listed(&List::JobsOfStatus(SCRIPT, *status)).len();
            let jobs = self.model.jobs_in(*status);
            violations.extend(differ(&format!("{status} jobs"), listed, jobs));
        }
        let leases = self.listed(&List::JobLeases(SCRIPT)).len();
        let processing = self.model.jobs_in(JobStatus::Processing);
        violations.extend(differ("leases", leases, processing));
        self.run.report(violations)
    }

    fn check_feed(&self) -> Vec<Violation> {
        let feed = at_once(self.observer.feed(&PageRequest::default())).expect("the feed").items;
        let shown: BTreeSet<_> = feed.iter().map(|run| run.id.clone()).collect();
        let runs = self.model.runs.iter().filter(|(_, is_public)| **is_public);
        let public: BTreeSet<_> = runs.map(|(id, _)| id.clone()).collect();
        let mut violations = Vec::new();
        if shown != public {
            let found = format!("the feed has {shown:?}, public are {public:?}");
            violations.push(Violation::new(Check::Feed, found));
        }
        if !feed.is_sorted_by(|a, b| a.created_s >= b.created_s) {
            violations.push(Violation::new(Check::Feed, "the feed is not in order"));
        }
        // Entries of private runs are hidden from readers, but must not stay in the index.
        violations.extend(differ(
            "runs of the feed",
            self.listed(&List::Feed(None)).len(),
            public.len(),
        ));
        violations
    }

    /// The entries of a list in the index.
    fn listed(&self, list: &List) -> Vec<weir_table::Item> {
        let query = Query::partition(self.settings.table.clone(), list.partition()).index(GSI2);
        at_once(self.observer.store().query(&query)).expect("a list").items
    }
}

fn differ(list: &str, listed: usize, model: usize) -> Option<Violation> {
    let found = || format!("{listed} {list} are listed, and there are {model}");
    (listed != model).then(|| Violation::new(Check::Lists, found()))
}
