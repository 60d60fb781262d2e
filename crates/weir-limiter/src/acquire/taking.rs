//! Takings that are prepared: on the embedded store nearly every request takes some limits of a bucket that pays alone
//! and lives on as it is. That is an addition to a few numbers, always the same but for the numbers.

use std::sync::Arc;

use weir_table::{Add, Added, Addition, Backend, Durability, Guard, Prepared, Told};

use super::ask::Ask;
use super::known::Facts;
use crate::bucket::{Bucket, MILLI};
use crate::error::Result;
use crate::ids::LimitName;
use crate::item::{self, CASCADE, Field, TTL};
use crate::keys;
use crate::lease::OnExpiry;
use crate::limiter::Namespace;

/// The shard that is taken from: there is one.
const SHARD: u32 = 0;

/// What takings have in common that can be prepared as one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The limits that are taken of, in order.
    limits: Vec<LimitName>,
    /// Whether the bucket says that a parent pays; it has none, or it would be asked too.
    cascade: bool,
}

impl Shape {
    fn of(ask: &Ask<'_>, facts: &Facts) -> Shape {
        let limits = ask.amounts.iter().map(|(name, _)| name.clone()).collect();
        Shape { limits, cascade: facts.cascade }
    }

    fn is_of(&self, ask: &Ask<'_>, facts: &Facts) -> bool {
        self.cascade == facts.cascade
            && self.limits.iter().eq(ask.amounts.iter().map(|(name, _)| name))
    }

    /// The same condition and the same update as of [`super::fast::Take::write`].
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

impl<B: Backend> Namespace<B> {
    /// Whether a request only takes, from a bucket that pays alone and lives as long as it did, on an embedded store.
    pub(super) fn is_usual(&self, ask: &Ask<'_>, facts: &Facts) -> bool {
        let settings = self.limiter.settings();
        let is_embedded = !settings.sharded && !settings.is_shared();
        let is_alone = !facts.cascade || facts.parent.is_none();
        let stays = facts.shard_count <= 1 && facts.new_expiry(SHARD, ask.now_ms).is_none();
        is_embedded && is_alone && stays && ask.request.on_expiry == OnExpiry::Keep
    }

    /// What is prepared for such a request; it is now, if it was not.
    pub(super) async fn taking(&self, ask: &Ask<'_>, facts: &Facts) -> Result<Arc<Taking>> {
        let last = facts.taking.lock().clone();
        match last.filter(|taking| taking.shape.is_of(ask, facts)) {
            Some(taking) => Ok(taking),
            None => Box::pin(self.prepare(ask, facts)).await,
        }
    }

    async fn prepare(&self, ask: &Ask<'_>, facts: &Facts) -> Result<Arc<Taking>> {
        let shape = Shape::of(ask, facts);
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
        *facts.taking.lock() = Some(Arc::clone(&taking));
        Ok(taking)
    }

    /// Takes with what has been prepared.
    pub(super) async fn take_prepared(
        &self,
        ask: &Ask<'_>,
        facts: &Facts,
        taking: &Taking,
    ) -> weir_table::Result<Added<Bucket>> {
        let amounts = ask.amounts.iter().map(|(_, amount)| *amount);
        let add: Vec<i64> = amounts.clone().flat_map(|amount| [-amount, amount]).collect();
        let than: Vec<i64> = amounts.chain([ask.now_ms / MILLI]).collect();
        let id = &ask.id;
        let make = || keys::bucket(&id.ns, &id.entity, &id.resource, SHARD);
        let key = facts.key.get_or_init(make);
        let add = Add { prepared: &taking.prepared, key, add: &add, than: &than };
        self.limiter.store().add(add, item::decode).await
    }
}
