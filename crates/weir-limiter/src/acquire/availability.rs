//! Availability and dry runs: what an acquire would find, without taking anything.

use std::collections::BTreeMap;

use weir_table::Backend;

use super::bucket_plan::BucketPlan;
use super::request::{CheckedRequest, to_millitokens};
use super::slow_path::Payers;
use super::{Acquire, Acquired, Availability, Granted, LimitStatus, Refused, refusal};
use crate::bucket;
use crate::error::Result;
use crate::ids::{EntityId, LimitName, Resource};
use crate::limiter::Namespace;

impl<B: Backend> Namespace<B> {
    /// Returns what is available now and when `amounts` would be (one token of each limit if empty). Takes nothing.
    ///
    /// # Errors
    /// An amount is invalid, no limits apply, or the store fails.
    pub async fn availability(
        &self,
        entity: &EntityId,
        resource: &Resource,
        amounts: &BTreeMap<LimitName, i64>,
    ) -> Result<Availability> {
        let consume = if amounts.is_empty() {
            let resolved = self.resolve(entity, resource, None).await?;
            resolved.limits.iter().map(|limit| (limit.name.clone(), 1)).collect()
        } else {
            to_millitokens("amount", amounts.iter().map(|(name, amount)| (name, *amount)))?;
            amounts.clone()
        };
        let acquire = Acquire::new(entity.clone(), resource.clone(), consume);
        let request = CheckedRequest::new(&self.id, &acquire, self.limiter.now_ms())?;
        Ok(Availability { limits: self.current_statuses(&request).await? })
    }

    /// What an acquire would return.
    pub(super) async fn dry_run(&self, request: &CheckedRequest<'_>) -> Result<Acquired> {
        let limits = self.current_statuses(request).await?;
        if limits.iter().any(|limit| limit.deficit_milli > 0) {
            return Ok(Acquired::Refused(Refused::new(limits)));
        }
        Ok(Acquired::Granted(Granted { grant: self.grant(request, Vec::new()), limits }))
    }

    async fn current_statuses(&self, request: &CheckedRequest<'_>) -> Result<Vec<LimitStatus>> {
        let mut plans = self.bucket_plans(request, Payers::ChildAndParent, false).await?;
        if plans.iter().any(BucketPlan::limits_differ) {
            plans = self.bucket_plans(request, Payers::ChildAndParent, true).await?;
        }
        Ok(self.statuses(&plans, request.now_ms))
    }

    /// The status of every requested limit of the buckets, as they were read.
    pub(super) fn statuses(&self, plans: &[BucketPlan], now_ms: i64) -> Vec<LimitStatus> {
        let context = self.plan_context(now_ms);
        let statuses = |plan: &BucketPlan| {
            let whole = bucket::combine(&plan.current_shards(context))?;
            Some(refusal::limit_statuses(&plan.id.entity, &whole, &plan.amounts, now_ms))
        };
        plans.iter().filter_map(statuses).flatten().collect()
    }
}
