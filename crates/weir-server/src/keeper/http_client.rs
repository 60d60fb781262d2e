//! The HTTP client for webhooks and price downloads.
//!
//! Every request has a deadline and a bound on the size of its response. The client follows no redirects and uses no proxy:
//! the operator configured that address and no other. It trusts the certificates that the machine trusts.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};

/// The deadline of a request, from the lookup of the name to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(15);
const USER_AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("the address is not a URL with http:// or https:// and a host, without credentials")]
    Url,
    #[error("the request failed")]
    Request(#[source] reqwest::Error),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> HttpError {
        // The address of a webhook can be a secret, so no log may show it.
        HttpError::Request(error.without_url())
    }
}

/// Sends requests. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct HttpClient(Client);

impl HttpClient {
    /// Reads the certificates that the machine trusts. Without any, only `http://` works.
    pub(super) fn new() -> Result<HttpClient, HttpError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map(|tls| tls.with_root_certificates(roots).with_no_client_auth());
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(TIMEOUT)
            .user_agent(USER_AGENT)
            // Requests to one address are rare: a pooled connection would be stale.
            .pool_max_idle_per_host(0);
        let client = match tls {
            Ok(tls) => client.tls_backend_preconfigured(tls),
            Err(_) => client,
        };
        Ok(HttpClient(client.build()?))
    }

    /// A GET request.
    pub(super) fn get(&self, url: &str) -> Result<RequestBuilder, HttpError> {
        Ok(self.0.get(checked(url)?))
    }

    /// A POST request.
    pub(super) fn post(&self, url: &str) -> Result<RequestBuilder, HttpError> {
        Ok(self.0.post(checked(url)?))
    }
}

/// Sends `request`, and reads a response of at most `max` bytes.
pub(super) async fn send(
    request: RequestBuilder,
    max: usize,
) -> Result<(StatusCode, Vec<u8>), HttpError> {
    let mut response = request.send().await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > max - body.len() {
            return Err(HttpError::TooLarge(max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}

fn checked(url: &str) -> Result<Url, HttpError> {
    let url = Url::parse(url).map_err(|_| HttpError::Url)?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    if is_plain && is_http { Ok(url) } else { Err(HttpError::Url) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_without_credentials_are_accepted() {
        for url in ["https://h.test/a?b=c", "http://127.0.0.1:81", "http://[::1]:81/"] {
            assert!(checked(url).is_ok(), "{url}");
        }
        for url in ["", "h.test", "ftp://h/", "https://", "http://u:p@h/", "file:///x"] {
            assert!(checked(url).is_err(), "{url}");
        }
    }
}
