//! What it costs to know whose limits hold: five cases, with the reads of the store counted.
//!
//! Cold is a level that is read, warm one that is remembered, negative one that is remembered to be
//! absent. Read units are those that DynamoDB would charge for the config levels that were read.

use std::path::Path;
use std::time::Instant;

use tokio::runtime::Runtime;
use weir_limiter::bounds::CONFIG_TTL_DEFAULT_MS;
use weir_limiter::config::Level;
use weir_limiter::{Limiter, Namespace};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};

use super::counting::Counting;
use super::fixture::{self, DAY_SECS, MINUTE_SECS, entity, request, resource};
use super::reads::{Row, print};
use crate::measure::scatter;

const USERS: u64 = 1_000;
/// How often each of them is asked about where it can be repeated.
const REPEATS: u64 = 20;
const MODELS: u64 = 10;
/// The day of traffic: users, requests, and of how many users one has limits of its own.
const SPARSE_USERS: u64 = 20_000;
const SPARSE_REQUESTS: u64 = 200_000;
const PREMIUM_ONE_IN: usize = 20;
/// When that day begins: 15 November 2025.
const DAY_STARTS_MS: u64 = 1_763_164_800_000;
const LIMITS: [(&str, u64); 2] = [("rpm", 600), ("tpm", 1_000_000)];

/// A limiter and its namespace.
type Limited = (Limiter<Counting>, Namespace<Counting>);

struct Bench {
    store: Store<Counting>,
    clock: Clock,
    /// Remembers levels as by default.
    cached: Limited,
    /// Remembers none.
    uncached: Limited,
}

/// What is done for a user and a model.
#[derive(Clone, Copy)]
enum Do {
    Resolve,
    Acquire,
}

pub(super) fn run(folder: &Path) {
    let runtime = Runtime::new().expect("tokio");
    let rows = runtime.block_on(async {
        let bench = Bench::open(&folder.join("config"), Clock::System).await;
        let mut rows = bench.read_and_hit().await;
        rows.extend(bench.acquire_with_config().await);
        rows.extend(bench.negative_cache().await);
        bench.store.backend().close().await;
        rows.extend(sparse_traffic(folder).await);
        rows
    });
    print(&rows);
}

impl Bench {
    async fn open(folder: &Path, clock: Clock) -> Bench {
        let options = Options { clock: clock.clone(), ..Options::new(folder) };
        let embedded = Embedded::open(options).expect("the store opens");
        let cursors = embedded.cursor_key();
        let store = Store::new(Counting::new(embedded), cursors);
        let cached = fixture::open(store.clone(), clock.clone(), CONFIG_TTL_DEFAULT_MS).await;
        let uncached = fixture::open(store.clone(), clock.clone(), 0).await;
        fixture::set_limits(&cached.1, Level::System, &LIMITS, MINUTE_SECS).await;
        for model in 0..MODELS {
            let level = Level::Resource(resource(&model_name(model)));
            fixture::set_limits(&cached.1, level, &LIMITS, MINUTE_SECS).await;
        }
        Bench { store, clock, cached, uncached }
    }

    async fn read_and_hit(&self) -> Vec<Row> {
        let mut read = Row::new("config_read_latency", "resolve, nothing remembered", "1.5 units");
        let mut first = Row::new("config_cache_hit", "", "");
        let mut hit = Row::new("config_cache_hit", "resolve, all remembered", "0 units");
        self.each(&mut read, &self.uncached, Do::Resolve, often(0), || ()).await;
        self.each(&mut first, &self.cached, Do::Resolve, once(0, 0), || ()).await;
        self.each(&mut hit, &self.cached, Do::Resolve, often(0), || ()).await;
        vec![read, hit]
    }

    async fn acquire_with_config(&self) -> Vec<Row> {
        let case = "acquire_with_config";
        let mut first = Row::new(case, "first acquire of a user, nothing remembered", "1.5 units");
        let mut warm = Row::new(case, "acquires after it", "0 units");
        let mut off = Row::new(case, "the same, no config remembered", "1.5 units");
        let forget = || self.cached.1.invalidate(None, None);
        self.each(&mut first, &self.cached, Do::Acquire, once(0, 1), forget).await;
        self.each(&mut warm, &self.cached, Do::Acquire, often(1), || ()).await;
        self.each(&mut off, &self.uncached, Do::Acquire, often(1), || ()).await;
        vec![first, warm, off]
    }

    /// Users without limits of their own, of which most are.
    async fn negative_cache(&self) -> Vec<Row> {
        let case = "config_negative_cache";
        let mut first = Row::new(case, "a user's first resolve", "1.5 units");
        let mut second = Row::new(case, "its second within a minute", "1 unit");
        let mut off = Row::new(case, "the same, nothing remembered", "1.5 units");
        self.each(&mut first, &self.cached, Do::Resolve, once(USERS, 2), || ()).await;
        self.each(&mut second, &self.cached, Do::Resolve, once(USERS, 2), || ()).await;
        self.each(&mut off, &self.uncached, Do::Resolve, once(USERS, 2), || ()).await;
        vec![first, second, off]
    }

    /// Does it for each user and model, after `before`, and counts.
    async fn each(
        &self,
        row: &mut Row,
        (limiter, namespace): &Limited,
        what: Do,
        traffic: impl Iterator<Item = (u64, u64)>,
        before: impl Fn(),
    ) {
        let statistics = limiter.config_cache();
        for (user, model) in traffic {
            before();
            let request = request(&user_name(user), &model_name(model));
            let (counts, begun) = (self.store.backend().counts(), Instant::now());
            match what {
                Do::Resolve => {
                    let resolved = namespace.resolve(&request.entity, &request.resource, None);
                    resolved.await.expect("limits");
                }
                Do::Acquire => {
                    let granted = fixture::acquire(namespace, &request).await;
                    assert!(granted, "{request:?} is granted");
                }
            }
            row.record(begun.elapsed(), self.store.backend().counts() - counts);
        }
        row.remembered(statistics, limiter.config_cache());
    }
}

/// A day of 20 000 users who come now and then, one in twenty with limits of its own.
async fn sparse_traffic(folder: &Path) -> Vec<Row> {
    let bench = Bench::open(&folder.join("sparse"), Clock::manual(DAY_STARTS_MS)).await;
    for user in (0..SPARSE_USERS).step_by(PREMIUM_ONE_IN) {
        let level = Level::Entity(entity(&user_name(user)), None);
        fixture::set_limits(&bench.cached.1, level, &LIMITS, MINUTE_SECS).await;
    }
    let reckoned = "0–10 % hits, 1.35–1.5 units";
    let case = "config_sparse_traffic";
    let mut resolved = Row::new(case, "a day of resolves", reckoned);
    let mut acquired = Row::new(case, "the next day, of acquires", reckoned);
    let later = || bench.clock.advance_ms(DAY_SECS * 1000 / SPARSE_REQUESTS);
    bench.each(&mut resolved, &bench.cached, Do::Resolve, sparse(1), later).await;
    bench.each(&mut acquired, &bench.cached, Do::Acquire, sparse(2), later).await;
    bench.store.backend().close().await;
    vec![resolved, acquired]
}

/// Each of the users once, from `first` on.
fn once(first: u64, model: u64) -> impl Iterator<Item = (u64, u64)> {
    (first..first + USERS).map(move |user| (user, model))
}

/// Each of the first users often.
fn often(model: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..USERS * REPEATS).map(move |n| (n % USERS, model))
}

/// Anybody for anything.
fn sparse(day: usize) -> impl Iterator<Item = (u64, u64)> {
    (0..SPARSE_REQUESTS).map(move |n| {
        let scattered = scatter(day, n);
        (scattered % SPARSE_USERS, scattered / SPARSE_USERS % MODELS)
    })
}

fn user_name(number: u64) -> String {
    format!("user-{number}")
}

fn model_name(number: u64) -> String {
    format!("model-{number}")
}
