//! Encryption with a passphrase: Argon2id makes a key of it, AES-256-GCM encrypts with the key.
//!
//! The costs of Argon2id are part of the file, so that a later version can raise them and still open old backups.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Characters of a passphrase, at least. Argon2id slows a guess down; it does not save a short passphrase.
const CHARACTERS_MIN: usize = 12;
const SALT_LEN: usize = 16;
const KEY_LEN: usize = 32;
const KDF: &str = "argon2id";
const CIPHER: &str = "aes-256-gcm";
/// Costs of a guess: the second choice of RFC 9106 with one lane, about 0.2 s on one core.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
/// Costs that opening accepts, so that a file cannot ask for all memory.
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
const PASSES_MAX: u32 = 16;

/// The passphrase of a backup's keys. `Debug` does not show it.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// Encrypted bytes, and what is needed beside the passphrase to decrypt them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealed {
    kdf: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
    cipher: String,
    nonce: String,
    sealed: String,
}

impl Passphrase {
    /// A passphrase from text.
    ///
    /// # Errors
    /// The text is too short.
    pub fn new(text: impl Into<String>) -> Result<Passphrase> {
        let text = Zeroizing::new(text.into());
        if text.chars().count() < CHARACTERS_MIN {
            let problem = format!("has fewer than {CHARACTERS_MIN} characters");
            return Err(Error::invalid("passphrase", problem));
        }
        Ok(Passphrase(text))
    }

    /// The text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Encrypts `clear`.
    pub(super) fn seal(&self, clear: &[u8]) -> Result<Sealed> {
        let (salt, nonce) = (random::<SALT_LEN>()?, random::<NONCE_LEN>()?);
        let key = self.key(&salt, MEMORY_KIB, PASSES)?;
        let mut bytes = clear.to_vec();
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(CIPHER),
            &mut bytes,
        )
        .map_err(|_| Error::backend("encrypting the keys", "the cipher failed"))?;
        Ok(Sealed {
            kdf: KDF.to_owned(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            salt: STANDARD.encode(salt),
            cipher: CIPHER.to_owned(),
            nonce: STANDARD.encode(nonce),
            sealed: STANDARD.encode(bytes),
        })
    }

    /// Decrypts `sealed`.
    ///
    /// # Errors
    /// The passphrase is wrong, or the encryption is not one that this version knows.
    pub(super) fn open(&self, sealed: &Sealed) -> Result<Zeroizing<Vec<u8>>> {
        if sealed.kdf != KDF || sealed.cipher != CIPHER {
            let problem = "were encrypted by a newer version of weir, which must restore them";
            return Err(Error::invalid("the keys of the backup", problem));
        }
        if sealed.memory_kib > MEMORY_KIB_MAX || sealed.passes > PASSES_MAX {
            let problem = "ask for more memory or time than a passphrase needs";
            return Err(Error::invalid("the keys of the backup", problem));
        }
        let wrong = || Error::invalid("passphrase", "is not the one of this backup");
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| wrong());
        let nonce: [u8; NONCE_LEN] = decode(&sealed.nonce)?.try_into().map_err(|_| wrong())?;
        let key = self.key(&decode(&sealed.salt)?, sealed.memory_kib, sealed.passes)?;
        let mut bytes = Zeroizing::new(decode(&sealed.sealed)?);
        let opened =
            key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(CIPHER), &mut bytes);
        Ok(Zeroizing::new(opened.map_err(|_| wrong())?.to_vec()))
    }

    fn key(&self, salt: &[u8], memory_kib: u32, passes: u32) -> Result<LessSafeKey> {
        let failed = |problem: String| Error::backend("making a key of the passphrase", problem);
        let params = Params::new(memory_kib, passes, 1, Some(KEY_LEN))
            .map_err(|problem| failed(problem.to_string()))?;
        let mut key = Zeroizing::new([0; KEY_LEN]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(self.0.as_bytes(), salt, key.as_mut())
            .map_err(|problem| failed(problem.to_string()))?;
        let key = UnboundKey::new(&AES_256_GCM, key.as_ref())
            .map_err(|_| failed("it has the wrong length".to_owned()))?;
        Ok(LessSafeKey::new(key))
    }
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::backend("asking the system for random bytes", "it has none"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(text).unwrap()
    }

    #[test]
    fn only_the_same_passphrase_decrypts() {
        let sealed = passphrase("correct horse battery").seal(b"key").unwrap();
        let opened = passphrase("correct horse battery").open(&sealed).unwrap();
        assert_eq!(opened.as_slice(), b"key");
        let refused = passphrase("correct horse batterx").open(&sealed).unwrap_err();
        assert_eq!(refused.to_string(), "passphrase: is not the one of this backup");
        let text = serde_json::to_string(&sealed).unwrap();
        assert!(!text.contains("horse") && !text.contains(&STANDARD.encode(b"key")), "{text}");
    }

    #[test]
    fn a_short_passphrase_is_refused_and_none_is_shown() {
        let refused = Passphrase::new("eleven char").unwrap_err().to_string();
        assert_eq!(refused, "passphrase: has fewer than 12 characters");
        assert_eq!(format!("{:?}", passphrase("correct horse battery")), "Passphrase(…)");
    }

    #[test]
    fn a_file_cannot_ask_for_all_memory() {
        let mut sealed = passphrase("correct horse battery").seal(b"key").unwrap();
        sealed.memory_kib = u32::MAX;
        let refused = passphrase("correct horse battery").open(&sealed).unwrap_err();
        assert!(refused.to_string().contains("ask for more memory"), "{refused}");
    }
}
