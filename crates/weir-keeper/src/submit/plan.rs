//! What a submission is to be counted as. Pure.

use weir_table::{Key, Name, Write};

use super::record::Record;
use super::{CallStatus, Submission};
use crate::bounds::DEDUP_KEPT_MS;
use crate::config::{Effective, QuotaScope, Unpriced};
use crate::counters::Counters;
use crate::day::{OrgDay, Zone};
use crate::error::{Error, Result};
use crate::ids::{Label, RequestId, Scope};
use crate::keys;
use crate::money::{MicroUsd, Price};

const DAY_MS: i64 = 86_400_000;

/// A submission that can be counted.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) request_id: RequestId,
    pub(crate) record: Record,
    pub(crate) counters: Counters,
    /// Whose quota it is counted against.
    pub(crate) scope: Scope,
    /// The app, where the quota is its org's: counted as well, to tell who spent what.
    pub(crate) own: Option<Scope>,
    /// Until when its id is remembered.
    pub(crate) forgotten_at_ms: i64,
    /// Until when the counters are kept.
    pub(crate) kept_until_ms: i64,
}

/// What one submission, or several of one shard, add to a counter.
#[derive(Debug)]
pub(crate) struct Addition {
    pub(crate) key: Key,
    pub(crate) counters: Counters,
    pub(crate) kept_until_ms: i64,
}

impl Addition {
    /// Adds what another adds to the same counter.
    ///
    /// # Errors
    /// The sum does not fit; that of a batch does.
    pub(crate) fn merge(&mut self, other: &Addition) -> Result<()> {
        self.counters = self.counters.plus(other.counters)?;
        self.kept_until_ms = self.kept_until_ms.max(other.kept_until_ms);
        Ok(())
    }

    /// Adds it.
    pub(crate) fn write(self, table: Name, now_ms: i64) -> Write {
        self.counters.add_to_shard(table, self.key, now_ms, self.kept_until_ms)
    }
}

impl Planned {
    /// Plans how to count a submission of a `label`. `effective` is what is in force, `price` what the model costs
    /// now; the day and whose quota it is are what they were when the model was called.
    ///
    /// # Errors
    /// The time is not one that can still be told, or nobody knows the price.
    pub(crate) fn new(
        submission: &Submission,
        label: Label,
        effective: &Effective,
        price: Option<&Price>,
        retention_days: u32,
        now_ms: i64,
    ) -> Result<Planned> {
        let (zone, quota_scope) = effective.then(submission.at_ms);
        let day = zone.day_of_submission(submission.at_ms, now_ms)?;
        let (cost, computed) = cost(submission, effective.unpriced, price)?;
        let shard = submission.shard(effective.agg_shard_count);
        let (scope, own) = scopes(effective, quota_scope);
        let ends_ms = end_of(zone, day);
        Ok(Planned {
            request_id: submission.request_id.clone(),
            record: Record { label, day, shard, cost, computed, hash: submission.hash() },
            counters: Counters::one(cost, submission.tokens),
            scope,
            own,
            forgotten_at_ms: ends_ms.saturating_add(DEDUP_KEPT_MS),
            kept_until_ms: kept_until_ms(zone, day, retention_days),
        })
    }

    /// What it adds, counter by counter.
    pub(crate) fn additions(&self) -> impl Iterator<Item = Addition> {
        let Record { label, day, shard, .. } = &self.record;
        [Some(&self.scope), self.own.as_ref()].into_iter().flatten().map(|scope| Addition {
            key: keys::usage(scope, label, *shard, *day),
            counters: self.counters,
            kept_until_ms: self.kept_until_ms,
        })
    }
}

/// Until when what was counted on a day is kept.
pub(crate) fn kept_until_ms(zone: &Zone, day: OrgDay, retention_days: u32) -> i64 {
    let kept_ms = i64::from(retention_days).saturating_mul(DAY_MS);
    end_of(zone, day).saturating_add(kept_ms)
}

fn end_of(zone: &Zone, day: OrgDay) -> i64 {
    day.next().map_or(i64::MAX, |next| zone.first_instant(next))
}

/// Whose quota it is, and who else is told apart.
fn scopes(effective: &Effective, quota_scope: QuotaScope) -> (Scope, Option<Scope>) {
    let org = Scope::Org(effective.org_id.clone());
    let app = effective.app_id.clone().map(|app| Scope::App(effective.org_id.clone(), app));
    match (quota_scope, app) {
        (QuotaScope::App, Some(app)) => (app, None),
        (_, app) => (org, app),
    }
}

/// What to count, and what the price says where it says anything.
fn cost(
    submission: &Submission,
    unpriced: Unpriced,
    price: Option<&Price>,
) -> Result<(MicroUsd, Option<MicroUsd>)> {
    // What was used by a call that failed was used all the same.
    let (CallStatus::Ok | CallStatus::Error) = submission.status;
    let computed = price.map(|price| price.cost(&submission.tokens)).transpose()?;
    match (submission.stated_cost, computed, unpriced) {
        (Some(told), computed, _) => Ok((told, computed)),
        (None, Some(computed), _) => Ok((computed, Some(computed))),
        (None, None, Unpriced::Zero) => Ok((MicroUsd::ZERO, None)),
        (None, None, Unpriced::Refuse) => {
            Err(Error::UnknownPrice { model: submission.model.to_string() })
        }
    }
}
