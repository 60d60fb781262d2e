//! A lease in the same process: `commit` keeps its tokens. One that is dropped otherwise is rolled back, as best effort.

use std::collections::BTreeMap;

use weir_table::Backend;

use super::record::Record;
use super::{Grant, LeaseState, OnExpiry, Settle, Settled};
use crate::acquire::{Acquire, Acquired, Granted, LimitStatus, Refused};
use crate::error::Result;
use crate::ids::LimitName;
use crate::limiter::Namespace;

/// The result of a request for a lease.
#[derive(Debug)]
pub enum Leased<B: Backend> {
    /// The tokens were taken.
    Granted(Lease<B>),
    /// A limit had too few tokens. Nothing was taken.
    Refused(Refused),
}

/// A lease. Dropped without [`Lease::commit`], its tokens are refunded if the process lives and reaches the store.
#[derive(Debug)]
#[must_use = "a lease that is dropped refunds its tokens"]
pub struct Lease<B: Backend> {
    namespace: Namespace<B>,
    granted: Granted,
    /// Whether the lease has an item, as far as known.
    stored: bool,
    ended: bool,
}

impl<B: Backend> Namespace<B> {
    /// Takes tokens like [`Namespace::acquire`], as a lease.
    ///
    /// # Errors
    /// As [`Namespace::acquire`].
    pub async fn lease(&self, request: &Acquire) -> Result<Leased<B>> {
        Ok(match self.acquire(request).await? {
            Acquired::Granted(granted) => Leased::Granted(Lease::new(self.clone(), granted)),
            Acquired::Refused(refused) => Leased::Refused(refused),
        })
    }
}

impl<B: Backend> Lease<B> {
    /// A lease for a grant of this namespace.
    pub fn new(namespace: Namespace<B>, granted: Granted) -> Lease<B> {
        let stored = granted.grant.on_expiry == OnExpiry::Rollback;
        // A dry run took nothing.
        let ended = granted.grant.takes.is_empty();
        Lease { namespace, granted, stored, ended }
    }

    /// The tokens that were taken.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.granted.grant
    }

    /// The status of the limits after the acquire.
    #[must_use]
    pub fn limits(&self) -> &[LimitStatus] {
        &self.granted.limits
    }

    /// Takes more, also below zero, or refunds.
    ///
    /// # Errors
    /// As [`Namespace::settle`].
    pub async fn adjust(&mut self, amounts: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.settle(Settle::Adjust(amounts)).await
    }

    /// Takes more if all of it is available; otherwise the result is refused.
    ///
    /// # Errors
    /// As [`Namespace::settle`].
    pub async fn consume(&mut self, amounts: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.settle(Settle::Consume(amounts)).await
    }

    /// Refunds a part, or everything (no amounts) and ends the lease.
    ///
    /// # Errors
    /// As [`Namespace::settle`].
    pub async fn release(&mut self, amounts: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.settle(Settle::Release(amounts)).await
    }

    /// Refunds everything.
    ///
    /// # Errors
    /// As [`Namespace::settle`]. The rollback is then tried once more in the background.
    pub async fn rollback(mut self) -> Result<Settled> {
        self.settle(Settle::Rollback).await
    }

    /// Keeps the tokens. Writes nothing unless the lease is stored.
    ///
    /// # Errors
    /// As [`Namespace::settle`]. The tokens then stay taken, unless the lease rolls back on expiry.
    pub async fn commit(mut self) -> Result<Settled> {
        // Even if the write fails, nothing must be refunded.
        self.ended = true;
        if self.stored {
            return self.namespace.settle(self.grant(), &Settle::Commit, None).await;
        }
        let grant = self.grant();
        let settled = Record::from_grant(grant).settled();
        Ok(Settled { state: LeaseState::Committed, degraded: grant.degraded, ..settled })
    }

    /// Adjusts the lease to the tokens that were used, also below zero, and keeps them. Limits that are not named keep what
    /// was taken.
    ///
    /// # Errors
    /// As [`Lease::commit`].
    pub async fn commit_actual(mut self, actual: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.ended = true;
        self.namespace.settle(self.grant(), &Settle::CommitActual(actual), None).await
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled> {
        // Even if it fails: the response may have been lost.
        self.stored = true;
        let settled = self.namespace.settle(&self.granted.grant, &settle, None).await?;
        self.ended = settled.state != LeaseState::Open;
        Ok(settled)
    }
}

impl<B: Backend> Drop for Lease<B> {
    fn drop(&mut self) {
        if self.ended || self.granted.grant.degraded {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::warn!(
                lease = self.granted.grant.id,
                "a lease was dropped outside a runtime: it cannot be rolled back"
            );
            return;
        };
        let (namespace, grant) = (self.namespace.clone(), self.granted.grant.clone());
        runtime.spawn(async move {
            if let Err(error) = namespace.settle(&grant, &Settle::Rollback, None).await {
                tracing::warn!(lease = grant.id, %error, "a dropped lease could not be rolled back");
            }
        });
    }
}
