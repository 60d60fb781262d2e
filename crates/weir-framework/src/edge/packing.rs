//! Compression, for callers that ask for it.

use std::convert::Infallible;
use std::pin::Pin;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use tower_http::compression::Compression;
use tower_http::compression::predicate::{And, DefaultPredicate, Predicate as _, SizeAbove};
use tower_service::Service as _;

/// Smaller answers are not worth compressing.
const COMPRESS_ABOVE: u64 = 1024;

type Worth = And<SizeAbove, DefaultPredicate>;

/// An answer on its way, which may be compressed when it comes.
pub(super) type Packed = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// All routes, with compression around them.
#[derive(Clone)]
pub(super) struct Packing(Compression<Router, Worth>);

impl std::fmt::Debug for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packing")
    }
}

impl Packing {
    pub(super) fn new(routes: Router) -> Packing {
        Packing(Compression::new(routes).compress_when(worth()))
    }

    /// Whether a caller says anything about it.
    pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
        headers.contains_key(header::ACCEPT_ENCODING)
    }

    pub(super) fn call(&mut self, request: Request) -> Packed {
        let answer = self.0.call(request);
        Box::pin(async move { answer.await.map(|answer| answer.map(Body::new)) })
    }
}

/// Tells caches that another caller may get this answer compressed.
pub(super) fn vary(response: &mut Response) {
    let headers = response.headers();
    let is_whole = !headers.contains_key(header::CONTENT_ENCODING)
        && !headers.contains_key(header::CONTENT_RANGE);
    if is_whole && worth().should_compress(response) && !names_encoding(response.headers()) {
        response.headers_mut().append(header::VARY, header::ACCEPT_ENCODING.into());
    }
}

fn worth() -> Worth {
    SizeAbove::new(COMPRESS_ABOVE).and(DefaultPredicate::new())
}

fn names_encoding(headers: &HeaderMap) -> bool {
    let mut varying = headers.get_all(header::VARY).iter().filter_map(|value| value.to_str().ok());
    varying.any(|names| names.to_ascii_lowercase().contains(header::ACCEPT_ENCODING.as_str()))
}
