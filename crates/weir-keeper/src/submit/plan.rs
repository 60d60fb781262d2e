//! Plans how a submission is metered: its day, cost, shard and counters. Pure.

use std::collections::BTreeMap;

use weir_calendar::Zone;
use weir_table::{Key, Name, Write};

use super::dedup_record::DedupRecord;
use super::{CallStatus, Submission};
use crate::bounds::{DAY_MS, DEDUP_RETENTION_MS};
use crate::config::{EffectiveConfig, QuotaScope, Unpriced};
use crate::counters::Counters;
use crate::day::{OrgDay, day_of_submission};
use crate::error::{Error, Result};
use crate::hours::hour_of;
use crate::ids::{Label, RequestId, Scope};
use crate::keys;
use crate::money::{MicroUsd, Price};

/// A submission that is ready to be metered.
#[derive(Debug, Clone)]
pub(crate) struct PlannedSubmission {
    pub(crate) request_id: RequestId,
    pub(crate) record: DedupRecord,
    pub(crate) counters: Counters,
    /// The hour of the day.
    pub(crate) hour: u8,
    /// The scope whose quota it is metered against.
    pub(crate) scope: Scope,
    /// The app, where the quota is its org's: metered too, for reports by app.
    pub(crate) app_scope: Option<Scope>,
    /// When the deduplication record expires, in milliseconds since 1970.
    pub(crate) dedup_expires_at_ms: i64,
    /// When the counters expire, in milliseconds since 1970.
    pub(crate) expires_at_ms: i64,
}

/// The additions of one or several submissions to a counter.
#[derive(Debug)]
pub(crate) struct CounterIncrement {
    pub(crate) key: Key,
    pub(crate) counters: Counters,
    /// The cost by hour of the day.
    pub(crate) hours: BTreeMap<u8, MicroUsd>,
    pub(crate) expires_at_ms: i64,
}

impl CounterIncrement {
    /// Adds another increment of the same counter. Nothing is lost: the bounds of a sum are beyond those of a batch.
    pub(crate) fn merge(&mut self, other: &CounterIncrement) {
        self.counters = self.counters.plus(other.counters);
        for (hour, cost) in &other.hours {
            let sum = self.hours.entry(*hour).or_default();
            *sum = sum.saturating_add(*cost);
        }
        self.expires_at_ms = self.expires_at_ms.max(other.expires_at_ms);
    }

    /// The write that applies the increment.
    pub(crate) fn write(self, table: Name, now_ms: i64) -> Write {
        let until_ms = self.expires_at_ms;
        self.counters.add_to_shard(table, self.key, now_ms, until_ms, &self.hours)
    }
}

impl PlannedSubmission {
    /// Plans a submission with a validated `label`. `price` is the price at the time of the call; the day and the quota
    /// scope are those in force then, too.
    ///
    /// # Errors
    /// The timestamp is outside the accepted range, the price is unknown, or the cost is beyond its bound.
    pub(crate) fn new(
        submission: &Submission,
        label: Label,
        effective: &EffectiveConfig,
        price: Option<&Price>,
        retention_days: u32,
        now_ms: i64,
    ) -> Result<PlannedSubmission> {
        let (zone, quota_scope) = effective.settings_at(submission.at_ms);
        let day = day_of_submission(zone, submission.at_ms, now_ms)?;
        let (cost, computed) = cost(submission, effective.unpriced, price)?;
        let shard = submission.shard(effective.agg_shard_count);
        let (scope, app_scope) = scopes(effective, quota_scope);
        let ends_ms = zone.end_of(day);
        Ok(PlannedSubmission {
            request_id: submission.request_id.clone(),
            record: DedupRecord { label, day, shard, cost, computed, hash: submission.hash() },
            counters: Counters::one(cost, submission.tokens),
            hour: hour_of(submission.at_ms, zone.first_instant(day)),
            scope,
            app_scope,
            dedup_expires_at_ms: ends_ms.saturating_add(DEDUP_RETENTION_MS),
            expires_at_ms: retained_until_ms(zone, day, retention_days),
        })
    }

    /// The counters it increments.
    pub(crate) fn increments(&self) -> impl Iterator<Item = CounterIncrement> {
        let DedupRecord { label, day, shard, .. } = &self.record;
        [Some(&self.scope), self.app_scope.as_ref()].into_iter().flatten().map(|scope| {
            CounterIncrement {
                key: keys::usage(scope, label, *shard, *day),
                counters: self.counters,
                hours: BTreeMap::from([(self.hour, self.counters.cost)]),
                expires_at_ms: self.expires_at_ms,
            }
        })
    }
}

/// When the counters of a day expire.
pub(crate) fn retained_until_ms(zone: &Zone, day: OrgDay, retention_days: u32) -> i64 {
    let retention_ms = i64::from(retention_days).saturating_mul(DAY_MS);
    zone.end_of(day).saturating_add(retention_ms)
}

/// The scope whose quota applies, and the app where it is metered separately.
fn scopes(effective: &EffectiveConfig, quota_scope: QuotaScope) -> (Scope, Option<Scope>) {
    let org = Scope::Org(effective.org_id.clone());
    let app = effective.app_id.clone().map(|app| Scope::App(effective.org_id.clone(), app));
    match (quota_scope, app) {
        (QuotaScope::App, Some(app)) => (app, None),
        (_, app) => (org, app),
    }
}

/// The cost to meter, and the cost computed from the price, where known.
fn cost(
    submission: &Submission,
    unpriced: Unpriced,
    price: Option<&Price>,
) -> Result<(MicroUsd, Option<MicroUsd>)> {
    // A failed call used its tokens all the same.
    let (CallStatus::Ok | CallStatus::Error) = submission.status;
    let computed = price.map(|price| price.cost(&submission.tokens)).transpose()?;
    let stated = submission.stated_cost.map(MicroUsd::check_submission).transpose()?;
    match (stated, computed, unpriced) {
        (Some(stated), computed, _) => Ok((stated, computed)),
        (None, Some(computed), _) => Ok((computed, Some(computed))),
        (None, None, Unpriced::Zero) => Ok((MicroUsd::ZERO, None)),
        (None, None, Unpriced::Refuse) => {
            Err(Error::UnknownPrice { model: submission.model.to_string() })
        }
    }
}
