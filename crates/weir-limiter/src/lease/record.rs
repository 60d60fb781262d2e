//! The stored form of a lease: the tokens it holds of each shard, its state, and the operations that were completed.
//!
//! The item is replaced as a whole, on condition that it is missing (the first time) or still has the `version` that was read.
//! So of two requests that read the same lease only one succeeds, and its changes to buckets are in the same transaction.

use std::collections::BTreeMap;

use weir_table::expr::attr;
use weir_table::{Item, Key, Name, Value, Write};

use super::settle_request::{DIGEST_LEN, SettleRequest};
use super::varint::{Reader, put_number, put_signed, put_text};
use super::{Grant, LeaseState, OnExpiry, Settled};
use crate::bounds::LEASE_RETENTION_MS;
use crate::bucket::MILLI;
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::item::TTL;
use crate::keys;

const STATE: &str = "state";
const VERSION: &str = "version";
const RESOURCE: &str = "resource";
const TAKEN: &str = "taken_ms";
const EXPIRES: &str = "expires_ms";
const ON_EXPIRY: &str = "on_expiry";
const NET: &str = "net";
const ENTITY: &str = "entity_id";
const SHARDS: &str = "shards";
const OPERATIONS: &str = "operations";
const ACTUAL: &str = "actual";

const STATES: [(LeaseState, &str); 5] = [
    (LeaseState::Open, "open"),
    (LeaseState::Committed, "committed"),
    (LeaseState::Released, "released"),
    (LeaseState::RolledBack, "rolled_back"),
    (LeaseState::Expired, "expired"),
];

/// Millitokens of each limit.
pub(super) type Amounts = BTreeMap<LimitName, i64>;

/// What a lease holds of one entity's bucket: millitokens of each limit, by shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holding {
    pub(super) entity: EntityId,
    pub(super) shards: BTreeMap<u32, Amounts>,
}

impl Holding {
    /// The millitokens held of a limit.
    pub(super) fn held(&self, name: &LimitName) -> i64 {
        let shards = self.shards.values().filter_map(|amounts| amounts.get(name));
        shards.fold(0, |sum, amount| sum.saturating_add(*amount))
    }

    /// Whether a deleted bucket would pay for more of a limit: a parent pays only for limits that it has.
    pub(super) fn pays(&self, payer: usize, name: &LimitName) -> bool {
        payer == 0 || self.shards.values().any(|amounts| amounts.contains_key(name))
    }

    /// Adds to the millitokens held of a limit on a shard.
    pub(super) fn add(&mut self, shard: u32, name: &LimitName, amount: i64) {
        let held = self.shards.entry(shard).or_default().entry(name.clone()).or_default();
        *held = held.saturating_add(amount);
    }
}

/// A lease as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) ns: NamespaceId,
    pub(super) id: String,
    pub(super) resource: Resource,
    pub(super) taken_ms: i64,
    pub(super) expires_ms: i64,
    pub(super) on_expiry: OnExpiry,
    pub(super) state: LeaseState,
    /// How often the lease was written; zero if it is not stored yet.
    pub(super) version: i64,
    /// The holdings of the entity and, if it cascades, of its parent.
    pub(super) holdings: Vec<Holding>,
    /// The results of operations that left the lease open, by operation key.
    pub(super) operations: BTreeMap<Name, Vec<u8>>,
    /// The totals that the lease was committed with; empty if it was committed as it was.
    pub(super) actual: Amounts,
}

impl Record {
    /// The lease of a grant that nobody has settled.
    pub(super) fn from_grant(grant: &Grant) -> Record {
        let holdings = grant.takes.iter().map(|take| {
            let mut holding = Holding { entity: take.entity.clone(), shards: BTreeMap::new() };
            for shard in &take.shards {
                holding.shards.entry(shard.shard).or_default();
                for (name, amount) in shard.amounts.iter().filter(|(name, _)| !name.is_wcu()) {
                    holding.add(shard.shard, name, *amount);
                }
            }
            holding
        });
        Record {
            ns: grant.ns.clone(),
            id: grant.id.clone(),
            resource: grant.resource.clone(),
            taken_ms: grant.taken_ms,
            expires_ms: grant.expires_ms,
            on_expiry: grant.on_expiry,
            state: LeaseState::Open,
            version: 0,
            holdings: holdings.collect(),
            operations: BTreeMap::new(),
            actual: Amounts::new(),
        }
    }

    pub(super) fn key(&self) -> Key {
        keys::lease(&self.ns, &self.id)
    }

    /// Whether the expiry job must roll the lease back.
    pub(super) fn rolls_back_on_expiry(&self) -> bool {
        self.state == LeaseState::Open && self.on_expiry == OnExpiry::Rollback
    }

    /// Every shard that the lease holds tokens of, by holding and shard number.
    pub(super) fn shards(&self) -> impl Iterator<Item = (usize, u32)> {
        let holdings = self.holdings.iter().enumerate();
        holdings
            .flat_map(|(payer, holding)| holding.shards.keys().map(move |shard| (payer, *shard)))
    }

    /// Tokens that the lease holds of each limit. A parent holds the same, so the entity's own suffice.
    pub(super) fn net(&self) -> BTreeMap<LimitName, i64> {
        let mut net = BTreeMap::new();
        for amounts in self.holdings.first().into_iter().flat_map(|holding| holding.shards.values())
        {
            for (name, amount) in amounts {
                let sum: &mut i64 = net.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*amount);
            }
        }
        net.values_mut().for_each(|milli| *milli /= MILLI);
        net
    }

    /// The lease as a result.
    pub(super) fn settled(&self) -> Settled {
        Settled {
            id: self.id.clone(),
            state: self.state,
            net: self.net(),
            degraded: false,
            refused: None,
        }
    }

    /// Records that `request` was completed, with its result.
    pub(super) fn record_operation(&mut self, request: &SettleRequest) {
        let mut bytes = request.digest.to_vec();
        let net = self.net();
        put_number(&mut bytes, net.len() as u64);
        for (name, tokens) in &net {
            put_text(&mut bytes, name.as_str());
            put_signed(&mut bytes, *tokens);
        }
        self.operations.insert(request.operation.as_str().into(), bytes);
    }

    /// The digest and result of the operation with the key of `request`.
    pub(super) fn recorded_result(
        &self,
        request: &SettleRequest,
    ) -> Option<([u8; DIGEST_LEN], Settled)> {
        let bytes = self.operations.get(request.operation.as_str())?;
        let (digest, net) = bytes.split_first_chunk()?;
        let mut reader = Reader(net);
        let count = reader.count()?;
        let net = (0..count)
            .map(|_| Some((LimitName::stored(reader.text()?), reader.signed()?)))
            .collect::<Option<_>>()?;
        let (id, state) = (self.id.clone(), LeaseState::Open);
        Some((*digest, Settled { id, state, net, degraded: false, refused: None }))
    }

    /// The write that replaces the lease that was read.
    pub(super) fn write(mut self, table: Name) -> Write {
        let unchanged = match self.version {
            0 => attr("PK").absent(),
            read => attr(VERSION).eq(read),
        };
        self.version += 1;
        Write::put(table, self.encode()).when(unchanged).flushed()
    }

    fn encode(&self) -> Item {
        let key = self.key();
        let operations =
            self.operations.iter().map(|(name, request)| (name.clone(), request.clone()));
        let partition = key.partition.to_value();
        let mut item = keys::item(key)
            .with(STATE, self.state.as_str())
            .with(VERSION, self.version)
            .with(RESOURCE, self.resource.as_str())
            .with(TAKEN, self.taken_ms)
            .with(EXPIRES, self.expires_ms)
            .with(ON_EXPIRY, self.on_expiry.as_str())
            .with(NET, Value::list(self.holdings.iter().map(holding_to_value)))
            .with(OPERATIONS, Value::map(operations))
            .with("GSI4PK", self.ns.as_str())
            .with("GSI4SK", partition);
        if !self.actual.is_empty() {
            item.set(ACTUAL, amounts_to_value(&self.actual));
        }
        if self.rolls_back_on_expiry() {
            // The item must not expire before it is rolled back, however late.
            let partition = keys::lease_partition(&self.id);
            item.set("GSI2PK", keys::gsi2_expiring_leases(partition));
            item.set("GSI2SK", keys::gsi2_expiring_lease(self.expires_ms, &self.id));
        } else {
            let forget_ms = self.expires_ms.saturating_add(LEASE_RETENTION_MS);
            item.set(TTL, forget_ms / MILLI + 1);
        }
        item
    }

    /// Decodes a lease; none if the item is not one.
    pub(super) fn decode(item: &Item) -> Option<Record> {
        let (ns, id) = keys::parse_lease(item.s("PK")?)?;
        let state = item.s(STATE)?;
        let (state, _) = STATES.iter().find(|(_, text)| *text == state)?;
        let Value::L(holdings) = item.get(NET)? else { return None };
        let Value::M(operations) = item.get(OPERATIONS)? else { return None };
        let operation = |(name, value): (&Name, &Value)| {
            let Value::B(request) = value else { return None };
            Some((name.clone(), request.clone()))
        };
        let rollback = item.s(ON_EXPIRY) == Some("rollback");
        let actual = item.get(ACTUAL).map_or_else(|| Some(Amounts::new()), amounts_from_value)?;
        Some(Record {
            ns,
            id: id.to_owned(),
            resource: Resource::stored(item.s(RESOURCE)?),
            taken_ms: item.i64(TAKEN)?,
            expires_ms: item.i64(EXPIRES)?,
            on_expiry: if rollback { OnExpiry::Rollback } else { OnExpiry::Keep },
            state: *state,
            version: item.i64(VERSION)?,
            holdings: holdings.iter().map(holding_from_value).collect::<Option<_>>()?,
            operations: operations.iter().filter_map(operation).collect(),
            actual,
        })
    }
}

impl LeaseState {
    /// The stored text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        STATES.iter().find(|(state, _)| *state == self).map_or("", |(_, text)| text)
    }
}

fn holding_to_value(holding: &Holding) -> Value {
    let shards = holding.shards.iter();
    let shards = shards.map(|(shard, amounts)| (shard.to_string(), amounts_to_value(amounts)));
    let entity = Value::from(holding.entity.as_str());
    Value::map([(ENTITY, entity), (SHARDS, Value::map(shards))])
}

fn holding_from_value(value: &Value) -> Option<Holding> {
    let Value::M(holding) = value else { return None };
    let entity = EntityId::stored(holding.get(ENTITY)?.as_s()?);
    let Value::M(shards) = holding.get(SHARDS)? else { return None };
    let shard =
        |(shard, value): (&Name, &Value)| Some((shard.parse().ok()?, amounts_from_value(value)?));
    Some(Holding { entity, shards: shards.iter().map(shard).collect::<Option<_>>()? })
}

fn amounts_to_value(amounts: &Amounts) -> Value {
    Value::map(amounts.iter().map(|(name, amount)| (name.as_str(), *amount)))
}

fn amounts_from_value(value: &Value) -> Option<Amounts> {
    let Value::M(amounts) = value else { return None };
    let amount = |(name, value): (&Name, &Value)| Some((LimitName::stored(name), value.as_i64()?));
    amounts.iter().map(amount).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{EntityTake, Settle};
    use super::*;
    use crate::bucket::ShardTake;

    fn record(on_expiry: OnExpiry) -> Record {
        let name = |text| LimitName::new(text).unwrap();
        let amounts = vec![(name("rpm"), 1_000), (name("a.b"), 5_000)];
        let shards = vec![
            ShardTake { shard: 0, amounts: amounts.clone() },
            ShardTake { shard: 11, amounts },
        ];
        let take =
            |text| EntityTake { entity: EntityId::new(text).unwrap(), shards: shards.clone() };
        Record::from_grant(&Grant {
            id: "L1".to_owned(),
            ns: NamespaceId::new("abcdefghijk").unwrap(),
            resource: Resource::new("gpt-4").unwrap(),
            takes: vec![take("user"), take("team")],
            taken_ms: 1_000,
            expires_ms: 61_000,
            on_expiry,
            degraded: false,
        })
    }

    #[test]
    fn a_lease_is_read_back_as_it_was_written() {
        for on_expiry in [OnExpiry::Keep, OnExpiry::Rollback] {
            let mut lease = record(on_expiry);
            let adjust = Settle::Adjust([(LimitName::new("rpm").unwrap(), 3)].into());
            let request = SettleRequest::new(&adjust, Some("k")).unwrap();
            lease.record_operation(&request);
            lease.actual = [(LimitName::new("rpm").unwrap(), 4_000)].into();
            assert_eq!(Record::decode(&lease.encode()), Some(lease.clone()));
            let (digest, result) = lease.recorded_result(&request).unwrap();
            assert_eq!((digest, result), (request.digest, lease.settled()));
            assert_eq!(lease.net().into_values().collect::<Vec<_>>(), [10, 2]);
        }
    }

    #[test]
    fn only_an_open_lease_that_rolls_back_is_indexed_and_never_expires() {
        let held = record(OnExpiry::Rollback).encode();
        assert_eq!(held.s("GSI2PK"), Some("_/LEASES#5"));
        assert_eq!(held.s("GSI2SK"), Some("000000000061000#L1"));
        assert_eq!(held.get(TTL), None);
        let ended = Record { state: LeaseState::Committed, ..record(OnExpiry::Rollback) }.encode();
        for item in [ended, record(OnExpiry::Keep).encode()] {
            assert_eq!(item.get("GSI2PK"), None);
            assert_eq!(item.i64(TTL), Some(61 + 86_400 + 1));
            assert_eq!(item.s("GSI4PK"), Some("abcdefghijk"));
            assert_eq!(item.s("GSI4SK"), Some("abcdefghijk/LEASE#L1"));
        }
    }
}
