//! A lease: what an acquire took, and how it was settled.

use std::collections::{BTreeMap, BTreeSet};

use weir_limiter::ids::{EntityId, LimitName};
use weir_limiter::lease::{Grant, LeaseState, Settle};

const MILLI: i64 = 1_000;

/// Millitokens of each limit of each payer.
pub type Holdings = BTreeMap<EntityId, BTreeMap<LimitName, i64>>;

/// A lease.
#[derive(Debug, Clone)]
pub struct Lease {
    /// What the acquire returned.
    pub grant: Grant,
    /// What it holds.
    pub holdings: Holdings,
    /// Its state.
    pub state: LeaseState,
    /// Idempotency keys of settlements that took effect.
    pub applied: BTreeSet<String>,
}

impl Lease {
    /// The lease of a grant.
    #[must_use]
    pub fn new(grant: Grant) -> Lease {
        let mut holdings = Holdings::new();
        for take in &grant.takes {
            let payer = holdings.entry(take.entity.clone()).or_default();
            for (name, amount) in take.shards.iter().flat_map(|shard| &shard.amounts) {
                *payer.entry(name.clone()).or_default() += amount;
            }
        }
        Lease { grant, holdings, state: LeaseState::Open, applied: BTreeSet::new() }
    }

    /// Settles it: returns the millitokens that each payer pays, or gets back where negative. A parent pays more of a limit
    /// only if it `has` it; the last argument of `has` is whether it paid for the limit before.
    pub fn settle(
        &mut self,
        settle: &Settle,
        has: impl Fn(&EntityId, &LimitName, bool) -> bool,
    ) -> Holdings {
        let mut paid = Holdings::new();
        let child = self.grant.takes.first().map(|take| take.entity.clone());
        let net = self.net();
        for (entity, held) in &mut self.holdings {
            let amounts: Vec<(LimitName, i64)> = match settle {
                Settle::Commit => Vec::new(),
                Settle::Rollback => back(held),
                Settle::Release(amounts) if amounts.is_empty() => back(held),
                Settle::Release(amounts) => {
                    amounts.iter().map(|(name, tokens)| (name.clone(), -tokens * MILLI)).collect()
                }
                Settle::CommitActual(actual) => {
                    let held = |name| net.get(name).copied().unwrap_or_default();
                    let more = actual.iter().map(|(name, tokens)| (name, tokens - held(name)));
                    more.map(|(name, tokens)| (name.clone(), tokens * MILLI)).collect()
                }
                Settle::Adjust(amounts) | Settle::Consume(amounts) => {
                    amounts.iter().map(|(name, tokens)| (name.clone(), tokens * MILLI)).collect()
                }
            };
            for (name, amount) in amounts {
                let is_parent = Some(entity) != child.as_ref();
                if is_parent && amount > 0 && !has(entity, &name, held.contains_key(&name)) {
                    continue;
                }
                let of_limit = held.entry(name.clone()).or_default();
                // A parent gives back no more than it paid.
                let amount = if is_parent { amount.max(-*of_limit) } else { amount };
                *of_limit += amount;
                paid.entry(entity.clone()).or_default().insert(name, amount);
            }
        }
        match settle {
            Settle::Commit | Settle::CommitActual(_) => self.state = LeaseState::Committed,
            Settle::Rollback => self.state = LeaseState::RolledBack,
            Settle::Release(amounts) if amounts.is_empty() => self.state = LeaseState::Released,
            _ => {}
        }
        paid
    }

    /// Tokens that the requesting entity holds.
    #[must_use]
    pub fn net(&self) -> BTreeMap<LimitName, i64> {
        let child = self.grant.takes.first().and_then(|take| self.holdings.get(&take.entity));
        let child = child.into_iter().flatten();
        child.map(|(name, amount)| (name.clone(), amount / MILLI)).collect()
    }
}

fn back(held: &BTreeMap<LimitName, i64>) -> Vec<(LimitName, i64)> {
    let held = held.iter().filter(|(_, amount)| **amount != 0);
    held.map(|(name, amount)| (name.clone(), -amount)).collect()
}
