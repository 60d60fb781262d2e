//! A lease in process: taken, changed, and kept by `commit`. One that is dropped otherwise is rolled back as best it can.

use std::collections::BTreeMap;

use weir_table::Backend;

use super::record::Record;
use super::{Grant, LeaseState, OnExpiry, Settle, Settled};
use crate::acquire::{Acquire, Acquired, Granted, LimitStatus, Refused};
use crate::error::Result;
use crate::ids::LimitName;
use crate::limiter::Namespace;

/// The answer to a request for a lease.
#[derive(Debug)]
pub enum Leased<B: Backend> {
    /// The tokens were taken.
    Granted(Lease<B>),
    /// They were not there. Nothing was taken.
    Refused(Refused),
}

/// Tokens that were taken. Dropped without [`Lease::commit`] they are given back, as far as the process lives and
/// reaches the store.
#[derive(Debug)]
#[must_use = "a lease that is dropped gives its tokens back"]
pub struct Lease<B: Backend> {
    namespace: Namespace<B>,
    granted: Granted,
    /// Whether the lease has an item, as far as we know.
    stored: bool,
    ended: bool,
}

impl<B: Backend> Namespace<B> {
    /// Takes tokens, as [`Namespace::acquire`] does, and holds them as a lease.
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
    /// A lease on what was granted in this namespace.
    pub fn new(namespace: Namespace<B>, granted: Granted) -> Lease<B> {
        let stored = granted.grant.on_expiry == OnExpiry::Rollback;
        // A dry run took nothing.
        let ended = granted.grant.takes.is_empty();
        Lease { namespace, granted, stored, ended }
    }

    /// What was taken from where.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.granted.grant
    }

    /// The limits as the acquire left them.
    #[must_use]
    pub fn limits(&self) -> &[LimitStatus] {
        &self.granted.limits
    }

    /// Takes more, below zero if need be, or gives back.
    ///
    /// # Errors
    /// As [`Namespace::settle`].
    pub async fn adjust(&mut self, amounts: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.settle(Settle::Adjust(amounts)).await
    }

    /// Takes more if it is there; otherwise the answer is refused.
    ///
    /// # Errors
    /// As [`Namespace::settle`].
    pub async fn consume(&mut self, amounts: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.settle(Settle::Consume(amounts)).await
    }

    /// Gives back a part, or all (nothing named) and ends the lease.
    ///
    /// # Errors
    /// As [`Namespace::settle`].
    pub async fn release(&mut self, amounts: BTreeMap<LimitName, i64>) -> Result<Settled> {
        self.settle(Settle::Release(amounts)).await
    }

    /// Gives back all.
    ///
    /// # Errors
    /// As [`Namespace::settle`]. It is tried once more in the background then.
    pub async fn rollback(mut self) -> Result<Settled> {
        self.settle(Settle::Rollback).await
    }

    /// Keeps what was taken. Writes nothing unless the lease was written before.
    ///
    /// # Errors
    /// As [`Namespace::settle`]. What was taken stays taken then, unless the lease is rolled back at its expiry.
    pub async fn commit(mut self) -> Result<Settled> {
        // Whatever becomes of the writing, nothing is to be given back.
        self.ended = true;
        if self.stored {
            return self.namespace.settle(self.grant(), &Settle::Commit, None).await;
        }
        let grant = self.grant();
        let settled = Record::of(grant).settled();
        Ok(Settled { state: LeaseState::Committed, degraded: grant.degraded, ..settled })
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled> {
        // Even when it fails: the answer may have been lost.
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
