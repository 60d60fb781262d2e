//! Every write to a bucket's item, as an expression.
//!
//! Other processes change a bucket at any time: unconditional takes, refunds, refills. So a change is written as the
//! difference between what was read and the new state, in additions that commute with takes, on condition that nobody
//! refilled meanwhile (`rf` is unchanged) and that no balance which the change raises has grown: it could exceed its
//! capacity.

use weir_table::expr::{Condition, Update, attr};
use weir_table::{Name, Value, Write};

use crate::bucket::{Bucket, Meter};
use crate::faults::{self, Fault};
use crate::item::{
    self, BucketId, CASCADE, Field, GRANTED_UNTIL, ORIGIN, PARENT, RETIRED, RF, SHARD_COUNT, TTL,
};
use crate::keys;

/// Whether the balances must cover what a change takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// They must: no falling balance ends below zero, whatever others took since.
    Required,
    /// They need not: the change may leave a debt, or takes nothing.
    NotRequired,
}

/// Creates a bucket that does not exist.
#[must_use]
pub(crate) fn create(table: Name, id: &BucketId, bucket: &Bucket) -> Write {
    Write::put(table, item::encode(id, bucket)).when(attr("PK").absent()).flushed()
}

/// Replaces an incomplete item, which nobody can take from, with a bucket.
#[must_use]
pub(crate) fn replace_incomplete(table: Name, id: &BucketId, bucket: &Bucket) -> Write {
    Write::put(table, item::encode(id, bucket)).when(attr(RF).absent()).flushed()
}

/// Changes `old`, as it was read, into `new`.
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
    let mut conditions = vec![attr(RF).eq(old.refilled_ms)];
    let refilled = new.refilled_ms != old.refilled_ms;
    if refilled {
        update = update.set(RF, new.refilled_ms);
    }
    for meter in &new.meters {
        update = match old.meter(&meter.name) {
            Some(before) => {
                meter_conditions(&mut conditions, before, meter, refilled, cover);
                let taken = meter.consumed.saturating_sub(before.consumed);
                let refilled_to = meter.level.tokens.saturating_add(taken);
                // A refill that stops at the capacity depends on the exact balance.
                if refilled && refilled_to >= new.share(meter).capacity {
                    let tokens = Field::Tokens.of(&before.name);
                    conditions.push(attr(tokens).ge(before.level.tokens));
                }
                differences(update, before, meter)
            }
            None => {
                conditions.push(is_incomplete(meter));
                set_all(update, meter)
            }
        };
    }
    for old_meter in old.meters.iter().filter(|meter| new.meter(&meter.name).is_none()) {
        update = remove_all(update, old_meter);
    }
    update = bucket_attributes(update, old, new);
    if old.shard_count != new.shard_count {
        conditions.push(attr(SHARD_COUNT).eq(old.shard_count));
    }
    // Others may have set a later expiry meanwhile.
    if let Some(expires) = new.expires.filter(|_| old.expires != new.expires)
        && !faults::is(Fault::ExpiryLowered)
    {
        conditions.push(attr(TTL).absent().or(attr(TTL).le(expires)));
    }
    let key = keys::bucket(&id.ns, &id.entity, &id.resource, new.shard);
    Write::update(table, key, update).when(Condition::And(conditions)).flushed()
}

/// Replaces an expired bucket that was not deleted yet. Its counters continue, or usage would run backwards.
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
    for old_meter in old.meters.iter().filter(|meter| new.meter(&meter.name).is_none()) {
        update = remove_all(update, old_meter);
    }
    update = bucket_attributes(update, old, new);
    let expired = old.expires.map_or_else(|| attr(TTL).absent(), |ttl| attr(TTL).eq(ttl));
    let unchanged = attr(RF).eq(old.refilled_ms).and(expired);
    let key = keys::bucket(&id.ns, &id.entity, &id.resource, new.shard);
    Write::update(table, key, update).when(unchanged).flushed()
}

fn meter_conditions(
    conditions: &mut Vec<Condition>,
    before: &Meter,
    after: &Meter,
    refilled: bool,
    cover: Cover,
) {
    let tokens = Field::Tokens.of(&before.name);
    let growth = after.level.tokens.saturating_sub(before.level.tokens);
    if refilled || growth > 0 {
        conditions.push(attr(tokens.clone()).le(before.level.tokens));
        // A lower capacity that somebody set meanwhile would be exceeded.
        let capacity = Field::Capacity.of(&before.name);
        conditions.push(attr(capacity).eq(before.rate.capacity));
    }
    // What is taken must be there after the refill, also if others took meanwhile.
    let is_taken = after.consumed > before.consumed;
    if cover == Cover::Required && (growth < 0 || is_taken) {
        conditions.push(attr(tokens).ge(growth.saturating_neg()));
    }
}

/// The limit is missing or incomplete: see [`item::decode`].
fn is_incomplete(meter: &Meter) -> Condition {
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

fn set_all(update: Update, meter: &Meter) -> Update {
    let numbers = item::numbers(meter).into_iter();
    numbers.fold(update, |update, (field, value)| update.set(field.of(&meter.name), value))
}

/// Removes a limit. Its counter stays, so that usage does not run backwards when the limit is added again.
fn remove_all(update: Update, meter: &Meter) -> Update {
    let numbers = item::numbers(meter).into_iter().filter(|(field, _)| *field != Field::Consumed);
    numbers.fold(update, |update, (field, _)| update.remove(field.of(&meter.name)))
}

fn bucket_attributes(mut update: Update, old: &Bucket, new: &Bucket) -> Update {
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
    if old.granted_until_ms != new.granted_until_ms {
        update = set_or_remove(update, GRANTED_UNTIL, new.granted_until_ms.map(Value::from));
    }
    if old.origin != new.origin {
        update = set_or_remove(update, ORIGIN, item::origin_text(new.origin).map(Value::from));
    }
    if old.retired != new.retired {
        update = set_or_remove(update, RETIRED, item::encode_retired(&new.retired));
    }
    update
}

fn set_or_remove(update: Update, name: &'static str, value: Option<Value>) -> Update {
    match value {
        Some(value) => update.set(name, value),
        None => update.remove(name),
    }
}
