//! Recordings of whole reviews, each synced to disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use comfy_table::Table;
use weir_reviews::record::NewReview;

use super::generate::{self, Shape};
use super::scene::Scene;
use super::{right, table};
use crate::measure::{cpu_time_of, scatter, tasks};

const SHAPES: [Shape; 2] = [Shape { models: 5, findings: 40 }, Shape { models: 3, findings: 5 }];
const WRITERS: [usize; 2] = [1, 8];
/// Different reviews that are recorded in turn, under new ids.
const DIFFERENT: u64 = 64;

pub(super) async fn run(folder: &Path, length: Duration) {
    let mut rows = table([
        "recording",
        "writers",
        "reviews/s",
        "findings/s",
        "p50 ms",
        "p99 ms",
        "CPU ms/review",
    ]);
    for shape in SHAPES {
        for writers in WRITERS {
            measure(folder, shape, writers, length, &mut rows).await;
        }
    }
    println!("{rows}");
}

async fn measure(folder: &Path, shape: Shape, writers: usize, length: Duration, rows: &mut Table) {
    let name = format!("{} models × {} findings", shape.models, shape.findings);
    println!("  recording, {name}, {writers} writers");
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
    let used = cpu_time_of("self") - before;
    rows.add_row([
        name.into(),
        right(writers.to_string()),
        right(format!("{:.0}", figures.rate())),
        right(format!("{:.0}", figures.rate() * shape.findings_of_review() as f64)),
        right(format!("{:.1}", figures.micros(0.5) / 1000.0)),
        right(format!("{:.1}", figures.micros(0.99) / 1000.0)),
        right(format!("{:.2}", used.as_secs_f64() * 1e3 / figures.count as f64)),
    ]);
    scene.close().await;
}
