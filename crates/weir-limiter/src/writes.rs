//! Every write to a bucket's item, as an expression.
//!
//! A bucket is changed by others at any time: takes that ask no questions first, give-backs, refills. So a change is
//! written as the difference between what was read and what shall be, in adds that commute with takes, on condition that
//! nobody refilled meanwhile (`rf` is unchanged) and that no balance the change raises has grown, because then it could end up
//! above its capacity.

use weir_table::expr::{Condition, Update, attr};
use weir_table::{Name, Value, Write};

use crate::bucket::{Bucket, Meter};
use crate::item::{self, BucketId, CASCADE, Field, PARENT, RF, SHARD_COUNT, TTL};
use crate::keys;

/// Whether what a change takes must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// It must: no balance that falls ends below zero, whatever others took since.
    Needed,
    /// It need not: a debt, or no taking at all.
    Unneeded,
}

/// Makes a bucket that is not there.
#[must_use]
pub(crate) fn create(table: Name, id: &BucketId, bucket: &Bucket) -> Write {
    Write::put(table, item::encode(id, bucket)).when(attr("PK").absent()).flushed()
}

/// Makes a bucket where an item without what makes one is: nobody could use it.
#[must_use]
pub(crate) fn replace_bare(table: Name, id: &BucketId, bucket: &Bucket) -> Write {
    Write::put(table, item::encode(id, bucket)).when(attr(RF).absent()).flushed()
}

/// Turns `old`, as it was read, into `new`.
#[must_use]
pub(crate) fn change(
    table: Name,
    id: &BucketId,
    old: &Bucket,
    new: &Bucket,
    cover: Cover,
) -> Write {
    debug_assert_eq!(old.shard, new.shard);
    let mut update = Update::default();
    let mut all = vec![attr(RF).eq(old.refilled_ms)];
    let refilled = new.refilled_ms != old.refilled_ms;
    if refilled {
        update = update.set(RF, new.refilled_ms);
    }
    for meter in &new.meters {
        update = match old.meter(&meter.name) {
            Some(before) => {
                guard(&mut all, before, meter, refilled, cover);
                differences(update, before, meter)
            }
            None => {
                all.push(is_not_whole(meter));
                whole(update, meter)
            }
        };
    }
    for gone in old.meters.iter().filter(|meter| new.meter(&meter.name).is_none()) {
        update = removed(update, gone);
    }
    update = facts(update, old, new);
    if old.shard_count != new.shard_count {
        all.push(attr(SHARD_COUNT).eq(old.shard_count));
    }
    let key = keys::bucket(&id.ns, &id.entity, &id.resource, new.shard);
    Write::update(table, key, update).when(Condition::And(all)).flushed()
}

/// Makes a bucket again that has expired but is still there. Its counters go on, or usage would run backwards.
#[must_use]
pub(crate) fn revive(table: Name, id: &BucketId, old: &Bucket, new: &Bucket) -> Write {
    let mut update = Update::default().set(RF, new.refilled_ms);
    for meter in &new.meters {
        let before = old.meter(&meter.name);
        for (field, value) in item::numbers(meter) {
            update = match field {
                Field::Consumed if before.is_some() => update,
                _ => update.set(field.of(&meter.name), value),
            };
        }
        let taken = meter.consumed - before.map_or(0, |before| before.consumed);
        if before.is_some() && taken != 0 {
            update = update.add(Field::Consumed.of(&meter.name), taken);
        }
    }
    for gone in old.meters.iter().filter(|meter| new.meter(&meter.name).is_none()) {
        update = removed(update, gone);
    }
    update = facts(update, old, new);
    let expired = old.expires.map_or_else(|| attr(TTL).absent(), |ttl| attr(TTL).eq(ttl));
    let unchanged = attr(RF).eq(old.refilled_ms).and(expired);
    let key = keys::bucket(&id.ns, &id.entity, &id.resource, new.shard);
    Write::update(table, key, update).when(unchanged).flushed()
}

fn guard(all: &mut Vec<Condition>, before: &Meter, after: &Meter, refilled: bool, cover: Cover) {
    let tokens = Field::Tokens.of(&before.name);
    let by = after.level.tokens.saturating_sub(before.level.tokens);
    if refilled || by > 0 {
        all.push(attr(tokens.clone()).le(before.level.tokens));
    }
    if cover == Cover::Needed && by < 0 {
        all.push(attr(tokens).ge(by.saturating_neg()));
    }
}

/// The limit is not there, or half of it is: see [`item::decode`].
fn is_not_whole(meter: &Meter) -> Condition {
    let absent = |field: Field| attr(field.of(&meter.name)).absent();
    absent(Field::Tokens).or(absent(Field::Refill)).or(absent(Field::Period))
}

fn differences(mut update: Update, before: &Meter, after: &Meter) -> Update {
    let name = &after.name;
    for ((field, old), (_, new)) in item::numbers(before).into_iter().zip(item::numbers(after)) {
        if old == new {
            continue;
        }
        update = match field {
            Field::Tokens | Field::Consumed => update.add(field.of(name), new.saturating_sub(old)),
            _ => update.set(field.of(name), new),
        };
    }
    update
}

fn whole(update: Update, meter: &Meter) -> Update {
    let numbers = item::numbers(meter).into_iter();
    numbers.fold(update, |update, (field, value)| update.set(field.of(&meter.name), value))
}

fn removed(update: Update, meter: &Meter) -> Update {
    let numbers = item::numbers(meter).into_iter();
    numbers.fold(update, |update, (field, _)| update.remove(field.of(&meter.name)))
}

fn facts(mut update: Update, old: &Bucket, new: &Bucket) -> Update {
    if old.shard_count != new.shard_count {
        update = update.set(SHARD_COUNT, new.shard_count);
    }
    if old.cascade != new.cascade {
        update = update.set(CASCADE, new.cascade);
    }
    if old.parent != new.parent {
        let parent = new.parent.as_ref().map(|parent| Value::from(parent.as_str()));
        update = set_or_remove(update, PARENT, parent);
    }
    if old.expires != new.expires {
        update = set_or_remove(update, TTL, new.expires.map(Value::from));
    }
    update
}

fn set_or_remove(update: Update, name: &'static str, value: Option<Value>) -> Update {
    match value {
        Some(value) => update.set(name, value),
        None => update.remove(name),
    }
}
