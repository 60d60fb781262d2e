//! Revoked tokens.
//!
//! A token is revoked by its own id, by the id of its refresh token, or because its subject has a
//! `tokens_valid_after` later than its time of issue. Each of the three is cached separately, so that a revocation on this
//! instance takes effect here at once for every token that it covers. Other instances notice it when their cache entries are
//! `cache_secs` old. A revoked token stays revoked, so that entry has no maximum age.
//!
//! When the store fails, the result is an error and never "allowed".

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use weir_table::expr::{attr, set};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Error, Get, Item, Result, Store, Write};

use super::claims::{Claims, TokenType};
use super::keys;
use super::session::subjects;

/// Capacity of the cache of tokens, and of the cache of subjects.
const REMEMBERED_MAX: usize = 64 * 1024;

const TOKEN_TYPE: &str = "token_type";
const CLIENT: &str = "client_id";
const REVOKED_AT: &str = "revoked_at_epoch";
const ORIGINAL_EXPIRY: &str = "original_expiry_epoch";
const VALID_AFTER: &str = "tokens_valid_after_ms";

/// The cache entry of a token's id.
#[derive(Debug, Clone, Copy)]
enum OfToken {
    Clear { read_ms: u64 },
    Revoked,
}

/// The cache entry of a subject.
#[derive(Debug, Clone, Copy)]
struct OfSubject {
    valid_after_ms: Option<u64>,
    read_ms: u64,
}

/// Counters of cache hits, store reads and revocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RevocationCounts {
    /// Checks answered by the cache.
    pub hits: u64,
    /// Checks that read the store.
    pub misses: u64,
    /// Revocations made by this instance, of tokens and of subjects.
    pub revocations: u64,
}

/// A token to revoke.
#[derive(Debug, Clone, Copy)]
pub struct ToRevoke<'a> {
    /// Id of the token.
    pub jti: &'a str,
    /// Type of the token.
    pub token_type: TokenType,
    /// Subject of the token.
    pub subject: &'a str,
    /// Time of expiry in seconds since 1970.
    pub exp: u64,
}

impl<'a> From<&'a Claims> for ToRevoke<'a> {
    fn from(claims: &'a Claims) -> ToRevoke<'a> {
        ToRevoke {
            jti: &claims.jti,
            token_type: claims.token_type,
            subject: &claims.sub,
            exp: claims.exp,
        }
    }
}

/// Revokes tokens and checks whether they are revoked.
#[derive(Debug)]
pub struct Revocations<B> {
    store: Store<B>,
    cache_ms: u64,
    tokens: Cache<String, OfToken>,
    subjects: Cache<String, OfSubject>,
    /// Number of revocations by this instance. A check that read the store before one of them must not cache its
    /// result; the lock makes comparing and caching atomic.
    made: Mutex<u64>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl<B: Backend> Revocations<B> {
    /// The revocations in `store`. That a token is not revoked is cached for `cache_secs`.
    #[must_use]
    pub fn new(store: Store<B>, cache_secs: u64) -> Revocations<B> {
        Revocations {
            store,
            cache_ms: cache_secs.saturating_mul(1000),
            tokens: Cache::new(REMEMBERED_MAX),
            subjects: Cache::new(REMEMBERED_MAX),
            made: Mutex::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Revokes a token and all tokens that came from it.
    ///
    /// # Errors
    /// The store fails; the token may or may not be revoked.
    pub async fn revoke(&self, token: ToRevoke<'_>, now_ms: u64) -> Result<()> {
        let now_secs = now_ms / 1000;
        if token.exp <= now_secs {
            return Ok(());
        }
        let item = keys::revoked(token.jti)
            .to_item(&keys::revoked_tokens())
            .with(TOKEN_TYPE, token.token_type.name())
            .with(CLIENT, token.subject)
            .with(REVOKED_AT, now_secs)
            .with(ORIGINAL_EXPIRY, token.exp)
            .with(keys::EXPIRES, token.exp);
        // Only the first write succeeds, so the item has the time of the first revocation.
        let put = Write::put(keys::REVOKED, item).when(attr(keys::PK).absent()).essential();
        self.store.write(put).await?;
        let mut made = self.made.lock();
        *made += 1;
        self.tokens.insert(token.jti.to_owned(), OfToken::Revoked);
        Ok(())
    }

    /// Revokes all tokens of `subject` that were issued so far.
    ///
    /// # Errors
    /// The store fails; the tokens may or may not be revoked.
    pub async fn revoke_all(&self, subject: &str, now_ms: u64) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let write = self.revoke_all_write(subject, now_ms).await?;
            let revoked = self.store.try_write(write).await;
            self.forget(subject);
            if revoked? {
                return Ok(());
            }
        }
        Err(Error::Conflict)
    }

    /// The write that revokes all tokens of `subject` issued so far, for a transaction of the caller. Another
    /// revocation in between refuses it; then the caller asks again. After the commit the caller calls
    /// [`Revocations::forget`].
    ///
    /// # Errors
    /// The store fails.
    pub async fn revoke_all_write(&self, subject: &str, now_ms: u64) -> Result<Write> {
        let stored = self.valid_after_ms(subject).await?;
        let unchanged = match stored {
            Some(after) => attr(VALID_AFTER).eq(after),
            None => attr(VALID_AFTER).absent(),
        };
        // A token issued since the last revocation is later than it, whatever this clock shows.
        let update =
            set(VALID_AFTER, stored.map_or(now_ms, |after| now_ms.max(after.saturating_add(1))));
        let write = Write::update(keys::EDGE, keys::valid_after(subject), update);
        Ok(write.when(unchanged).essential())
    }

    /// Forgets what is cached of `subject`, whose tokens a transaction of the caller revoked.
    pub fn forget(&self, subject: &str) {
        let mut made = self.made.lock();
        *made += 1;
        self.subjects.remove(subject);
    }

    /// The time up to which all tokens of `subject` are revoked. Tokens issued later are valid.
    ///
    /// # Errors
    /// The store fails.
    pub async fn valid_after_ms(&self, subject: &str) -> Result<Option<u64>> {
        let get = Get::new(keys::EDGE, keys::valid_after(subject));
        Ok(valid_after(self.store.get(&get).await?.as_ref()))
    }

    /// Whether the token with these claims is revoked.
    ///
    /// # Errors
    /// The cache does not decide and the store fails.
    pub async fn check(&self, claims: &Claims, now_ms: u64) -> Result<bool> {
        if let Some(revoked) = self.remembered(claims, now_ms) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(revoked);
        }
        self.check_in_store(claims, now_ms).await
    }

    /// Like [`Revocations::check`], but without the cache. For refresh tokens, because an access token issued after the
    /// revocation of its subject would count as newer than the revocation.
    ///
    /// # Errors
    /// The store fails.
    pub async fn check_in_store(&self, claims: &Claims, now_ms: u64) -> Result<bool> {
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.ask(claims, now_ms).await
    }

    /// The result, if the cache decides.
    fn remembered(&self, claims: &Claims, now_ms: u64) -> Option<bool> {
        let fresh = |read_ms: u64| now_ms.abs_diff(read_ms) < self.cache_ms;
        let mut all_known = true;
        for jti in ids(claims) {
            match self.tokens.get(jti) {
                Some(OfToken::Revoked) => return Some(true),
                Some(OfToken::Clear { read_ms }) if fresh(read_ms) => {}
                _ => all_known = false,
            }
        }
        for subject in subjects(claims) {
            match self.subjects.get(subject.as_ref()) {
                Some(known) if is_before(claims, known.valid_after_ms) => return Some(true),
                Some(known) if fresh(known.read_ms) => {}
                _ => all_known = false,
            }
        }
        all_known.then_some(false)
    }

    async fn ask(&self, claims: &Claims, now_ms: u64) -> Result<bool> {
        let made_before = *self.made.lock();
        let subjects: Vec<_> = subjects(claims).collect();
        let ends = subjects.iter().map(|sub| Get::new(keys::EDGE, keys::valid_after(sub)));
        let tokens = ids(claims).map(|jti| Get::new(keys::REVOKED, keys::revoked(jti)));
        let gets: Vec<Get> = ends.chain(tokens).collect();
        let mut items = self.store.batch_get(&gets).await?.into_iter();

        let ends = items.by_ref().take(subjects.len());
        let ends: Vec<Option<u64>> = ends.map(|item| valid_after(item.as_ref())).collect();
        let found: Vec<bool> = items.map(|item| item.is_some()).collect();
        let is_ended = ends.iter().any(|after| is_before(claims, *after));
        let revoked = is_ended || found.contains(&true);
        let made = self.made.lock();
        if *made == made_before {
            let read_ms = now_ms;
            for (jti, revoked) in ids(claims).zip(found) {
                let known = match revoked {
                    true => OfToken::Revoked,
                    false => OfToken::Clear { read_ms },
                };
                self.tokens.insert(jti.to_owned(), known);
            }
            for (subject, valid_after_ms) in subjects.into_iter().zip(ends) {
                self.subjects.insert(subject.into_owned(), OfSubject { valid_after_ms, read_ms });
            }
        }
        Ok(revoked)
    }

    /// The counters so far, for metrics.
    #[must_use]
    pub fn counts(&self) -> RevocationCounts {
        RevocationCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            revocations: *self.made.lock(),
        }
    }
}

/// The ids by which a token can be revoked, each once.
fn ids(claims: &Claims) -> impl Iterator<Item = &str> {
    let ancestors = claims.parent_jti.iter().chain(&claims.root_jti);
    let ancestors = ancestors.filter(|id| **id != claims.jti);
    std::iter::once(&claims.jti).chain(ancestors).map(String::as_str)
}

fn is_before(claims: &Claims, valid_after_ms: Option<u64>) -> bool {
    valid_after_ms.is_some_and(|after| claims.issued_ms() <= after)
}

fn valid_after(item: Option<&Item>) -> Option<u64> {
    u64::try_from(item?.i64(VALID_AFTER)?).ok()
}
