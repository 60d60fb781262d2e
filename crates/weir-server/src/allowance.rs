//! Rate limits of the API itself, enforced with our own limiter in a namespace of its own.
//!
//! An instance takes tokens from the limiter in chunks of a tenth of a bucket's capacity and spends them from memory, so most
//! requests cost no write. The rest of a chunk expires after a period, when the bucket has refilled. A caller therefore never
//! gets more than its bucket has, and an instance never holds more than a chunk. Operators change a rate by setting limits for its
//! resource in the namespace, like any other limits.
//!
//! A full disk refuses the limiter's writes, but not the reads, deletions and sign-ins that the rates are for. Then each instance
//! gives a caller one chunk per period without the limiter.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use tokio::sync::OnceCell;
use weir_limiter::acquire::{Acquire, Acquired, LimitStatus, Refused};
use weir_limiter::bucket::Limit;
use weir_limiter::ids::{EntityId, LimitName, NamespaceName, Resource};
use weir_limiter::{Limiter, Namespace};
use weir_table::AnyBackend;

use crate::limiter::error::LimiterError;
use weir_framework::app::App;
use weir_framework::client_address::site;
use weir_framework::limits::RateLimitHeader;
use weir_framework::{ApiError, Code};

/// The namespace of the API's own limits.
pub(crate) const NAMESPACE: &str = "weir-api";
/// The limit of each resource there.
const LIMIT: &str = "requests";
/// Fraction of a bucket that a chunk takes.
const CHUNKS: u64 = 10;
/// Capacity of the cache of callers. An evicted caller loses the rest of its chunk.
const CALLERS_MAX: usize = 64 * 1024;
const MS: i64 = 1_000;

/// A rate limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rate {
    /// The limited operation: a resource in [`NAMESPACE`].
    pub name: &'static str,
    /// Requests per period.
    pub quota: u64,
    /// Length of the period.
    pub period_secs: u64,
}

/// The tokens that callers have left at one rate.
pub(crate) struct Allowance {
    rate: Rate,
    namespace: OnceCell<Namespace<AnyBackend>>,
    purses: Cache<String, Arc<Purse>>,
}

impl std::fmt::Debug for Allowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allowance").field("rate", &self.rate).finish_non_exhaustive()
    }
}

/// The rest of one caller's chunk.
#[derive(Debug, Default)]
struct Purse {
    left: Mutex<Left>,
    /// Held while a request fetches the next chunk, which serves all waiting requests.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Left {
    tokens: u64,
    until_ms: i64,
    /// End of the period of the last chunk that came without the limiter.
    without_limiter_until_ms: i64,
}

impl Purse {
    /// Takes tokens from the rest of the chunk.
    fn pay(&self, tokens: u64, now_ms: i64) -> bool {
        let mut left = self.left.lock();
        if now_ms >= left.until_ms || left.tokens < tokens {
            return false;
        }
        left.tokens -= tokens;
        true
    }

    /// Gives tokens back to a chunk that has not expired.
    fn pay_back(&self, tokens: u64, now_ms: i64) {
        let mut left = self.left.lock();
        if now_ms < left.until_ms {
            left.tokens = left.tokens.saturating_add(tokens);
        }
    }

    fn put(&self, tokens: u64, until_ms: i64, now_ms: i64) {
        let mut left = self.left.lock();
        let kept = if now_ms < left.until_ms { left.tokens } else { 0 };
        *left = Left { tokens: kept.saturating_add(tokens), until_ms, ..*left };
    }

    /// Begins a period in which a chunk came without the limiter; the end of the current one if there is one.
    fn begin_without_limiter(&self, until_ms: i64, now_ms: i64) -> Result<(), i64> {
        let mut left = self.left.lock();
        if now_ms < left.without_limiter_until_ms {
            return Err(left.without_limiter_until_ms);
        }
        left.without_limiter_until_ms = until_ms;
        Ok(())
    }
}

impl Allowance {
    /// An allowance with this rate.
    #[must_use]
    pub(crate) fn new(rate: Rate) -> Allowance {
        Allowance { rate, namespace: OnceCell::new(), purses: Cache::new(CALLERS_MAX) }
    }

    /// Counts `tokens` requests of `who`.
    ///
    /// # Errors
    /// The rate limit is exceeded (429 with `Retry-After`), or the limiter's store fails.
    pub(crate) async fn spend(
        &self,
        app: &App,
        who: &str,
        tokens: u64,
    ) -> Result<(), LimiterError> {
        let now_ms = i64::try_from(app.now_ms()).unwrap_or(i64::MAX);
        let purse = match self.purses.get(who) {
            Some(purse) => purse,
            None => self.purses.get_or_insert_with(who, || Ok::<_, ApiError>(Arc::default()))?,
        };
        if purse.pay(tokens, now_ms) {
            return Ok(());
        }
        let _fetching = purse.fetching.lock().await;
        if purse.pay(tokens, now_ms) {
            return Ok(());
        }
        let period_ms = i64::try_from(self.rate.period_secs).unwrap_or(i64::MAX).saturating_mul(MS);
        let until_ms = now_ms.saturating_add(period_ms);
        let taken = match self.fetch(app, who, tokens).await.map_err(ApiError::from) {
            Err(error) if error.code() == Code::INSUFFICIENT_STORAGE => {
                self.chunk_without_limiter(&purse, tokens, until_ms, now_ms)?
            }
            taken => taken?,
        };
        purse.put(taken - tokens, until_ms, now_ms);
        Ok(())
    }

    /// The size of the chunk of a caller whose bucket cannot be written, because the disk is full.
    fn chunk_without_limiter(
        &self,
        purse: &Purse,
        tokens: u64,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<u64, ApiError> {
        let chunk = (self.rate.quota / CHUNKS).max(1);
        let begun = match tokens <= chunk {
            true => purse.begin_without_limiter(until_ms, now_ms),
            false => Err(until_ms),
        };
        begun.map(|()| chunk).map_err(|until_ms| {
            let Rate { name, period_secs, .. } = self.rate;
            let detail = format!(
                "rate limit exceeded: while the disk is full, {name} allows {chunk} requests in {period_secs} s"
            );
            refusal_of(&self.rate, (chunk, period_secs), 0, until_ms - now_ms, detail)
        })
    }

    /// Takes back that `who` made `tokens` requests, which [`Allowance::spend`] counted.
    pub(crate) fn refund(&self, app: &App, who: &str, tokens: u64) {
        let now_ms = i64::try_from(app.now_ms()).unwrap_or(i64::MAX);
        if let Some(purse) = self.purses.get(who) {
            purse.pay_back(tokens, now_ms);
        }
    }

    /// Takes a chunk or, if there are not enough tokens, only the requested ones. Returns the number taken.
    async fn fetch(&self, app: &App, who: &str, tokens: u64) -> Result<u64, LimiterError> {
        let chunk = tokens.max(self.rate.quota / CHUNKS);
        if chunk > tokens && matches!(self.take(app, who, chunk).await, Ok(Acquired::Granted(_))) {
            return Ok(chunk);
        }
        match self.take(app, who, tokens).await? {
            Acquired::Granted(_) => Ok(tokens),
            Acquired::Refused(refused) => Err(refusal(&self.rate, &refused).into()),
        }
    }

    async fn take(&self, app: &App, who: &str, tokens: u64) -> Result<Acquired, LimiterError> {
        let name = LimitName::new(LIMIT)?;
        let amount = i64::try_from(tokens).unwrap_or(i64::MAX);
        let consume = BTreeMap::from([(name.clone(), amount)]);
        let limit = Limit {
            name,
            capacity: self.rate.quota,
            refill_amount: self.rate.quota,
            refill_period_seconds: self.rate.period_secs,
        };
        let ask = Acquire {
            limits: Some(vec![limit]),
            ..Acquire::new(entity(who)?, Resource::new(self.rate.name)?, consume)
        };
        let namespace = self.namespace.get_or_try_init(|| open(app)).await?;
        Ok(namespace.acquire(&ask).await?)
    }
}

async fn open(app: &App) -> Result<Namespace<AnyBackend>, LimiterError> {
    let limiter: &Limiter<AnyBackend> = app.kept_by("limiter")?;
    let name = NamespaceName::new(NAMESPACE)?;
    limiter.create_namespace(&name, "weir").await?;
    Ok(limiter.namespace(&name).await?)
}

/// The caller as an entity of the limiter: its id, or a hash of an id that the limiter does not accept.
fn entity(who: &str) -> Result<EntityId, LimiterError> {
    let by_digest = || {
        let digest = ring::digest::digest(&ring::digest::SHA256, who.as_bytes());
        let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        EntityId::new(format!("sha256-{hex}"))
    };
    Ok(EntityId::new(who).or_else(|_| by_digest())?)
}

/// The entity of an address and of all others of its site.
pub(crate) fn site_entity(address: IpAddr) -> String {
    match site(address) {
        IpAddr::V4(address) => address.to_string(),
        // The other half is zero.
        IpAddr::V6(address) => format!("ip6-{:016x}", address.to_bits() >> 64),
    }
}

fn refusal(rate: &Rate, refused: &Refused) -> ApiError {
    let held = refused.limits.first();
    let quota = held.map_or(rate.quota, |status: &LimitStatus| status.limit.capacity);
    let window_secs = held.map_or(rate.period_secs, |status| status.limit.refill_period_seconds);
    let remaining = held.map_or(0, |status| status.available_milli.max(0).unsigned_abs() / 1_000);
    let detail =
        format!("rate limit exceeded: {} allows {quota} requests in {window_secs} s", rate.name);
    refusal_of(rate, (quota, window_secs), remaining, refused.retry_after_ms, detail)
}

/// The refusal of a rate that allows `quota` requests in `window_secs`.
fn refusal_of(
    rate: &Rate,
    (quota, window_secs): (u64, u64),
    remaining: u64,
    retry_after_ms: i64,
    detail: String,
) -> ApiError {
    let reset_secs = retry_after_ms.max(0).unsigned_abs().div_ceil(MS.unsigned_abs());
    let limit =
        RateLimitHeader { name: rate.name.into(), quota, window_secs, remaining, reset_secs };
    let error = ApiError::new(Code::RATE_LIMIT_EXCEEDED, detail);
    limit.refuse(error.with("retry_after_ms", retry_after_ms).with("limit", rate.name))
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use weir_limiter::config::{Level, LevelConfig};
    use weir_table::clock::Clock;
    use weir_table::embedded::{Embedded, Options};
    use weir_table::{AnyBackend, Store};
    use weir_testkit::{FaultyDisk, eventually_eq};

    use super::*;
    use crate::limiter::LimiterService;
    use weir_framework::app::{Service, Settings};
    use weir_framework::auth::Secret;
    use weir_framework::testing::{ADMIN_KEY, NOON_MS};

    const RATE: Rate = Rate { name: "tests", quota: 100, period_secs: 60 };

    async fn app() -> (App, tempfile::TempDir) {
        app_on(FaultyDisk::default()).await
    }

    async fn app_on(disk: FaultyDisk) -> (App, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::manual(NOON_MS);
        // The store deletes expired items by its clock, so both must use the same clock.
        let mut options = Options { clock: clock.clone(), ..Options::new(folder.path()) };
        options.disk = Arc::new(disk);
        let embedded = Embedded::open(options).unwrap();
        let cursors = embedded.cursor_key();
        let store = Store::new(AnyBackend::Embedded(embedded), cursors);
        let mut settings = Settings { clock, ..Settings::default() };
        settings.auth.admin_key = Some(Secret::new(ADMIN_KEY));
        let services: [Box<dyn Service>; 1] = [Box::new(LimiterService::default())];
        let data = Some(folder.path().to_owned());
        (App::open(store, settings, data, &services).await.unwrap(), folder)
    }

    /// The number of accepted requests of `tries` concurrent ones.
    async fn let_in(allowance: &Arc<Allowance>, app: &App, who: &str, tries: usize) -> usize {
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..tries {
            let (allowance, app, who) = (Arc::clone(allowance), app.clone(), who.to_owned());
            asked.spawn(async move { allowance.spend(&app, &who, 1).await.is_ok() });
        }
        asked.join_all().await.into_iter().filter(|is_in| *is_in).count()
    }

    fn commits(app: &App) -> u64 {
        match app.store().backend() {
            AnyBackend::Embedded(embedded) => embedded.stats().last_seq,
            _ => 0,
        }
    }

    #[tokio::test]
    async fn a_refunded_request_does_not_count() {
        let (app, _folder) = app().await;
        let allowance = Arc::new(Allowance::new(Rate { quota: 3, ..RATE }));
        for _ in 0..10 {
            assert_eq!(let_in(&allowance, &app, "anna", 1).await, 1);
            allowance.refund(&app, "anna", 1);
        }
        assert_eq!(let_in(&allowance, &app, "anna", 5).await, 3);
        allowance.refund(&app, "nobody", 1);
    }

    #[tokio::test]
    async fn everybody_gets_the_quota_and_a_request_costs_no_write() {
        let (app, _folder) = app().await;
        let allowance = Arc::new(Allowance::new(RATE));
        assert_eq!(let_in(&allowance, &app, "anna", 1).await, 1);
        let before = commits(&app);
        assert_eq!(let_in(&allowance, &app, "anna", 150).await, 99);
        assert!(commits(&app) - before <= 20, "{} writes", commits(&app) - before);
        assert_eq!(let_in(&allowance, &app, "ben", 150).await, 100);
        let error: ApiError = allowance.spend(&app, "anna", 1).await.unwrap_err().into();
        assert_eq!(error.code(), Code::RATE_LIMIT_EXCEEDED);
        assert_eq!(error.detail, "rate limit exceeded: tests allows 100 requests in 60 s");
        assert!(error.into_response().headers().contains_key("retry-after"));
    }

    #[tokio::test]
    async fn a_period_later_there_is_as_much_again_and_no_more() {
        let (app, _folder) = app().await;
        let allowance = Arc::new(Allowance::new(RATE));
        assert_eq!(let_in(&allowance, &app, "anna", 150).await, 100);
        app.clock().advance_ms(60_000);
        assert_eq!(let_in(&allowance, &app, "anna", 150).await, 100);
    }

    #[tokio::test]
    async fn what_is_left_of_a_chunk_is_forgotten_after_a_period() {
        let purse = Purse::default();
        purse.put(9, 60_000, 0);
        assert!(purse.pay(8, 59_999) && !purse.pay(2, 59_999) && !purse.pay(1, 60_000));
        purse.put(5, 120_000, 60_000);
        assert!(purse.pay(5, 60_000) && !purse.pay(1, 60_000));
    }

    #[tokio::test]
    async fn a_full_disk_leaves_everybody_one_chunk_per_period() {
        let disk = FaultyDisk::default();
        let (app, _folder) = app_on(disk.clone()).await;
        let allowance = Arc::new(Allowance::new(RATE));
        disk.set_full(true);
        for who in ["anna", "ben"] {
            assert_eq!(let_in(&allowance, &app, who, 30).await, 10, "{who}");
        }
        let error: ApiError = allowance.spend(&app, "anna", 1).await.unwrap_err().into();
        assert_eq!(error.code(), Code::RATE_LIMIT_EXCEEDED);
        let expected =
            "rate limit exceeded: while the disk is full, tests allows 10 requests in 60 s";
        assert_eq!(error.detail, expected);
        assert!(error.into_response().headers().contains_key("retry-after"));
        assert!(allowance.spend(&app, "carl", 11).await.is_err());
        app.clock().advance_ms(60_000);
        assert_eq!(let_in(&allowance, &app, "anna", 30).await, 10);
        disk.set_full(false);
        let next_period = async || {
            app.clock().advance_ms(60_000);
            let_in(&allowance, &app, "anna", 150).await
        };
        eventually_eq(100, next_period).await;
    }

    #[tokio::test]
    async fn instances_share_the_quota() {
        let (app, _folder) = app().await;
        let (here, there) = (Arc::new(Allowance::new(RATE)), Arc::new(Allowance::new(RATE)));
        let mut all = 0;
        for _ in 0..150 {
            all += let_in(&here, &app, "anna", 1).await + let_in(&there, &app, "anna", 1).await;
        }
        assert_eq!(all, 100);
    }

    #[tokio::test]
    async fn an_operator_sets_another_rate_like_any_limit() {
        let (app, _folder) = app().await;
        let ns = open(&app).await.unwrap();
        let limit = Limit {
            name: LimitName::new(LIMIT).unwrap(),
            capacity: 3,
            refill_amount: 3,
            refill_period_seconds: 60,
        };
        let level = Level::Resource(Resource::new("tests").unwrap());
        let config = LevelConfig { limits: vec![limit], ..LevelConfig::default() };
        ns.set_limits(&level, config, "operator").await.unwrap();
        assert_eq!(let_in(&Arc::new(Allowance::new(RATE)), &app, "anna", 10).await, 3);
    }

    #[tokio::test]
    async fn callers_that_are_no_entities_are_known_by_a_digest() {
        let (app, _folder) = app().await;
        let allowance = Arc::new(Allowance::new(Rate { quota: 1, ..RATE }));
        for who in ["", "a b#c/d", "::1"] {
            assert_eq!(let_in(&allowance, &app, who, 3).await, 1, "{who:?}");
        }
    }

    #[test]
    fn addresses_of_one_site_share_a_limit() {
        let site = |text: &str| site_entity(text.parse().unwrap());
        assert_eq!(site("192.0.2.7"), "192.0.2.7");
        assert_eq!(site("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(site("2001:db8:1:2::1"), site("2001:db8:1:2:ffff::9"));
        assert_ne!(site("2001:db8:1:2::1"), site("2001:db8:1:3::1"));
    }
}
