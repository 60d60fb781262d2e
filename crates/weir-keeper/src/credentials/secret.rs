//! The format of a secret: `wks_`, eight characters of secret id, `_`, 256 random bits.
//!
//! The secret id is stored in clear beside the hash. It selects the hash to compare with, the current or the previous
//! one, so that verifying always costs one hash. It reveals nothing about the rest.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

const PREFIX: &str = "wks_";
const ID_BYTES: usize = 4;
const RANDOM_BYTES: usize = 32;
/// Characters of a secret id.
const ID_LEN: usize = ID_BYTES * 2;
/// bcrypt ignores further bytes, so a longer text could match another secret.
pub(super) const SECRET_BYTES_MAX: usize = 72;

const _: () = assert!(PREFIX.len() + ID_LEN + 1 + RANDOM_BYTES * 4 / 3 + 1 < SECRET_BYTES_MAX);

/// A client's secret. Its memory is zeroed on drop, and `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    /// A new random secret.
    ///
    /// # Errors
    /// The system's random source fails.
    pub(super) fn random() -> Result<ClientSecret> {
        let mut bytes = Zeroizing::new([0_u8; ID_BYTES + RANDOM_BYTES]);
        let filled = SystemRandom::new().fill(bytes.as_mut());
        filled.map_err(|_| Error::damaged("the source of randomness", "it gives none"))?;
        let (id, random) = bytes.split_at(ID_BYTES);
        let mut text = Zeroizing::new(String::with_capacity(SECRET_BYTES_MAX));
        text.push_str(PREFIX);
        for byte in id {
            text.push_str(&format!("{byte:02x}"));
        }
        text.push('_');
        URL_SAFE_NO_PAD.encode_string(random, &mut text);
        Ok(ClientSecret(text))
    }

    /// The secret text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(…)")
    }
}

/// The id in a secret; `None` for texts that were not made here.
pub(super) fn id_of(secret: &str) -> Option<&str> {
    let (id, rest) = secret.strip_prefix(PREFIX)?.split_at_checked(ID_LEN)?;
    let is_id = rest.starts_with('_') && id.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_random_and_not_printed() {
        let (one, other) = (ClientSecret::random().unwrap(), ClientSecret::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.expose().len(), 56);
        assert_eq!(id_of(one.expose()), Some(&one.expose()[4..12]));
        assert!(!format!("{one:?}").contains(&one.expose()[13..]));
        assert_eq!(format!("{one:?}"), "ClientSecret(…)");
    }

    #[test]
    fn a_foreign_text_has_no_secret_id() {
        for text in ["", "wks_", "wks_1234567", "wks_12345678", "wks_1234567g_x", "wks_ä2345678_"]
        {
            assert_eq!(id_of(text), None, "{text}");
        }
        assert_eq!(id_of("wks_12345678_x"), Some("12345678"));
    }
}
