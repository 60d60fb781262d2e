//! A lease's item: what it holds of which shard, where it is in its life, and which calls have been done.
//!
//! It is written whole, on condition that it is not there (the first time) or still has the `version` that was read. So of two
//! calls that read the same lease only one is done, and what a call did to buckets is done in the same transaction
//! or not at all.

use std::collections::BTreeMap;

use weir_table::expr::attr;
use weir_table::{Item, Key, Name, Value, Write};

use super::call::{Call, DIGEST_LEN};
use super::wire::{Reader, put_number, put_signed, put_text};
use super::{Grant, LeaseState, OnExpiry, Settled};
use crate::bounds::LEASE_KEPT_MS;
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

const STATES: [(LeaseState, &str); 5] = [
    (LeaseState::Open, "open"),
    (LeaseState::Committed, "committed"),
    (LeaseState::Released, "released"),
    (LeaseState::RolledBack, "rolled_back"),
    (LeaseState::Expired, "expired"),
];

/// Millitokens of each limit.
pub(super) type Amounts = BTreeMap<LimitName, i64>;

/// What a lease holds of one entity's bucket: millitokens of each limit, shard by shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) entity: EntityId,
    pub(super) shards: BTreeMap<u32, Amounts>,
}

impl Hold {
    /// What it holds of a limit.
    pub(super) fn of(&self, name: &LimitName) -> i64 {
        let shards = self.shards.values().filter_map(|amounts| amounts.get(name));
        shards.fold(0, |sum, amount| sum.saturating_add(*amount))
    }

    /// Changes what it holds of a limit on a shard.
    pub(super) fn add(&mut self, shard: u32, name: &LimitName, amount: i64) {
        let held = self.shards.entry(shard).or_default().entry(name.clone()).or_default();
        *held = held.saturating_add(amount);
    }
}

/// A lease as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) ns: NamespaceId,
    pub(super) id: String,
    pub(super) resource: Resource,
    pub(super) taken_ms: i64,
    pub(super) expires_ms: i64,
    pub(super) on_expiry: OnExpiry,
    pub(super) state: LeaseState,
    /// How often it was written; zero when it is not stored yet.
    pub(super) version: i64,
    /// Of the entity and, if it cascades, of its parent.
    pub(super) holds: Vec<Hold>,
    /// Calls that left the lease open, and what they were answered.
    pub(super) operations: BTreeMap<Name, Vec<u8>>,
}

impl Record {
    /// The lease of a grant that nobody has settled.
    pub(super) fn of(grant: &Grant) -> Record {
        let holds = grant.takes.iter().map(|take| {
            let mut hold = Hold { entity: take.entity.clone(), shards: BTreeMap::new() };
            for shard in &take.shards {
                hold.shards.entry(shard.shard).or_default();
                for (name, amount) in shard.amounts.iter().filter(|(name, _)| !name.is_wcu()) {
                    hold.add(shard.shard, name, *amount);
                }
            }
            hold
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
            holds: holds.collect(),
            operations: BTreeMap::new(),
        }
    }

    pub(super) fn key(&self) -> Key {
        keys::lease(&self.ns, &self.id)
    }

    /// Whether a job looks for it when it expires.
    pub(super) fn is_held(&self) -> bool {
        self.state == LeaseState::Open && self.on_expiry == OnExpiry::Rollback
    }

    /// Every shard it holds something of: which hold, which shard.
    pub(super) fn shards(&self) -> impl Iterator<Item = (usize, u32)> {
        let holds = self.holds.iter().enumerate();
        holds.flat_map(|(place, hold)| hold.shards.keys().map(move |shard| (place, *shard)))
    }

    /// Tokens it holds of each limit. A parent pays for the same, so the entity's own say it all.
    pub(super) fn net(&self) -> BTreeMap<LimitName, i64> {
        let mut net = BTreeMap::new();
        for amounts in self.holds.first().into_iter().flat_map(|hold| hold.shards.values()) {
            for (name, amount) in amounts {
                let sum: &mut i64 = net.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*amount);
            }
        }
        net.values_mut().for_each(|milli| *milli /= MILLI);
        net
    }

    /// The lease as an answer.
    pub(super) fn settled(&self) -> Settled {
        Settled {
            id: self.id.clone(),
            state: self.state,
            net: self.net(),
            degraded: false,
            refused: None,
        }
    }

    /// Notes that `call` has been done, and what it is answered.
    pub(super) fn note(&mut self, call: &Call) {
        let mut bytes = call.digest.to_vec();
        let net = self.net();
        put_number(&mut bytes, net.len() as u64);
        for (name, tokens) in &net {
            put_text(&mut bytes, name.as_str());
            put_signed(&mut bytes, *tokens);
        }
        self.operations.insert(call.operation.as_str().into(), bytes);
    }

    /// What was called under the operation of `call`, and what it was answered.
    pub(super) fn noted(&self, call: &Call) -> Option<([u8; DIGEST_LEN], Settled)> {
        let bytes = self.operations.get(call.operation.as_str())?;
        let (digest, net) = bytes.split_first_chunk()?;
        let mut reader = Reader(net);
        let count = reader.count()?;
        let net = (0..count)
            .map(|_| Some((LimitName::stored(reader.text()?), reader.signed()?)))
            .collect::<Option<_>>()?;
        let (id, state) = (self.id.clone(), LeaseState::Open);
        Some((*digest, Settled { id, state, net, degraded: false, refused: None }))
    }

    /// Stores it in place of the one that was read.
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
        let on_expiry = if self.on_expiry == OnExpiry::Keep { "keep" } else { "rollback" };
        let operations = self.operations.iter().map(|(name, call)| (name.clone(), call.clone()));
        let mut item = Item::new()
            .with("PK", key.partition.to_value())
            .with(STATE, self.state.as_str())
            .with(VERSION, self.version)
            .with(RESOURCE, self.resource.as_str())
            .with(TAKEN, self.taken_ms)
            .with(EXPIRES, self.expires_ms)
            .with(ON_EXPIRY, on_expiry)
            .with(NET, Value::list(self.holds.iter().map(hold_to_value)))
            .with(OPERATIONS, Value::map(operations))
            .with("GSI4PK", self.ns.as_str())
            .with("GSI4SK", key.partition.to_value());
        if let Some(sort) = &key.sort {
            item.set("SK", sort.to_value());
        }
        if self.is_held() {
            // It must not be forgotten before it is rolled back, however late.
            let partition = keys::lease_partition(&self.id);
            item.set("GSI2PK", keys::gsi2_held_leases(partition));
            item.set("GSI2SK", keys::gsi2_held_lease(self.expires_ms, &self.id));
        } else {
            let forget_ms = self.expires_ms.saturating_add(LEASE_KEPT_MS);
            item.set(TTL, forget_ms / MILLI + 1);
        }
        item
    }

    /// A lease from its item; nothing if it is none.
    pub(super) fn decode(item: &Item) -> Option<Record> {
        let (ns, id) = keys::parse_lease(item.s("PK")?)?;
        let state = item.s(STATE)?;
        let (state, _) = STATES.iter().find(|(_, text)| *text == state)?;
        let Value::L(holds) = item.get(NET)? else { return None };
        let Value::M(operations) = item.get(OPERATIONS)? else { return None };
        let operation = |(name, value): (&Name, &Value)| {
            let Value::B(call) = value else { return None };
            Some((name.clone(), call.clone()))
        };
        let rollback = item.s(ON_EXPIRY) == Some("rollback");
        Some(Record {
            ns,
            id: id.to_owned(),
            resource: Resource::stored(item.s(RESOURCE)?),
            taken_ms: item.i64(TAKEN)?,
            expires_ms: item.i64(EXPIRES)?,
            on_expiry: if rollback { OnExpiry::Rollback } else { OnExpiry::Keep },
            state: *state,
            version: item.i64(VERSION)?,
            holds: holds.iter().map(hold_of_value).collect::<Option<_>>()?,
            operations: operations.iter().filter_map(operation).collect(),
        })
    }
}

impl LeaseState {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        STATES.iter().find(|(state, _)| *state == self).map_or("", |(_, text)| text)
    }
}

fn hold_to_value(hold: &Hold) -> Value {
    let shards = hold.shards.iter().map(|(shard, amounts)| {
        let amounts = amounts.iter().map(|(name, amount)| (name.as_str(), *amount));
        (shard.to_string(), Value::map(amounts))
    });
    let entity = Value::from(hold.entity.as_str());
    Value::map([(ENTITY, entity), (SHARDS, Value::map(shards))])
}

fn hold_of_value(value: &Value) -> Option<Hold> {
    let Value::M(hold) = value else { return None };
    let entity = EntityId::stored(hold.get(ENTITY)?.as_s()?);
    let Value::M(shards) = hold.get(SHARDS)? else { return None };
    let amount = |(name, value): (&Name, &Value)| Some((LimitName::stored(name), value.as_i64()?));
    let shard = |(shard, value): (&Name, &Value)| {
        let Value::M(amounts) = value else { return None };
        Some((shard.parse().ok()?, amounts.iter().map(amount).collect::<Option<_>>()?))
    };
    Some(Hold { entity, shards: shards.iter().map(shard).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::super::{EntityTake, Settle};
    use super::*;
    use crate::bucket::ShardTake;

    fn record(on_expiry: OnExpiry) -> Record {
        let name = |text| LimitName::new(text).unwrap();
        let amounts: Amounts = [(name("rpm"), 1_000), (name("a.b"), 5_000)].into();
        let shards = vec![
            ShardTake { shard: 0, amounts: amounts.clone() },
            ShardTake { shard: 11, amounts },
        ];
        let take =
            |text| EntityTake { entity: EntityId::new(text).unwrap(), shards: shards.clone() };
        Record::of(&Grant {
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
            let call = Call::new(&adjust, Some("k")).unwrap();
            lease.note(&call);
            assert_eq!(Record::decode(&lease.encode()), Some(lease.clone()));
            let (digest, answer) = lease.noted(&call).unwrap();
            assert_eq!((digest, answer), (call.digest, lease.settled()));
            assert_eq!(lease.net().into_values().collect::<Vec<_>>(), [10, 2]);
        }
    }

    #[test]
    fn the_text_of_states_is_that_of_their_json() {
        for (state, text) in STATES {
            assert_eq!(serde_json::to_value(state).unwrap(), text);
            assert_eq!(state.as_str(), text);
        }
    }

    #[test]
    fn only_an_open_lease_that_is_rolled_back_is_in_the_index_and_never_forgotten() {
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
