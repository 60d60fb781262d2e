//! Idempotency tokens: what a transaction with a token leaves behind for ten minutes.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::catalog::token_key;
use super::change::MetaChange;
use crate::error::{Error, Result};
use crate::limits;
use crate::request::Transaction;

const DIGEST_LEN: usize = 32;

/// A transaction's token, with a digest of what it asks for.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Its meta key.
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

    /// What the commit writes: until when the token counts, and the digest.
    pub(super) fn change(&self, now_ms: u64) -> MetaChange {
        let until = (now_ms + limits::TOKEN_TTL_MS).to_be_bytes();
        let value = Arc::from([until.as_slice(), &self.digest].concat());
        MetaChange { key: self.key.clone(), value: Some(value) }
    }

    /// Whether `stored` says that this transaction has been done already.
    ///
    /// # Errors
    /// The token was used for a different transaction.
    pub(super) fn was_used(&self, stored: &[u8], now_ms: u64) -> Result<bool> {
        let Some((until, digest)) = stored.split_at_checked(8) else {
            return Ok(false);
        };
        if is_over(until, now_ms) {
            return Ok(false);
        }
        if digest == self.digest { Ok(true) } else { Err(Error::TokenReused) }
    }
}

/// Whether a stored token no longer counts.
pub(super) fn is_over(stored: &[u8], now_ms: u64) -> bool {
    let until =
        stored.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
    until <= now_ms
}
