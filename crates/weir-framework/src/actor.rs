//! The caller as services name it: in audit events and in rate limits.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::app::App;
use crate::auth::Identity;
use crate::authorize::{Caller, Local};
use crate::error::ApiError;

/// The caller of a request.
#[derive(Debug)]
pub struct Actor {
    identity: Arc<Identity>,
    is_local: bool,
}

impl Actor {
    /// The name that audit events show and rate limits apply to.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.identity.subject
    }

    /// Whether rate limits of clients apply to the caller: not to the operator.
    #[must_use]
    pub fn is_client(&self) -> bool {
        !self.identity.grants.is_admin()
    }

    /// Whether the request came through the socket of the data folder.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.is_local
    }
}

impl FromRequestParts<App> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Actor, ApiError> {
        let Caller(identity) = Caller::from_request_parts(parts, app).await?;
        Ok(Actor { identity, is_local: parts.extensions.get::<Local>().is_some() })
    }
}
