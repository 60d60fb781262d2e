//! Extractors. Each turns a mistake of the client into an [`ApiError`] that names the field.

use axum::body::{Bytes, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

pub use crate::body::{bytes, pieces, too_large};
use crate::edge::RequestContext;
use crate::fraction::without_empty_fractions;
use crate::{ApiError, Code, serde_problem};

const JSON: &str = "application/json";

/// A JSON object as body.
#[derive(Debug)]
pub struct Body<T>(pub T);

/// A JSON object as body of a hot route. It is parsed without the path of each value, and again with it if it has a mistake:
/// quicker than [`Body`], for twice the code.
#[derive(Debug)]
pub struct FastBody<T>(pub T);

/// A JSON object as body, or the default if the body is empty or `null`. An empty body needs no content type and may have any.
#[derive(Debug)]
pub struct OptionalBody<T>(pub T);

/// A JSON array as body.
#[derive(Debug)]
pub struct ListBody<T>(pub Vec<T>);

/// The query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// A query string whose parameters belong to several types, each of which denies unknown fields.
///
/// `serde` cannot flatten such types, so each parameter goes to the type that describes it.
#[derive(Debug)]
pub struct QueryParts<T>(pub T);

/// The parameters of the path, parsed into a type. It works on routes without a fast path;
/// [`PathParams`] works on all.
#[derive(Debug)]
pub struct Path<T>(pub T);

/// The parameters of the path by name, percent-decoded.
#[derive(Debug)]
pub struct PathParams(Params);

#[derive(Debug)]
enum Params {
    Fast(RequestContext, Uri),
    Routed(RawPathParams),
}

impl PathParams {
    /// The parameter `{name}`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = match &self.0 {
            Params::Fast(context, uri) => {
                context.params()?.iter(uri.path()).find(|(param, _)| *param == name)?
            }
            Params::Routed(params) => params.iter().find(|(param, _)| *param == name)?,
        };
        Some(value)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParams, ApiError> {
        let context = parts.extensions.get::<RequestContext>();
        if let Some(context) = context.filter(|context| context.params().is_some()) {
            return Ok(PathParams(Params::Fast(context.clone(), parts.uri.clone())));
        }
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| ApiError::invalid("path", "is not UTF-8"))?;
        Ok(PathParams(Params::Routed(params)))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        object(&json_bytes(request).await?).map(Body)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for FastBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let text = json_bytes(request).await?;
        let object = not_an_array(&text)?;
        // Checking UTF-8 once is cheaper than having serde check each string.
        if let Ok(object) = std::str::from_utf8(object)
            && let Ok(value) = serde_json::from_str(object)
        {
            return Ok(FastBody(value));
        }
        parsed(object).map(FastBody)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for ListBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        parsed(&json_bytes(request).await?).map(ListBody)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        // Not by `Content-Length`: a request over HTTP/2 or inside this process need not have it.
        if request.body().is_end_stream() {
            return Ok(OptionalBody(T::default()));
        }
        let json = check_json(request.headers());
        let text = bytes(request).await?;
        if text.is_empty() {
            return Ok(OptionalBody(T::default()));
        }
        json?;
        Ok(OptionalBody(object::<Option<T>>(&text)?.unwrap_or_default()))
    }
}

async fn json_bytes(request: Request) -> Result<Bytes, ApiError> {
    check_json(request.headers())?;
    bytes(request).await
}

/// Checks that the content type is JSON.
fn check_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| is_json(kind.to_str().unwrap_or_default())) {
        return Ok(());
    }
    let detail = "the body must be JSON, sent with `Content-Type: application/json`";
    Err(ApiError::new(Code::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// Parses a JSON object.
fn object<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    parsed(not_an_array(text)?)
}

/// Refuses an array: serde would accept it as the fields of a struct, in order.
fn not_an_array(text: &[u8]) -> Result<&[u8], ApiError> {
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(ApiError::invalid("body", "is an array; it must be an object"));
    }
    Ok(text)
}

/// Parses a body. A body that does not parse is parsed again without fractions of zeros: JSON Schema calls `7.0` an
/// integer, and so does our description; serde does not.
fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    with_path(text).or_else(|error| with_path(&without_empty_fractions(text)).map_err(|_| error))
}

/// Parses JSON, keeping the path of each value for the message of a mistake.
///
/// Every type has its own copy of the parser, so no other parser is used for bodies, except of hot routes.
fn with_path<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| wrong_json(&error))?;
    json.end().map_err(|error| ApiError::invalid("body", format!("is not JSON: {error}")))?;
    Ok(value)
}

/// Names a wrong value by its path, and text that is not JSON by line and column.
fn wrong_json(error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    let problem = error.inner().to_string();
    match problem.rsplit_once(" at line ") {
        Some((problem, _)) if error.inner().is_data() => wrong_at("body", error, problem),
        _ => ApiError::invalid("body", format!("is not JSON: {problem}")),
    }
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
    pairs.into_iter().partition(|(name, _)| described.iter().any(|param| param.name == *name))
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
                    Err(ApiError::invalid(key, format!("{value:?} is not a valid {expected_type}")))
                }
                ErrorKind::InvalidUtf8InPathParam { key } => {
                    Err(ApiError::invalid(key, "is not UTF-8"))
                }
                ErrorKind::DeserializeError { key, message, .. } => {
                    Err(ApiError::invalid(key, message))
                }
                other => Err(ApiError::invalid("path", other.to_string())),
            },
            Err(_) => Err(ApiError::new(Code::NOT_FOUND, "no route matches this path")),
        }
    }
}

/// The error of serde with the path of the field.
fn wrong<E: std::fmt::Display>(part: &str, error: &serde_path_to_error::Error<E>) -> ApiError {
    wrong_at(part, error, &error.inner().to_string())
}

fn wrong_at<E>(part: &str, error: &serde_path_to_error::Error<E>, problem: &str) -> ApiError {
    let path = error.path().to_string();
    // Serde names an unknown or missing field in its text; the path is that of the struct around it.
    let named = problem.split('`').nth(1).filter(|_| problem.contains(" field `"));
    let field = match (path.as_str(), named) {
        ("." | "?", None) => part.to_owned(),
        ("." | "?", Some(name)) => name.to_owned(),
        (path, None) => path.to_owned(),
        (path, Some(name)) if path.ends_with(name) => path.to_owned(),
        (path, Some(name)) => format!("{path}.{name}"),
    };
    ApiError::invalid(field, serde_problem::describe(problem))
}
