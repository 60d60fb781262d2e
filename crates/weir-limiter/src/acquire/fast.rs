//! The fast path: one conditional update of one shard, nothing read.

use weir_table::expr::{Condition, Update, attr};
use weir_table::{Item, Name, Write};

use super::ask::Amounts;
use super::known::Facts;
use crate::bucket::{Bucket, MILLI};
use crate::ids::LimitName;
use crate::item::{self, BucketId, CASCADE, Field, PARENT, RF, TTL};
use crate::keys;

/// Whether a take is counted as a write of its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wcu {
    /// There is no such limit: embedded.
    None,
    /// It is, and there must be one left.
    Charged,
    /// There are as many shards as there can be, so an empty limit no longer refuses.
    Uncounted,
}

/// A take that has been decided on.
#[derive(Debug)]
pub(crate) struct Take<'a> {
    pub(crate) id: &'a BucketId,
    pub(crate) shard: u32,
    pub(crate) amounts: &'a Amounts,
    pub(crate) wcu: Wcu,
    /// What is remembered of the bucket.
    pub(crate) facts: Option<&'a Facts>,
    /// Whether the bucket must still have the family that is remembered.
    pub(crate) same_family: bool,
    /// Limits asked of the child that this bucket is believed not to have.
    pub(crate) lacks: &'a [LimitName],
    /// Whether the table is shared with a program that leaves bare items.
    pub(crate) shared: bool,
    pub(crate) now_ms: i64,
}

impl Take<'_> {
    /// The shard in an item, which may come without its key.
    pub(super) fn read(&self, item: &Item) -> Bucket {
        Bucket { shard: self.shard, ..item::decode(item) }
    }

    /// The write.
    pub(crate) fn write(&self, table: Name) -> Write {
        let wcu = (self.wcu == Wcu::Charged).then(|| (LimitName::wcu(), MILLI));
        let mut all = Vec::with_capacity(self.amounts.len() + 4);
        let mut update = Update::default();
        for (name, amount) in self.amounts.iter().chain(&wcu) {
            let tokens = Field::Tokens.of(name);
            all.push(attr(tokens.clone()).ge(*amount));
            update = update.add(tokens, -amount).add(Field::Consumed.of(name), *amount);
        }
        all.push(attr(TTL).absent().or(attr(TTL).gt(self.now_ms / MILLI)));
        if self.shared {
            all.push(attr(RF).exists());
        }
        all.extend(self.lacks.iter().map(|name| attr(Field::Tokens.of(name)).absent()));
        if let Some(facts) = self.facts {
            if self.same_family {
                all.extend(family(facts));
            }
            if let Some(expires) = facts.new_expiry(self.shard, self.now_ms) {
                update = update.set(TTL, expires);
            }
        }
        let key = keys::bucket(&self.id.ns, &self.id.entity, &self.id.resource, self.shard);
        Write::update(table, key, update).when(Condition::And(all)).flushed().telling(item::is_told)
    }
}

/// The family is the one remembered: if it pays, to the same parent.
fn family(facts: &Facts) -> Vec<Condition> {
    let cascade = attr(CASCADE).eq(facts.cascade);
    match &facts.parent {
        Some(parent) if facts.cascade => vec![cascade, attr(PARENT).eq(parent.as_str())],
        _ => vec![cascade],
    }
}
