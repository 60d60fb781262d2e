//! An acquire request after validation: its amounts in millitokens and the bucket they come from.

use super::{Acquire, idempotency};
use crate::bounds::{LEASE_TTL_MAX_MS, LIMITS_MAX, TOKENS_MAX};
use crate::bucket::{Bucket, Limit, MILLI, Origin};
use crate::config::Resolved;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::idempotency::IdempotencyKey;
use crate::ids::{EntityId, LimitName, NamespaceId};
use crate::item::BucketId;
use crate::lease::OnExpiry;

/// Millitokens of each limit, by name.
pub(crate) type Amounts = Vec<(LimitName, i64)>;

/// A request that is valid as far as can be checked without the store.
#[derive(Debug)]
pub(crate) struct CheckedRequest<'a> {
    /// The bucket of the requesting entity.
    pub(crate) id: BucketId,
    /// Millitokens requested of each limit.
    pub(crate) amounts: Amounts,
    /// The idempotency key with a digest of the request. Boxed, because few requests have one.
    pub(crate) idempotency: Option<Box<IdempotencyKey>>,
    /// The request as the caller made it.
    pub(crate) acquire: &'a Acquire,
    /// The time of the request, read once.
    pub(crate) now_ms: i64,
}

impl<'a> CheckedRequest<'a> {
    /// Validates a request.
    pub(crate) fn new(ns: &NamespaceId, acquire: &'a Acquire, now_ms: i64) -> Result<Self> {
        if acquire.consume.is_empty() || acquire.consume.len() > LIMITS_MAX {
            let found = acquire.consume.len();
            let problem = format!("must name 1 to {LIMITS_MAX} limits, not {found}");
            return Err(Error::invalid("consume", problem));
        }
        if let Some(limits) = &acquire.limits {
            Limit::check_all(limits)?;
        }
        if !(1..=LEASE_TTL_MAX_MS).contains(&acquire.lease_ttl_ms) {
            let max = LEASE_TTL_MAX_MS / MILLI;
            return Err(Error::invalid("lease_ttl_secs", format!("must be from 1 to {max}")));
        }
        let consume = acquire.consume.iter().map(|(name, tokens)| (name, *tokens));
        let amounts = to_millitokens("consume", consume)?;
        let id = BucketId {
            ns: ns.clone(),
            entity: acquire.entity.clone(),
            resource: acquire.resource.clone(),
        };
        let idempotency = idempotency::key_of(ns, acquire)?;
        Ok(CheckedRequest { id, amounts, idempotency, acquire, now_ms })
    }

    /// Whether a grant is stored with its takes, in one transaction: as a lease that rolls back on expiry, or as the record
    /// of an idempotency key.
    pub(crate) fn stores_grant(&self) -> bool {
        self.acquire.on_expiry == OnExpiry::Rollback || self.idempotency.is_some()
    }

    /// Whether the request may take from a bucket without reading it first. The caller's own limits hold for one request: a
    /// bucket that has them is used only by requests that bring the same. A clock that jumped is left to the slow path.
    pub(crate) fn may_take_from(&self, bucket: &Bucket) -> bool {
        if bucket.has_jumped(self.now_ms) {
            return false;
        }
        match bucket.origin {
            Origin::Config => true,
            Origin::Caller if faults::is(Fault::StickyCallerLimits) => true,
            Origin::Caller => self.caller_limits().is_some_and(|limits| bucket.has_limits(limits)),
            Origin::Nowhere => false,
        }
    }

    /// The limits that the caller sent along.
    pub(crate) fn caller_limits(&self) -> Option<&'a [Limit]> {
        self.acquire.limits.as_deref()
    }
}

/// Converts tokens to millitokens. Each amount must be from 1 to [`TOKENS_MAX`].
pub(crate) fn to_millitokens<'a>(
    field: &str,
    tokens: impl Iterator<Item = (&'a LimitName, i64)>,
) -> Result<Amounts> {
    let max = i64::try_from(TOKENS_MAX).unwrap_or(i64::MAX);
    tokens
        .map(|(name, amount)| {
            if !(1..=max).contains(&amount) {
                let problem = format!("{name} must be from 1 to {max}, not {amount}");
                return Err(Error::invalid(field, problem));
            }
            Ok((name.clone(), amount * MILLI))
        })
        .collect()
}

/// Checks that the resolved limits can ever grant the amounts. `parent` is set when they are the parent's limits.
pub(crate) fn check_capacity(
    resolved: &Resolved,
    amounts: &Amounts,
    parent: Option<&EntityId>,
) -> Result<()> {
    for (name, amount) in amounts {
        let Some(limit) = resolved.limits.iter().find(|limit| limit.name == *name) else {
            let limits: Vec<&str> =
                resolved.limits.iter().map(|limit| limit.name.as_str()).collect();
            let limits = limits.join(", ");
            let problem = format!("unknown limit {name}; the limits here are: {limits}");
            return Err(Error::invalid("consume", problem));
        };
        if *amount > limit.rate().capacity {
            let (tokens, capacity) = (amount / MILLI, limit.capacity);
            let whose = parent.map_or_else(String::new, |parent| format!(" of parent {parent}"));
            let problem = format!(
                "{tokens} {name} can never be granted: the capacity{whose} is {capacity}; request at most {capacity}"
            );
            return Err(Error::invalid("consume", problem));
        }
    }
    Ok(())
}

/// The part of `amounts` whose limits satisfy `has`: a parent pays only for limits that it has.
pub(crate) fn restricted_to(amounts: &Amounts, has: impl Fn(&LimitName) -> bool) -> Amounts {
    amounts.iter().filter(|(name, _)| has(name)).cloned().collect()
}

/// Whether a bucket has enough of every limit.
pub(crate) fn covers(bucket: &Bucket, amounts: &Amounts) -> bool {
    amounts
        .iter()
        .all(|(name, amount)| bucket.meter(name).is_some_and(|meter| meter.level.tokens >= *amount))
}
