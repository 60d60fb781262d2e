//! One submission: planned, counted, answered.

use weir_table::{Backend, Get, Item};

use super::count::Counted;
use super::plan::Planned;
use super::record::Record;
use super::{Accepted, DailyTotal, Owner, Processing, Submission};
use crate::config::Effective;
use crate::counters::Counters;
use crate::decide::{Mode, status};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, RequestId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::{MicroUsd, Percent};
use crate::table::TTL;

impl<B: Backend> Keeper<B> {
    /// Counts a submission, once however often it comes. A duplicate gets the answer that the first one got.
    ///
    /// # Errors
    /// It is wrong ([`Error::Invalid`], [`Error::Label`], [`Error::UnknownPrice`]), its id came with another payload
    /// ([`Error::AlreadyExists`]), the org or app does not exist, or the store fails; then it may or may not be counted, and can
    /// be sent again.
    pub async fn submit(
        &self,
        org: &OrgId,
        app: &AppId,
        submission: &Submission,
    ) -> Result<Accepted> {
        let now_ms = self.now_ms();
        let effective = self.effective(org, Some(app)).await?;
        let planned = match self.plan((org, app), &effective, submission, now_ms).await {
            Ok(planned) => planned,
            Err(error) => {
                let id = submission.request_id.clone();
                let found = self.known_or(error, (org, app), submission, now_ms).await?;
                let total = self.total_of(&effective.scope(), &found).await?;
                return Ok(self.answer(&effective, id, &found, total).again());
            }
        };
        let (counted, total) = tokio::join!(
            self.count((org, app), &planned, now_ms),
            self.total_of(&planned.scope, &planned.record),
        );
        match counted? {
            Counted::Now => {
                Ok(self.answer(&effective, planned.request_id, &planned.record, total?))
            }
            Counted::Before(record) => {
                let total = match record.is_with(&planned.record) {
                    true => total?,
                    false => self.total_of(&planned.scope, &record).await?,
                };
                Ok(self.answer(&effective, planned.request_id, &record, total).again())
            }
        }
    }

    /// Plans how to count a submission. What is needed for it is remembered, so this asks the store for nothing as a rule.
    pub(super) async fn plan(
        &self,
        owner: Owner<'_>,
        effective: &Effective,
        submission: &Submission,
        now_ms: i64,
    ) -> Result<Planned> {
        let (label, profile) = self.known_label(owner, "model_label", &submission.label).await?;
        if profile.is_some() && submission.region.is_none() {
            let problem = "is needed with an inference profile";
            return Err(Error::invalid("calling_region", problem));
        }
        let region = submission.region.as_deref();
        // What is told late costs what it cost then.
        let at_ms = submission.at_ms.min(now_ms);
        let priced = self.price(&submission.model, Some(&label), region, at_ms).await?;
        let price = priced.as_ref().map(|priced| &priced.price);
        let retention_days = self.settings().retention_days;
        Planned::new(submission, label, effective, price, retention_days, now_ms)
    }

    /// How a submission was counted that would be refused now: its label or price may be gone, its day long past. Else
    /// the `error`.
    pub(super) async fn known_or(
        &self,
        error: Error,
        (org, app): Owner<'_>,
        submission: &Submission,
        now_ms: i64,
    ) -> Result<Record> {
        let may_have_been_right = match &error {
            Error::Label { .. } | Error::UnknownPrice { .. } => true,
            Error::Invalid { field, .. } => field == "timestamp",
            _ => false,
        };
        if !may_have_been_right {
            return Err(error);
        }
        let key = keys::request(org, app, &submission.request_id);
        let found = self.store().get(&Get::new(self.tables().request_dedup.clone(), key)).await?;
        let now = now_ms.div_euclid(1000);
        let lasts = |item: &Item| item.i64(TTL).is_some_and(|until| until > now);
        let Some(item) = found.filter(lasts) else { return Err(error) };
        let record = Record::read(&item)?;
        if record.hash == submission.hash() { Ok(record) } else { Err(error) }
    }

    /// The total that a submission will be in. It lags by design, so a read that is a moment behind will do.
    pub(super) async fn total_of(&self, scope: &Scope, record: &Record) -> Result<MicroUsd> {
        let key = keys::total(scope, &record.label, record.day);
        let get = Get::new(self.tables().daily_total.clone(), key).eventual();
        let item = self.store().get(&get).await?;
        Ok(item.map_or(MicroUsd::ZERO, |item| Counters::decode(&item).cost))
    }

    /// What the client of a submission is told that was counted just now.
    pub(super) fn answer(
        &self,
        effective: &Effective,
        request_id: RequestId,
        record: &Record,
        total: MicroUsd,
    ) -> Accepted {
        let quota = effective.quota(&record.label);
        let judged = status(total, quota, effective.tight_mode_threshold_pct);
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
                mode: Mode::of(judged),
            },
        }
    }
}

impl Accepted {
    /// The same answer, to a duplicate.
    pub(super) fn again(self) -> Accepted {
        Accepted { duplicate: true, ..self }
    }
}

impl Record {
    /// Whether both are in one total.
    pub(super) fn is_with(&self, other: &Record) -> bool {
        self.label == other.label && self.day == other.day
    }
}
