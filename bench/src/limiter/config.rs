//! The cost of resolving the limits in force: five cases with the reads of the store metered.
//!
//! A config level is read from the store, or cached, or cached as missing (negative). Read units are
//! those that DynamoDB would charge for the levels read.

use std::path::Path;
use std::time::Instant;

use tokio::runtime::Runtime;
use weir_limiter::bounds::CONFIG_TTL_DEFAULT_MS;
use weir_limiter::config::Level;
use weir_limiter::{Limiter, Namespace};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};

use super::fixture::{self, DAY_SECS, MINUTE_SECS, entity, request, resource};
use super::metered_store::MeteredStore;
use super::read_costs::{Row, print};
use crate::measure::scatter;

const USERS: u64 = 1_000;
/// Operations per user in the cases that repeat them.
const REPEATS: u64 = 20;
const MODELS: u64 = 10;
/// A day of sparse traffic; one of `PREMIUM_ONE_IN` users has limits of its own.
const SPARSE_USERS: u64 = 20_000;
const SPARSE_REQUESTS: u64 = 200_000;
const PREMIUM_ONE_IN: usize = 20;
/// The start of that day: 15 November 2025.
const DAY_STARTS_MS: u64 = 1_763_164_800_000;
const LIMITS: [(&str, u64); 2] = [("rpm", 600), ("tpm", 1_000_000)];

/// A limiter and its namespace.
type Limited = (Limiter<MeteredStore>, Namespace<MeteredStore>);

struct Bench {
    store: Store<MeteredStore>,
    clock: Clock,
    /// Caches levels with the default TTL.
    cached: Limited,
    /// Caches nothing.
    uncached: Limited,
}

/// An operation for a user and a model.
#[derive(Clone, Copy)]
enum Operation {
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
        let store = Store::new(MeteredStore::new(embedded), cursors);
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
        let mut read = Row::new("config_read_latency", "resolve, nothing cached", "1.5 units");
        let mut first = Row::new("config_cache_hit", "", "");
        let mut hit = Row::new("config_cache_hit", "resolve, everything cached", "0 units");
        self.each(&mut read, &self.uncached, Operation::Resolve, often(0), || ()).await;
        self.each(&mut first, &self.cached, Operation::Resolve, once(0, 0), || ()).await;
        self.each(&mut hit, &self.cached, Operation::Resolve, often(0), || ()).await;
        vec![read, hit]
    }

    async fn acquire_with_config(&self) -> Vec<Row> {
        let case = "acquire_with_config";
        let mut first = Row::new(case, "first acquire of a user, nothing cached", "1.5 units");
        let mut warm = Row::new(case, "later acquires", "0 units");
        let mut off = Row::new(case, "later acquires, cache disabled", "1.5 units");
        let invalidate = || self.cached.1.invalidate(None, None);
        self.each(&mut first, &self.cached, Operation::Acquire, once(0, 1), invalidate).await;
        self.each(&mut warm, &self.cached, Operation::Acquire, often(1), || ()).await;
        self.each(&mut off, &self.uncached, Operation::Acquire, often(1), || ()).await;
        vec![first, warm, off]
    }

    /// Users without limits of their own.
    async fn negative_cache(&self) -> Vec<Row> {
        let case = "config_negative_cache";
        let mut first = Row::new(case, "first resolve of a user", "1.5 units");
        let mut second = Row::new(case, "second resolve within a minute", "1 unit");
        let mut off = Row::new(case, "second resolve, cache disabled", "1.5 units");
        self.each(&mut first, &self.cached, Operation::Resolve, once(USERS, 2), || ()).await;
        self.each(&mut second, &self.cached, Operation::Resolve, once(USERS, 2), || ()).await;
        self.each(&mut off, &self.uncached, Operation::Resolve, once(USERS, 2), || ()).await;
        vec![first, second, off]
    }

    /// Runs `before` and the operation for each user and model, and records the operation.
    async fn each(
        &self,
        row: &mut Row,
        (limiter, namespace): &Limited,
        operation: Operation,
        traffic: impl Iterator<Item = (u64, u64)>,
        before: impl Fn(),
    ) {
        let statistics = limiter.cache_statistics();
        for (user, model) in traffic {
            before();
            let request = request(&user_name(user), &model_name(model));
            let (counts, begun) = (self.store.backend().counts(), Instant::now());
            match operation {
                Operation::Resolve => {
                    let resolved = namespace.resolve(&request.entity, &request.resource, None);
                    resolved.await.expect("limits");
                }
                Operation::Acquire => {
                    let granted = fixture::acquire(namespace, &request).await;
                    assert!(granted, "{request:?} is granted");
                }
            }
            row.record(begun.elapsed(), self.store.backend().counts() - counts);
        }
        row.record_cache(statistics, limiter.cache_statistics());
    }
}

/// A day of rare requests by 20 000 users, one in twenty with limits of its own.
async fn sparse_traffic(folder: &Path) -> Vec<Row> {
    let bench = Bench::open(&folder.join("sparse"), Clock::manual(DAY_STARTS_MS)).await;
    for user in (0..SPARSE_USERS).step_by(PREMIUM_ONE_IN) {
        let level = Level::Entity(entity(&user_name(user)), None);
        fixture::set_limits(&bench.cached.1, level, &LIMITS, MINUTE_SECS).await;
    }
    let expected = "0–10 % hits, 1.35–1.5 units";
    let case = "config_sparse_traffic";
    let mut resolved = Row::new(case, "one day of resolves", expected);
    let mut acquired = Row::new(case, "next day, acquires", expected);
    let advance = || bench.clock.advance_ms(DAY_SECS * 1000 / SPARSE_REQUESTS);
    bench.each(&mut resolved, &bench.cached, Operation::Resolve, sparse(1), advance).await;
    bench.each(&mut acquired, &bench.cached, Operation::Acquire, sparse(2), advance).await;
    bench.store.backend().close().await;
    vec![resolved, acquired]
}

/// Each user once, starting with `first`.
fn once(first: u64, model: u64) -> impl Iterator<Item = (u64, u64)> {
    (first..first + USERS).map(move |user| (user, model))
}

/// Each user `REPEATS` times.
fn often(model: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..USERS * REPEATS).map(move |n| (n % USERS, model))
}

/// Random users and models.
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
