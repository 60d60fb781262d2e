//! Checks the quotas of a scope after its totals changed.

use weir_table::Backend;

use super::AggregateReport;
use crate::bounds::TRIES_MAX;
use crate::config::EffectiveConfig;
use crate::day::OrgDay;
use crate::decide::{ChainEntry, decide};
use crate::error::{Error, Result};
use crate::ids::Scope;
use crate::keeper::Keeper;
use crate::money::{MicroUsd, Percent};
use crate::select::{ChainSpend, SpendRead};
use crate::sticky::has_quotas;
use crate::webhooks::{THRESHOLDS_PCT, WebhookEvent};

impl<B: Backend> Keeper<B> {
    /// Records a fallback when a quota of today is exceeded, and queues notifications of thresholds crossed on `day`.
    /// An app under its org's quotas has none to check.
    pub(super) async fn watch_quotas(
        &self,
        scope: &Scope,
        day: OrgDay,
        now_ms: i64,
        report: &mut AggregateReport,
    ) -> Result<()> {
        let effective = self.effective_config(scope.org(), scope.app()).await?;
        if !has_quotas(scope, &effective) {
            return Ok(());
        }
        let (chain, closed_until_ms) = if effective.timezone.day_of(now_ms) == day {
            self.apply_fallback(&effective, scope, day, now_ms, report).await?
        } else {
            let read = SpendRead::StrongTotals;
            (self.chain_spend(&effective, scope, day, read, now_ms).await?, None)
        };
        // What nobody can sum up crosses no threshold; the failed job reports it.
        for entry in chain.entries.iter().filter(|_| chain.is_summed) {
            let percent = Percent::of(entry.spend, entry.quota);
            report.record_proximity(percent, scope, &entry.label);
            report.notifications += self.notify_thresholds(scope, day, entry, now_ms).await?;
        }
        if let Some(until_ms) = closed_until_ms.filter(|_| chain.is_summed) {
            let (scope, chain) = (scope.clone(), chain.entries);
            let event = WebhookEvent::AllExceeded { scope, day, chain, until_ms };
            report.notifications += u64::from(self.notify_once(&event, now_ms).await?);
        }
        Ok(())
    }

    /// Decides again until the fallback is recorded or unnecessary. Returns the chain it decided on and, if no model of it is
    /// open, until when.
    async fn apply_fallback(
        &self,
        effective: &EffectiveConfig,
        scope: &Scope,
        day: OrgDay,
        now_ms: i64,
        report: &mut AggregateReport,
    ) -> Result<(ChainSpend, Option<i64>)> {
        for _ in 0..TRIES_MAX {
            let read = SpendRead::StrongTotals;
            let chain = self.chain_spend(effective, scope, day, read, now_ms).await?;
            let input = chain.decision_input(effective, now_ms);
            let today = input.today;
            let decision = decide(&input);
            let Some(fallback) = decision.fallback else {
                let is_closed = decision.recommended.is_none();
                return Ok((chain, is_closed.then_some(decision.retry_at_ms)));
            };
            if self.record_fallback(effective, &fallback, today, now_ms).await? {
                report.fallbacks += 1;
                return Ok((chain, None));
            }
        }
        Err(Error::Contended)
    }

    async fn notify_thresholds(
        &self,
        scope: &Scope,
        day: OrgDay,
        entry: &ChainEntry,
        now_ms: i64,
    ) -> Result<u64> {
        let mut queued = 0;
        for threshold_pct in THRESHOLDS_PCT {
            if entry.spend > MicroUsd::ZERO && has_reached(entry, threshold_pct) {
                let event = WebhookEvent::Threshold {
                    scope: scope.clone(),
                    day,
                    threshold_pct,
                    entry: entry.clone(),
                };
                queued += u64::from(self.notify_once(&event, now_ms).await?);
            }
        }
        Ok(queued)
    }
}

/// Whether spend has reached this percentage of the quota; in integers.
fn has_reached(entry: &ChainEntry, threshold_pct: u8) -> bool {
    u128::from(entry.spend.0) * 100 >= u128::from(entry.quota.0) * u128::from(threshold_pct)
}
