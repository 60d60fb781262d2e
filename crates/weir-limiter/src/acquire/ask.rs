//! A request that has been looked at: its amounts in millitokens, whose bucket it is for.

use super::Acquire;
use crate::bounds::{LEASE_TTL_MAX_MS, LIMITS_MAX, TOKENS_MAX};
use crate::bucket::{Bucket, Limit, MILLI};
use crate::config::Resolved;
use crate::error::{Error, Result};
use crate::ids::{EntityId, LimitName, NamespaceId};
use crate::item::BucketId;

/// Millitokens of each limit, by name.
pub(crate) type Amounts = Vec<(LimitName, i64)>;

/// A request that can be served, as far as it can be known without the store.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    /// The bucket of who asks.
    pub(crate) id: BucketId,
    /// How much.
    pub(crate) amounts: Amounts,
    /// The request.
    pub(crate) request: &'a Acquire,
    /// When.
    pub(crate) now_ms: i64,
}

impl<'a> Ask<'a> {
    /// Looks at a request.
    pub(crate) fn new(ns: &NamespaceId, request: &'a Acquire, now_ms: i64) -> Result<Ask<'a>> {
        if request.consume.is_empty() || request.consume.len() > LIMITS_MAX {
            let found = request.consume.len();
            let problem = format!("names {found} limits; 1 to {LIMITS_MAX} are allowed");
            return Err(Error::invalid("consume", problem));
        }
        if let Some(limits) = &request.limits {
            Limit::check_all(limits)?;
        }
        if !(1..=LEASE_TTL_MAX_MS).contains(&request.lease_ttl_ms) {
            let max = LEASE_TTL_MAX_MS / MILLI;
            return Err(Error::invalid("lease_ttl_secs", format!("must be from 1 to {max}")));
        }
        let amounts = amounts_of("consume", request.consume.iter().map(|(name, n)| (name, *n)))?;
        let id = BucketId {
            ns: ns.clone(),
            entity: request.entity.clone(),
            resource: request.resource.clone(),
        };
        Ok(Ask { id, amounts, request, now_ms })
    }

    /// The caller's own limits.
    pub(crate) fn own(&self) -> Option<&'a [Limit]> {
        self.request.limits.as_deref()
    }
}

/// Tokens as millitokens, each from one to the most there can be.
pub(crate) fn amounts_of<'a>(
    field: &str,
    tokens: impl Iterator<Item = (&'a LimitName, i64)>,
) -> Result<Amounts> {
    let max = i64::try_from(TOKENS_MAX).unwrap_or(i64::MAX);
    tokens
        .map(|(name, amount)| {
            if !(1..=max).contains(&amount) {
                let problem = format!("asks {amount} of {name}; it must be from 1 to {max}");
                return Err(Error::invalid(field, problem));
            }
            Ok((name.clone(), amount * MILLI))
        })
        .collect()
}

/// Checks that the limits can ever serve the amounts: those of the entity that asks, or of its parent.
pub(crate) fn check_against(
    resolved: &Resolved,
    amounts: &Amounts,
    parent: Option<&EntityId>,
) -> Result<()> {
    for (name, amount) in amounts {
        let Some(limit) = resolved.limits.iter().find(|limit| limit.name == *name) else {
            let known: Vec<&str> =
                resolved.limits.iter().map(|limit| limit.name.as_str()).collect();
            let known = known.join(", ");
            let problem = format!("names {name}, which is no limit here; there are: {known}");
            return Err(Error::invalid("consume", problem));
        };
        if *amount > limit.rate().capacity {
            let (asked, most) = (amount / MILLI, limit.capacity);
            let whose =
                parent.map_or_else(String::new, |parent| format!(" at its parent {parent}"));
            let problem = format!(
                "asks {asked} of {name}, more than its whole capacity of {most}{whose}: it could never be served"
            );
            return Err(Error::invalid("consume", problem));
        }
    }
    Ok(())
}

/// What of `amounts` a bucket with these limits has: a parent pays only for limits it has.
pub(crate) fn within(amounts: &Amounts, has: impl Fn(&LimitName) -> bool) -> Amounts {
    amounts.iter().filter(|(name, _)| has(name)).cloned().collect()
}

/// What of `amounts` is missing in a bucket; nothing when it can serve.
pub(crate) fn is_covered(bucket: &Bucket, amounts: &Amounts) -> bool {
    amounts
        .iter()
        .all(|(name, amount)| bucket.meter(name).is_some_and(|meter| meter.level.tokens >= *amount))
}
