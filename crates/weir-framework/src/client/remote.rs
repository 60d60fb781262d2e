//! A server elsewhere, called over HTTP or HTTPS with the credentials of the user.
//!
//! It follows no redirect, which could send the credentials to another host. A certificate is verified against the CAs that
//! the machine trusts and those of a file.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::ANSWER_MAX;
use crate::auth::Secret;
use crate::authorize::API_KEY;

/// Maximum duration of connecting, with the TLS handshake.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("weir/", env!("CARGO_PKG_VERSION"));

/// Where the server is, and how to call it.
#[derive(Debug, Clone)]
pub struct RemoteSettings {
    /// Its address, with the path of a proxy in front of it if there is one.
    pub url: String,
    /// A token or the admin key.
    pub credentials: Option<Secret>,
    /// A PEM file with CAs to trust beside those of the machine.
    pub ca_file: Option<PathBuf>,
}

/// Why a server elsewhere could not be called.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is unusable.
    #[error("{0:?} is not an address like https://weir.example.com")]
    Url(String),
    /// The path has an id that is `.` or `..`, which every client takes for a folder.
    #[error("the id {0:?} cannot stand in the address of a server elsewhere")]
    Dots(String),
    /// The credentials cannot be sent in a header.
    #[error("the token has characters that no token has")]
    Credentials,
    /// The file of CAs is unusable.
    #[error("{} has no CA certificate that can be used", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The name of the host is not known.
    #[error("the name of the host {0} cannot be looked up")]
    Name(String),
    /// Nothing listens there.
    #[error("nothing listens on {0}")]
    Refused(String),
    /// The server does not speak TLS.
    #[error("{0} does not speak TLS")]
    NoTls(String),
    /// The certificate is not trusted, or no way to encrypt is shared.
    #[error("no secure connection to {host}: {problem}")]
    Tls {
        /// Host and port.
        host: String,
        /// The problem.
        problem: String,
    },
    /// The server did not respond.
    #[error("{host} did not respond within {seconds} s")]
    TimedOut {
        /// Host and port.
        host: String,
        /// How long the call was waited for.
        seconds: u64,
    },
    /// The server sends clients to another address.
    #[error("{host} redirects to {to}")]
    Redirect {
        /// Host and port.
        host: String,
        /// The other address.
        to: String,
    },
    /// The response is not one of Weir.
    #[error("{host} responds with status {status}, but not like a Weir server")]
    NotWeir {
        /// Host and port.
        host: String,
        /// Status of the response.
        status: u16,
    },
    /// The connection failed in another way.
    #[error("the connection to {host} failed")]
    Broken {
        /// Host and port.
        host: String,
        /// The reason.
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// A server elsewhere.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    base: Url,
    credentials: Option<(HeaderName, HeaderValue)>,
}

impl Remote {
    /// Prepares calls of a server; connects on the first one.
    ///
    /// # Errors
    /// The address, the credentials or the file of CAs cannot be used.
    pub fn new(settings: &RemoteSettings) -> Result<Remote, RemoteError> {
        let base = base(&settings.url)?;
        let credentials = settings.credentials.as_ref().map(header_of).transpose()?;
        let builder = Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_WITHIN)
            .user_agent(USER_AGENT)
            .tls_backend_preconfigured(tls(settings.ca_file.as_deref())?);
        // A proxy cannot reach this machine's own addresses.
        let builder = if is_loopback(&base) { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| broken(&base, error))?;
        Ok(Remote { client, base, credentials })
    }

    /// Whether credentials are sent unencrypted through a network.
    #[must_use]
    pub fn exposes_credentials(&self) -> bool {
        self.credentials.is_some() && self.base.scheme() == "http" && !is_loopback(&self.base)
    }

    /// Host and port.
    #[must_use]
    pub fn host(&self) -> String {
        host(&self.base)
    }

    /// Sends a request. Returns the status, and the body as it arrives.
    pub(super) async fn open(
        &self,
        request: Request<Body>,
        within: Duration,
    ) -> Result<(StatusCode, Body), RemoteError> {
        let sent = async {
            let request = self.addressed(request).await?;
            self.client.execute(request).await.map_err(|error| self.failure(error))
        };
        let response = tokio::time::timeout(within, sent).await;
        let response = response.map_err(|_| self.timed_out(within))??;
        if response.status().is_redirection() {
            let to = response.headers().get(header::LOCATION);
            let to = to.and_then(|to| to.to_str().ok()).unwrap_or("another address").to_owned();
            return Err(RemoteError::Redirect { host: self.host(), to });
        }
        let status = response.status();
        Ok((status, Body::new(reqwest::Body::from(response))))
    }

    /// Sends a request. Returns the status and the whole body.
    pub(super) async fn exchange(
        &self,
        request: Request<Body>,
        within: Duration,
    ) -> Result<(StatusCode, Bytes), RemoteError> {
        let exchanged = async {
            let (status, body) = self.open(request, within).await?;
            let read = axum::body::to_bytes(body, ANSWER_MAX).await;
            Ok((status, read.map_err(|error| broken(&self.base, error))?))
        };
        let exchanged = tokio::time::timeout(within, exchanged).await;
        exchanged.map_err(|_| self.timed_out(within))?
    }

    pub(super) fn not_weir(&self, status: StatusCode) -> RemoteError {
        RemoteError::NotWeir { host: self.host(), status: status.as_u16() }
    }

    /// The request with the whole address and the credentials.
    async fn addressed(&self, request: Request<Body>) -> Result<reqwest::Request, RemoteError> {
        let (parts, body) = request.into_parts();
        if let Some(dots) = dots(parts.uri.path()) {
            return Err(RemoteError::Dots(dots));
        }
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", self.base.path().trim_end_matches('/'), parts.uri.path()));
        url.set_query(parts.uri.query());
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        request.headers_mut().remove(header::HOST);
        if let Some((name, value)) = &self.credentials {
            request.headers_mut().insert(name, value.clone());
        }
        *request.body_mut() = Some(match body.size_hint().exact() {
            // Known bytes go out with their length.
            Some(_) => {
                body.collect().await.map_err(|error| broken(&self.base, error))?.to_bytes().into()
            }
            None => reqwest::Body::wrap_stream(body.into_data_stream()),
        });
        Ok(request)
    }

    fn timed_out(&self, within: Duration) -> RemoteError {
        RemoteError::TimedOut { host: self.host(), seconds: within.as_secs() }
    }

    /// The error that a failure to send means.
    fn failure(&self, error: reqwest::Error) -> RemoteError {
        let host = self.host();
        if error.is_timeout() {
            return self.timed_out(CONNECT_WITHIN);
        }
        for cause in causes(&error) {
            match tls_error(cause) {
                Some(rustls::Error::InvalidMessage(_)) => return RemoteError::NoTls(host),
                Some(error) => return RemoteError::Tls { host, problem: tls_problem(error) },
                None => {}
            }
            let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
            if kind == Some(io::ErrorKind::ConnectionRefused) {
                return RemoteError::Refused(host);
            }
            if cause.to_string() == "dns error" {
                return RemoteError::Name(host);
            }
        }
        broken(&self.base, error.without_url())
    }
}

/// The address below which all routes are.
fn base(text: &str) -> Result<Url, RemoteError> {
    let url = Url::parse(text).ok().filter(|url| {
        let plain = url.query().is_none() && url.fragment().is_none();
        let anonymous = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && plain && anonymous
    });
    url.ok_or_else(|| RemoteError::Url(without_credentials(text)))
}

/// Whether an address has a user or a password in it.
#[must_use]
pub fn has_credentials(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// An address for a message. A password that is not escaped may have any character, so it ends at the last `@`.
fn without_credentials(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + "://".len()),
        None => ("", url),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}•••@{host}"),
        None => url.to_owned(),
    }
}

/// The first segment of a path that is `.` or `..`. The standard for addresses removes them, escaped ones too.
fn dots(path: &str) -> Option<String> {
    let mut plain = path.split('/').map(|segment| segment.replace("%2E", ".").replace("%2e", "."));
    plain.find(|segment| matches!(segment.as_str(), "." | ".."))
}

/// The header of the credentials: a token has three parts with dots between them, and an admin key has not.
fn header_of(credentials: &Secret) -> Result<(HeaderName, HeaderValue), RemoteError> {
    let text = credentials.expose();
    let is_token = text.starts_with("eyJ") && text.split('.').count() == 3;
    let (name, text) = match is_token {
        true => (header::AUTHORIZATION, format!("Bearer {text}")),
        false => (API_KEY, text.to_owned()),
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| RemoteError::Credentials)?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// TLS with the CAs of the machine and of the file.
fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, RemoteError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let unusable = |source: Box<dyn StdError + Send + Sync>| RemoteError::CaFile {
            path: path.to_owned(),
            source,
        };
        let read =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = read.map_err(|error| unusable(error.into()))?;
        if certificates.is_empty() {
            return Err(unusable("the file has no PEM section CERTIFICATE".into()));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|error| unusable(error.into()))?;
        }
    }
    let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions();
    // The provider has the default versions, so this does not fail.
    let tls =
        tls.map_err(|error| RemoteError::Tls { host: String::new(), problem: error.to_string() })?;
    Ok(tls.with_root_certificates(roots).with_no_client_auth())
}

/// The TLS error that `cause` is or wraps. An I/O error does not show the error that it wraps as its source, and may wrap
/// another one.
fn tls_error<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        Some(error) => tls_error(error.get_ref()?),
        None => cause.downcast_ref(),
    }
}

fn tls_problem(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            "its certificate is of a CA that is not trusted".to_owned()
        }
        other => other.to_string(),
    }
}

/// An error and what caused it.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

fn broken(base: &Url, source: impl Into<Box<dyn StdError + Send + Sync>>) -> RemoteError {
    RemoteError::Broken { host: host(base), source: source.into() }
}

fn host(url: &Url) -> String {
    let port = url.port_or_known_default().map(|port| format!(":{port}"));
    format!("{}{}", url.host_str().unwrap_or_default(), port.unwrap_or_default())
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_admin_keys_are_told_apart() {
        let header = |text: &str| header_of(&Secret::new(text)).map(|(name, _)| name).ok();
        assert_eq!(header("eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl"), Some(header::AUTHORIZATION));
        assert_eq!(header("wak_0123456789abcdef"), Some(API_KEY));
        assert_eq!(header("an.operators.own-key"), Some(API_KEY));
        assert_eq!(header("two\nlines"), None);
    }

    #[test]
    fn addresses_are_checked() {
        for good in ["http://127.0.0.1:8080", "https://weir.example.com/", "https://gate/weir"] {
            assert!(base(good).is_ok(), "{good}");
        }
        for bad in [
            "weir.example.com",
            "localhost:8080",
            "ftp://x",
            "https://",
            "https://u:p@x",
            "https://x/?a=b",
        ] {
            assert!(base(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_with_credentials_is_not_shown() {
        for (url, shown) in [
            ("https://u:p@x", "https://•••@x"),
            ("https://u:p@s/w@x/", "https://•••@x/"),
            ("u:p@x", "•••@x"),
            ("ftp://x", "ftp://x"),
        ] {
            assert_eq!(has_credentials(url), shown != url, "{url}");
            let error = base(url).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{shown:?} is not")), "{error}");
        }
        assert!(!has_credentials("https://x/team@y"));
    }

    #[test]
    fn ids_that_are_dots_are_refused() {
        for path in ["/v1/tokens/..", "/v1/tokens/%2E", "/v1/%2e./x"] {
            assert!(dots(path).is_some(), "{path}");
        }
        for path in ["/v1/tokens/a%2Eb", "/v1/tokens/%2E%2E%2E", "/v1//x", "/"] {
            assert_eq!(dots(path), None, "{path}");
        }
    }

    #[test]
    fn loopback_needs_no_encryption() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://[::1]:1", true),
            ("http://127.9.9.9", true),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(&base(url).unwrap()), expected, "{url}");
        }
    }
}
