//! A request for one action, and its answer.

use sha2::{Digest as _, Sha256};
use weir_calendar::{Day, Zone};
use weir_table::{Kind, Value};

use crate::bounds::METADATA_MAX;
use crate::day::end_of;
use crate::error::{Error, Result};
use crate::ids::{IdempotencyKey, ProblemId};
use crate::item::secs;
use crate::kinds::Action;
use crate::plans::PlanLimit;

/// A request to do an action once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRequest {
    /// The action.
    pub action: Action,
    /// The problem it is about.
    pub problem_id: Option<ProblemId>,
    /// Further details for the log: a map.
    pub metadata: Option<Value>,
    /// Key with which the client may repeat the request without being counted twice.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl UsageRequest {
    /// A request without details.
    #[must_use]
    pub fn new(action: Action) -> UsageRequest {
        UsageRequest { action, problem_id: None, metadata: None, idempotency_key: None }
    }

    pub(super) fn check(&self) -> Result<()> {
        let Some(metadata) = &self.metadata else { return Ok(()) };
        if metadata.kind() != Kind::M {
            return Err(Error::invalid("metadata", "is not an object"));
        }
        let size = metadata.size();
        if size > METADATA_MAX {
            let problem = format!("has {size} bytes; at most {METADATA_MAX} are allowed");
            return Err(Error::too_large("metadata", problem));
        }
        Ok(())
    }

    /// Hash of everything but the key. It is stored, so it must not change.
    pub(super) fn hash(&self) -> Vec<u8> {
        let mut hash = Sha256::new();
        let metadata = self.metadata.as_ref();
        let metadata = metadata.map(|value| weir_table::json::value_to_json(value).to_string());
        let problem = self.problem_id.as_ref().map(|id| id.as_str());
        for text in [Some(self.action.as_str()), problem, metadata.as_deref()] {
            hash.update([u8::from(text.is_some())]);
            let text = text.unwrap_or_default();
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        hash.finalize().to_vec()
    }
}

/// The answer to a request. A refusal is an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageAnswer {
    /// Whether the action is allowed; then it is counted.
    pub allowed: bool,
    /// The action.
    pub action: Action,
    /// The day on which it counts.
    pub day: Day,
    /// How often the user did the action on that day, with this request if it is allowed. Requests at the same moment may
    /// be answered the same number.
    pub count: u64,
    /// The limit that applies; unlimited for staff.
    pub limit: PlanLimit,
    /// How often more on that day; `None` for any number.
    pub remaining: Option<u64>,
    /// When the next day starts, in seconds since 1970.
    pub resets_at_s: i64,
    /// Whether the request was counted before, and this repeats its answer.
    pub is_replay: bool,
    /// How far the clock was ahead of the newest item seen, in milliseconds, if that is more than a minute.
    pub clock_ahead_ms: Option<i64>,
}

/// The part of an answer that is stored with an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) action: Action,
    pub(super) day: Day,
    pub(super) count: u64,
    pub(super) limit: PlanLimit,
}

impl Outcome {
    pub(super) fn answer(self, allowed: bool, zone: &Zone) -> UsageAnswer {
        let Outcome { action, day, count, limit } = self;
        UsageAnswer {
            allowed,
            action,
            day,
            count,
            limit,
            remaining: limit.remaining(count),
            resets_at_s: secs(end_of(zone, day)),
            is_replay: false,
            clock_ahead_ms: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_covers_everything_but_the_key() {
        let plain = UsageRequest::new(Action::Hint);
        let problem = ProblemId::new("1000").unwrap();
        let others = [
            UsageRequest { action: Action::Execution, ..plain.clone() },
            UsageRequest { problem_id: Some(problem), ..plain.clone() },
            UsageRequest { metadata: Some(Value::map([("a", 1)])), ..plain.clone() },
            UsageRequest { metadata: Some(Value::map([("a", "1")])), ..plain.clone() },
        ];
        let hashes: std::collections::BTreeSet<_> =
            others.iter().chain([&plain]).map(UsageRequest::hash).collect();
        assert_eq!(hashes.len(), 5);
        let key = Some(IdempotencyKey::new("k").unwrap());
        assert_eq!(UsageRequest { idempotency_key: key, ..plain.clone() }.hash(), plain.hash());
        let hex: String = plain.hash().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ac701e9ce9739980");
    }

    #[test]
    fn metadata_is_a_small_map() {
        let with =
            |metadata| UsageRequest { metadata: Some(metadata), ..UsageRequest::new(Action::Hint) };
        with(Value::map([("language", "python")])).check().unwrap();
        for bad in [Value::from("x"), Value::map([("a", "x".repeat(METADATA_MAX))])] {
            assert!(with(bad).check().unwrap_err().to_string().starts_with("metadata: "));
        }
    }
}
