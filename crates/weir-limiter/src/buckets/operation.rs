//! An operator's call that was done, remembered by its key for a day, so that the same call again changes nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use weir_table::expr::attr;
use weir_table::{Backend, Get, Item, Write};

use crate::bounds::{OPERATION_KEY_MAX, OPERATION_TTL_SECONDS};
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::item::TTL;
use crate::keys;
use crate::limiter::Namespace;

const REQUEST: &str = "request";

/// A call with a key: which key, and what is asked.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    key: weir_table::Key,
    request: String,
}

impl<B: Backend> Namespace<B> {
    /// The call with this key that asks for `request`.
    pub(super) fn operation(&self, key: &str, request: &str) -> Result<Operation> {
        if key.is_empty() || key.len() > OPERATION_KEY_MAX {
            let problem = format!("has {} bytes; 1 to {OPERATION_KEY_MAX} are allowed", key.len());
            return Err(Error::invalid("idempotency key", problem));
        }
        let key = keys::operation(&self.id, &hashed(key));
        Ok(Operation { key, request: hashed(request) })
    }

    /// Whether this call was done already.
    ///
    /// # Errors
    /// Another call was done with its key.
    pub(super) async fn is_done(&self, operation: &Operation, now_ms: i64) -> Result<bool> {
        let get = Get::new(self.limiter.table(), operation.key.clone());
        let Some(item) = self.limiter.store().get(&get).await? else { return Ok(false) };
        if item.i64(TTL).is_none_or(|ttl| ttl <= now_ms / MILLI) {
            return Ok(false);
        }
        if item.s(REQUEST) == Some(&operation.request) {
            return Ok(true);
        }
        Err(Error::Conflict("the idempotency key was used for a different call".to_owned()))
    }

    /// Remembers the call, in the transaction that does it.
    pub(super) fn done(&self, operation: &Operation, now_ms: i64) -> Write {
        let now = now_ms / MILLI;
        let partition = operation.key.partition.to_value();
        let mut item = Item::new()
            .with("PK", partition.clone())
            .with("GSI4PK", self.id.as_str())
            .with("GSI4SK", partition)
            .with(REQUEST, operation.request.as_str())
            .with(TTL, now.saturating_add(OPERATION_TTL_SECONDS));
        if let Some(sort) = &operation.key.sort {
            item.set("SK", sort.to_value());
        }
        let free = attr("PK").absent().or(attr(TTL).le(now));
        Write::put(self.limiter.table(), item).when(free)
    }
}

fn hashed(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}
