//! Signing secrets of webhooks, and the signatures they make.
//!
//! A secret is derived from a key of the store, the org, the webhook and a random generation, so it is never stored.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use weir_table::{Backend, Store};

use super::webhook::Webhook;
use crate::error::{Error, Result};
use crate::ids::OrgId;

/// The header that carries the signature: `t={seconds},v1={hex of HMAC-SHA256 of "{seconds}.{body}"}`.
pub const SIGNATURE_HEADER: &str = "Weir-Signature";
/// Purpose of the key derived from the store.
const PURPOSE: &str = "keeper-webhooks";

/// The signing secret of a webhook. It is returned once, when the webhook is created or its secret rotated.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    pub(super) fn derive<B: Backend>(
        store: &Store<B>,
        org: &OrgId,
        webhook: &Webhook,
    ) -> Result<WebhookSecret> {
        let key = store.derived_key(PURPOSE)?;
        let text = format!("{org} {} {}", webhook.id, webhook.generation);
        Ok(WebhookSecret(format!("whsec_{}", mac(&key, &[text.as_bytes()])?)))
    }

    /// The secret text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Signs a body: the value of [`SIGNATURE_HEADER`].
    ///
    /// # Errors
    /// Never: HMAC takes keys of any length.
    pub fn sign(&self, body: &str, now_ms: i64) -> Result<String> {
        let at = now_ms.div_euclid(1000).to_string();
        let parts = [at.as_bytes(), b".", body.as_bytes()];
        Ok(format!("t={at},v1={}", mac(self.0.as_bytes(), &parts)?))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Result<String> {
    let wrong = |_| Error::damaged("a signing key", "its length is invalid");
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(wrong)?;
    parts.iter().for_each(|part| mac.update(part));
    Ok(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: &str =
        "t=1769176800,v1=4a285d749107cbe7aaa96ca02894e5656d7f084a400765a1aa430af8fb5af1b0";

    #[test]
    fn a_signature_is_what_receivers_compute() {
        let secret = WebhookSecret("whsec_00".to_owned());
        // printf '1769176800.{"a":1}' | openssl dgst -sha256 -hmac whsec_00
        assert_eq!(secret.sign("{\"a\":1}", 1_769_176_800_999).unwrap(), SIGNED);
        assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
    }
}
