//! What clients and operators ask of a limiter, by chance.

use std::collections::BTreeMap;

use weir_limiter::acquire::Acquire;
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig, OnUnavailable};
use weir_limiter::entities::NewEntity;
use weir_limiter::ids::{EntityId, LimitName, Resource};
use weir_limiter::lease::{OnExpiry, Settle};

use crate::random::Random;

/// Two children, their possible parents, and one on its own.
const ENTITIES: [&str; 5] = ["ann", "ben", "team", "club", "solo"];
/// The last one has limits only where callers bring theirs.
const RESOURCES: [&str; 3] = ["gpt", "opus", "byo"];
const LIMITS: [&str; 2] = ["rpm", "tpm"];

/// An entity by name.
#[must_use]
pub(super) fn entity(name: &str) -> EntityId {
    EntityId::new(name).expect("a valid name")
}

/// All entities.
#[must_use]
pub(super) fn entities() -> Vec<EntityId> {
    ENTITIES.map(entity).into()
}

/// All limits.
#[must_use]
pub(super) fn limit_names() -> Vec<LimitName> {
    LIMITS.map(|name| LimitName::new(name).expect("a valid name")).into()
}

fn any_entity(random: &mut Random) -> EntityId {
    entity(random.weighted(&[(4, "ann"), (3, "ben"), (1, "team"), (1, "club"), (2, "solo")]))
}

fn any_resource(random: &mut Random) -> Resource {
    Resource::new(random.weighted(&[(4, "gpt"), (2, "opus"), (2, "byo")])).expect("a valid name")
}

/// A set of limits.
pub(super) fn limits(random: &mut Random) -> Vec<Limit> {
    let mut names = limit_names();
    if random.percent(40) {
        names.remove(random.index(2));
    }
    let limit = |name: LimitName| {
        let capacity = *random.pick(&[2, 5, 10, 100]);
        Limit {
            name,
            capacity,
            refill_amount: *random.pick(&[1, 3, capacity]),
            refill_period_seconds: *random.pick(&[1, 7, 60, 600]),
        }
    };
    names.into_iter().map(limit).collect()
}

/// A request for tokens. `known` are limits that a bucket is likely to have.
pub(super) fn acquire(random: &mut Random) -> Acquire {
    let resource = any_resource(random);
    let mut consume = BTreeMap::new();
    let names = limit_names();
    let count = if random.percent(30) { 2 } else { 1 };
    for name in names.iter().skip(random.index(2)).chain(&names).take(count) {
        consume.insert(name.clone(), amount(random));
    }
    if random.percent(2) {
        consume.insert(LimitName::new("other").expect("a valid name"), 1);
    }
    let mut request = Acquire::new(any_entity(random), resource, consume);
    if request.resource.as_str() == RESOURCES[2] && random.percent(60) {
        request.limits = Some(limits(random));
    }
    if random.percent(15) {
        request.on_expiry = OnExpiry::Rollback;
    }
    request.lease_ttl_ms = *random.pick(&[2_000, 60_000, 600_000]);
    request
}

fn amount(random: &mut Random) -> i64 {
    match random.number(0..=9) {
        0..=5 => random.number(1..=3),
        6 | 7 => *random.pick(&[2, 5, 10, 100]),
        8 => *random.pick(&[4, 9, 50, 99]),
        _ => random.number(1..=110),
    }
}

/// A settlement of a lease that holds some of these limits.
pub(super) fn settle(random: &mut Random, held: &BTreeMap<LimitName, i64>) -> Settle {
    let names: Vec<&LimitName> = held.keys().collect();
    let Some(name) = (!names.is_empty()).then(|| (*random.pick(&names)).clone()) else {
        return Settle::Commit;
    };
    let of = |amount: i64| BTreeMap::from([(name.clone(), amount)]);
    let holds = held.get(&name).copied().unwrap_or_default();
    match random.number(0..=9) {
        0 => Settle::Commit,
        1 => Settle::Rollback,
        2 => Settle::Release(BTreeMap::new()),
        3 if holds > 0 => Settle::Release(of(random.number(1..=holds))),
        4 => Settle::Consume(of(random.number(1..=5))),
        5 if holds > 0 => Settle::Adjust(of(-random.number(1..=holds))),
        // A debt of many times the capacity.
        6 => Settle::Adjust(of(random.number(100..=3_000))),
        _ => Settle::Adjust(of(random.number(1..=20))),
    }
}

/// A level of the config and what it becomes. Callers bring their own limits for the last resource, so no level has any
/// for it.
pub(super) fn config(random: &mut Random, has_system: bool) -> (Level, Option<LevelConfig>) {
    let resource = Resource::new(*random.pick(&RESOURCES[..2])).expect("a valid name");
    let level = match random.number(0..=9) {
        0 if has_system => Level::System,
        0..=4 => Level::Resource(resource),
        5 if has_system => Level::Entity(any_entity(random), None),
        _ => Level::Entity(any_entity(random), Some(resource)),
    };
    if random.percent(25) {
        return (level, None);
    }
    let on_unavailable = random.percent(20).then_some(OnUnavailable::Allow);
    (level, Some(LevelConfig { limits: limits(random), on_unavailable, ..LevelConfig::default() }))
}

/// A child and what it becomes.
pub(super) fn child(random: &mut Random) -> (EntityId, NewEntity) {
    let id = entity(random.pick::<&str>(&ENTITIES[..2]));
    let parent = entity(random.pick::<&str>(&ENTITIES[2..4]));
    let parent = random.percent(85).then_some(parent);
    let cascade = parent.is_some() && random.percent(85);
    (id, NewEntity { parent, cascade, ..NewEntity::default() })
}

/// The entities that can be parents.
#[must_use]
pub(super) fn parents() -> Vec<EntityId> {
    ENTITIES[2..4].iter().map(|name| entity(name)).collect()
}
