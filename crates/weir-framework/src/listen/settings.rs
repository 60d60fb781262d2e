//! The settings of a listener, with defaults that suit a server on the internet.

use std::path::PathBuf;
use std::time::Duration;

use weir_table::{Error, Result};

use crate::networks::Networks;
use crate::settings::ServerSettings;

/// Hyper's smallest buffer.
const HEADER_BYTES_MIN: usize = 8 * 1024;
/// The longest timeout.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings of a listener.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Threads that serve, or 0 to serve on the runtime that binds. Default: one per processor.
    pub threads: usize,
    /// Connections served at once; further ones wait.
    pub connections_max: usize,
    /// Connections that wait to be served; further ones are closed. Default: as many as the limit of open files allows, at most
    /// 4096.
    pub connections_waiting_max: usize,
    /// Connections open at once from one address (of IPv6, from one /64 network); further ones are closed. Default 1024.
    pub connections_per_address_max: usize,
    /// Proxies, which have the connections of many clients and no bound of their own. Default none.
    pub trusted_proxies: Networks,
    /// Whether the bound per address holds for this machine too. Default false, so that probes always get in.
    pub bounds_loopback: bool,
    /// Time for the head of a request from its first byte, and for the first head of a new
    /// connection. Default 10 s.
    pub header_timeout: Duration,
    /// Bytes of a request's head, at least 8 KiB. Default 32 KiB.
    pub header_bytes_max: usize,
    /// Time that a connection may stay open without a request. Default 75 s.
    pub idle_timeout: Duration,
    /// Time for a request body; each KiB that arrives adds a second. Default 20 s.
    pub body_timeout: Duration,
    /// Time in which a client must read at least one byte of its response. Default 20 s.
    pub write_timeout: Duration,
    /// Time between the stop signal and the end of accepting. Default 0 s.
    pub drain_delay: Duration,
    /// Time for requests in progress to finish after that. Default 30 s.
    pub drain_timeout: Duration,
    /// Certificate and key; none means plain HTTP. Default none.
    pub tls: Option<TlsFiles>,
    /// Time for a TLS handshake. Default 10 s.
    pub handshake_timeout: Duration,
    /// Interval at which the certificate files are checked for a change. Default 30 s.
    pub tls_check_interval: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::from(&ServerSettings::default())
    }
}

impl From<&ServerSettings> for Settings {
    fn from(server: &ServerSettings) -> Settings {
        let tls = server.tls_cert.clone().zip(server.tls_key.clone());
        Settings {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            connections_max: server.connections_max,
            connections_waiting_max: usize::MAX,
            connections_per_address_max: server.connections_per_address_max,
            trusted_proxies: server.trusted_proxies.clone(),
            bounds_loopback: false,
            header_timeout: Duration::from_secs(server.header_timeout_secs),
            header_bytes_max: 32 * 1024,
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(20),
            drain_delay: Duration::from_secs(server.drain_delay_secs),
            drain_timeout: Duration::from_secs(server.drain_timeout_secs),
            tls: tls.map(|(cert, key)| TlsFiles { cert, key }),
            handshake_timeout: Duration::from_secs(10),
            tls_check_interval: Duration::from_secs(30),
        }
    }
}

/// The paths of the certificate chain and its private key, both PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, followed by its chain.
    pub cert: PathBuf,
    /// The private key of the first certificate.
    pub key: PathBuf,
}

impl Settings {
    /// Rejects values that would serve nobody, or that hyper or a timer would panic on.
    pub(super) fn check(&self) -> Result<()> {
        let counts = [
            ("connections_max", self.connections_max),
            ("connections_per_address_max", self.connections_per_address_max),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Error::invalid(name, "it must be at least 1"));
        }
        if self.header_bytes_max < HEADER_BYTES_MIN {
            let problem = format!("it must be at least {HEADER_BYTES_MIN}");
            return Err(Error::invalid("header_bytes_max", problem));
        }
        let times = [
            ("header_timeout", self.header_timeout),
            ("idle_timeout", self.idle_timeout),
            ("body_timeout", self.body_timeout),
            ("write_timeout", self.write_timeout),
            ("handshake_timeout", self.handshake_timeout),
            ("tls_check_interval", self.tls_check_interval),
        ];
        for (name, time) in times {
            if time.is_zero() || time > TIME_MAX {
                let problem =
                    format!("it must be more than 0 s and at most {} s", TIME_MAX.as_secs());
                return Err(Error::invalid(name, problem));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_settings_that_serve_nobody() {
        let zero = Duration::ZERO;
        let cases = [
            Settings { connections_max: 0, ..Settings::default() },
            Settings { connections_per_address_max: 0, ..Settings::default() },
            Settings { header_bytes_max: 100, ..Settings::default() },
            Settings { header_timeout: zero, ..Settings::default() },
            Settings { idle_timeout: Duration::MAX, ..Settings::default() },
            Settings { tls_check_interval: zero, ..Settings::default() },
        ];
        for settings in cases {
            assert!(settings.check().is_err(), "{settings:?}");
        }
        assert!(Settings::default().check().is_ok());
    }
}
