//! The expiry of the certificate that the listener serves.

use std::sync::OnceLock;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::listen::CertificateExpiry;

type NoLabels = [(&'static str, &'static str); 0];

/// Has no value without TLS, so that no alert takes a missing certificate for one that has expired.
#[derive(Debug, Default)]
pub(super) struct CertificateMetrics {
    expiry: OnceLock<CertificateExpiry>,
    gauge: Family<NoLabels, Gauge>,
}

impl CertificateMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "When the certificate of the listener expires, in seconds since 1970";
        registry.register("tls_certificate_expiry_timestamp_seconds", help, self.gauge.clone());
    }

    pub(super) fn follow(&self, expiry: CertificateExpiry) {
        self.expiry.set(expiry).ok();
    }

    pub(super) fn collect(&self) {
        if let Some(secs) = self.expiry.get().and_then(CertificateExpiry::unix_secs) {
            self.gauge.get_or_create(&[]).set(secs);
        }
    }
}
