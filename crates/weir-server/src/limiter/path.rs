//! Path parameters and the idempotency key of a request, parsed and checked.
//!
//! Each extractor also describes its parameter for OpenAPI, so a route names it once in `params(…)` and once as an argument.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use utoipa::IntoParams;
use weir_api::limiter::schema;
use weir_limiter::ids::{EntityId, NamespaceName, Resource};
use weir_limiter::{Limiter, Namespace};
use weir_table::AnyBackend;

use super::convert::resource_or_all;
use crate::limiter::error::LimiterError;
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::once::{IDEMPOTENCY_KEY, NotAKey, OnceKey};
use weir_framework::path::param;

/// The limiter that the server opened.
pub(super) fn limiter(app: &App) -> Result<&Limiter<AnyBackend>, LimiterError> {
    Ok(app.kept_by("limiter")?)
}

/// The active namespace `{ns}`.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("ns"))]
pub(crate) struct NamespacePath(
    /// Name of the namespace.
    #[param(value_type = schema::NamespaceName, inline)]
    pub(crate) Namespace<AnyBackend>,
);

impl FromRequestParts<App> for NamespacePath {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, LimiterError> {
        let NamespaceNamePath(name) = NamespaceNamePath::from_request_parts(parts, app).await?;
        Ok(NamespacePath(limiter(app)?.namespace(&name).await?))
    }
}

/// The name of the namespace `{ns}`, which may be in any state.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("ns"))]
pub(crate) struct NamespaceNamePath(
    /// Name of the namespace.
    #[param(value_type = schema::NamespaceName, inline)]
    pub(crate) NamespaceName,
);

impl FromRequestParts<App> for NamespaceNamePath {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, LimiterError> {
        param(parts, "ns", |text| NamespaceName::new(text)).await.map(Self)
    }
}

/// The entity `{id}`.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("id"))]
pub(crate) struct EntityPath(
    /// Id of the entity.
    #[param(value_type = schema::EntityId, inline)]
    pub(crate) EntityId,
);

impl FromRequestParts<App> for EntityPath {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, LimiterError> {
        param(parts, "id", |text| EntityId::new(text)).await.map(Self)
    }
}

/// The resource `{r}`.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("r"))]
pub(crate) struct ResourcePath(
    /// Name of the resource; a `/` in it is escaped as `%2F`.
    #[param(value_type = schema::ResourceName, inline)]
    pub(crate) Resource,
);

impl FromRequestParts<App> for ResourcePath {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, LimiterError> {
        param(parts, "r", |text| Resource::new(text)).await.map(Self)
    }
}

/// The resource `{r}`, or none for all resources.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("r"))]
pub(crate) struct ResourceOrAllPath(
    /// Name of the resource, or `_default_` for all resources on which the entity has no other limits.
    #[param(value_type = schema::ResourceNameOrAll, inline)]
    pub(crate) Option<Resource>,
);

impl FromRequestParts<App> for ResourceOrAllPath {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, LimiterError> {
        param(parts, "r", resource_or_all).await.map(Self)
    }
}

/// The lease `{lease}`, not yet opened.
#[derive(IntoParams)]
#[into_params(parameter_in = Path, names("lease"))]
pub(crate) struct LeasePath(
    /// Lease that the acquire returned.
    #[param(min_length = 1, max_length = 16_384, pattern = "^[A-Za-z0-9_-]+$")]
    pub(crate) String,
);

impl FromRequestParts<App> for LeasePath {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, LimiterError> {
        param(parts, "lease", |text| Ok::<_, ApiError>(text.to_owned())).await.map(Self)
    }
}

/// The idempotency key of a request, if it has one.
#[derive(IntoParams)]
#[into_params(parameter_in = Header, names("Idempotency-Key"))]
pub(crate) struct IdempotencyKey(
    /// Key under which the request takes effect once; a repeated request returns the same response.
    #[param(value_type = schema::IdempotencyKey, inline, required = false)]
    Option<OnceKey>,
);

impl IdempotencyKey {
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_ref().map(OnceKey::as_str)
    }

    /// The key that the headers of a request carry.
    pub(super) fn of(headers: &HeaderMap) -> Result<IdempotencyKey, LimiterError> {
        let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(value) = values.next() else {
            return Ok(IdempotencyKey(None));
        };
        let invalid = |problem: String| ApiError::invalid("Idempotency-Key", problem);
        if values.next().is_some() {
            return Err(invalid("was sent more than once".to_owned()).into());
        }
        let key = OnceKey::try_from(value).map_err(|error: NotAKey| invalid(error.to_string()))?;
        Ok(IdempotencyKey(Some(key)))
    }
}

impl FromRequestParts<App> for IdempotencyKey {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, LimiterError> {
        IdempotencyKey::of(&parts.headers)
    }
}
