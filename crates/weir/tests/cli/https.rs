//! Notices to an `https://` address, with a certificate of a CA that the machine is told to trust.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::home::Home;
use crate::keeper::{ORG, home, set_up};

/// How long a notice may take.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// A CA of its own, and the certificate that it gave `localhost`.
struct Trust {
    ca_pem: String,
    config: Arc<ServerConfig>,
}

impl Trust {
    fn new() -> Trust {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_key = KeyPair::generate().unwrap();
        let ca_pem = params.self_signed(&ca_key).unwrap().pem();
        let issuer = Issuer::new(params, ca_key);
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let cert = cert.signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            );
        Trust { ca_pem, config: Arc::new(config.unwrap()) }
    }

    /// Listens; tells the port, and what comes: the lines of each head and its body. A visitor that does not trust the
    /// certificate leaves nothing.
    fn receive(&self) -> (u16, mpsc::Receiver<(Vec<String>, String)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, receiver) = mpsc::channel();
        let config = Arc::clone(&self.config);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let session = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = BufReader::new(StreamOwned::new(session, stream.unwrap()));
                let mut head = Vec::new();
                loop {
                    let mut line = String::new();
                    match stream.read_line(&mut line) {
                        Ok(read) if read > 2 => head.push(line.trim_end().to_lowercase()),
                        _ => break,
                    }
                }
                let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
                let Some(length) = length.and_then(|length| length.parse().ok()) else { continue };
                let mut body = vec![0; length];
                stream.read_exact(&mut body).unwrap();
                stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                stream.get_mut().flush().unwrap();
                sender.send((head, String::from_utf8(body).unwrap())).ok();
            }
        });
        (port, receiver)
    }
}

fn hook(home: &Home, id: &str, port: u16) {
    let url = format!("https://localhost:{port}/hook");
    let set = format!("keeper webhooks set {ORG} {id} --url {url} --threshold 100 --no-flips");
    assert_eq!(home.weir(&set).code, Some(0));
}

#[test]
fn notices_go_to_an_https_address_that_is_trusted_and_to_no_other() {
    let home = home();
    set_up(&home);
    let (trust, other) = (Trust::new(), Trust::new());
    std::fs::write(home.path("ca.pem"), &trust.ca_pem).unwrap();
    let ca = home.path("ca.pem");
    let flags = ["--data", "weir-data", "--aggregate-interval", "1"];
    let variables = [
        ("SSL_CERT_FILE", ca.to_str().unwrap()),
        ("WEIR_KEEPER_WEBHOOK_ALLOWED_NETWORKS", "127.0.0.0/8,::1"),
    ];
    let server = home.serve_in(&variables, &flags);
    let ((port, receiver), (unknown, untold)) = (trust.receive(), other.receive());
    hook(&home, "trusted", port);
    hook(&home, "unknown", unknown);
    home.weir(&format!("keeper submit {ORG} shop --model premium --input 400000 --output 0")).ok();
    let (head, body) = receiver.recv_timeout(WAIT_MAX).unwrap();
    assert_eq!(head.first().map(String::as_str), Some("post /hook http/1.1"), "{head:?}");
    assert!(head.iter().any(|line| line.starts_with("weir-signature: t=")), "{head:?}");
    let notice: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&notice["type"], &notice["org_id"]), (&"quota.threshold".into(), &ORG.into()));
    assert!(untold.try_recv().is_err(), "whose certificate is not trusted is told nothing");
    assert_eq!(server.stop(), Some(0));
}
