//! Rollup, comparison and queries on tables of growing size, so that what grows with the table shows.

use std::path::Path;
use std::time::{Duration, Instant};

use weir_calendar::Day;
use weir_reviews::bounds::COMPARE_MODELS_MAX;
use weir_reviews::compare;
use weir_reviews::rollup::{self, DayRange, Level};

use super::generate::{self, Shape};
use super::queries::{self, Pattern};
use super::scene::{DAYS, Scene};
use super::{right, table};
use crate::measure::{load_average, resident_mib};

/// The reviews that are loaded: 40 findings each.
const SHAPE: Shape = Shape { models: 5, findings: 8 };
/// Days that the rollup takes at most; more than there are.
const BOUND: u64 = 1_000_000;
/// Reviews of most models: several on each day.
const REVIEWS_OF_MOST_MODELS: u64 = 500;
/// Comparisons of which the median is printed.
const COMPARISONS: usize = 9;

/// The figures at one size, in the order of the rows.
struct Column {
    findings: u64,
    cells: Vec<(String, String)>,
}

pub(super) async fn run(folder: &Path, sizes: &[u64], length: Duration) {
    let mut columns = Vec::new();
    for findings in sizes {
        columns.push(measure(folder, *findings, length).await);
    }
    print(&columns);
}

async fn measure(folder: &Path, findings: u64, length: Duration) -> Column {
    let scene = Scene::open(&folder.join("growth")).await;
    let count = findings / SHAPE.findings_of_review() as u64;
    println!("  {findings} findings: recording {count} reviews, load average {}", load_average());
    let loaded = scene.load(count, SHAPE).await;
    let mut column = Column { findings, cells: Vec::new() };
    column.add("reviews", count.to_string());
    column.add(
        "loaded with 8 writers, reviews/s",
        format!("{:.0}", count as f64 / loaded.as_secs_f64()),
    );
    column.add("on disk, MiB", (scene.bytes() / (1 << 20)).to_string());
    let (days, took) = full_rollup(&scene).await;
    column.add("full rollup, s", format!("{:.2}", took.as_secs_f64()));
    column.add("  days of repositories rolled up", days.to_string());
    let one = Level::Repository(generate::owner(), generate::repo(0));
    column.add(
        "comparison, all repositories, ms",
        millis(compare(&scene, &Level::All, SHAPE.models).await),
    );
    column.add("comparison, one repository, ms", millis(compare(&scene, &one, SHAPE.models).await));
    let subjects = queries::subjects(&scene).await;
    for pattern in Pattern::ALL {
        println!("  {findings} findings: {}", pattern.name());
        let figures = queries::measure(&scene, &subjects, pattern, length).await;
        let cell = format!("{:.0} ({:.2} ms)", figures.rate(), figures.micros(0.5) / 1000.0);
        column.add(format!("{}, /s", pattern.name()), cell);
    }
    column.add("resident, MiB", resident_mib().to_string());
    scene.close().await;
    column
}

/// Prints the time of a comparison of as many models as are allowed, with all their pairs.
pub(super) async fn compare_most_models(folder: &Path) {
    let scene = Scene::open(&folder.join("models")).await;
    let shape = Shape { models: COMPARE_MODELS_MAX, findings: 5 };
    scene.load(REVIEWS_OF_MOST_MODELS, shape).await;
    full_rollup(&scene).await;
    let took = compare(&scene, &Level::All, shape.models).await;
    println!("comparison of {} models over {} days: {} ms", shape.models, DAYS + 1, millis(took));
    scene.close().await;
}

/// Rolls up everything that was recorded. Returns the days of repositories and the time.
async fn full_rollup(scene: &Scene) -> (u64, Duration) {
    let (reviews, start) = (&scene.reviews, Instant::now());
    let table = reviews.rollup_table();
    let rolled = rollup::run(reviews.store(), &table, reviews.now_ms(), BOUND);
    let report = rolled.await.expect("a rollup");
    assert!(report.failed == 0 && report.contended == 0 && !report.has_more, "{report:?}");
    (report.repository_days, start.elapsed())
}

/// The median time of a comparison of all models over all days.
async fn compare(scene: &Scene, level: &Level, models: usize) -> Duration {
    let (reviews, mut times) = (&scene.reviews, Vec::new());
    let tomorrow = Day::utc(reviews.now_ms()).plus_days(1);
    let range = DayRange::new(tomorrow.plus_days(-i64::from(DAYS + 1)), tomorrow).expect("a range");
    for _ in 0..COMPARISONS {
        let start = Instant::now();
        let comparison =
            compare::read(reviews.store(), &reviews.rollup_table(), level, range, None).await;
        times.push(start.elapsed());
        assert_eq!(comparison.expect("a comparison").models.len(), models);
    }
    times.sort_unstable();
    *times.get(COMPARISONS / 2).expect("a median")
}

impl Column {
    fn add(&mut self, name: impl Into<String>, value: String) {
        self.cells.push((name.into(), value));
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

fn print(columns: &[Column]) {
    let heads = columns.iter().map(|column| format!("{} findings", column.findings));
    let mut rows = table([String::new()].into_iter().chain(heads));
    let names = columns.first().into_iter().flat_map(|column| &column.cells);
    for (number, (name, _)) in names.enumerate() {
        let cells = columns.iter().filter_map(|column| column.cells.get(number));
        let cells = cells.map(|(_, value)| right(value.clone()));
        rows.add_row([name.into()].into_iter().chain(cells));
    }
    println!("{rows}");
    println!(
        "{} models, {} repositories, {} days including today. Queries: one caller, the first page of 100 of a random repository, \
         model, day, severity, category or review; queries/s and the median latency.\n\
         Comparison: median of {COMPARISONS}, {} resamples for each interval.",
        SHAPE.models,
        generate::REPOS,
        DAYS + 1,
        weir_reviews::bounds::BOOTSTRAP_RESAMPLES,
    );
}
