//! Texts that nobody may read by accident: no `Display`, nothing in `Debug`, wiped when dropped.

use std::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Deserializer};
use weir_table::{Error, Result};
use zeroize::Zeroizing;

/// A secret text. Whoever wants to see it says so with [`Secret::expose`].
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text in.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    /// The text itself: for the one place that needs it, never for a log or an error.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// Bytes that nobody can guess, from the operating system.
pub(super) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut bytes = Zeroizing::new([0; N]);
    SystemRandom::new()
        .fill(bytes.as_mut())
        .map_err(|_| Error::backend("asking the system for random bytes", "it has none"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_only_to_who_asks_for_it() {
        let secret = Secret::new("tide");
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "••• Some(\n    •••,\n)");
        assert_eq!(secret.expose(), "tide");
        let read: Secret = serde_json::from_str("\"tide\"").unwrap();
        assert_eq!(read.expose(), "tide");
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random::<32>().unwrap(), random::<32>().unwrap());
    }
}
