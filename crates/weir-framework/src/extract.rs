//! What handlers take apart a request with. A mistake becomes an [`ApiError`] that names the field.

use axum::body::{Bytes, HttpBody as _};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::{ApiError, Code};

const JSON: &str = "application/json";

/// A JSON object as body. The type refuses unknown fields with `#[serde(deny_unknown_fields)]`.
#[derive(Debug)]
pub struct Body<T>(pub T);

/// A JSON array as body.
#[derive(Debug)]
pub struct ListBody<T>(pub Vec<T>);

/// The query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// A query string whose parameters belong to several types, each of which refuses what it does not know.
///
/// `serde` cannot flatten types that refuse unknown fields, so parameters are handed to the type that describes them.
#[derive(Debug)]
pub struct QueryParts<T>(pub T);

/// The parameters of the path.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        object(&json_bytes(request, state).await?).map(Body)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for ListBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        parsed(&json_bytes(request, state).await?).map(ListBody)
    }
}

async fn json_bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    check_json(request.headers())?;
    Bytes::from_request(request, state).await.map_err(unreadable)
}

/// Whether a body is said to be JSON.
pub(crate) fn check_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| is_json(kind.to_str().unwrap_or_default())) {
        return Ok(());
    }
    let detail = "the body must be JSON, sent with `Content-Type: application/json`";
    Err(ApiError::new(Code::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// Whether a request has no body, and does not say what it would be either.
#[must_use]
pub fn is_left_out(headers: &HeaderMap, body: &axum::body::Body) -> bool {
    !headers.contains_key(header::CONTENT_TYPE) && body.is_end_stream()
}

/// All of a body that has at most `bytes_max`. Most come in one piece, which is not copied.
pub(crate) async fn whole(mut body: axum::body::Body, bytes_max: usize) -> Result<Bytes, ApiError> {
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let Ok(piece) = frame.map_err(|_| cut_off())?.into_data() else { continue };
        if piece.len() > bytes_max - first.len().max(all.len()) {
            return Err(too_large());
        }
        if first.is_empty() {
            first = piece;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&piece);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// The value that a JSON object stands for.
pub(crate) fn object<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    // Serde would take an array's elements for the fields, in their order.
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(ApiError::invalid("body", "is an array; it must be an object"));
    }
    parsed(text)
}

/// The error of a body that is larger than the server takes.
#[must_use]
pub fn too_large() -> ApiError {
    ApiError::new(Code::PAYLOAD_TOO_LARGE, "the body is larger than this server takes")
}

/// Parses a body. Only a body that does not parse is parsed again, to find the path of the mistake.
fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    // Checking UTF-8 once is cheaper than having serde check each string.
    if let Ok(text) = std::str::from_utf8(text)
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| wrong_json(&error))?;
    json.end().map_err(|error| ApiError::invalid("body", error.to_string()))?;
    Ok(value)
}

/// A value that does not fit is named by its path; only text that is no JSON is found by line and column.
fn wrong_json(error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    let problem = error.inner().to_string();
    match problem.rsplit_once(" at line ") {
        Some((problem, _)) if error.inner().is_data() => wrong_at("body", error, problem),
        _ => wrong_at("body", error, &problem),
    }
}

/// A body that could not be read: too large, cut off, or not allowed.
fn unreadable(rejection: BytesRejection) -> ApiError {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => cut_off(),
    }
}

fn cut_off() -> ApiError {
    ApiError::invalid("body", "could not be read to its end")
}

fn is_json(kind: &str) -> bool {
    if kind == JSON {
        return true;
    }
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case(JSON)
        || (kind.to_ascii_lowercase().starts_with("application/")
            && kind.to_ascii_lowercase().ends_with("+json"))
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let text = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(text.as_bytes());
        let query = serde_urlencoded::Deserializer::new(pairs);
        serde_path_to_error::deserialize(query).map(Query).map_err(|error| wrong("query", &error))
    }
}

impl<S, A, B> FromRequestParts<S> for QueryParts<(A, B)>
where
    S: Send + Sync,
    A: DeserializeOwned + IntoParams,
    B: DeserializeOwned + IntoParams,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let (first, second) = split::<A>(pairs(parts));
        Ok(QueryParts((query(first)?, query(second)?)))
    }
}

impl<S, A, B, C> FromRequestParts<S> for QueryParts<(A, B, C)>
where
    S: Send + Sync,
    A: DeserializeOwned + IntoParams,
    B: DeserializeOwned + IntoParams,
    C: DeserializeOwned + IntoParams,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let (first, rest) = split::<A>(pairs(parts));
        let (second, third) = split::<B>(rest);
        Ok(QueryParts((query(first)?, query(second)?, query(third)?)))
    }
}

type Pairs = Vec<(String, String)>;

fn pairs(parts: &Parts) -> Pairs {
    let text = parts.uri.query().unwrap_or_default();
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// The parameters that `T` describes, and the others.
fn split<T: IntoParams>(pairs: Pairs) -> (Pairs, Pairs) {
    let described = T::into_params(|| None);
    pairs.into_iter().partition(|(name, _)| described.iter().any(|known| known.name == *name))
}

fn query<T: DeserializeOwned>(pairs: Pairs) -> Result<T, ApiError> {
    let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let query = serde_urlencoded::Deserializer::new(form_urlencoded::parse(text.as_bytes()));
    serde_path_to_error::deserialize(query).map_err(|error| wrong("query", &error))
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        use axum::extract::path::{ErrorKind, Path as AxumPath};
        use axum::extract::rejection::PathRejection;
        match AxumPath::from_request_parts(parts, state).await {
            Ok(AxumPath(value)) => Ok(Path(value)),
            Err(PathRejection::FailedToDeserializePathParams(failed)) => match failed.into_kind() {
                ErrorKind::ParseErrorAtKey { key, value, expected_type } => {
                    Err(ApiError::invalid(key, format!("{value:?} is no {expected_type}")))
                }
                ErrorKind::InvalidUtf8InPathParam { key } => {
                    Err(ApiError::invalid(key, "is not UTF-8"))
                }
                ErrorKind::DeserializeError { key, message, .. } => {
                    Err(ApiError::invalid(key, message))
                }
                other => Err(ApiError::invalid("path", other.to_string())),
            },
            Err(_) => Err(ApiError::not_found("such path")),
        }
    }
}

/// What serde found, and where.
fn wrong<E: std::fmt::Display>(part: &str, error: &serde_path_to_error::Error<E>) -> ApiError {
    wrong_at(part, error, &error.inner().to_string())
}

fn wrong_at<E>(part: &str, error: &serde_path_to_error::Error<E>, problem: &str) -> ApiError {
    let path = error.path().to_string();
    // An unknown or missing field is named in the text only; the path is that of what should hold it.
    let named = problem.split('`').nth(1).filter(|_| problem.contains(" field `"));
    let field = match (path.as_str(), named) {
        ("." | "?", None) => part.to_owned(),
        ("." | "?", Some(name)) => name.to_owned(),
        (path, None) => path.to_owned(),
        (path, Some(name)) if path.ends_with(name) => path.to_owned(),
        (path, Some(name)) => format!("{path}.{name}"),
    };
    ApiError::invalid(field, problem)
}
