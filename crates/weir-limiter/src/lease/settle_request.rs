//! A settle request after validation: its amounts in millitokens, and the digest that identifies a repeated request.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use compact_str::CompactString;
use ring::digest::{SHA256, digest};

use super::varint::{put_number, put_signed, put_text};
use super::{LeaseState, Settle};
use crate::bounds::{IDEMPOTENCY_KEY_MAX, LIMITS_MAX, TOKENS_MAX};
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::ids::LimitName;

/// Stored bytes of a digest: enough that no two collide.
pub(super) const DIGEST_LEN: usize = 16;

/// The kind of a settle request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettleKind {
    /// Takes more, also below zero, or refunds.
    Adjust,
    /// Takes more, if all of it is available.
    Consume,
    /// Refunds a part.
    Release,
    /// Ends the lease in this state.
    End(LeaseState),
}

/// A settle request that is valid as far as can be checked without the store.
#[derive(Debug, Clone)]
pub(super) struct SettleRequest {
    pub(super) kind: SettleKind,
    /// Millitokens to take, or to refund where negative.
    pub(super) deltas: BTreeMap<LimitName, i64>,
    /// The key of the operation in the lease's item: a hash of the caller's idempotency key, or random.
    pub(super) operation: CompactString,
    /// The digest of the request, to notice a key that is reused for another one.
    pub(super) digest: [u8; DIGEST_LEN],
}

impl SettleRequest {
    /// Validates a request.
    pub(super) fn new(settle: &Settle, key: Option<&str>) -> Result<SettleRequest> {
        let (kind, deltas) = match settle {
            Settle::Adjust(amounts) => (SettleKind::Adjust, deltas("adjust", amounts, Sign::Both)?),
            Settle::Consume(amounts) => {
                (SettleKind::Consume, deltas("consume", amounts, Sign::Take)?)
            }
            Settle::Release(amounts) if !amounts.is_empty() => {
                (SettleKind::Release, deltas("release", amounts, Sign::Refund)?)
            }
            Settle::Release(_) => (SettleKind::End(LeaseState::Released), BTreeMap::new()),
            Settle::Commit => (SettleKind::End(LeaseState::Committed), BTreeMap::new()),
            Settle::Rollback => (SettleKind::End(LeaseState::RolledBack), BTreeMap::new()),
        };
        Ok(SettleRequest {
            kind,
            operation: operation(key)?,
            digest: digest_of(kind, &deltas),
            deltas,
        })
    }

    /// The request that expires a lease.
    pub(super) fn expire() -> SettleRequest {
        let (kind, deltas) = (SettleKind::End(LeaseState::Expired), BTreeMap::new());
        SettleRequest {
            kind,
            operation: CompactString::default(),
            digest: digest_of(kind, &deltas),
            deltas,
        }
    }

    /// Whether the request changes the lease's item alone.
    pub(super) fn is_commit(&self) -> bool {
        self.kind == SettleKind::End(LeaseState::Committed)
    }
}

/// The sign that a caller's amounts have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Both,
    Take,
    Refund,
}

fn deltas(
    field: &str,
    amounts: &BTreeMap<LimitName, i64>,
    sign: Sign,
) -> Result<BTreeMap<LimitName, i64>> {
    if amounts.is_empty() || amounts.len() > LIMITS_MAX {
        let problem = format!("must name 1 to {LIMITS_MAX} limits, not {}", amounts.len());
        return Err(Error::invalid(field, problem));
    }
    let max = i64::try_from(TOKENS_MAX).unwrap_or(i64::MAX);
    let delta = |(name, amount): (&LimitName, &i64)| {
        let least = if sign == Sign::Both { -max } else { 1 };
        if *amount == 0 || !(least..=max).contains(amount) {
            let nonzero = if sign == Sign::Both { ", without 0" } else { "" };
            let problem = format!("{name} must be from {least} to {max}{nonzero}, not {amount}");
            return Err(Error::invalid(field, problem));
        }
        let milli = amount * MILLI;
        Ok((name.clone(), if sign == Sign::Refund { -milli } else { milli }))
    };
    amounts.iter().map(delta).collect()
}

fn operation(key: Option<&str>) -> Result<CompactString> {
    let Some(key) = key else {
        let random = fastrand::u128(..).to_be_bytes();
        return Ok(URL_SAFE_NO_PAD.encode(random).into());
    };
    if !(1..=IDEMPOTENCY_KEY_MAX).contains(&key.len()) {
        let problem = format!("must have 1 to {IDEMPOTENCY_KEY_MAX} characters, not {}", key.len());
        return Err(Error::invalid("key", problem));
    }
    Ok(URL_SAFE_NO_PAD.encode(half(digest(&SHA256, key.as_bytes()).as_ref())).into())
}

fn digest_of(kind: SettleKind, deltas: &BTreeMap<LimitName, i64>) -> [u8; DIGEST_LEN] {
    let kind = match kind {
        SettleKind::Adjust => 0,
        SettleKind::Consume => 1,
        SettleKind::Release => 2,
        SettleKind::End(LeaseState::Committed) => 3,
        SettleKind::End(LeaseState::Released) => 4,
        SettleKind::End(LeaseState::RolledBack) => 5,
        SettleKind::End(LeaseState::Expired | LeaseState::Open) => 6,
    };
    let mut bytes = Vec::new();
    put_number(&mut bytes, kind);
    for (name, amount) in deltas {
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
    fn invalid_amounts_are_refused() {
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
            let error = SettleRequest::new(&wrong, None).unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{wrong:?}: {error}");
        }
        for key in [String::new(), "k".repeat(256)] {
            assert!(SettleRequest::new(&Settle::Commit, Some(&key)).is_err());
        }
    }

    #[test]
    fn a_repeated_request_has_the_same_digest_and_another_has_not() {
        let one = |settle: &Settle| SettleRequest::new(settle, Some("k")).unwrap();
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
        let keyless = || SettleRequest::new(&plus, None).unwrap().operation;
        assert_ne!(keyless(), keyless());
    }
}
