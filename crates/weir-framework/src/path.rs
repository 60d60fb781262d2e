//! Parameters of a path, parsed into the types of a domain.
//!
//! A service declares one extractor per path parameter (`OrgPath`, `EntityPath`) and implements it with [`param`], so that a
//! handler receives a checked id and a wrong one becomes the domain's own error.

use axum::extract::FromRequestParts as _;
use axum::http::request::Parts;

use crate::extract::PathParams;
use crate::{ApiError, Code};

/// The parameter `{name}` of the path, parsed by `parse`.
///
/// # Errors
/// The path is not UTF-8, has no such parameter, or `parse` refuses the text.
pub async fn param<T, P, E>(
    parts: &mut Parts,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, P>,
) -> Result<T, E>
where
    E: From<ApiError> + From<P>,
{
    let found: Result<Option<T>, E> = optional_param(parts, name, parse).await;
    found?.ok_or_else(|| missing().into())
}

/// The parameter `{name}` of the path, parsed by `parse`, where the route declares one.
///
/// # Errors
/// The path is not UTF-8, or `parse` refuses the text.
pub async fn optional_param<T, P, E>(
    parts: &mut Parts,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, P>,
) -> Result<Option<T>, E>
where
    E: From<ApiError> + From<P>,
{
    let params = PathParams::from_request_parts(parts, &()).await?;
    Ok(params.get(name).map(parse).transpose()?)
}

/// The error of a path without the parameter that its handler reads.
#[must_use]
pub fn missing() -> ApiError {
    ApiError::new(Code::NOT_FOUND, "no route matches this path")
}
