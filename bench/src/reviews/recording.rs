//! Recordings of whole reviews, each synced to disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use comfy_table::Cell;
use weir_reviews::record::NewReview;

use super::generate::{self, Shape};
use super::scene::Scene;
use super::{right, table};
use crate::measure::{Figures, cpu_time_of, scatter, tasks};

pub(super) const SHAPES: [Shape; 2] =
    [Shape { models: 5, findings: 40 }, Shape { models: 3, findings: 5 }];
pub(super) const WRITERS: [usize; 2] = [1, 8];
/// Different reviews that are recorded in turn, under new ids.
pub(super) const DIFFERENT: u64 = 64;
pub(super) const COLUMNS: [&str; 7] =
    ["recording", "writers", "reviews/s", "findings/s", "p50 ms", "p99 ms", "CPU ms/review"];

/// The figures of a case.
pub(super) struct Recording {
    pub(super) shape: Shape,
    pub(super) writers: usize,
    pub(super) figures: Figures,
    pub(super) cpu_time: Duration,
}

impl Recording {
    pub(super) fn cells(&self) -> [Cell; 7] {
        let Recording { shape, writers, figures, cpu_time } = self;
        let findings = figures.rate() * shape.findings_of_review() as f64;
        let cpu_ms = cpu_time.as_secs_f64() * 1e3 / figures.count as f64;
        [
            shape.to_string().into(),
            right(writers.to_string()),
            right(format!("{:.0}", figures.rate())),
            right(format!("{findings:.0}")),
            right(format!("{:.1}", figures.micros(0.5) / 1000.0)),
            right(format!("{:.1}", figures.micros(0.99) / 1000.0)),
            right(format!("{cpu_ms:.2}")),
        ]
    }
}

pub(super) async fn run(folder: &Path, length: Duration) {
    let mut rows = table(COLUMNS);
    for shape in SHAPES {
        for writers in WRITERS {
            println!("  recording, {shape}, {writers} writers");
            rows.add_row(measure(folder, shape, writers, length).await.cells());
        }
    }
    println!("{rows}");
}

async fn measure(folder: &Path, shape: Shape, writers: usize, length: Duration) -> Recording {
    let scene = Scene::open(&folder.join("recording")).await;
    let review = |seed| generate::review(&mut fastrand::Rng::with_seed(seed), shape, None);
    let different: Arc<Vec<NewReview>> = Arc::new((0..DIFFERENT).map(review).collect());
    let (reviews, before) = (scene.reviews.clone(), cpu_time_of("self"));
    let figures = tasks(writers, length, move |caller, n| {
        let number = scatter(caller, n) % DIFFERENT;
        let review = different.get(number as usize).expect("a review").clone();
        let reviews = reviews.clone();
        async move {
            assert!(reviews.record(review, false).await.expect("a recording").changed);
        }
    })
    .await;
    let cpu_time = cpu_time_of("self") - before;
    scene.close().await;
    Recording { shape, writers, figures, cpu_time }
}
