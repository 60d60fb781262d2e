//! A settle that has been looked at: what it wants in millitokens, and how a repeat of it is known again.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use compact_str::CompactString;
use ring::digest::{SHA256, digest};

use super::wire::{put_number, put_signed, put_text};
use super::{LeaseState, Settle};
use crate::bounds::{LIMITS_MAX, OPERATION_KEY_MAX, TOKENS_MAX};
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::ids::LimitName;

/// Bytes of a digest that are kept: enough that no two are ever alike.
pub(super) const DIGEST_LEN: usize = 16;

/// What kind of settle it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Take more, below zero if need be, or give back.
    Adjust,
    /// Take more if it is there.
    Consume,
    /// Give back a part.
    Release,
    /// End the lease like this.
    End(LeaseState),
}

/// A settle that can be done, as far as it can be known without the store.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) verb: Verb,
    /// Millitokens to take, or to give back where negative.
    pub(super) wants: BTreeMap<LimitName, i64>,
    /// What it is known by in the lease's item: of the caller's key or, without one, random.
    pub(super) operation: CompactString,
    /// What was called, so that a key that comes back for another call is noticed.
    pub(super) digest: [u8; DIGEST_LEN],
}

impl Call {
    /// Looks at a settle.
    pub(super) fn new(settle: &Settle, key: Option<&str>) -> Result<Call> {
        let (verb, wants) = match settle {
            Settle::Adjust(amounts) => (Verb::Adjust, wants("adjust", amounts, Sign::Both)?),
            Settle::Consume(amounts) => (Verb::Consume, wants("consume", amounts, Sign::Take)?),
            Settle::Release(amounts) if !amounts.is_empty() => {
                (Verb::Release, wants("release", amounts, Sign::Give)?)
            }
            Settle::Release(_) => (Verb::End(LeaseState::Released), BTreeMap::new()),
            Settle::Commit => (Verb::End(LeaseState::Committed), BTreeMap::new()),
            Settle::Rollback => (Verb::End(LeaseState::RolledBack), BTreeMap::new()),
        };
        Ok(Call { verb, operation: operation(key)?, digest: digest_of(verb, &wants), wants })
    }

    /// What is done to a lease that nobody settled.
    pub(super) fn expire() -> Call {
        let (verb, wants) = (Verb::End(LeaseState::Expired), BTreeMap::new());
        Call { verb, operation: CompactString::default(), digest: digest_of(verb, &wants), wants }
    }

    /// Whether it changes the lease's item alone.
    pub(super) fn is_commit(&self) -> bool {
        self.verb == Verb::End(LeaseState::Committed)
    }
}

/// What a caller's number means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Both,
    Take,
    Give,
}

fn wants(
    field: &str,
    amounts: &BTreeMap<LimitName, i64>,
    sign: Sign,
) -> Result<BTreeMap<LimitName, i64>> {
    if amounts.is_empty() || amounts.len() > LIMITS_MAX {
        let problem = format!("names {} limits; 1 to {LIMITS_MAX} are allowed", amounts.len());
        return Err(Error::invalid(field, problem));
    }
    let max = i64::try_from(TOKENS_MAX).unwrap_or(i64::MAX);
    let want = |(name, amount): (&LimitName, &i64)| {
        let least = if sign == Sign::Both { -max } else { 1 };
        if *amount == 0 || !(least..=max).contains(amount) {
            let nonzero = if sign == Sign::Both { " and not 0" } else { "" };
            let problem =
                format!("has {amount} of {name}; it must be from {least} to {max}{nonzero}");
            return Err(Error::invalid(field, problem));
        }
        let milli = amount * MILLI;
        Ok((name.clone(), if sign == Sign::Give { -milli } else { milli }))
    };
    amounts.iter().map(want).collect()
}

fn operation(key: Option<&str>) -> Result<CompactString> {
    let Some(key) = key else {
        let random = fastrand::u128(..).to_be_bytes();
        return Ok(URL_SAFE_NO_PAD.encode(random).into());
    };
    if !(1..=OPERATION_KEY_MAX).contains(&key.len()) {
        let problem = format!("has {} characters; 1 to {OPERATION_KEY_MAX} are allowed", key.len());
        return Err(Error::invalid("key", problem));
    }
    Ok(URL_SAFE_NO_PAD.encode(half(digest(&SHA256, key.as_bytes()).as_ref())).into())
}

fn digest_of(verb: Verb, wants: &BTreeMap<LimitName, i64>) -> [u8; DIGEST_LEN] {
    let verb = match verb {
        Verb::Adjust => 0,
        Verb::Consume => 1,
        Verb::Release => 2,
        Verb::End(LeaseState::Committed) => 3,
        Verb::End(LeaseState::Released) => 4,
        Verb::End(LeaseState::RolledBack) => 5,
        Verb::End(LeaseState::Expired | LeaseState::Open) => 6,
    };
    let mut bytes = Vec::new();
    put_number(&mut bytes, verb);
    for (name, amount) in wants {
        put_text(&mut bytes, name.as_str());
        put_signed(&mut bytes, *amount);
    }
    half(digest(&SHA256, &bytes).as_ref())
}

fn half(digest: &[u8]) -> [u8; DIGEST_LEN] {
    digest.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(of: &[(&str, i64)]) -> BTreeMap<LimitName, i64> {
        of.iter().map(|(name, amount)| (LimitName::new(name).unwrap(), *amount)).collect()
    }

    #[test]
    fn wrong_amounts_are_named() {
        let most = i64::try_from(TOKENS_MAX).unwrap();
        let many: Vec<String> = (0..17).map(|n| format!("l{n}")).collect();
        let many: Vec<(&str, i64)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        for wrong in [
            Settle::Adjust(amounts(&[])),
            Settle::Adjust(amounts(&many)),
            Settle::Adjust(amounts(&[("rpm", 0)])),
            Settle::Adjust(amounts(&[("rpm", most + 1)])),
            Settle::Adjust(amounts(&[("rpm", i64::MIN)])),
            Settle::Consume(amounts(&[])),
            Settle::Consume(amounts(&[("rpm", -1)])),
            Settle::Release(amounts(&[("rpm", -1)])),
            Settle::Release(amounts(&[("rpm", 0)])),
        ] {
            let error = Call::new(&wrong, None).unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{wrong:?}: {error}");
        }
        for key in [String::new(), "k".repeat(256)] {
            assert!(Call::new(&Settle::Commit, Some(&key)).is_err());
        }
    }

    #[test]
    fn a_repeat_is_known_again_and_another_call_is_not() {
        let one = |settle: &Settle| Call::new(settle, Some("k")).unwrap();
        let plus = Settle::Adjust(amounts(&[("rpm", 1)]));
        assert_eq!(one(&plus).operation, one(&plus).operation);
        assert_eq!(one(&plus).digest, one(&plus).digest);
        for other in [
            Settle::Adjust(amounts(&[("rpm", -1)])),
            Settle::Adjust(amounts(&[("tpm", 1)])),
            Settle::Consume(amounts(&[("rpm", 1)])),
            Settle::Release(amounts(&[("rpm", 1)])),
            Settle::Release(amounts(&[])),
            Settle::Commit,
            Settle::Rollback,
        ] {
            assert_ne!(one(&plus).digest, one(&other).digest, "{other:?}");
        }
        let keyless = || Call::new(&plus, None).unwrap().operation;
        assert_ne!(keyless(), keyless());
    }
}
