//! How the clients of a test server connect: plain, or over TLS with the server's own certificate as the only trusted one.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::listen::TlsFiles;

/// The name in the certificate of a test server.
const TLS_NAME: &str = "localhost";

/// A way to connect to a test server.
#[derive(Clone, Default)]
pub(super) struct Transport(Option<TlsConnector>);

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Tls" } else { "Plain" })
    }
}

impl Transport {
    pub(super) fn new(tls: Option<&TlsFiles>) -> Transport {
        Transport(tls.map(trusting))
    }

    /// Sends a request on a new connection.
    pub(super) async fn send(
        &self,
        address: SocketAddr,
        request: Request<Full<Bytes>>,
    ) -> Response<Bytes> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let Transport(Some(connector)) = self else {
            return exchange(stream, request).await;
        };
        let name = ServerName::try_from(TLS_NAME).expect("a name");
        exchange(connector.connect(name, stream).await.expect("a TLS handshake"), request).await
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Response<Bytes> {
    let io = TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.expect("HTTP");
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await.expect("an answer");
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.expect("the whole answer").to_bytes();
    connection.abort();
    Response::from_parts(parts, body)
}

/// A client that trusts this certificate alone.
fn trusting(files: &TlsFiles) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(&files.cert).expect("a certificate");
    roots.add(certificate).expect("a certificate that can be trusted");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
