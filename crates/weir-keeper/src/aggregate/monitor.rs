//! Looks after the quotas of a scope once its totals have changed.

use weir_table::Backend;

use super::Summed;
use crate::bounds::TRIES_MAX;
use crate::config::Effective;
use crate::day::OrgDay;
use crate::decide::{Rung, decide};
use crate::error::{Error, Result};
use crate::ids::Scope;
use crate::keeper::Keeper;
use crate::money::{MicroUsd, Percent};
use crate::notices::{News, THRESHOLDS_PCT};
use crate::select::Look;
use crate::sticky::has_quotas;

impl<B: Backend> Keeper<B> {
    /// Moves the scope's chain on where a quota is spent today, and tells of thresholds that were crossed on `day`. An app
    /// whose quotas are its org's has none to look after.
    pub(super) async fn watch_quotas(
        &self,
        scope: &Scope,
        day: OrgDay,
        now_ms: i64,
        summed: &mut Summed,
    ) -> Result<()> {
        let effective = self.effective(scope.org(), scope.app()).await?;
        if !has_quotas(scope, &effective) {
            return Ok(());
        }
        let chain = if effective.timezone.day_of(now_ms) == day {
            self.keep_on(&effective, scope, day, now_ms, summed).await?
        } else {
            self.look_at(&effective, scope, day, Look::Strong, now_ms).await?.0
        };
        for rung in &chain {
            let percent = Percent::of(rung.spend, rung.quota);
            summed.near(percent, scope, &rung.label);
            summed.notices += self.tell_thresholds(scope, day, rung, now_ms).await?;
        }
        Ok(())
    }

    /// Decides until what is decided is written down.
    async fn keep_on(
        &self,
        effective: &Effective,
        scope: &Scope,
        day: OrgDay,
        now_ms: i64,
        summed: &mut Summed,
    ) -> Result<Vec<Rung>> {
        for _ in 0..TRIES_MAX {
            let (chain, sticky) = self.look_at(effective, scope, day, Look::Strong, now_ms).await?;
            let question = effective.question(&chain, sticky.as_ref(), now_ms);
            let Some(flip) = decide(&question).flip else { return Ok(chain) };
            if self.flip(effective, &flip, question.today, now_ms).await? {
                summed.flips += 1;
                return Ok(chain);
            }
        }
        Err(Error::Contended)
    }

    async fn tell_thresholds(
        &self,
        scope: &Scope,
        day: OrgDay,
        rung: &Rung,
        now_ms: i64,
    ) -> Result<u64> {
        let mut queued = 0;
        for threshold_pct in THRESHOLDS_PCT {
            if rung.spend > MicroUsd::ZERO && has_reached(rung, threshold_pct) {
                let news = News::Threshold {
                    scope: scope.clone(),
                    day,
                    threshold_pct,
                    rung: rung.clone(),
                };
                queued += u64::from(self.tell_once(&news, now_ms).await?);
            }
        }
        Ok(queued)
    }
}

/// Whether so much of the quota is spent, in whole numbers.
fn has_reached(rung: &Rung, threshold_pct: u8) -> bool {
    u128::from(rung.spend.0) * 100 >= u128::from(rung.quota.0) * u128::from(threshold_pct)
}
