//! Hashing, which is made to cost time: away from the async threads, few at once, and with a bound on who waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_table::Backend;
use zeroize::Zeroizing;

use super::secret::{ClientSecret, SECRET_BYTES_MAX};
use crate::bounds::HASHES_WAITING_MAX;
use crate::error::{Error, Result};
use crate::keeper::Keeper;

/// The salt and the digest of a hash that no secret has.
const NOBODYS: &str = "abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz0123.";

/// A place where secrets are hashed.
#[derive(Debug)]
pub(crate) struct Hashing {
    cost: u32,
    seats: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// How often a text was checked against a hash.
    checks: Arc<AtomicU64>,
}

/// The right to hash once.
#[derive(Debug)]
pub(crate) struct Seat(OwnedSemaphorePermit);

impl Hashing {
    /// Hashes at this cost, so many at once.
    pub(crate) fn new(cost: u32, at_once: usize) -> Hashing {
        let seats = Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        Hashing { cost, seats, waiting: AtomicUsize::new(0), checks: Arc::default() }
    }

    /// Waits for a seat.
    ///
    /// # Errors
    /// Too many wait already.
    pub(crate) async fn seat(&self) -> Result<Seat> {
        let waits = Waits::begin(&self.waiting)?;
        let permit = Arc::clone(&self.seats).acquire_owned().await;
        drop(waits);
        permit.map(Seat).map_err(|_| Error::Busy("secrets to be hashed"))
    }

    /// The hash of a secret.
    ///
    /// # Errors
    /// The cost is none there is, or the machine has no randomness.
    pub(crate) async fn hash(&self, seat: Seat, secret: &ClientSecret) -> Result<String> {
        let (secret, cost) = (secret.clone(), self.cost);
        let hashed = on_a_thread(seat, move || bcrypt::hash(secret.expose(), cost)).await?;
        // What went wrong may name what was hashed.
        hashed.map_err(|_| Error::damaged("bcrypt", format!("it cannot hash at cost {cost}")))
    }

    /// Whether a text is the secret of a hash; that of nobody takes as long.
    ///
    /// # Errors
    /// Too many wait already, or the hash is none.
    pub(crate) async fn is_secret_of(&self, text: &str, hash: Option<&str>) -> Result<bool> {
        // A text that bcrypt would cut is nobody's secret.
        let fits = text.len() <= SECRET_BYTES_MAX && text.bytes().all(|b| b.is_ascii_graphic());
        let text = Zeroizing::new(if fits { text.to_owned() } else { String::new() });
        let known = hash.filter(|_| fits);
        let is_known = known.is_some();
        let cost = self.cost;
        let hash = known.map_or_else(|| format!("$2b${cost:02}${NOBODYS}"), str::to_owned);
        let seat = self.seat().await?;
        let checks = Arc::clone(&self.checks);
        let verify = move || {
            checks.fetch_add(1, Ordering::Relaxed);
            bcrypt::verify(text.as_str(), &hash)
        };
        let verified = on_a_thread(seat, verify).await?;
        let is_same =
            verified.map_err(|_| Error::damaged("a client", "its hash is no bcrypt hash"))?;
        Ok(is_same && is_known)
    }
}

impl<B: Backend> Keeper<B> {
    /// How often this process checked a text against a hash, whose secret it ever was or was not.
    #[must_use]
    pub fn secrets_checked(&self) -> u64 {
        self.inner.hashing.checks.load(Ordering::Relaxed)
    }
}

/// The seat goes to the thread: a caller that gives up must not let another in while the work goes on.
async fn on_a_thread<T: Send + 'static>(
    seat: Seat,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(seat.0);
        done
    });
    done.await.map_err(|_| Error::damaged("bcrypt", "its thread ended early"))
}

/// Counts one who waits, for as long as it lives.
struct Waits<'a>(&'a AtomicUsize);

impl Waits<'_> {
    fn begin(waiting: &AtomicUsize) -> Result<Waits<'_>> {
        let before = waiting.fetch_add(1, Ordering::SeqCst);
        let waits = Waits(waiting);
        if before < HASHES_WAITING_MAX {
            return Ok(waits);
        }
        Err(Error::Busy("secrets to be hashed"))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn only_the_secret_itself_is_that_of_its_hash() {
        block_on(async {
            let hashing = Hashing::new(4, 1);
            let secret = ClientSecret::random().unwrap();
            let hash = hashing.hash(hashing.seat().await.unwrap(), &secret).await.unwrap();
            assert!(hash.starts_with("$2b$04$"));
            let text = secret.expose();
            assert!(hashing.is_secret_of(text, Some(&hash)).await.unwrap());
            assert!(!hashing.is_secret_of(text, None).await.unwrap());
            let (longer, cut) = (format!("{text}{text}"), &text[..55]);
            let ended = format!("{text}\0");
            for wrong in ["", cut, &longer, &ended] {
                assert!(!hashing.is_secret_of(wrong, Some(&hash)).await.unwrap(), "{wrong:?}");
            }
            let error = hashing.is_secret_of(text, Some("nonsense")).await.unwrap_err();
            assert!(!error.to_string().contains("nonsense"), "{error}");
        });
    }

    #[test]
    fn nobodys_hash_is_a_hash_at_every_cost() {
        for cost in [4, 5, 12] {
            let hash = format!("$2b${cost:02}${NOBODYS}");
            let parts: bcrypt::HashParts = hash.parse().unwrap();
            assert_eq!(parts.get_cost(), cost);
        }
    }

    #[test]
    fn a_queue_that_is_full_refuses_and_recovers() {
        block_on(async {
            let hashing = Arc::new(Hashing::new(4, 1));
            let seat = hashing.seat().await.unwrap();
            let wait = || {
                let hashing = Arc::clone(&hashing);
                tokio::spawn(async move { hashing.seat().await.map(drop) })
            };
            let waiting: Vec<_> = (0..HASHES_WAITING_MAX).map(|_| wait()).collect();
            while hashing.waiting.load(Ordering::SeqCst) < HASHES_WAITING_MAX {
                tokio::task::yield_now().await;
            }
            let error = wait().await.unwrap().unwrap_err();
            assert_eq!((error.code(), error.is_unavailable()), ("SERVICE_UNAVAILABLE", true));
            drop(seat);
            for task in waiting {
                task.await.unwrap().unwrap();
            }
            assert!(hashing.seat().await.is_ok());
        });
    }
}
