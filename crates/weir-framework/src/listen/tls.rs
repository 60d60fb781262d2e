//! TLS by certificate files, which may be replaced while the server runs.
//!
//! The files are read again on SIGHUP and at an interval. A pair that cannot be used (half replaced,
//! say) is logged and the current one stays, so a renewal never takes the server down. A connection
//! keeps the certificate that it was accepted with.

use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;
use weir_table::{Error, Result};

use super::{CertificateExpiry, TlsFiles};

/// Bytes of a certificate or key file; a chain has a few KiB.
const PEM_BYTES_MAX: u64 = 1024 * 1024;
/// The first byte of every TLS connection: a handshake record.
const HANDSHAKE: u8 = 0x16;
/// The response to a client that speaks plain HTTP to this port.
const SPEAK_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\
    Content-Type: text/plain\r\nContent-Length: 32\r\n\r\nThis port speaks HTTPS, not HTTP";

/// The certificate of a listener, with the means to reload it.
#[derive(Debug)]
pub(super) struct Tls {
    files: TlsFiles,
    hangup: Signal,
    hasher: RandomState,
    /// A hash of both files, to detect a change without a second copy of the key.
    fingerprint: u64,
    config: watch::Sender<Arc<ServerConfig>>,
    expiry: CertificateExpiry,
}

/// A handle to the current certificate.
pub(super) struct Certificate(watch::Receiver<Arc<ServerConfig>>);

impl Certificate {
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.borrow())
    }
}

impl Tls {
    pub(super) fn read(files: TlsFiles) -> Result<Tls> {
        let hangup = signal(SignalKind::hangup())
            .map_err(|source| Error::io("catching the signal to read certificates", source))?;
        let hasher = RandomState::new();
        let pair = Pair::read(&files)?;
        let expiry = CertificateExpiry::default();
        Ok(Tls {
            hangup,
            fingerprint: hasher.hash_one(&pair),
            hasher,
            config: watch::Sender::new(pair.into_config(&files, &expiry)?),
            expiry,
            files,
        })
    }

    pub(super) fn expiry(&self) -> CertificateExpiry {
        self.expiry.clone()
    }

    pub(super) fn certificate(&self) -> Certificate {
        Certificate(self.config.subscribe())
    }

    /// Reads the files again on SIGHUP and every `period`; never ends.
    pub(super) async fn reload_every(mut self, period: Duration) {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = self.hangup.recv() => {}
            }
            match self.renew().await {
                Ok(true) => tracing::info!("the certificate was replaced"),
                Ok(false) => {}
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(%error, cause, "the certificate could not be replaced; the current one stays");
                }
            }
        }
    }

    /// Returns whether the files had changed.
    async fn renew(&mut self) -> Result<bool> {
        let (files, hasher, old) = (self.files.clone(), self.hasher.clone(), self.fingerprint);
        let expiry = self.expiry();
        let read = tokio::task::spawn_blocking(move || read_if_new(&files, &hasher, old, &expiry))
            .await
            .map_err(|source| Error::backend("reading the certificate", source))?;
        let Some((fingerprint, config)) = read? else {
            return Ok(false);
        };
        self.fingerprint = fingerprint;
        self.config.send_replace(config);
        Ok(true)
    }
}

fn read_if_new(
    files: &TlsFiles,
    hasher: &RandomState,
    old: u64,
    expiry: &CertificateExpiry,
) -> Result<Option<(u64, Arc<ServerConfig>)>> {
    let pair = Pair::read(files)?;
    let fingerprint = hasher.hash_one(&pair);
    if fingerprint == old {
        return Ok(None);
    }
    Ok(Some((fingerprint, pair.into_config(files, expiry)?)))
}

/// The contents of both files. No `Debug`: one of them is a secret.
#[derive(Hash)]
struct Pair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    fn read(files: &TlsFiles) -> Result<Pair> {
        Ok(Pair { cert: read(&files.cert, "certificate")?, key: read(&files.key, "private key")? })
    }

    /// The configuration; `expiry` is that of its certificate once it can be used.
    fn into_config(
        self,
        files: &TlsFiles,
        expiry: &CertificateExpiry,
    ) -> Result<Arc<ServerConfig>> {
        let (cert, key) = (files.cert.display(), files.key.display());
        let chain = CertificateDer::pem_slice_iter(&self.cert)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| bad_pem("certificate", &files.cert, &error))?;
        if chain.is_empty() {
            let error = PemError::NoItemsFound;
            return Err(bad_pem("certificate", &files.cert, &error));
        }
        let secret = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| bad_pem("private key", &files.key, &error))?;
        let used = chain.clone();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|source| {
                let doing = format!("using the certificate {cert} with the private key {key}");
                Error::backend(doing, source)
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        expiry.set(&used);
        Ok(Arc::new(config))
    }
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(PEM_BYTES_MAX).read_to_end(&mut bytes))
        .map_err(|source| Error::io(format!("reading the {what} {}", path.display()), source))?;
    Ok(bytes)
}

/// Names the file and the mistake, never its content.
fn bad_pem(what: &str, path: &Path, error: &PemError) -> Error {
    let problem = match error {
        PemError::NoItemsFound => format!("{} has no {what} in PEM form", path.display()),
        _ => format!("{} is not a {what} in PEM form", path.display()),
    };
    Error::invalid(what, problem)
}

/// Performs the TLS handshake. A client that speaks plain HTTP gets a 400 that says so.
pub(super) async fn handshake(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    let peeked = stream.peek(&mut first).await?;
    if peeked > 0 && first != [HANDSHAKE] {
        if first.iter().all(u8::is_ascii_uppercase) {
            refuse_plain(&mut stream).await?;
        }
        return Err(io::Error::other("the client does not speak TLS"));
    }
    TlsAcceptor::from(config).accept(stream).await
}

async fn refuse_plain(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(SPEAK_TLS).await?;
    stream.shutdown().await?;
    // Closing with the request unread would reset the connection before the client reads the response.
    stream.read(&mut [0; 4096]).await.map(drop)
}
