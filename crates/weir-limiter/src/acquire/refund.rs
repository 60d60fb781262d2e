//! Refunds the take of a child or parent whose cascade did not succeed.

use weir_table::{Backend, Transacted, Transaction, Verdict};

use super::request::CheckedRequest;
use super::take::Take;
use crate::bounds::TRIES_MAX;
use crate::bucket::{Bucket, MILLI};
use crate::item;
use crate::limiter::Namespace;
use crate::retry::pause;
use crate::writes::{self, Cover};

impl<B: Backend> Namespace<B> {
    /// Refunds a take from a shard that was `after` it. This is best effort: tokens that cannot be refunded stay taken.
    ///
    /// The write is in a transaction, because the transaction's token keeps it from happening twice when its response is
    /// lost.
    pub(super) async fn refund(&self, take: &Take<'_>, after: Bucket) {
        let (expires, mut found) = (after.expires, after);
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            // If the machine slept until the bucket had expired, it may be another one by now.
            if expires.is_some_and(|expires| expires <= self.limiter.now_ms() / MILLI) {
                tracing::warn!(entity.id = %take.id.entity, "a cascade was refused and its refund came too late");
                return;
            }
            // What a full bucket would have dropped must not come back: see `take`.
            let names = take.amounts.iter().map(|(name, _)| name);
            let mut new = found.refilled_if_full(names, take.now_ms);
            for (name, amount) in take.amounts {
                new.take(name, -amount);
            }
            let write =
                writes::change(self.limiter.table(), take.id, &found, &new, Cover::NotRequired);
            let token = format!("{:032x}", fastrand::u128(..));
            match self.limiter.store().transact(Transaction::new([write]).token(token)).await {
                Ok(Transacted::Applied) => {
                    return self.limiter.inner.bucket_cache.observe(take.id, new);
                }
                Ok(Transacted::Refused(verdicts)) => match verdicts.into_iter().next() {
                    Some(Verdict::Failed(Some(item))) => found = item::decode(&item),
                    _ => return,
                },
                Err(weir_table::Error::Conflict) => {}
                Err(error) => {
                    self.limiter.inner.bucket_cache.changed(take.id);
                    tracing::warn!(entity.id = %take.id.entity, %error, "a cascade was refused and its refund failed");
                    return;
                }
            }
        }
        tracing::warn!(entity.id = %take.id.entity, "a cascade was refused and its refund failed: too many writers");
    }
}

/// A bucket refilled to now, without a take that was refunded.
pub(super) fn before_take(request: &CheckedRequest<'_>, take: &Take<'_>, after: &Bucket) -> Bucket {
    let mut before = after.refilled(request.now_ms);
    for (name, amount) in take.amounts {
        before.take(name, -amount);
    }
    before
}
