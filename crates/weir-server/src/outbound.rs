//! Requests that the server makes itself: prices that are fetched, notices that are sent.
//!
//! One connection for one request, over TLS where the address says so, with the certificates that the machine trusts. No
//! redirects: whoever set the address meant that one. Everything within one bound of time, and answers within one of size.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How long a request may take, from the first look at the name to the end of the answer.
const WITHIN: Duration = Duration::from_secs(15);
const AGENT: HeaderValue = HeaderValue::from_static(concat!("weir/", env!("CARGO_PKG_VERSION")));

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// The address is none.
    #[error("{0:?} is no address: it wants http:// or https:// and a host")]
    Address(String),
    /// The machine trusts no certificates, or they cannot be read.
    #[error("there are no trusted certificates for https")]
    NoCertificates,
    /// The other side could not be reached.
    #[error("it could not be reached")]
    Unreachable(#[source] io::Error),
    /// The other side does not speak HTTP, or stopped.
    #[error("the conversation failed")]
    Conversation(#[source] hyper::Error),
    /// The answer is too long, or ended early.
    #[error("the answer could not be read within {0} bytes")]
    Answer(usize),
    /// It took too long.
    #[error("it took longer than {} s", WITHIN.as_secs())]
    TimedOut,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

/// Makes requests. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbound {
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Outbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outbound")
    }
}

impl Outbound {
    /// Reads the certificates that the machine trusts. Without any, only `http://` works.
    pub(crate) fn new() -> Outbound {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let tls = config.ok().filter(|_| !roots.is_empty()).map(|config| {
            let config = config.with_root_certificates(roots).with_no_client_auth();
            TlsConnector::from(Arc::new(config))
        });
        Outbound { tls }
    }

    /// Fetches what is at `address`, up to `max` bytes.
    pub(crate) async fn get(&self, address: &str, max: usize) -> Result<Answer, Failed> {
        self.send(Method::GET, address, HeaderMap::new(), Bytes::new(), max).await
    }

    /// Posts `body` to `address`, and reads the answer up to `max` bytes.
    pub(crate) async fn post(
        &self,
        address: &str,
        headers: HeaderMap,
        body: Bytes,
        max: usize,
    ) -> Result<Answer, Failed> {
        self.send(Method::POST, address, headers, body, max).await
    }

    async fn send(
        &self,
        method: Method,
        address: &str,
        headers: HeaderMap,
        body: Bytes,
        max: usize,
    ) -> Result<Answer, Failed> {
        let target = Target::read(address).ok_or_else(|| Failed::Address(address.to_owned()))?;
        let request = target.request(method, headers, body);
        let request = request.ok_or_else(|| Failed::Address(address.to_owned()))?;
        let whole = async {
            let stream = TcpStream::connect((target.host.as_str(), target.port)).await;
            let stream = stream.map_err(Failed::Unreachable)?;
            if !target.is_tls {
                return converse(stream, request, max).await;
            }
            let tls = self.tls.as_ref().ok_or(Failed::NoCertificates)?;
            let name = ServerName::try_from(target.host.clone());
            let name = name.map_err(|_| Failed::Address(address.to_owned()))?;
            let stream = tls.connect(name, stream).await.map_err(Failed::Unreachable)?;
            converse(stream, request, max).await
        };
        tokio::time::timeout(WITHIN, whole).await.unwrap_or(Err(Failed::TimedOut))
    }
}

/// Where a request goes.
struct Target {
    host: String,
    port: u16,
    is_tls: bool,
    /// What `Host` says.
    authority: String,
    path: String,
}

impl Target {
    fn read(address: &str) -> Option<Target> {
        let uri: Uri = address.parse().ok()?;
        let authority = uri.authority()?;
        let is_tls = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        if authority.as_str().contains('@') {
            return None;
        }
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let (authority, path) = (authority.as_str().to_owned(), path.to_owned());
        (!host.is_empty()).then_some(Target { host, port, is_tls, authority, path })
    }

    fn request(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(method).uri(&self.path);
        let all = request.headers_mut()?;
        all.extend(headers);
        all.insert(header::HOST, HeaderValue::try_from(&self.authority).ok()?);
        all.insert(header::USER_AGENT, AGENT);
        all.insert(header::CONNECTION, HeaderValue::from_static("close"));
        request.body(Full::new(body)).ok()
    }
}

async fn converse<S>(stream: S, request: Request<Full<Bytes>>, max: usize) -> Result<Answer, Failed>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(Failed::Conversation)?;
    let ask = async {
        let answer = sender.send_request(request).await.map_err(Failed::Conversation)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), max).collect().await;
        let body = body.map_err(|_| Failed::Answer(max))?.to_bytes();
        Ok(Answer { status, body })
    };
    let mut ask = std::pin::pin!(ask);
    // The connection moves only while it is asked to, and ends with the answer.
    tokio::select! {
        answer = &mut ask => answer,
        ended = connection => match ended {
            Ok(()) => ask.await,
            Err(error) => Err(Failed::Conversation(error)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_meant() {
        let read = |text: &str| {
            Target::read(text)
                .map(|to| format!("{} {} {} {}", to.host, to.port, to.is_tls, to.path))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("https://h.test/a?b=c"), some("h.test 443 true /a?b=c"));
        assert_eq!(read("http://127.0.0.1:81"), some("127.0.0.1 81 false /"));
        assert_eq!(read("http://[::1]:81/"), some("::1 81 false /"));
        for wrong in ["", "h.test", "ftp://h/", "https://", "http://u:p@h/", "file:///x"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
