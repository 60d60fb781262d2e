//! The end of a run: the store works again, the jobs run, and nothing is left that nobody recorded.

use weir_reviews::bounds::ABANDONED_AFTER_MS;
use weir_reviews::ids::ReviewId;

use super::{Op, Simulation};
use crate::check::{Check, Violation};
use crate::model::review::Stage;
use crate::run::Simulated as _;
use crate::store::FaultRates;
use crate::task::at_once;

/// Rounds of the jobs after which they have done everything.
const ROUNDS: usize = 8;
/// Longer than reviews are retained, after the longest run and with the most wrong clock.
const RETENTION_MS: i64 = 170 * 86_400_000;

impl Simulation {
    pub(super) async fn end_well(&mut self) -> Result<(), Violation> {
        self.run.store.with(|state| state.rates = FaultRates::default());
        self.drain().await?;
        self.run.clocks.agree();
        // A clock that was ahead when a recording began still was so by days.
        self.pass(4 * 86_400_000 + ABANDONED_AFTER_MS);
        for _ in 0..ROUNDS {
            self.resume_deletions(0).await?;
            self.roll_up(0).await?;
            self.drain().await?;
        }
        self.run.report(self.check_nothing_abandoned())?;
        self.run.report(self.check_rollups())?;
        self.check_lists()?;
        self.expire().await
    }

    /// What was killed and never repeated is gone.
    fn check_nothing_abandoned(&self) -> Vec<Violation> {
        let is_left = |stage: Stage, is_shown: bool| stage == Stage::Deleting || !is_shown;
        let left: Vec<(&ReviewId, Stage)> = self
            .reviews
            .iter()
            .filter(|(_, review)| is_left(review.stage, review.is_shown))
            .map(|(id, review)| (id, review.stage))
            .collect();
        if left.is_empty() {
            return Vec::new();
        }
        vec![Violation::new(Check::Abandoned, format!("the jobs leave {left:?}"))]
    }

    /// Everything expires; then no raw output is left.
    async fn expire(&mut self) -> Result<(), Violation> {
        self.pass(RETENTION_MS);
        let table = self.settings.table.clone();
        let swept = self.run.store.sweep(&table, self.run.clocks.true_ms(), usize::MAX).len();
        self.run.trace.say(format_args!("{swept} expired items are removed"));
        for _ in 0..ROUNDS * ROUNDS {
            self.sweep_raw(0).await?;
            while self.run.tasks.iter().any(|task| matches!(task.op, Op::RawSweep)) {
                self.go_on(0).await?;
            }
        }
        let (left, listed) = (at_once(self.objects.keys()), self.listed_raws().count());
        if left.is_empty() && listed == 0 {
            return Ok(());
        }
        let found = format!("{listed} raw outputs stay listed, and {left:?} stay stored");
        self.run.report(vec![Violation::new(Check::RawOutput, found)])
    }
}
