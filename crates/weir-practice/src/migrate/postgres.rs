//! The connection to PostgreSQL.
//!
//! TLS trusts the certificates of the machine, like all clients of this project, or those of `sslrootcert`. With
//! `sslmode=require` the certificate is always verified, with the name of the host: the driver knows no weaker form, so
//! `verify-ca` and `verify-full` mean the same.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Mutex;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{Error, Result};

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long a request may be without an acknowledgement of the network.
const NETWORK_MAX: Duration = Duration::from_secs(30);

/// A PostgreSQL database. It connects when it is needed, and again when the connection was lost. Cheap to clone.
#[derive(Clone)]
pub struct Source(Arc<Inner>);

struct Inner {
    config: Config,
    roots: Option<String>,
    name: String,
    shared: Mutex<Option<Arc<Client>>>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.0.name).finish()
    }
}

impl Source {
    /// The database of a URL.
    ///
    /// # Errors
    /// The URL is invalid.
    pub fn new(url: &str) -> Result<Source> {
        let (url, roots) = split_roots(url);
        let parsed = url.parse::<Config>();
        // The driver names the part that is invalid, never its value.
        let mut config = parsed.map_err(|error| Error::Url(error.to_string()))?;
        config.connect_timeout(CONNECT_MAX).tcp_user_timeout(NETWORK_MAX);
        if config.get_application_name().is_none() {
            config.application_name("weir practice migrate");
        }
        let name = name(&config);
        Ok(Source(Arc::new(Inner { config, roots, name, shared: Mutex::new(None) })))
    }

    /// The database, without user and password: `postgres://host:5432/algoitny`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A connection that callers share; not for transactions.
    ///
    /// # Errors
    /// PostgreSQL does not respond, or refuses the connection.
    pub(super) async fn client(&self) -> Result<Arc<Client>> {
        let mut shared = self.0.shared.lock().await;
        if let Some(client) = shared.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(self.connect().await?);
        *shared = Some(Arc::clone(&client));
        Ok(client)
    }

    /// A connection of the caller's own.
    ///
    /// # Errors
    /// PostgreSQL does not respond, or refuses the connection.
    pub(super) async fn connect(&self) -> Result<Client> {
        use tokio_postgres::config::SslMode;
        let Inner { config, roots, .. } = &*self.0;
        if config.get_ssl_mode() == SslMode::Disable {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            return Ok(client);
        }
        let (client, connection) = config.connect(tls(roots.as_deref())?).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

fn tls(roots_file: Option<&str>) -> Result<MakeRustlsConnect> {
    let mut roots = RootCertStore::empty();
    match roots_file {
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(file) => {
            let wrong = |problem: String| Error::Url(format!("sslrootcert: {file}: {problem}"));
            let found =
                CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::State(error.to_string()))?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Takes what the driver does not know out of the parameters of a URL: the file with certificates. Both stricter modes of TLS
/// are what the driver does anyway.
fn split_roots(url: &str) -> (String, Option<String>) {
    let Some((address, parameters)) = url.split_once('?') else { return (url.to_owned(), None) };
    let (mut kept, mut roots) = (Vec::new(), None);
    for parameter in parameters.split('&') {
        match parameter.split_once('=') {
            Some(("sslrootcert", file)) => roots = Some(file.to_owned()),
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(parameter),
        }
    }
    match kept.as_slice() {
        [] => (address.to_owned(), roots),
        kept => (format!("{address}?{}", kept.join("&")), roots),
    }
}

fn name(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
    format!("postgres://{host}:{port}/{database}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_never_shows_its_password() {
        let source = Source::new("postgres://ann:hunter2@db.example/algoitny").unwrap();
        assert_eq!(source.name(), "postgres://db.example:5432/algoitny");
        assert!(!format!("{source:?}").contains("hunter2"));
        for bad in [
            "postgres://ann:hunter2@db:port/x",
            "postgres://ann:hunter2@db/x?sslmode=hunter2",
            "mysql://ann:hunter2@db/x",
        ] {
            let error = Source::new(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn stricter_modes_and_roots_are_understood() {
        let (url, roots) = split_roots("postgres://h/d?sslmode=verify-full&sslrootcert=/ca.pem");
        assert_eq!(
            (url.as_str(), roots.as_deref()),
            ("postgres://h/d?sslmode=require", Some("/ca.pem"))
        );
        assert_eq!(
            split_roots("postgres://h/d?sslrootcert=a"),
            ("postgres://h/d".into(), Some("a".into()))
        );
        assert_eq!(split_roots("postgres://h/d"), ("postgres://h/d".into(), None));
    }
}
