//! Idempotency keys of operators' calls, remembered for a day, so that a repeated call changes nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use weir_table::expr::attr;
use weir_table::{Backend, Get, Key, Write};

use crate::bounds::{IDEMPOTENCY_KEY_MAX, IDEMPOTENCY_TTL_SECONDS};
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::item::TTL;
use crate::keys;
use crate::limiter::Namespace;

const REQUEST: &str = "request";

/// The idempotency key of a call, and a digest of what it requests.
#[derive(Debug, Clone)]
pub(super) struct IdempotencyKey {
    /// The key of the record.
    record: Key,
    request: String,
}

impl<B: Backend> Namespace<B> {
    /// The key of a call that does `request`.
    pub(super) fn idempotency_key(&self, key: &str, request: &str) -> Result<IdempotencyKey> {
        if key.is_empty() || key.len() > IDEMPOTENCY_KEY_MAX {
            let problem = format!("must have 1 to {IDEMPOTENCY_KEY_MAX} bytes, not {}", key.len());
            return Err(Error::invalid("idempotency key", problem));
        }
        let record = keys::idempotency_record(&self.id, &hash(key));
        Ok(IdempotencyKey { record, request: hash(request) })
    }

    /// Whether this call was completed before.
    ///
    /// # Errors
    /// The key was used for a different call.
    pub(super) async fn was_completed(&self, key: &IdempotencyKey, now_ms: i64) -> Result<bool> {
        let get = Get::new(self.limiter.table(), key.record.clone());
        let Some(item) = self.limiter.store().get(&get).await? else { return Ok(false) };
        if item.i64(TTL).is_none_or(|ttl| ttl <= now_ms / MILLI) {
            return Ok(false);
        }
        if item.s(REQUEST) == Some(&key.request) {
            return Ok(true);
        }
        Err(Error::Conflict(
            "the idempotency key was used for a different call; use a new key".to_owned(),
        ))
    }

    /// The write that remembers the call, for its transaction.
    pub(super) fn completion_write(&self, key: &IdempotencyKey, now_ms: i64) -> Write {
        let now = now_ms / MILLI;
        let item = keys::item(key.record.clone())
            .with("GSI4PK", self.id.as_str())
            .with("GSI4SK", key.record.partition.to_value())
            .with(REQUEST, key.request.as_str())
            .with(TTL, now.saturating_add(IDEMPOTENCY_TTL_SECONDS));
        let is_free = attr("PK").absent().or(attr(TTL).le(now));
        Write::put(self.limiter.table(), item).when(is_free)
    }
}

fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}
