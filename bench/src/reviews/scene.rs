//! Reviews in this process, on an embedded store of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_calendar::DAY_MS;
use weir_reviews::raw::RawOutputs;
use weir_reviews::{Reviews, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};

use super::generate::{self, Shape};
use crate::measure::bytes_below;

/// Days of the reviews that are loaded, and of a comparison. One less than the retention, which counts from `created_at`.
pub(super) const DAYS: u32 = 89;
/// Tasks that load reviews.
const LOADERS: u64 = 8;

pub(super) struct Scene {
    pub(super) reviews: Reviews<Embedded>,
    folder: PathBuf,
}

impl Scene {
    pub(super) async fn open(folder: &Path) -> Scene {
        let embedded = Embedded::open(Options::new(folder)).expect("the store opens");
        let cursors = embedded.cursor_key();
        let store = Store::new(embedded, cursors);
        let raw_outputs = RawOutputs::unavailable();
        let opened = Reviews::open(store, raw_outputs, Clock::System, Settings::default()).await;
        Scene { reviews: opened.expect("the reviews open"), folder: folder.to_owned() }
    }

    /// Records reviews, spread evenly over the days before now. Returns the time it took.
    pub(super) async fn load(&self, count: u64, shape: Shape) -> Duration {
        let (start, next) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let loaders: Vec<_> = (0..LOADERS)
            .map(|_| {
                let (reviews, next) = (self.reviews.clone(), Arc::clone(&next));
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        let mut random = fastrand::Rng::with_seed(number);
                        let age_ms = random.i64(0..i64::from(DAYS) * DAY_MS);
                        let created_at_ms = Some(reviews.now_ms() - age_ms);
                        let review = generate::review(&mut random, shape, created_at_ms);
                        reviews.record(review, false).await.expect("a recording");
                    }
                })
            })
            .collect();
        for loader in loaders {
            loader.await.expect("a loader");
        }
        start.elapsed()
    }

    /// Closes the store and removes its folder.
    pub(super) async fn close(self) {
        self.reviews.store().backend().close().await.expect("the store closes");
        std::fs::remove_dir_all(&self.folder).expect("the folder goes");
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        bytes_below(&self.folder)
    }
}
