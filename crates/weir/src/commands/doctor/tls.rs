//! The files of HTTPS: permissions, content, and the validity of the certificate.

use std::fs;
use std::path::Path;

use x509_cert::Certificate;

use super::{Finding, is_open_to_others};
use crate::output;
use weir_framework::settings::ServerSettings;

const DAY_MS: u64 = 86_400_000;
/// A certificate that expires within this time should have been renewed.
const RENEW_MS: u64 = 14 * DAY_MS;
/// Maximum size of a file in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Checks the configured files.
pub(super) fn examine(server: &ServerSettings, now_ms: u64) -> Vec<Finding> {
    match (&server.tls_cert, &server.tls_key) {
        (Some(cert), Some(key)) => vec![certificate(cert, now_ms), private_key(key)],
        _ => vec![Finding::good("TLS", "off; the server uses plain HTTP")],
    }
}

fn certificate(path: &Path, now_ms: u64) -> Finding {
    let name = path.display();
    let pem = match read(path) {
        Ok(pem) => pem,
        Err(problem) => {
            return Finding::wrong("TLS certificate", problem).next("see server.tls_cert");
        }
    };
    let chain = Certificate::load_pem_chain(&pem);
    let Some(first) = chain.ok().and_then(|chain| chain.into_iter().next()) else {
        return Finding::wrong("TLS certificate", format!("{name} contains no PEM certificate"))
            .next("see server.tls_cert");
    };
    let validity = first.tbs_certificate().validity();
    let begins = validity.not_before.to_unix_duration().as_millis();
    let ends = validity.not_after.to_unix_duration().as_millis();
    let now = u128::from(now_ms);
    let days = u64::try_from(ends.saturating_sub(now) / u128::from(DAY_MS)).unwrap_or(u64::MAX);
    let lasts = format!("{name} is good for {}", output::counted(days, "day"));
    if now >= ends {
        Finding::wrong("TLS certificate", format!("{name} expired on {}", validity.not_after))
            .next("renew it; a running server loads the new files")
    } else if now < begins {
        Finding::wrong(
            "TLS certificate",
            format!("{name} is not valid before {}", validity.not_before),
        )
        .next("check the machine's clock")
    } else if ends - now < u128::from(RENEW_MS) {
        Finding::warning("TLS certificate", lasts).next("renew it now")
    } else {
        Finding::good("TLS certificate", lasts)
    }
}

fn private_key(path: &Path) -> Finding {
    let name = path.display();
    match read(path) {
        Err(problem) => Finding::wrong("TLS key", problem).next("see server.tls_key"),
        Ok(pem) if !String::from_utf8_lossy(&pem).contains("PRIVATE KEY-----") => {
            Finding::wrong("TLS key", format!("{name} contains no PEM private key"))
                .next("see server.tls_key")
        }
        Ok(_) if is_open_to_others(path) => {
            Finding::warning("TLS key", format!("{name} is readable by other users"))
                .next(format!("chmod 600 {name}"))
        }
        Ok(_) => Finding::good("TLS key", format!("{name} is readable by its owner only")),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    match fs::metadata(path) {
        Ok(meta) if meta.len() > BYTES_MAX => Err(format!("{name} is too long for a PEM file")),
        _ => fs::read(path).map_err(|error| format!("{name} cannot be read: {error}")),
    }
}
