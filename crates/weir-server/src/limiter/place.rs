//! What the path of a request names, checked; and who asks, once or again.

use crate::limiter::error::LimiterError;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use weir_limiter::ids::{EntityId, NamespaceName, Resource};
use weir_limiter::{Limiter, Namespace};
use weir_table::AnyBackend;

use weir_framework::app::App;
use weir_framework::authorize::Caller;
use weir_framework::extract::PathParams;
use weir_framework::once::{IDEMPOTENCY_KEY, NotAKey, OnceKey};
use weir_framework::{ApiError, Code};

/// What stands for all resources, where an entity's limits are set.
pub(super) const ALL_RESOURCES: &str = "_default_";

/// The limiter that the server opened.
pub(super) fn limiter(app: &App) -> Result<&Limiter<AnyBackend>, LimiterError> {
    let missing = || ApiError::new(Code::INTERNAL_ERROR, "the limiter is not open");
    Ok(app.kept().ok_or_else(missing)?)
}

/// The parameter `{name}` of the path, as `read` reads it.
pub(super) async fn named<T>(
    parts: &mut Parts,
    name: &str,
    read: impl FnOnce(&str) -> weir_limiter::Result<T>,
) -> Result<T, LimiterError> {
    let params = PathParams::from_request_parts(parts, &()).await?;
    let text = params
        .get(name)
        .ok_or_else(|| ApiError::new(Code::NOT_FOUND, "no route matches this path"))?;
    Ok(read(text)?)
}

/// The namespace `{ns}`, in use.
pub(crate) struct Ns(pub(crate) Namespace<AnyBackend>);

impl FromRequestParts<App> for Ns {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Ns, LimiterError> {
        let name = named(parts, "ns", |text| NamespaceName::new(text)).await?;
        Ok(Ns(limiter(app)?.namespace(&name).await?))
    }
}

/// The name of the namespace `{ns}`, in whatever state it is.
pub(crate) struct NsName(pub(crate) NamespaceName);

impl FromRequestParts<App> for NsName {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<NsName, LimiterError> {
        named(parts, "ns", |text| NamespaceName::new(text)).await.map(NsName)
    }
}

/// The entity `{id}`.
pub(crate) struct Who(pub(crate) EntityId);

impl FromRequestParts<App> for Who {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Who, LimiterError> {
        named(parts, "id", |text| EntityId::new(text)).await.map(Who)
    }
}

/// The resource `{r}`.
pub(crate) struct What(pub(crate) Resource);

impl FromRequestParts<App> for What {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<What, LimiterError> {
        named(parts, "r", |text| Resource::new(text)).await.map(What)
    }
}

/// The resource `{r}`, or all of them.
pub(crate) struct WhatOrAll(pub(crate) Option<Resource>);

impl FromRequestParts<App> for WhatOrAll {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<WhatOrAll, LimiterError> {
        named(parts, "r", resource_or_all).await.map(WhatOrAll)
    }
}

/// A resource, or all of them.
pub(super) fn resource_or_all(text: &str) -> weir_limiter::Result<Option<Resource>> {
    if text == ALL_RESOURCES { Ok(None) } else { Resource::new(text).map(Some) }
}

/// Who is written into the audit trail.
pub(crate) struct By(pub(crate) String);

impl FromRequestParts<App> for By {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<By, LimiterError> {
        let Caller(identity) = Caller::from_request_parts(parts, app).await?;
        Ok(By(identity.subject.clone()))
    }
}

/// The key that makes a repeated call count once.
pub(crate) struct Once(Option<OnceKey>);

impl Once {
    pub(crate) fn key(&self) -> Option<&str> {
        self.0.as_ref().map(OnceKey::as_str)
    }
}

impl FromRequestParts<App> for Once {
    type Rejection = LimiterError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Once, LimiterError> {
        Once::of(&parts.headers)
    }
}

impl Once {
    /// What the headers of a request say.
    pub(super) fn of(headers: &HeaderMap) -> Result<Once, LimiterError> {
        let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(value) = values.next() else {
            return Ok(Once(None));
        };
        let wrong = |problem: String| ApiError::invalid("Idempotency-Key", problem);
        if values.next().is_some() {
            return Err(wrong("was sent more than once".to_owned()).into());
        }
        let key = OnceKey::try_from(value).map_err(|error: NotAKey| wrong(error.to_string()))?;
        Ok(Once(Some(key)))
    }
}
