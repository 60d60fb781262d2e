//! The HTTP client for webhooks and price downloads.
//!
//! Every request has a deadline and a bound on the size of its response. The client follows no redirects and uses no proxy:
//! the operator configured that address and no other. It trusts the certificates that the machine trusts. A client for
//! webhooks connects only to addresses that its policy permits: it resolves names itself and connects to what it checked.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use weir_keeper::webhooks::AddressPolicy;

/// The deadline of a request, from the lookup of the name to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(15);
const USER_AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("the address is not a URL with http:// or https:// and a host, without credentials")]
    Url,
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    #[error("the request failed")]
    Request(#[source] reqwest::Error),
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
}

/// The host is, or resolves to, an address that the policy does not permit. The text does not show the address, which is of
/// the operator's network.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the host is in a network that webhooks may not reach (keeper.webhook_allowed_networks)")]
pub(super) struct RefusedAddress;

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> HttpError {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref::<RefusedAddress>() {
                return HttpError::Refused(*refused);
            }
            cause = error.source();
        }
        // The address of a webhook can be a secret, so no log may show it.
        HttpError::Request(error.without_url())
    }
}

/// Sends requests. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct HttpClient {
    client: Client,
    policy: Option<AddressPolicy>,
}

impl HttpClient {
    /// A client for addresses that the operator configured.
    pub(super) fn new() -> Result<HttpClient, HttpError> {
        HttpClient::build(None, Arc::new(SystemResolver))
    }

    /// A client for addresses that `policy` permits.
    pub(super) fn restricted(policy: AddressPolicy) -> Result<HttpClient, HttpError> {
        HttpClient::build(Some(policy), Arc::new(SystemResolver))
    }

    fn build(
        policy: Option<AddressPolicy>,
        resolver: Arc<dyn Resolve>,
    ) -> Result<HttpClient, HttpError> {
        let tls = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map(|tls| tls.with_root_certificates(trusted()).with_no_client_auth());
        let client = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(CheckedResolver { policy: policy.clone(), resolver }))
            .timeout(TIMEOUT)
            .user_agent(USER_AGENT)
            // Requests to one address are rare: a pooled connection would be stale.
            .pool_max_idle_per_host(0);
        let client = match tls {
            Ok(tls) => client.tls_backend_preconfigured(tls),
            Err(_) => client,
        };
        Ok(HttpClient { client: client.build()?, policy })
    }

    /// A GET request.
    pub(super) fn get(&self, url: &str) -> Result<RequestBuilder, HttpError> {
        Ok(self.client.get(self.checked(url)?))
    }

    /// A POST request.
    pub(super) fn post(&self, url: &str) -> Result<RequestBuilder, HttpError> {
        Ok(self.client.post(self.checked(url)?))
    }

    /// The URL, if its host may be reached. A host that is an address never comes to the resolver.
    fn checked(&self, url: &str) -> Result<Url, HttpError> {
        let url = checked(url)?;
        match self.policy.as_ref().is_none_or(|policy| policy.permits_host(&url)) {
            true => Ok(url),
            false => Err(RefusedAddress.into()),
        }
    }
}

/// The certificates that the machine trusts; without any, only `http://` works. Read once, which takes milliseconds.
fn trusted() -> Arc<RootCertStore> {
    static TRUSTED: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let read = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    };
    Arc::clone(TRUSTED.get_or_init(read))
}

/// The resolver of the machine.
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<SocketAddr>>().into_iter()) as Addrs)
        })
    }
}

/// Resolves a name to those of its addresses that the policy permits.
struct CheckedResolver {
    policy: Option<AddressPolicy>,
    resolver: Arc<dyn Resolve>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolving = self.resolver.resolve(name);
        let Some(policy) = self.policy.clone() else { return resolving };
        Box::pin(async move {
            let found: Vec<SocketAddr> = resolving.await?.collect();
            let is_found = !found.is_empty();
            let mut permitted =
                found.into_iter().filter(move |at| policy.permits(at.ip())).peekable();
            if is_found && permitted.peek().is_none() {
                return Err(RefusedAddress.into());
            }
            Ok(Box::new(permitted) as Addrs)
        })
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
    use std::net::IpAddr;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

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

    /// Gives every name the same addresses.
    struct Fixed(Vec<IpAddr>);

    impl Resolve for Fixed {
        fn resolve(&self, _: Name) -> Resolving {
            let addresses = self.0.clone().into_iter().map(|address| SocketAddr::new(address, 0));
            Box::pin(std::future::ready(Ok(Box::new(addresses) as Addrs)))
        }
    }

    /// Posts to a name that resolves to these addresses, while a server listens on loopback.
    async fn post(allowed: &[&str], addresses: &[&str]) -> Result<StatusCode, HttpError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://hooks.example.com:{}/", listener.local_addr().unwrap().port());
        let policy = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let fixed = Fixed(addresses.iter().map(|address| address.parse().unwrap()).collect());
        let client = HttpClient::build(Some(AddressPolicy::new(policy)), Arc::new(fixed)).unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            let response = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            stream.write_all(response).await.unwrap();
        });
        let sent = send(client.post(&url).unwrap(), 10).await.map(|(status, _)| status);
        assert_eq!(server.is_finished() || sent.is_ok(), sent.is_ok(), "no connection was made");
        server.abort();
        sent
    }

    #[tokio::test]
    async fn a_public_name_with_a_private_address_is_not_connected_to() {
        for inside in ["127.0.0.1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00::1"] {
            let error = post(&[], &[inside]).await.unwrap_err();
            assert!(matches!(error, HttpError::Refused(_)), "{inside}: {error:?}");
            assert!(!weir_framework::error::with_causes(&error).contains(inside), "{error}");
        }
        assert_eq!(post(&["127.0.0.0/8"], &["127.0.0.1"]).await.unwrap(), 204);
    }

    #[tokio::test]
    async fn of_several_addresses_only_permitted_ones_are_connected_to() {
        let sent = post(&["127.0.0.1/32"], &["127.0.0.9", "10.0.0.1", "127.0.0.1"]).await;
        assert_eq!(sent.unwrap(), 204);
    }

    #[test]
    fn a_host_that_is_an_address_is_checked_without_a_lookup() {
        let client = HttpClient::restricted(AddressPolicy::default()).unwrap();
        for url in ["http://127.0.0.1/", "http://2130706433/", "https://[::ffff:10.0.0.1]/"] {
            assert!(matches!(client.post(url), Err(HttpError::Refused(_))), "{url}");
        }
        assert!(client.post("https://8.8.8.8/").is_ok());
        assert!(HttpClient::new().unwrap().get("http://127.0.0.1/").is_ok());
    }
}
