//! Idempotency keys: the record of a call is written with its effect, so that a repeated call has no second one.
//!
//! Operators' calls are recorded for a day; an acquire is recorded with its grant, which a repeated acquire returns. Settling
//! needs no such record: the lease's own item has the keys of its operations.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use weir_table::expr::attr;
use weir_table::{Backend, Get, Key, Value, Write};

use crate::bounds::IDEMPOTENCY_KEY_MAX;
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::ids::NamespaceId;
use crate::item::TTL;
use crate::keys;
use crate::limiter::Namespace;

const REQUEST: &str = "request";
const RESULT: &str = "result";

/// The idempotency key of a call, and a digest of what it requests.
#[derive(Debug, Clone)]
pub(crate) struct IdempotencyKey {
    /// The key of the record.
    record: Key,
    request: String,
}

impl IdempotencyKey {
    /// The key of a call that does `request`.
    pub(crate) fn new(ns: &NamespaceId, key: &str, request: &str) -> Result<IdempotencyKey> {
        if key.is_empty() || key.len() > IDEMPOTENCY_KEY_MAX {
            let problem = format!("must have 1 to {IDEMPOTENCY_KEY_MAX} bytes, not {}", key.len());
            return Err(Error::invalid("idempotency key", problem));
        }
        let record = keys::idempotency_record(ns, &hash(key));
        Ok(IdempotencyKey { record, request: hash(request) })
    }
}

impl<B: Backend> Namespace<B> {
    /// The recorded result of this call, if it was completed before.
    ///
    /// # Errors
    /// The key was used for a different call.
    pub(crate) async fn completed(
        &self,
        key: &IdempotencyKey,
        now_ms: i64,
    ) -> Result<Option<Vec<u8>>> {
        let get = Get::new(self.limiter.table(), key.record.clone());
        let Some(item) = self.limiter.store().get(&get).await? else { return Ok(None) };
        if item.i64(TTL).is_none_or(|ttl| ttl <= now_ms / MILLI) {
            return Ok(None);
        }
        if item.s(REQUEST) != Some(&key.request) {
            let problem = "the idempotency key was used for a different call; use a new key";
            return Err(Error::Conflict(problem.to_owned()));
        }
        Ok(Some(match item.get(RESULT) {
            Some(Value::B(result)) => result.clone(),
            _ => Vec::new(),
        }))
    }

    /// The write that records the call and its result until `expires_ms`, for the call's transaction.
    pub(crate) fn completion_write(
        &self,
        key: &IdempotencyKey,
        result: Vec<u8>,
        expires_ms: i64,
        now_ms: i64,
    ) -> Write {
        let mut item = keys::item(key.record.clone())
            .with("GSI4PK", self.id.as_str())
            .with("GSI4SK", key.record.partition.to_value())
            .with(REQUEST, key.request.as_str())
            .with(TTL, expires_ms / MILLI);
        if !result.is_empty() {
            item.set(RESULT, Value::B(result));
        }
        let is_free = attr("PK").absent().or(attr(TTL).le(now_ms / MILLI));
        Write::put(self.limiter.table(), item).when(is_free)
    }
}

fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}
