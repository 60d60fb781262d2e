//! Metrics of the TCP listener.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Why a connection was closed before its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The address has as many connections as it may have.
    PerAddress,
    /// As many connections wait as may wait.
    Full,
    /// The TLS handshake failed.
    TlsFailed,
    /// The TLS handshake took too long.
    TlsTimedOut,
}

impl Refusal {
    fn as_str(self) -> &'static str {
        match self {
            Refusal::PerAddress => "per_address",
            Refusal::Full => "full",
            Refusal::TlsFailed => "tls_failed",
            Refusal::TlsTimedOut => "tls_timed_out",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    reason: &'static str,
}

/// Metrics of the TCP listener. A clone counts in the same metrics.
#[derive(Debug, Clone, Default)]
pub struct ListenerMetrics {
    pub(crate) open: Gauge,
    refused: Family<Refused, Counter>,
}

impl ListenerMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("connections_open", "Open connections", self.open.clone());
        let help = "Connections closed before their first request, by reason";
        registry.register("connections_refused", help, self.refused.clone());
    }

    pub(crate) fn refuse(&self, reason: Refusal) {
        self.refused.get_or_create(&Refused { reason: reason.as_str() }).inc();
    }
}
