//! An acquire with an idempotency key takes once: the record of its grant is written in the transaction that takes.
//!
//! A repeated request finds that record and returns the grant. A refusal and a degraded grant take nothing and are not
//! recorded, so a repeated request is decided anew.

use std::fmt::Write as _;

use weir_table::{Backend, Write};

use super::Acquire;
use super::request::CheckedRequest;
use crate::bounds::IDEMPOTENCY_TTL_MS;
use crate::error::Result;
use crate::idempotency::IdempotencyKey;
use crate::ids::NamespaceId;
use crate::lease::{Grant, OnExpiry};
use crate::limiter::Namespace;

/// The idempotency key of a request, if it has one.
pub(super) fn key_of(ns: &NamespaceId, acquire: &Acquire) -> Result<Option<Box<IdempotencyKey>>> {
    let Some(key) = &acquire.idempotency_key else { return Ok(None) };
    Ok(Some(Box::new(IdempotencyKey::new(ns, key, &text(acquire))?)))
}

/// What a request asks for. Requests of the same text are the same; ids contain no spaces.
fn text(acquire: &Acquire) -> String {
    let Acquire { entity, resource, lease_ttl_ms, on_expiry, .. } = acquire;
    let mut text = format!("acquire {entity} {resource} {lease_ttl_ms} {}", on_expiry.as_str());
    // Writing to a string does not fail.
    for (name, amount) in &acquire.consume {
        write!(text, " {name}={amount}").ok();
    }
    for limit in acquire.limits.iter().flatten() {
        let (amount, period) = (limit.refill_amount, limit.refill_period_seconds);
        write!(text, " {}:{}:{amount}:{period}", limit.name, limit.capacity).ok();
    }
    text
}

impl<B: Backend> Namespace<B> {
    /// The writes that belong to the takes of a grant: the lease that rolls back on expiry, and the record of the request.
    pub(super) fn grant_writes(
        &self,
        request: &CheckedRequest<'_>,
        grant: &Grant,
    ) -> impl Iterator<Item = Write> {
        let lease = (grant.on_expiry == OnExpiry::Rollback).then(|| self.open_lease_write(grant));
        let record = request.idempotency.as_ref().map(|key| {
            let forget_ms = grant.expires_ms.saturating_add(IDEMPOTENCY_TTL_MS);
            self.completion_write(key, grant.encode(), forget_ms, request.now_ms).flushed()
        });
        lease.into_iter().chain(record)
    }

    /// The grant of this request, if it took before.
    ///
    /// # Errors
    /// The key was used for a different request, or the store fails.
    pub(super) async fn recorded_grant(
        &self,
        request: &CheckedRequest<'_>,
    ) -> Result<Option<Grant>> {
        let Some(key) = &request.idempotency else { return Ok(None) };
        let recorded = self.completed(key, request.now_ms).await?;
        Ok(recorded.as_deref().and_then(Grant::decode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;
    use crate::ids::{EntityId, LimitName, Resource};

    fn acquire() -> Acquire {
        let consume = [("rpm", 1), ("tpm", 20)].map(|(name, n)| (LimitName::new(name).unwrap(), n));
        let (entity, resource) = (EntityId::new("ann"), Resource::new("gpt-4"));
        Acquire::new(entity.unwrap(), resource.unwrap(), consume.into())
    }

    #[test]
    fn requests_that_ask_for_something_else_have_another_text() {
        let rpm = || LimitName::new("rpm").unwrap();
        assert_eq!(text(&acquire()), "acquire ann gpt-4 600000 keep rpm=1 tpm=20");
        let limits = |capacity| Some(vec![Limit::per_minute(rpm(), capacity)]);
        let others = [
            Acquire { entity: EntityId::new("bob").unwrap(), ..acquire() },
            Acquire { resource: Resource::new("gpt-5").unwrap(), ..acquire() },
            Acquire { consume: [(rpm(), 1)].into(), ..acquire() },
            Acquire { consume: [(rpm(), 2)].into(), ..acquire() },
            Acquire { lease_ttl_ms: 1_000, ..acquire() },
            Acquire { on_expiry: OnExpiry::Rollback, ..acquire() },
            Acquire { limits: limits(5), ..acquire() },
            Acquire { limits: limits(6), ..acquire() },
        ];
        let texts: std::collections::BTreeSet<_> = others.iter().map(text).collect();
        assert_eq!(texts.len(), others.len());
        assert!(!texts.contains(&text(&acquire())));
        let keyed = Acquire { idempotency_key: Some("k".to_owned()), ..acquire() };
        assert_eq!(text(&keyed), text(&acquire()));
    }
}
