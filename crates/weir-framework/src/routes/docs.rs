//! The description of the API: OpenAPI at `/openapi.json`, a page for people at `/docs`. Both work without access to other
//! servers.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::Config;

use crate::app::App;
use crate::extract::Path;
use crate::{ApiError, Code};

/// The page may run only its own scripts and connect only to its own server.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

static PAGE: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    Arc::new(
        Config::from("/openapi.json")
            .try_it_out_enabled(true)
            .persist_authorization(false)
            .deep_linking(true)
            // Without the bar that loads another description.
            .use_base_layout(),
    )
});

/// Returns the OpenAPI description
#[utoipa::path(get, path = "/openapi.json", tag = "health",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
pub(crate) async fn openapi(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi())
}

pub(crate) async fn index() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(crate) async fn start() -> Result<Response, ApiError> {
    file("")
}

pub(crate) async fn page(Path(path): Path<String>) -> Result<Response, ApiError> {
    file(&path)
}

fn file(path: &str) -> Result<Response, ApiError> {
    let found = utoipa_swagger_ui::serve(path, Arc::clone(&PAGE)).map_err(|error| {
        ApiError::new(Code::INTERNAL_ERROR, "the page cannot be shown").because(error.to_string())
    })?;
    let found =
        found.ok_or_else(|| ApiError::new(Code::NOT_FOUND, "no such documentation page"))?;
    let kind = HeaderValue::try_from(found.content_type);
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        kind.unwrap_or(HeaderValue::from_static("application/octet-stream")),
    );
    headers.insert(
        HeaderName::from_static("content-security-policy"),
        HeaderValue::from_static(POLICY),
    );
    Ok((headers, found.bytes.into_owned()).into_response())
}
