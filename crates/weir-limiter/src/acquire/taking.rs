//! Takings that are prepared: on the embedded store nearly every request takes some limits of a bucket that pays alone
//! and lives on as it is. That is an addition to a few numbers, always the same but for the numbers.

use std::sync::Arc;

use weir_table::{Added, Addition, Backend, Durability, Guard, Numbers, Prepared, Told};

use super::fast::{Take, Wcu};
use super::known::Facts;
use super::take::Tried;
use crate::bucket::MILLI;
use crate::ids::LimitName;
use crate::item::{self, CASCADE, Field, TTL};
use crate::keys;
use crate::limiter::Namespace;

/// What takings have in common that can be prepared as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The limits that are taken of, in order.
    limits: Vec<LimitName>,
    /// Whether the bucket says that a parent pays; it has none, or it would be asked too.
    cascade: bool,
}

impl Shape {
    fn of(take: &Take<'_>, facts: &Facts) -> Shape {
        let limits = take.amounts.iter().map(|(name, _)| name.clone()).collect();
        Shape { limits, cascade: facts.cascade }
    }

    fn is_of(&self, take: &Take<'_>, facts: &Facts) -> bool {
        self.cascade == facts.cascade
            && self.limits.iter().eq(take.amounts.iter().map(|(name, _)| name))
    }

    /// The same condition and the same update as of [`Take::write`].
    fn addition(&self, table: weir_table::Name) -> Addition {
        let adds =
            self.limits.iter().flat_map(|name| [Field::Tokens.of(name), Field::Consumed.of(name)]);
        let enough = self.limits.iter().map(|name| Guard::AtLeast(Field::Tokens.of(name)));
        let lives = Guard::AbsentOrOver(TTL.into());
        let family = Guard::Is(CASCADE.into(), self.cascade.into());
        Addition {
            table,
            adds: adds.collect(),
            guards: enough.chain([lives, family]).collect(),
            durability: Durability::Flushed,
            told: Told(item::is_told),
        }
    }
}

/// A taking that has been prepared.
#[derive(Debug)]
pub(super) struct Taking {
    shape: Shape,
    prepared: Arc<Prepared>,
}

impl Take<'_> {
    /// Whether it only takes, from a bucket that is known and pays alone, on the embedded store.
    pub(super) fn is_usual(&self) -> bool {
        let is_alone = |facts: &Facts| {
            self.same_family
                && !(facts.cascade && facts.parent.is_some())
                && facts.new_expiry(self.shard, self.now_ms).is_none()
        };
        self.wcu == Wcu::None
            && !self.shared
            && self.shard == 0
            && self.lacks.is_empty()
            && self.facts.is_some_and(is_alone)
    }
}

impl<B: Backend> Namespace<B> {
    /// What has been prepared for a take, if that has been.
    pub(super) fn prepared<'t>(&self, take: &Take<'t>) -> Option<(&'t Facts, Arc<Taking>)> {
        let facts = take.facts?;
        let taking = facts.taking.lock().clone()?;
        (taking.shape.is_of(take, facts) && take.is_usual()).then_some((facts, taking))
    }

    /// Prepares the next take of this kind from the same bucket.
    pub(super) async fn prepare(&self, take: &Take<'_>) -> weir_table::Result<()> {
        let Some(facts) = take.facts else { return Ok(()) };
        let shape = Shape::of(take, facts);
        let takings = &self.limiter.inner.known.takings;
        let taking = match takings.get(&shape) {
            Some(taking) => taking,
            None => {
                let addition = shape.addition(self.limiter.table());
                let prepared = self.limiter.store().prepare(addition).await?;
                let taking = Arc::new(Taking { shape: shape.clone(), prepared });
                takings.insert(shape, Arc::clone(&taking));
                taking
            }
        };
        *facts.taking.lock() = Some(taking);
        Ok(())
    }

    /// Takes with what has been prepared.
    pub(super) async fn take_prepared(
        &self,
        take: &Take<'_>,
        facts: &Facts,
        taking: &Taking,
    ) -> weir_table::Result<Tried> {
        let amounts = take.amounts.iter().map(|(_, amount)| *amount);
        let add: Vec<i64> = amounts.clone().flat_map(|amount| [-amount, amount]).collect();
        let than: Vec<i64> = amounts.chain([take.now_ms / MILLI]).collect();
        let key = facts.key.get_or_init(|| {
            let id = take.id;
            keys::bucket(&id.ns, &id.entity, &id.resource, take.shard)
        });
        let numbers = Numbers { add: &add, than: &than };
        let read = |item: &weir_table::Item| take.read(item);
        let added = self.limiter.store().add(&taking.prepared, key, numbers, read).await?;
        Ok(match added {
            Added::Done(bucket) => Tried::Taken(bucket),
            Added::Refused(item) => Tried::Not(item.as_ref().map(|item| take.read(item))),
        })
    }
}
