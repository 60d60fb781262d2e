//! Signing keys that an operator ended. Their tokens are refused at once, although a key may still be configured as the
//! previous one.
//!
//! This instance refuses them from the response on, others when their cache entries are `cache_secs` old. An ended key stays
//! ended, so that entry has no maximum age. When the store fails, the result is an error and never "allowed".

use std::collections::BTreeMap;

use parking_lot::RwLock;
use weir_table::expr::attr;
use weir_table::{Backend, Get, Result, Store, Write};

use super::keys;

const ENDED_AT: &str = "ended_at_epoch";
/// Capacity of the cache. A process verifies with two keys; more are remembered only after rotations.
const REMEMBERED_MAX: usize = 16;

/// The cache entry of a key.
#[derive(Debug, Clone, Copy)]
enum Known {
    InForce { read_ms: u64 },
    Ended,
}

/// Ends signing keys and checks whether they are ended.
#[derive(Debug)]
pub struct EndedKeys<B> {
    store: Store<B>,
    cache_ms: u64,
    known: RwLock<BTreeMap<String, Known>>,
}

impl<B: Backend> EndedKeys<B> {
    /// The ended keys in `store`. That a key is in force is cached for `cache_secs`.
    #[must_use]
    pub fn new(store: Store<B>, cache_secs: u64) -> EndedKeys<B> {
        let cache_ms = cache_secs.saturating_mul(1000);
        EndedKeys { store, cache_ms, known: RwLock::default() }
    }

    /// Ends a key.
    ///
    /// # Errors
    /// The store fails; the key may or may not be ended.
    pub async fn end(&self, kid: &str, now_ms: u64) -> Result<()> {
        let item = keys::edge_item(&keys::ended_key(kid)).with(ENDED_AT, now_ms / 1000);
        // Only the first write succeeds, so the item has the time at which the key ended.
        let put = Write::put(keys::EDGE, item).when(attr(keys::PK).absent()).essential();
        self.store.write(put).await?;
        self.learn(kid, Known::Ended);
        Ok(())
    }

    /// Whether a key is ended.
    ///
    /// # Errors
    /// The cache does not decide and the store fails.
    pub async fn check(&self, kid: &str, now_ms: u64) -> Result<bool> {
        match self.known.read().get(kid) {
            Some(Known::Ended) => return Ok(true),
            Some(Known::InForce { read_ms }) if now_ms.abs_diff(*read_ms) < self.cache_ms => {
                return Ok(false);
            }
            _ => {}
        }
        self.check_in_store(kid, now_ms).await
    }

    /// Like [`EndedKeys::check`], but without the cache. For refresh tokens, because the access token that they get would
    /// outlive the key.
    ///
    /// # Errors
    /// The store fails.
    pub async fn check_in_store(&self, kid: &str, now_ms: u64) -> Result<bool> {
        let ended = self.store.get(&Get::new(keys::EDGE, keys::ended_key(kid))).await?.is_some();
        self.learn(kid, if ended { Known::Ended } else { Known::InForce { read_ms: now_ms } });
        Ok(ended)
    }

    fn learn(&self, kid: &str, known: Known) {
        let mut all = self.known.write();
        if all.len() >= REMEMBERED_MAX && !all.contains_key(kid) {
            all.clear();
        }
        // A read that began before the end of the key must not hide it.
        let entry = all.entry(kid.to_owned()).or_insert(known);
        if !matches!(entry, Known::Ended) {
            *entry = known;
        }
    }
}
