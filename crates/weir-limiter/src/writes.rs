//! Every write to a bucket's item, as an expression.
//!
//! Other processes change a bucket at any time: unconditional takes, refunds, refills. So a change is written as the
//! difference between what was read and the new state, in additions that commute with takes, on condition that nobody
//! refilled meanwhile (`rf` is unchanged), and that no limit which changes got another rate or a higher balance.

use weir_table::expr::{Condition, Update, attr};
use weir_table::{Name, Value, Write};

use crate::bucket::{Bucket, Meter, Rate};
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
    if new.refilled_ms != old.refilled_ms {
        update = update.set(RF, new.refilled_ms);
        conditions.push(is_still(GRANTED_UNTIL, old.granted_until_ms.map(Value::from)));
    }
    for meter in &new.meters {
        update = match old.meter(&meter.name) {
            Some(before) => {
                meter_conditions(&mut conditions, (old, before), (new, meter), cover);
                differences(update, before, meter)
            }
            None => {
                conditions.push(is_incomplete(meter));
                set_all(update, old, meter)
            }
        };
    }
    for removed in old.meters.iter().filter(|meter| new.meter(&meter.name).is_none()) {
        // Its balance is kept as it was read.
        conditions.push(attr(Field::Tokens.of(&removed.name)).eq(removed.level.tokens));
        conditions.extend(same_rate(removed));
        update = remove_all(update, removed);
    }
    for retired in &new.retired {
        let before = old.retired(&retired.meter.name).map(|before| before.meter.consumed);
        update = add_consumed(update, &retired.meter, before.unwrap_or(retired.meter.consumed));
    }
    update = bucket_attributes(update, old, new);
    if old.retired != new.retired {
        conditions.push(is_still(RETIRED, item::encode_retired(&old.retired)));
    }
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

/// The conditions under which a change of a limit means the same as when it was computed, whatever others took since.
fn meter_conditions(
    conditions: &mut Vec<Condition>,
    (old, before): (&Bucket, &Meter),
    (new, after): (&Bucket, &Meter),
    cover: Cover,
) {
    let refilled = new.refilled_ms != old.refilled_ms;
    if before == after && !refilled {
        return;
    }
    conditions.extend(same_rate(before));
    let tokens = || attr(Field::Tokens.of(&before.name));
    // A balance that has grown may be full by now, or exceed its capacity.
    conditions.push(tokens().le(before.level.tokens));
    let growth = after.level.tokens.saturating_sub(before.level.tokens);
    let taken = after.consumed.saturating_sub(before.consumed);
    if refilled || growth > 0 || taken < 0 || before.rate != after.rate {
        conditions.push(same_remainder(before));
        // What stops at the capacity depends on the exact balance, also if the refill before a change of rate did. The write
        // limit need not be exact, and every take of others changes it.
        let is_full = after.level.tokens.saturating_add(taken.max(0)) >= new.share(after).capacity;
        let refilled_to = || old.level_at(before, new.refilled_ms).tokens;
        let was_full = refilled && refilled_to() >= old.share(before).capacity;
        if (is_full || was_full) && !before.name.is_wcu() {
            conditions.push(tokens().ge(before.level.tokens));
        }
    }
    // The expiry covers a debt only if the debt is known.
    if taken > 0 && after.level.tokens < 0 {
        conditions.push(tokens().ge(before.level.tokens));
    }
    // What is taken must be there after the refill, also if others took meanwhile.
    if cover == Cover::Required && (growth < 0 || taken > 0) {
        conditions.push(tokens().ge(growth.saturating_neg()));
    }
}

/// Nobody has changed the limit or removed it.
fn same_rate(meter: &Meter) -> [Condition; 3] {
    let Rate { capacity, refill, period_ms } = meter.rate;
    [(Field::Capacity, capacity), (Field::Refill, refill), (Field::Period, period_ms)]
        .map(|(field, number)| attr(field.of(&meter.name)).eq(number))
}

/// zae-limiter stores no remainders.
fn same_remainder(meter: &Meter) -> Condition {
    let remainder = || attr(Field::Remainder.of(&meter.name));
    match meter.level.remainder {
        0 => remainder().absent().or(remainder().eq(0)),
        some => remainder().eq(some),
    }
}

/// The attribute has this value, or is missing.
fn is_still(name: &'static str, value: Option<Value>) -> Condition {
    match value {
        Some(value) => attr(name).eq(value),
        None => attr(name).absent(),
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

/// Adds a limit. A counter that the item has from before continues.
fn set_all(update: Update, old: &Bucket, meter: &Meter) -> Update {
    let before = old.retired(&meter.name).map_or(0, |before| before.meter.consumed);
    let numbers = item::numbers(meter).into_iter().filter(|(field, _)| *field != Field::Consumed);
    let update =
        numbers.fold(update, |update, (field, value)| update.set(field.of(&meter.name), value));
    update.add(Field::Consumed.of(&meter.name), meter.consumed.saturating_sub(before))
}

fn add_consumed(update: Update, meter: &Meter, before: i64) -> Update {
    match meter.consumed.saturating_sub(before) {
        0 => update,
        more => update.add(Field::Consumed.of(&meter.name), more),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;
    use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
    use weir_table::Item;
    use weir_table::expr::apply::apply;
    use weir_table::expr::eval::holds;
    use weir_table::request::Action;

    fn name(text: &str) -> LimitName {
        LimitName::new(text).unwrap()
    }

    fn limit(text: &str, capacity: u64) -> Limit {
        Limit::per_minute(name(text), capacity)
    }

    fn id() -> BucketId {
        BucketId {
            ns: NamespaceId::new("abcdefghijk").unwrap(),
            entity: EntityId::new("e").unwrap(),
            resource: Resource::new("r").unwrap(),
        }
    }

    /// A bucket of 60 `rpm` and 60 `tpm`, of which some `rpm` are taken.
    fn bucket(taken: i64) -> Bucket {
        let mut bucket = Bucket::full(&[limit("rpm", 60), limit("tpm", 60)], 0, 1, 1_000_000);
        bucket.take(&name("rpm"), taken);
        bucket
    }

    /// What becomes of `stored` by the change from `old` to `new`; none if it is refused.
    fn changed(stored: &Bucket, old: &Bucket, new: &Bucket) -> Option<Bucket> {
        let write = change("t".into(), &id(), old, new, Cover::NotRequired);
        let item: Item = item::encode(&id(), stored);
        let Action::Update(_, update) = &write.action else { panic!("an update") };
        let is_true = holds(write.condition.as_ref().unwrap(), &item);
        is_true.then(|| item::decode(&apply(update, &item).unwrap()))
    }

    #[test]
    fn a_take_meanwhile_is_not_lost() {
        let (old, meanwhile) = (bucket(50_000), bucket(55_000));
        let mut in_debt = old.clone();
        in_debt.take(&name("rpm"), 11_000);
        let mut paid = old.clone();
        paid.take(&name("rpm"), 3_000);
        let expected = bucket(58_000);
        assert_eq!(changed(&meanwhile, &old, &paid), Some(expected), "takes add up");
        let refilled = old.refilled(1_010_000);
        let both = meanwhile.refilled(1_010_000);
        assert_eq!(changed(&meanwhile, &old, &refilled), Some(both), "and so does a refill");
        let mut refunded = old.clone();
        refunded.take(&name("rpm"), -52_000);
        let full = old.refilled(2_000_000);
        let renewed = Bucket { expires: Some(1), ..old.clone() }.refilled(2_000_000);
        let without = old.with_limits(&[limit("tpm", 60)]);
        let lower = old.with_limits(&[limit("rpm", 5), limit("tpm", 60)]);
        let raised = full.with_limits(&[limit("rpm", 600), limit("tpm", 60)]);
        for new in [in_debt, refunded, full, renewed, without, lower, raised] {
            assert_eq!(changed(&meanwhile, &old, &new), None, "{new:?}");
            assert_eq!(changed(&old, &old, &new), Some(new));
        }
    }

    #[test]
    fn a_limit_that_was_changed_or_removed_meanwhile_is_another_one() {
        let old = bucket(10_000);
        let mut paid = old.clone();
        paid.take(&name("rpm"), 3_000);
        for limits in [vec![limit("tpm", 60)], vec![limit("rpm", 61), limit("tpm", 60)]] {
            assert_eq!(changed(&old.with_limits(&limits), &old, &paid), None);
        }
        assert!(changed(&old.with_limits(&[limit("rpm", 60)]), &old, &paid).is_some());
    }

    #[test]
    fn a_limit_that_was_removed_gets_refunds_and_keeps_its_counter() {
        let old = bucket(10_000).with_limits(&[limit("tpm", 60)]);
        let mut refunded = old.clone();
        refunded.take(&name("rpm"), -4_000);
        let now = changed(&old, &old, &refunded).unwrap();
        assert_eq!(now, refunded);
        assert_eq!(changed(&now, &old, &refunded), None, "another refund came first");
        let again = now.with_limits(&[limit("rpm", 60), limit("tpm", 60)]);
        let again = changed(&now, &now, &again).unwrap();
        let meter = again.meter(&name("rpm")).unwrap();
        assert_eq!((meter.level.tokens, meter.consumed), (54_000, 6_000));
    }
}
