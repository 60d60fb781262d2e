//! The admin key: one for all instances, its hash in the store, or one given by configuration.
//!
//! The store contains the SHA-256 of the key. A slow hash would protect a password; a key of 256 random bits
//! cannot be guessed from its hash however fast the hash is, and every admin request checks it. Hashes are
//! compared in constant time only: `Hash` has no `PartialEq`.
//!
//! A key that matches the cached hash costs no store call. Any other check (a wrong key, or an outdated hash) reads
//! the store, at most once per second. Guessing therefore does not load the store, and a key that another instance
//! rotated is refused within the cache time.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::digest;
use subtle::ConstantTimeEq as _;
use weir_table::clock::Clock;
use weir_table::expr::attr;
use weir_table::{Backend, Error, Get, Result, Store, Transaction, Value, Write};

use super::keys;
use super::secret::{Secret, random};

/// The prefix of every generated key, so that scanners for leaked secrets find it.
const PREFIX: &str = "wak_";
/// Minimum length of a configured key, in characters.
pub const CONFIGURED_MIN: usize = 16;
/// Maximum length of a key in a request, in bytes. Longer ones are not hashed.
const PRESENTED_MAX: usize = 1024;
/// Minimum time between two reads of the stored hash.
const READ_EVERY_MS: u64 = 1000;

const HASH: &str = "key_hash";
const MADE_AT: &str = "made_at_epoch";

/// The result of [`AdminKey::ensure`].
#[derive(Debug)]
pub enum Ensured {
    /// There was no key; this is the new one. It cannot be shown again.
    Made(Secret),
    /// There is a key already.
    There,
}

/// The SHA-256 of a key. `Debug` does not show it, because a configured key may be a guessable password.
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

/// The cached hash.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    hash: Option<Hash>,
    /// How often the hash was another one than before.
    changes: u64,
    read_ms: Option<u64>,
    failed_ms: Option<u64>,
}

impl Known {
    /// The number of changes, if `presented` is the key.
    fn answer(&self, presented: &Hash) -> Option<u64> {
        self.hash.is_some_and(|hash| hash.matches(presented)).then_some(self.changes)
    }
}

/// Checks and changes the admin key.
#[derive(Debug)]
pub struct AdminKey<B> {
    store: Store<B>,
    clock: Clock,
    cache_ms: u64,
    configured: Option<Hash>,
    known: Mutex<Known>,
    /// Held during reads and writes of the stored hash, so that an old result never replaces a newer one.
    asking: tokio::sync::Mutex<()>,
}

impl<B: Backend> AdminKey<B> {
    /// The key in `store`, or `configured` instead of it.
    ///
    /// # Errors
    /// The configured key is too short or too long.
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

    /// Whether configuration sets the key.
    pub fn is_configured(&self) -> bool {
        self.configured.is_some()
    }

    /// Generates the key unless there is one. If several instances try at the same time, one succeeds.
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

    /// Whether there is a key.
    ///
    /// # Errors
    /// The store fails.
    pub async fn exists(&self) -> Result<bool> {
        if self.configured.is_some() {
            return Ok(true);
        }
        let _asking = self.asking.lock().await;
        self.read().await?;
        Ok(self.known.lock().hash.is_some())
    }

    /// Replaces the key together with a write of the caller. This instance refuses the old one at once, others within the
    /// cache time. Returns none if the condition of the write refuses both.
    ///
    /// # Errors
    /// The key is a configured one, or the store fails.
    pub async fn rotate_with(&self, write: Write) -> Result<Option<Secret>> {
        if self.configured.is_some() {
            let problem = "is set by configuration; change it there and restart";
            return Err(Error::invalid("admin_key", problem));
        }
        let _asking = self.asking.lock().await;
        let key = generate()?;
        let hash = Hash::of(key.expose());
        let both = Transaction::new([self.put(&hash).essential(), write]);
        if !self.store.transact(both).await?.is_applied() {
            return Ok(None);
        }
        self.learn(Some(hash));
        Ok(Some(key))
    }

    /// Whether `presented` is the key: how often the key has changed, as far as this instance knows, or none.
    ///
    /// # Errors
    /// The cached hash does not decide the check and the store fails.
    pub async fn check(&self, presented: &str) -> Result<Option<u64>> {
        if presented.len() > PRESENTED_MAX {
            return Ok(None);
        }
        let presented = Hash::of(presented);
        if let Some(configured) = &self.configured {
            return Ok(configured.matches(&presented).then_some(0));
        }
        if let Some(answer) = self.known_answer(&presented)? {
            return Ok(answer);
        }
        let _asking = self.asking.lock().await;
        // The previous holder of the lock may have read the hash already.
        if let Some(answer) = self.known_answer(&presented)? {
            return Ok(answer);
        }
        self.read().await?;
        Ok(self.known().answer(&presented))
    }

    /// Like [`AdminKey::check`], but without the cache. For sessions, which last longer than the cache.
    ///
    /// # Errors
    /// The store fails.
    pub async fn check_in_store(&self, presented: &str) -> Result<bool> {
        let presented = Hash::of(presented);
        if let Some(configured) = &self.configured {
            return Ok(configured.matches(&presented));
        }
        let _asking = self.asking.lock().await;
        self.read().await?;
        Ok(self.known().answer(&presented).is_some())
    }

    /// Whether the key is still that of `changes`, a result of [`AdminKey::check`].
    ///
    /// # Errors
    /// The cached hash is too old and the store fails.
    pub async fn is_unchanged(&self, changes: u64) -> Result<bool> {
        if self.configured.is_some() {
            return Ok(true);
        }
        if !self.is_fresh(&self.known()) {
            let _asking = self.asking.lock().await;
            // The previous holder of the lock may have read the hash already.
            let known = self.known();
            if !self.is_fresh(&known) {
                self.check_not_failing(&known)?;
                self.read().await?;
            }
        }
        Ok(self.known().changes == changes)
    }

    /// The result by the cached hash; none if the store must be read.
    fn known_answer(&self, presented: &Hash) -> Result<Option<Option<u64>>> {
        let known = self.known();
        let answer = known.answer(presented);
        if self.is_within(known.read_ms, READ_EVERY_MS)
            || (answer.is_some() && self.is_fresh(&known))
        {
            return Ok(Some(answer));
        }
        self.check_not_failing(&known)?;
        Ok(None)
    }

    fn known(&self) -> Known {
        *self.known.lock()
    }

    fn is_within(&self, at: Option<u64>, ms: u64) -> bool {
        at.is_some_and(|at| self.clock.now_ms().abs_diff(at) < ms)
    }

    /// Whether the right key needs no read of the store.
    fn is_fresh(&self, known: &Known) -> bool {
        self.is_within(known.read_ms, self.cache_ms)
    }

    /// Refuses to read the hash right after a read that failed.
    fn check_not_failing(&self, known: &Known) -> Result<()> {
        if self.is_within(known.failed_ms, READ_EVERY_MS) {
            let problem = "reading the admin key failed a moment ago";
            return Err(Error::Unavailable(problem.into()));
        }
        Ok(())
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
        let mut known = self.known.lock();
        let is_same = match (&known.hash, &hash) {
            (Some(before), Some(hash)) => before.matches(hash),
            (None, None) => true,
            _ => false,
        };
        let changes = known.changes + u64::from(!is_same);
        *known = Known { hash, changes, read_ms: Some(self.clock.now_ms()), failed_ms: None };
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
