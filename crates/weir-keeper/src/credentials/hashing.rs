//! Hashes secrets with bcrypt, which is slow by design: on blocking threads, few at once, with a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

use super::secret::{ClientSecret, SECRET_BYTES_MAX};
use crate::bounds::HASHES_WAITING_MAX;
use crate::error::{Error, Result};

/// Salt and digest of a hash that matches no secret.
const DUMMY_HASH: &str = "abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyz0123.";

/// Hashes and verifies secrets.
#[derive(Debug)]
pub(crate) struct SecretHasher {
    cost: u32,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    verifications: Arc<AtomicU64>,
}

/// Permission to hash once.
#[derive(Debug)]
pub(crate) struct HashPermit(OwnedSemaphorePermit);

impl SecretHasher {
    /// Hashes at this bcrypt cost, at most `at_once` concurrently.
    pub(crate) fn new(cost: u32, at_once: usize) -> SecretHasher {
        let permits = Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        SecretHasher { cost, permits, waiting: AtomicUsize::new(0), verifications: Arc::default() }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// The queue is full.
    pub(crate) async fn permit(&self) -> Result<HashPermit> {
        let place = QueuePlace::take(&self.waiting)?;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        drop(place);
        permit.map(HashPermit).map_err(|_| Error::Busy("secret hashing"))
    }

    /// Hashes a secret.
    ///
    /// # Errors
    /// The cost is out of range, or the system's random source fails.
    pub(crate) async fn hash(&self, permit: HashPermit, secret: &ClientSecret) -> Result<String> {
        let (secret, cost) = (secret.clone(), self.cost);
        let hashed = run_blocking(permit, move || bcrypt::hash(secret.expose(), cost)).await?;
        // The cause may contain the secret.
        hashed.map_err(|_| Error::damaged("bcrypt", format!("it cannot hash at cost {cost}")))
    }

    /// Whether a text is the secret of a hash. Without a hash it takes as long, so that timing does not tell which clients
    /// exist.
    ///
    /// # Errors
    /// The queue is full, or the hash is malformed.
    pub(crate) async fn verify(&self, text: &str, hash: Option<&str>) -> Result<bool> {
        // bcrypt truncates long texts, so a longer one never matches.
        let fits = text.len() <= SECRET_BYTES_MAX && text.bytes().all(|b| b.is_ascii_graphic());
        let text = Zeroizing::new(if fits { text.to_owned() } else { String::new() });
        let hash = hash.filter(|_| fits);
        let can_match = hash.is_some();
        let cost = self.cost;
        let hash = hash.map_or_else(|| format!("$2b${cost:02}${DUMMY_HASH}"), str::to_owned);
        let permit = self.permit().await?;
        let verifications = Arc::clone(&self.verifications);
        let verify = move || {
            verifications.fetch_add(1, Ordering::Relaxed);
            bcrypt::verify(text.as_str(), &hash)
        };
        let verified = run_blocking(permit, verify).await?;
        let is_match =
            verified.map_err(|_| Error::damaged("a client", "its hash is not a bcrypt hash"))?;
        Ok(is_match && can_match)
    }

    /// Number of texts compared with a hash since the process started.
    pub(crate) fn verifications(&self) -> u64 {
        self.verifications.load(Ordering::Relaxed)
    }
}

/// Runs `work` on a blocking thread. The permit moves there: a cancelled caller must not free it while the work still runs.
async fn run_blocking<T: Send + 'static>(
    permit: HashPermit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit.0);
        done
    });
    done.await.map_err(|_| Error::damaged("bcrypt", "its thread panicked"))
}

/// A place in the queue, freed on drop.
struct QueuePlace<'a>(&'a AtomicUsize);

impl QueuePlace<'_> {
    fn take(waiting: &AtomicUsize) -> Result<QueuePlace<'_>> {
        let before = waiting.fetch_add(1, Ordering::SeqCst);
        let place = QueuePlace(waiting);
        if before < HASHES_WAITING_MAX {
            return Ok(place);
        }
        Err(Error::Busy("secret hashing"))
    }
}

impl Drop for QueuePlace<'_> {
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
    fn only_the_exact_secret_matches_its_hash() {
        block_on(async {
            let hasher = SecretHasher::new(4, 1);
            let secret = ClientSecret::random().unwrap();
            let hash = hasher.hash(hasher.permit().await.unwrap(), &secret).await.unwrap();
            assert!(hash.starts_with("$2b$04$"));
            let text = secret.expose();
            assert!(hasher.verify(text, Some(&hash)).await.unwrap());
            assert!(!hasher.verify(text, None).await.unwrap());
            let (longer, cut) = (format!("{text}{text}"), &text[..55]);
            let ended = format!("{text}\0");
            for wrong in ["", cut, &longer, &ended] {
                assert!(!hasher.verify(wrong, Some(&hash)).await.unwrap(), "{wrong:?}");
            }
            let error = hasher.verify(text, Some("nonsense")).await.unwrap_err();
            assert!(!error.to_string().contains("nonsense"), "{error}");
        });
    }

    #[test]
    fn the_dummy_hash_is_valid_at_every_cost() {
        for cost in [4, 5, 12] {
            let hash = format!("$2b${cost:02}${DUMMY_HASH}");
            let parts: bcrypt::HashParts = hash.parse().unwrap();
            assert_eq!(parts.get_cost(), cost);
        }
    }

    #[test]
    fn a_full_queue_refuses_and_recovers() {
        block_on(async {
            let hasher = Arc::new(SecretHasher::new(4, 1));
            let permit = hasher.permit().await.unwrap();
            let wait = || {
                let hasher = Arc::clone(&hasher);
                tokio::spawn(async move { hasher.permit().await.map(drop) })
            };
            let waiting: Vec<_> = (0..HASHES_WAITING_MAX).map(|_| wait()).collect();
            while hasher.waiting.load(Ordering::SeqCst) < HASHES_WAITING_MAX {
                tokio::task::yield_now().await;
            }
            let error = wait().await.unwrap().unwrap_err();
            assert!(matches!(error, Error::Busy(_)) && error.is_unavailable());
            drop(permit);
            for task in waiting {
                task.await.unwrap().unwrap();
            }
            assert!(hasher.permit().await.is_ok());
        });
    }
}
