//! A limiter in this process, and acquires for it.

use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::bounds::LEASE_TTL_DEFAULT_MS;
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::ids::{EntityId, LimitName, NamespaceName, Resource};
use weir_limiter::lease::OnExpiry;
use weir_limiter::{Limiter, Namespace, Settings};
use weir_table::clock::Clock;
use weir_table::{Backend, Store};

/// The capacity of limits that are never reached.
pub(super) const PLENTY: u64 = 1_000_000_000;
pub(super) const MINUTE_SECS: u64 = 60;
pub(super) const DAY_SECS: u64 = 86_400;
/// Signs leases that are never settled.
const LEASE_KEY: [u8; 32] = [7; 32];
/// The actor of the audit events.
const ACTOR: &str = "bench";

/// Opens a limiter on a store, with its default namespace.
pub(super) async fn open<B: Backend>(
    store: Store<B>,
    clock: Clock,
    config_ttl_ms: i64,
) -> (Limiter<B>, Namespace<B>) {
    let settings = Settings { config_ttl_ms, ..Settings::new(false, LEASE_KEY) };
    let limiter = Limiter::open(store, clock, settings).await.expect("a limiter");
    let name = NamespaceName::new("default").expect("a name");
    let namespace = limiter.namespace(&name).await.expect("a namespace");
    (limiter, namespace)
}

pub(super) fn entity(text: &str) -> EntityId {
    EntityId::new(text).expect("an entity")
}

pub(super) fn resource(text: &str) -> Resource {
    Resource::new(text).expect("a resource")
}

pub(super) fn limit_name(text: &str) -> LimitName {
    LimitName::new(text).expect("a limit")
}

/// Sets the limits of a level by name and capacity; each refills completely in `period_secs`.
pub(super) async fn set_limits<B: Backend>(
    namespace: &Namespace<B>,
    level: Level,
    limits: &[(&str, u64)],
    period_secs: u64,
) {
    let limit = |(name, capacity): &(&str, u64)| Limit {
        name: limit_name(name),
        capacity: *capacity,
        refill_amount: *capacity,
        refill_period_seconds: period_secs,
    };
    let config = LevelConfig { limits: limits.iter().map(limit).collect(), ..Default::default() };
    namespace.set_limits(&level, config, ACTOR).await.expect("limits");
}

/// Creates an entity whose acquires cascade to its parent.
pub(super) async fn put_child<B: Backend>(namespace: &Namespace<B>, child: &str, parent: &str) {
    let new = NewEntity { parent: Some(entity(parent)), cascade: true, ..NewEntity::default() };
    namespace.put_entity(&entity(child), new, ACTOR).await.expect("a child");
}

/// Creates an entity without a parent.
pub(super) async fn put_entity<B: Backend>(namespace: &Namespace<B>, id: &str) {
    namespace.put_entity(&entity(id), NewEntity::default(), ACTOR).await.expect("an entity");
}

/// An acquire of 1 `rpm` and 100 `tpm`.
pub(super) fn request(entity_id: &str, on: &str) -> Acquire {
    Acquire {
        entity: entity(entity_id),
        resource: resource(on),
        consume: [(limit_name("rpm"), 1), (limit_name("tpm"), 100)].into(),
        limits: None,
        lease_ttl_ms: LEASE_TTL_DEFAULT_MS,
        on_expiry: OnExpiry::Keep,
        dry_run: false,
        idempotency_key: None,
    }
}

/// Acquires, and returns whether the request was granted.
pub(super) async fn acquire<B: Backend>(namespace: &Namespace<B>, request: &Acquire) -> bool {
    let acquired = namespace.acquire(request).await.expect("a decision");
    matches!(acquired, Acquired::Granted(_))
}
