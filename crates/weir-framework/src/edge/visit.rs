//! What a request and its edge know of each other while it is under way.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

use crate::authorize::Authorized;
use crate::request_id::RequestId;

/// Goes in with a request, among its extensions; the edge keeps another hold of it.
#[derive(Debug, Clone)]
pub(crate) struct Visit(Arc<Known>);

#[derive(Debug)]
struct Known {
    id: RequestId,
    passed: OnceLock<Authorized>,
}

impl Visit {
    pub(super) fn of(headers: &HeaderMap) -> Visit {
        Visit(Arc::new(Known { id: RequestId::of(headers), passed: OnceLock::new() }))
    }

    pub(crate) fn id(&self) -> &RequestId {
        &self.0.id
    }

    /// Notes which route a request has, and who asks.
    pub(crate) fn pass(&self, passed: Authorized) {
        self.0.passed.set(passed).ok();
    }

    /// What was noted, if the request got so far.
    pub(super) fn passed(&self) -> Option<&Authorized> {
        self.0.passed.get()
    }
}

/// Handlers take the id of their request like any other part of it.
impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<RequestId, Infallible> {
        let visit = parts.extensions.get::<Visit>();
        Ok(visit.map_or_else(|| RequestId::of(&parts.headers), |visit| visit.id().clone()))
    }
}
