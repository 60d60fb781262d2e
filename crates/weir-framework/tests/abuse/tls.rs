//! TLS: certificates by file, their renewal, and clients that cannot shake hands.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::{Signal, getpid, kill_process};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use weir_framework::listen::{Listener, Settings, TlsFiles};

use crate::site::{HELLO, Site, answer, is_hello, rest, soon, status};

/// A folder with a certificate and its key.
struct Vault(TempDir);

impl Vault {
    fn new() -> Vault {
        let vault = Vault(tempfile::tempdir().unwrap());
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(vault.files().cert, cert.pem()).unwrap();
        fs::write(vault.files().key, signing_key.serialize_pem()).unwrap();
        vault
    }

    fn files(&self) -> TlsFiles {
        TlsFiles { cert: self.0.path().join("cert.pem"), key: self.0.path().join("key.pem") }
    }

    /// A client that trusts the certificate in place, and no other.
    fn trusted(&self) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        let cert = CertificateDer::from_pem_file(self.files().cert).unwrap();
        roots.add(cert).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
    }

    fn settings(&self) -> Settings {
        Settings { tls: Some(self.files()), ..Settings::default() }
    }
}

async fn shake(site: &Site, client: &TlsConnector) -> std::io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from("localhost").unwrap();
    soon(client.connect(name, site.connect().await)).await
}

async fn serves(site: &Site, client: &TlsConnector) {
    let mut stream = shake(site, client).await.unwrap();
    soon(stream.write_all(HELLO.as_bytes())).await.unwrap();
    let response = answer(&mut stream, "hello").await;
    assert!(is_hello(&response), "{response}");
}

#[tokio::test]
async fn requests_are_served_over_tls() {
    let vault = Vault::new();
    let site = Site::open(vault.settings()).await;
    assert!(site.origin.to_string().starts_with("https://127.0.0.1:"));
    serves(&site, &vault.trusted()).await;
}

#[tokio::test]
async fn clients_that_cannot_shake_hands_harm_nobody() {
    let vault = Vault::new();
    let site =
        Site::open(Settings { handshake_timeout: Duration::from_secs(2), ..vault.settings() })
            .await;
    let client = vault.trusted();
    let garbage: [&[u8]; 3] = [
        b"\x16\x03\x01\xff\xff garbage after a header that looks right",
        b"\x16\x03\x01\x00\x05\x01\xff\xff\xff\xff",
        b"\x80\xff\x00\xde\xad\xbe\xef",
    ];
    for bytes in garbage {
        site.ask(bytes).await;
        serves(&site, &client).await;
    }
    let response = site.ask(HELLO).await;
    assert_eq!(status(&response), "400", "{response}");
    assert!(response.ends_with("This port speaks HTTPS, not HTTP"), "{response}");
    // Handshakes that never begin, or stop half way, end by themselves.
    let mut begun = Vec::new();
    for bytes in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01\x00"] {
        begun.push(site.send(bytes).await);
    }
    for mut stream in begun {
        serves(&site, &client).await;
        rest(&mut stream).await;
    }
    serves(&site, &client).await;
}

#[tokio::test]
async fn waits_for_a_client_end_over_tls_too() {
    let vault = Vault::new();
    let site = Site::open(Settings {
        header_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(1),
        ..vault.settings()
    })
    .await;
    let client = vault.trusted();
    let mut silent = shake(&site, &client).await.unwrap();
    assert_eq!(rest(&mut silent).await, "");
    let mut idle = shake(&site, &client).await.unwrap();
    soon(idle.write_all(HELLO.as_bytes())).await.unwrap();
    let response = rest(&mut idle).await;
    assert!(is_hello(&response), "{response}");
    serves(&site, &client).await;
}

#[tokio::test]
async fn a_stop_closes_idle_and_half_open_tls_connections() {
    let vault = Vault::new();
    let mut site = Site::open(vault.settings()).await;
    let mut used = shake(&site, &vault.trusted()).await.unwrap();
    soon(used.write_all(HELLO.as_bytes())).await.unwrap();
    assert!(is_hello(&answer(&mut used, "hello").await));
    let mut half = site.send(b"\x16\x03").await;
    site.tell_to_stop();
    assert_eq!(rest(&mut used).await, "");
    assert_eq!(rest(&mut half).await, "");
    site.stopped().await;
}

#[tokio::test]
async fn a_new_certificate_is_taken_up_without_a_restart() {
    let vault = Vault::new();
    let site =
        Site::open(Settings { tls_check_interval: Duration::from_millis(50), ..vault.settings() })
            .await;
    taken_up(&site, &vault, || {}).await;
}

#[tokio::test]
async fn a_hangup_reads_the_certificate_again() {
    let vault = Vault::new();
    let site =
        Site::open(Settings { tls_check_interval: Duration::from_secs(3600), ..vault.settings() })
            .await;
    let hang_up = || kill_process(getpid(), Signal::HUP).unwrap();
    taken_up(&site, &vault, hang_up).await;
}

async fn taken_up(site: &Site, vault: &Vault, tell: impl Fn()) {
    let old = vault.trusted();
    let mut before = shake(site, &old).await.unwrap();
    // A new certificate whose key is not there yet changes nothing.
    let renewed = Vault::new();
    fs::copy(renewed.files().cert, vault.files().cert).unwrap();
    tell();
    serves(site, &old).await;

    fs::copy(renewed.files().key, vault.files().key).unwrap();
    tell();
    let new = renewed.trusted();
    let taken_up = async {
        while shake(site, &new).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(taken_up).await;
    assert!(shake(site, &old).await.is_err(), "the old one is gone");
    // Who was connected stays connected.
    soon(before.write_all(HELLO.as_bytes())).await.unwrap();
    assert!(is_hello(&answer(&mut before, "hello").await));
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let (vault, other) = (Vault::new(), Vault::new());
    let good = vault.files();
    let not_pem = vault.0.path().join("not.pem");
    fs::write(&not_pem, "plain text").unwrap();
    let missing = vault.0.path().join("missing.pem");
    let cases: [(&Path, &Path, &str); 5] = [
        (&missing, &good.key, "reading the certificate"),
        (&good.cert, &missing, "reading the private key"),
        (&not_pem, &good.key, "has no certificate in PEM form"),
        (&good.cert, &not_pem, "has no private key in PEM form"),
        (&good.cert, &other.files().key, "using the certificate"),
    ];
    for (cert, key, problem) in cases {
        let settings = Settings {
            tls: Some(TlsFiles { cert: cert.to_owned(), key: key.to_owned() }),
            ..Settings::default()
        };
        let error = Listener::bind("127.0.0.1:0", settings).await.unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
}
