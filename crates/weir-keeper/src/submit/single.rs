//! Submits one submission: plan, write, respond.

use weir_table::{Backend, Get, Item};

use super::dedup_record::DedupRecord;
use super::plan::PlannedSubmission;
use super::transaction::RecordOutcome;
use super::{Accepted, DailyTotal, Owner, Processing, Submission};
use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::decide::status;
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, RequestId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::{MicroUsd, Percent};
use crate::prices::PriceQuery;
use crate::table::TTL;

impl<B: Backend> Keeper<B> {
    /// Meters a submission exactly once, however often it is sent. A duplicate gets the response of the first.
    ///
    /// # Errors
    /// The submission is invalid ([`Error::Invalid`], [`Error::Label`], [`Error::UnknownPrice`]), its id was used with
    /// another payload ([`Error::AlreadyExists`]), the org or app does not exist, or the store fails; then it may or
    /// may not be metered, and can be sent again.
    pub async fn submit(
        &self,
        org: &OrgId,
        app: &AppId,
        submission: &Submission,
    ) -> Result<Accepted> {
        let now_ms = self.now_ms();
        let effective = self.effective_config(org, Some(app)).await?;
        let planned = match self.plan((org, app), &effective, submission, now_ms).await {
            Ok(planned) => planned,
            Err(error) => {
                let id = submission.request_id.clone();
                let found = self.duplicate_or(error, (org, app), submission, now_ms).await?;
                let total = self.current_total(&effective.scope(), &found).await?;
                return Ok(self.accepted(&effective, id, &found, total).into_duplicate());
            }
        };
        let (outcome, total) = tokio::join!(
            self.record((org, app), &planned, now_ms),
            self.current_total(&planned.scope, &planned.record),
        );
        match outcome? {
            RecordOutcome::Recorded => {
                Ok(self.accepted(&effective, planned.request_id, &planned.record, total?))
            }
            RecordOutcome::Duplicate(record) => {
                let total = match record.shares_total_with(&planned.record) {
                    true => total?,
                    false => self.current_total(&planned.scope, &record).await?,
                };
                Ok(self.accepted(&effective, planned.request_id, &record, total).into_duplicate())
            }
        }
    }

    /// Plans a submission. Configuration and prices are usually cached, so this rarely reads the store.
    pub(super) async fn plan(
        &self,
        owner: Owner<'_>,
        effective: &EffectiveConfig,
        submission: &Submission,
        now_ms: i64,
    ) -> Result<PlannedSubmission> {
        let label = effective.chain_label("model_label", &submission.label)?;
        let (label, profile) = self.resolve_label(owner, "model_label", label.as_str()).await?;
        if profile.is_some() && submission.region.is_none() {
            let problem = "is required with an inference profile";
            return Err(Error::invalid("calling_region", problem));
        }
        let region = submission.region.as_deref();
        // A late submission costs what it would have cost then.
        let at_ms = submission.at_ms.min(now_ms);
        let vendor = submission.vendor.as_ref();
        let query = PriceQuery { vendor, region, ..PriceQuery::new(&submission.model) };
        let price = self.price_by_label(&query, (&label, profile.as_deref()), at_ms).await;
        // A client that states the cost needs no price.
        let price = match price {
            Err(Error::Invalid { .. }) if submission.stated_cost.is_some() => None,
            price => price?,
        };
        let price = price.as_ref().map(|resolved| &resolved.price);
        let retention_days = self.settings().retention_days;
        PlannedSubmission::new(submission, label, effective, price, retention_days, now_ms)
    }

    /// The record of a submission that would be rejected now, because its label or price is gone or its day is past,
    /// but was accepted before. Otherwise returns `error`.
    pub(super) async fn duplicate_or(
        &self,
        error: Error,
        (org, app): Owner<'_>,
        submission: &Submission,
        now_ms: i64,
    ) -> Result<DedupRecord> {
        let may_have_been_accepted = match &error {
            Error::Label { .. } | Error::UnknownPrice { .. } => true,
            Error::Invalid { field, .. } => field == "timestamp" || field == "vendor",
            _ => false,
        };
        if !may_have_been_accepted {
            return Err(error);
        }
        let key = keys::request(org, app, &submission.request_id);
        let found = self.store().get(&Get::new(self.tables().request_dedup.clone(), key)).await?;
        let now = now_ms.div_euclid(1000);
        let is_unexpired = |item: &Item| item.i64(TTL).is_some_and(|until| until > now);
        let Some(item) = found.filter(is_unexpired) else { return Err(error) };
        let record = DedupRecord::read(&item)?;
        if record.hash == submission.hash() { Ok(record) } else { Err(error) }
    }

    /// The daily total that will include a submission. Totals lag anyway, so an eventually consistent read will do.
    pub(super) async fn current_total(
        &self,
        scope: &Scope,
        record: &DedupRecord,
    ) -> Result<MicroUsd> {
        let key = keys::total(scope, &record.label, record.day);
        let get = Get::new(self.tables().daily_total.clone(), key).eventual();
        let item = self.store().get(&get).await?;
        Ok(Counters::spend_of_total(item.as_ref()))
    }

    /// The response to a submission.
    pub(super) fn accepted(
        &self,
        effective: &EffectiveConfig,
        request_id: RequestId,
        record: &DedupRecord,
        total: MicroUsd,
    ) -> Accepted {
        let quota = effective.quota(&record.label);
        let status = status(total, quota, effective.tight_mode_threshold_pct);
        Accepted {
            request_id,
            status: "ACCEPTED",
            duplicate: false,
            processing: Processing {
                shard_id: record.shard,
                expected_aggregation_lag_secs: self.settings().aggregate_interval_secs,
                cost_usd_micros: record.cost,
                computed_cost_usd_micros: record.computed,
                org_day: record.day,
            },
            daily_total: DailyTotal {
                cost_usd_micros: total,
                quota_usd_micros: quota,
                quota_pct: Percent::of(total, quota),
                mode: status,
            },
        }
    }
}

impl Accepted {
    /// The same response, for a duplicate.
    pub(super) fn into_duplicate(self) -> Accepted {
        Accepted { duplicate: true, ..self }
    }
}

impl DedupRecord {
    /// Whether both are part of the same daily total.
    pub(super) fn shares_total_with(&self, other: &DedupRecord) -> bool {
        self.label == other.label && self.day == other.day
    }
}
