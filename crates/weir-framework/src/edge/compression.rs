//! Compression of large responses, the same on both paths.

use std::convert::Infallible;
use std::future::ready;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use tower::service_fn;
use tower_http::compression::Compression;
use tower_http::compression::predicate::{DefaultPredicate, Predicate as _, SizeAbove};
use tower_service::Service as _;

/// Smaller responses are not worth compressing: they arrive in one round trip either way, because a new connection may send
/// ten segments at once (RFC 6928), and compression would cost twice as much as the rest of a hot request.
const COMPRESS_ABOVE: u64 = 4 * 1024;

/// The `Accept-Encoding` of a request. Several lines of it count as none, which is always correct.
pub(super) fn accept_encoding(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.clone())
}

/// Compresses a large response as the client accepts it, and adds `Vary` to each response that
/// another client could get compressed.
pub(super) fn compress(response: Response, accept_encoding: Option<HeaderValue>) -> Response {
    let predicate = SizeAbove::new(COMPRESS_ABOVE).and(DefaultPredicate::new());
    if !predicate.should_compress(&response) {
        return response;
    }
    // tower-http compresses only as a layer, so the finished response becomes a service.
    let mut request = Request::new(Body::empty());
    if let Some(value) = accept_encoding {
        request.headers_mut().insert(header::ACCEPT_ENCODING, value);
    }
    let mut response = Some(response);
    let service = service_fn(move |_: Request| {
        ready(Ok::<_, Infallible>(response.take().unwrap_or_default()))
    });
    let compressed = Compression::new(service).compress_when(predicate).call(request);
    match pin!(compressed).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(compressed)) => compressed.map(Body::new),
        // The service is ready at once.
        Poll::Pending => Response::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(bytes: usize, accept: &[&str]) -> Response {
        let accept = accept.iter().map(|value| HeaderValue::from_str(value).unwrap());
        let headers: HeaderMap = accept.map(|value| (header::ACCEPT_ENCODING, value)).collect();
        compress(Response::new(Body::from("x".repeat(bytes))), accept_encoding(&headers))
    }

    #[test]
    fn only_large_responses_are_compressed_for_clients_that_accept_it() {
        for (bytes, accept, encoding, vary) in [
            (4 * 1024 - 1, &["gzip"][..], None, None),
            (4 * 1024, &["gzip"], Some("gzip"), Some("accept-encoding")),
            (10_000, &["gzip, deflate, br"], Some("gzip"), Some("accept-encoding")),
            (10_000, &["identity"], None, Some("accept-encoding")),
            (10_000, &[], None, Some("accept-encoding")),
            (10_000, &["gzip", "gzip;q=0"], None, Some("accept-encoding")),
        ] {
            let response = compressed(bytes, accept);
            let text = |name| response.headers().get(name).map(|value| value.to_str().unwrap());
            let found = (text(header::CONTENT_ENCODING), text(header::VARY));
            assert_eq!(found, (encoding, vary), "{bytes} {accept:?}");
        }
    }
}
