//! When the certificate in use expires.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tokio_rustls::rustls::pki_types::CertificateDer;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

/// Seconds since 1970 that stand for an unknown time.
const UNKNOWN: i64 = 0;

/// The expiry of the certificate in use; it follows renewals. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct CertificateExpiry(Arc<AtomicI64>);

impl CertificateExpiry {
    /// Seconds since 1970; none if the certificate does not say so in a form that is understood.
    #[must_use]
    pub fn unix_secs(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|secs| *secs != UNKNOWN)
    }

    /// Takes over the expiry of a chain: that of its first certificate to expire.
    pub(super) fn set(&self, chain: &[CertificateDer<'_>]) {
        let expiry = chain.iter().filter_map(not_after).min();
        self.0.store(expiry.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }
}

fn not_after(certificate: &CertificateDer<'_>) -> Option<i64> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let not_after = certificate.tbs_certificate().validity().not_after;
    i64::try_from(not_after.to_unix_duration().as_secs()).ok()
}
