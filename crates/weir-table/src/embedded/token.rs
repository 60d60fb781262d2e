//! Idempotency tokens: the record that a transaction with a token leaves for ten minutes.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::catalog::token_key;
use super::change::MetaChange;
use crate::error::{Error, Result};
use crate::limits;
use crate::request::Transaction;

const DIGEST_LEN: usize = 32;

/// A transaction's token, with a digest of its writes.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Key in the meta space.
    pub(super) key: Vec<u8>,
    digest: [u8; DIGEST_LEN],
}

impl Token {
    /// The token of a transaction, if it has one.
    pub(super) fn of(transaction: &Transaction) -> Result<Option<Token>> {
        let Some(token) = &transaction.token else {
            return Ok(None);
        };
        let json = serde_json::to_vec(&transaction.writes)
            .map_err(|source| Error::backend("writing a transaction's digest", source))?;
        Ok(Some(Token { key: token_key(token), digest: Sha256::digest(json).into() }))
    }

    /// The meta entry that the commit writes: when the token expires, and the digest.
    pub(super) fn change(&self, now_ms: u64) -> MetaChange {
        let until = (now_ms + limits::TOKEN_TTL_MS).to_be_bytes();
        let value = Arc::from([until.as_slice(), &self.digest].concat());
        MetaChange { key: self.key.clone(), value: Some(value) }
    }

    /// Whether `stored` shows that this transaction was applied already.
    ///
    /// # Errors
    /// The token was used for a different transaction.
    pub(super) fn was_used(&self, stored: &[u8], now_ms: u64) -> Result<bool> {
        let Some((until, digest)) = stored.split_at_checked(8) else {
            return Ok(false);
        };
        if is_expired(until, now_ms) {
            return Ok(false);
        }
        if digest == self.digest { Ok(true) } else { Err(Error::TokenReused) }
    }
}

/// Whether a stored token has expired.
pub(super) fn is_expired(stored: &[u8], now_ms: u64) -> bool {
    let until =
        stored.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
    until <= now_ms
}
