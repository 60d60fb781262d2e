//! What a secret looks like: `wks_`, eight characters that say which of a client's secrets it is, `_`, 256 random bits.
//!
//! The eight characters are stored in clear beside the hash. They tell which hash to compare with, the current one or the
//! previous, so a check costs one hashing whatever was sent. They say nothing about the rest.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

const PREFIX: &str = "wks_";
const ID_BYTES: usize = 4;
const RANDOM_BYTES: usize = 32;
/// Characters of the id of a secret.
const ID_LEN: usize = ID_BYTES * 2;
/// bcrypt looks at no more bytes than these, so a longer text could pass for another.
pub(super) const SECRET_BYTES_MAX: usize = 72;

const _: () = assert!(PREFIX.len() + ID_LEN + 1 + RANDOM_BYTES * 4 / 3 + 1 < SECRET_BYTES_MAX);

/// A client's secret. Its memory is wiped after use, and it is never shown by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret(Zeroizing<String>);

impl ClientSecret {
    /// A new one.
    ///
    /// # Errors
    /// The machine has no randomness.
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

    /// The secret itself, to be handed over.
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

/// Which of a client's secrets a text is; nothing for one that was not made here.
pub(super) fn id_of(secret: &str) -> Option<&str> {
    let (id, rest) = secret.strip_prefix(PREFIX)?.split_at_checked(ID_LEN)?;
    let is_id = rest.starts_with('_') && id.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_new_and_not_shown() {
        let (one, other) = (ClientSecret::random().unwrap(), ClientSecret::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.expose().len(), 56);
        assert_eq!(id_of(one.expose()), Some(&one.expose()[4..12]));
        assert!(!format!("{one:?}").contains(&one.expose()[13..]));
        assert_eq!(format!("{one:?}"), "ClientSecret(…)");
    }

    #[test]
    fn a_text_that_was_not_made_here_has_no_id() {
        for text in ["", "wks_", "wks_1234567", "wks_12345678", "wks_1234567g_x", "wks_ä2345678_"]
        {
            assert_eq!(id_of(text), None, "{text}");
        }
        assert_eq!(id_of("wks_12345678_x"), Some("12345678"));
    }
}
