//! From shards to totals, from totals to fallbacks and notices.
//!
//! 1. The change feed of the counters tells which models of which scopes are dirty ([`Dirty::of`]); a full pass over the days
//!    in which something can still be counted finds what the feed missed, and sums each day up once more when it is over.
//! 2. The shards of each are summed up into its total, which never goes back.
//! 3. The monitor looks at the totals of each scope: it moves the chain on as soon as a quota is spent, and tells of
//!    thresholds that were crossed.
//!
//! All of it is idempotent and safe on every instance at once. A failure leaves the rest dirty: the feed is read again.

mod closing;
mod dirty;
mod monitor;
mod pass;
mod sum;

use serde::Serialize;
use weir_table::Backend;

pub use self::dirty::Dirty;
pub use self::pass::Passed;
use self::sum::Total;
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::money::{MicroUsd, Percent};

/// Models that are told of as the closest to their quotas.
const CLOSEST_MAX: usize = 10;

/// What summing up came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summed {
    /// Totals that were written.
    pub written: u64,
    /// Totals that said already what the shards say.
    pub unchanged: u64,
    /// Chains that were moved on.
    pub flips: u64,
    /// Notices that were queued.
    pub notices: u64,
    /// Models and scopes that could not be looked after, though the store works: what is stored of them is damaged.
    pub failed: u64,
    /// What was spent since the totals were written before: with the lag, what a quota can be overshot by.
    pub spend_added: MicroUsd,
    /// How long ago the first change was that is now in a total.
    pub lag_ms: i64,
    /// The models that are closest to their quotas, of those that were looked at.
    pub closest: Vec<Proximity>,
}

/// How close a model is to its quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proximity {
    /// How much of the quota is spent.
    pub percent: Percent,
    /// Whose.
    #[serde(skip)]
    pub scope: Scope,
    /// The model.
    pub label: Label,
}

impl Summed {
    /// Passes over what is wrong with one scope, so that the others do not suffer from it; a store that fails, fails all.
    fn passable<T>(&mut self, scope: &Scope, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error @ (Error::Store(_) | Error::Contended)) => Err(error),
            Err(error) => {
                let client_id = scope.client_id();
                tracing::warn!(scope = client_id, %error, "totals of a scope cannot be looked after");
                self.failed += 1;
                Ok(None)
            }
        }
    }

    fn near(&mut self, percent: Percent, scope: &Scope, label: &Label) {
        let place = self.closest.partition_point(|other| other.percent >= percent);
        if place < CLOSEST_MAX {
            let near = Proximity { percent, scope: scope.clone(), label: label.clone() };
            self.closest.insert(place, near);
            self.closest.truncate(CLOSEST_MAX);
        }
    }
}

impl<B: Backend> Keeper<B> {
    /// Sums up what is dirty, then looks after the quotas of the scopes it belongs to.
    ///
    /// # Errors
    /// The store fails. What was done is done, and doing all of it again does no harm.
    pub async fn aggregate(&self, dirty: &Dirty) -> Result<Summed> {
        let now_ms = self.now_ms();
        let mut summed = Summed::default();
        for (scope, label, day, at_ms) in dirty.iter() {
            let spot = (scope.clone(), label.clone(), day);
            match summed.passable(scope, self.total_up(&spot, now_ms).await)? {
                None => {}
                Some(Total::Unchanged) => summed.unchanged += 1,
                Some(Total::Written(added)) => {
                    summed.written += 1;
                    // What an org spent is what its apps did, which is counted for them in any case.
                    if scope.app().is_some() {
                        summed.spend_added.0 = summed.spend_added.0.saturating_add(added.0);
                    }
                    summed.lag_ms = summed.lag_ms.max(now_ms.saturating_sub(at_ms));
                }
            }
        }
        for (scope, day) in dirty.scopes() {
            let watched = self.watch_quotas(scope, day, now_ms, &mut summed).await;
            summed.passable(scope, watched)?;
        }
        Ok(summed)
    }
}
