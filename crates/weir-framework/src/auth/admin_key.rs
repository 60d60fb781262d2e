//! The admin key: one for all instances, its hash in the store, or one given by configuration.
//!
//! What is stored is the SHA-256 of the key. A slow hash protects texts that people think up; a key
//! of 256 random bits cannot be guessed from its hash however fast the hash is, and checking one is
//! on the path of every admin request. Hashes are compared in constant time, and there is no other
//! way to compare them: `Hash` has no `PartialEq`.
//!
//! A check that the cached hash answers costs no store call. One that it does not (a wrong key, or
//! a hash that is too old) reads the store, but at most once per second, so that guessing is free
//! of cost to the store and a key that was rotated elsewhere is refused within the cache time.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::digest;
use subtle::ConstantTimeEq as _;
use weir_table::clock::Clock;
use weir_table::expr::attr;
use weir_table::{Backend, Error, Get, Result, Store, Value, Write};

use super::keys;
use super::secret::{Secret, random};

/// What every generated key begins with, so that scanners for leaked secrets find it.
const PREFIX: &str = "wak_";
/// Characters of a configured key, at least.
pub const CONFIGURED_MIN: usize = 16;
/// Bytes of a key that is presented, at most; longer ones are not even hashed.
const PRESENTED_MAX: usize = 1024;
/// The store is asked for the hash at most once in this time.
const READ_EVERY_MS: u64 = 1000;

const HASH: &str = "key_hash";
const MADE_AT: &str = "made_at_epoch";

/// What [`AdminKey::ensure`] found.
#[derive(Debug)]
pub enum Ensured {
    /// There was none: this is the key, now and never again.
    Made(Secret),
    /// There is one already.
    There,
}

/// The SHA-256 of a key. It is not shown either: a configured key may be one that people think up.
#[derive(Clone, Copy)]
struct Hash([u8; 32]);

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

impl Hash {
    fn of(key: &str) -> Hash {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, key.as_bytes()).as_ref());
        Hash(hash)
    }

    fn matches(&self, other: &Hash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// What is known of the stored hash.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    hash: Option<Hash>,
    read_ms: Option<u64>,
    failed_ms: Option<u64>,
}

/// Checks and changes the admin key.
#[derive(Debug)]
pub struct AdminKey<B> {
    store: Store<B>,
    clock: Clock,
    cache_ms: u64,
    configured: Option<Hash>,
    known: Mutex<Known>,
    /// Held while the store is asked or changed, so that an old answer never replaces a newer one.
    asking: tokio::sync::Mutex<()>,
}

impl<B: Backend> AdminKey<B> {
    /// The key in `store`, or `configured` instead of it.
    ///
    /// # Errors
    /// The configured key is too short, or longer than a key that is presented may be.
    pub fn new(
        store: Store<B>,
        clock: Clock,
        cache_secs: u64,
        configured: Option<&Secret>,
    ) -> Result<AdminKey<B>> {
        if let Some(key) = configured {
            let characters = key.expose().chars().count();
            if characters < CONFIGURED_MIN || key.expose().len() > PRESENTED_MAX {
                let problem = format!("has {CONFIGURED_MIN} characters to {PRESENTED_MAX} bytes");
                return Err(Error::invalid("admin_key", problem));
            }
        }
        Ok(AdminKey {
            store,
            clock,
            cache_ms: cache_secs.saturating_mul(1000),
            configured: configured.map(|key| Hash::of(key.expose())),
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        })
    }

    /// Makes the key unless there is one. Of many instances that try at once, one makes it.
    ///
    /// # Errors
    /// The store fails.
    pub async fn ensure(&self) -> Result<Ensured> {
        if self.configured.is_some() {
            return Ok(Ensured::There);
        }
        let _asking = self.asking.lock().await;
        let key = generate()?;
        let put = self.put(&Hash::of(key.expose()));
        let put = put.when(attr(keys::PK).absent());
        if !self.store.write(put).await?.is_applied() {
            return Ok(Ensured::There);
        }
        self.learn(Some(Hash::of(key.expose())));
        Ok(Ensured::Made(key))
    }

    /// Replaces the key. The old one is refused at once here, elsewhere within the cache time.
    ///
    /// # Errors
    /// The key is a configured one, or the store fails.
    pub async fn rotate(&self) -> Result<Secret> {
        if self.configured.is_some() {
            let problem = "is set by configuration; change it there and restart";
            return Err(Error::invalid("admin_key", problem));
        }
        let _asking = self.asking.lock().await;
        let key = generate()?;
        let hash = Hash::of(key.expose());
        self.store.write(self.put(&hash)).await?;
        self.learn(Some(hash));
        Ok(key)
    }

    /// Whether `presented` is the key.
    ///
    /// # Errors
    /// What is known does not answer it and the store fails.
    pub async fn check(&self, presented: &str) -> Result<bool> {
        if presented.len() > PRESENTED_MAX {
            return Ok(false);
        }
        let presented = Hash::of(presented);
        if let Some(configured) = &self.configured {
            return Ok(configured.matches(&presented));
        }
        if let Some(answer) = self.known_answer(&presented)? {
            return Ok(answer);
        }
        let _asking = self.asking.lock().await;
        // Whoever held the lock before may have read what is wanted here.
        if let Some(answer) = self.known_answer(&presented)? {
            return Ok(answer);
        }
        self.read().await?;
        let hash = self.known.lock().hash;
        Ok(hash.is_some_and(|hash| hash.matches(&presented)))
    }

    /// Answers from what is known, or says with none that the store must be asked.
    fn known_answer(&self, presented: &Hash) -> Result<Option<bool>> {
        let now_ms = self.clock.now_ms();
        let known = *self.known.lock();
        let within = |at: Option<u64>, ms| at.is_some_and(|at| now_ms.abs_diff(at) < ms);
        let matches = known.hash.is_some_and(|hash| hash.matches(presented));
        if within(known.read_ms, READ_EVERY_MS) {
            return Ok(Some(matches));
        }
        if matches && within(known.read_ms, self.cache_ms) {
            return Ok(Some(true));
        }
        if within(known.failed_ms, READ_EVERY_MS) {
            let problem = "reading the admin key failed a moment ago";
            return Err(Error::Unavailable(problem.into()));
        }
        Ok(None)
    }

    async fn read(&self) -> Result<()> {
        let get = Get::new(keys::EDGE, keys::admin_key());
        let item = self.store.get(&get).await.inspect_err(|_| {
            self.known.lock().failed_ms = Some(self.clock.now_ms());
        })?;
        let hash = item.as_ref().and_then(|item| match item.get(HASH) {
            Some(Value::B(bytes)) => bytes.as_slice().try_into().ok().map(Hash),
            _ => None,
        });
        self.learn(hash);
        Ok(())
    }

    fn learn(&self, hash: Option<Hash>) {
        *self.known.lock() = Known { hash, read_ms: Some(self.clock.now_ms()), failed_ms: None };
    }

    fn put(&self, hash: &Hash) -> Write {
        let item = keys::edge_item(&keys::admin_key())
            .with(HASH, hash.0.to_vec())
            .with(MADE_AT, self.clock.now_ms() / 1000);
        Write::put(keys::EDGE, item)
    }
}

fn generate() -> Result<Secret> {
    let bytes = random::<32>()?;
    Ok(Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes.as_slice()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_key_is_wak_and_43_characters() {
        let key = generate().unwrap();
        let random = key.expose().strip_prefix("wak_").unwrap();
        assert_eq!(random.len(), 43);
        assert_eq!(URL_SAFE_NO_PAD.decode(random).unwrap().len(), 32);
        assert_ne!(key.expose(), generate().unwrap().expose());
    }

    #[test]
    fn the_stored_hash_is_sha_256() {
        // The first of NIST's examples for SHA-256.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let hash: String = Hash::of("abc").0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, expected);
        assert_eq!(format!("{:?}", Hash::of("abc")), "•••");
        assert!(Hash::of("abc").matches(&Hash::of("abc")));
        assert!(!Hash::of("abc").matches(&Hash::of("acb")));
    }
}
