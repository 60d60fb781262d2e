//! The description of the API: OpenAPI at `/openapi.json`, a page for people at `/docs`. Both work without access to other
//! servers.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};

use crate::app::App;
use crate::extract::Path;
use crate::packed::packed_response;
use crate::{ApiError, Code};

/// The page may run only its own scripts and connect only to its own server.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/// Returns the OpenAPI description
#[utoipa::path(get, path = "/openapi.json", tag = "health",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
pub(crate) async fn openapi(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], app.openapi())
}

pub(crate) async fn index() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(crate) async fn start(headers: HeaderMap) -> Result<Response, ApiError> {
    file("", &headers)
}

pub(crate) async fn page(
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    file(&path, &headers)
}

/// A file of the page.
enum File {
    Text(&'static str),
    /// Compressed, because it is large.
    Gzip(&'static [u8]),
}

/// Finds a file and its type.
fn find(path: &str) -> Option<(&'static str, File)> {
    Some(match path {
        "" | "index.html" => {
            ("text/html; charset=utf-8", File::Text(include_str!("docs/index.html")))
        }
        "swagger-initializer.js" => {
            ("text/javascript", File::Text(include_str!("docs/swagger-initializer.js")))
        }
        "swagger-ui-bundle.js" => {
            let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));
            ("text/javascript", File::Gzip(bytes))
        }
        "swagger-ui.css" => {
            let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
            ("text/css", File::Gzip(bytes))
        }
        "LICENSE" => {
            let text = include_str!(concat!(env!("OUT_DIR"), "/swagger-ui-licence.txt"));
            ("text/plain; charset=utf-8", File::Text(text))
        }
        _ => return None,
    })
}

fn file(path: &str, request: &HeaderMap) -> Result<Response, ApiError> {
    let Some((kind, file)) = find(path) else {
        return Err(ApiError::new(Code::NOT_FOUND, "no such documentation page"));
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (HeaderName::from_static("content-security-policy"), HeaderValue::from_static(POLICY)),
    ];
    Ok(match file {
        File::Text(text) => (headers, text).into_response(),
        File::Gzip(bytes) => (headers, packed_response(bytes, request)?).into_response(),
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::packed::unpack;

    async fn get(path: &str, accept_encoding: &'static str) -> (Option<HeaderValue>, Bytes) {
        let accept = HeaderValue::from_static(accept_encoding);
        let request = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accept)]);
        let response = file(path, &request).ok().unwrap();
        let encoding = response.headers().get(header::CONTENT_ENCODING).cloned();
        (encoding, response.into_body().collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn large_files_are_unpacked_for_clients_that_do_not_accept_gzip() {
        for path in ["swagger-ui-bundle.js", "swagger-ui.css"] {
            let (encoding, packed) = get(path, "br, gzip").await;
            assert_eq!(encoding.unwrap(), "gzip");
            for other in ["identity", "br", "gzip;q=0"] {
                let (encoding, text) = get(path, other).await;
                assert_eq!(encoding, None, "{other}");
                assert_eq!(text, unpack(&packed).ok().unwrap(), "{other}");
                assert!(text.len() > 3 * packed.len(), "{path} is {} bytes", text.len());
            }
        }
    }

    #[tokio::test]
    async fn the_licence_of_the_page_is_shown() {
        let (_, text) = get("LICENSE", "gzip").await;
        assert!(text.windows(14).any(|part| part == b"Apache License"));
    }
}
