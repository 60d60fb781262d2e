//! Requests about runs: recorded, and made public or private.

use weir_practice::history::NewRun;
use weir_practice::ids::{HistoryId, Platform};

use super::{Op, Outcome, Simulation};
use crate::check::Violation;
use crate::run::Simulated as _;

/// Runs after which no more are recorded.
const RUNS_MAX: usize = 12;

impl Simulation {
    pub(super) async fn record(&mut self, instance: usize) -> Result<(), Violation> {
        if self.model.runs.len() >= RUNS_MAX {
            return Ok(());
        }
        let is_again = self.next_run > 1 && self.run.random.percent(20);
        let number = if is_again { self.next_run - 1 } else { self.next_run };
        self.next_run = self.next_run.max(number + 1);
        let id = HistoryId::new(format!("r{number}")).expect("an id");
        let platform = Platform::new("sim").expect("a platform");
        let new = NewRun {
            id: Some(id.clone()),
            is_public: number % 2 == 0,
            ..NewRun::new(platform, "1", "print(1)".to_owned())
        };
        self.say_start(instance, format_args!("{id} is recorded"));
        let practice = self.instances[instance].clone();
        let work =
            Box::pin(async move { Outcome::Changed(practice.record_run(new).await.map(|_| ())) });
        self.start(instance, Op::Record(id), work).await
    }

    pub(super) async fn toggle(&mut self, instance: usize) -> Result<(), Violation> {
        let runs: Vec<HistoryId> = self.model.runs.keys().cloned().collect();
        if runs.is_empty() {
            return Ok(());
        }
        let run = self.run.random.pick(&runs).clone();
        let is_public = self.run.random.percent(50);
        let actor = self.run.random.percent(50).then_some("sim");
        self.say_start(instance, format_args!("{run} becomes public: {is_public}"));
        let practice = self.instances[instance].clone();
        let op = Op::SetVisibility { run: run.clone(), is_public };
        let work = Box::pin(async move {
            let done = practice.set_run_visibility(&run, is_public, actor).await;
            Outcome::Changed(done.map(|_| ()))
        });
        self.start(instance, op, work).await
    }
}
