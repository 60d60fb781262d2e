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
    /// Millitokens that a commit adjusts the lease to.
    pub(super) actual: BTreeMap<LimitName, i64>,
    /// The key of the operation in the lease's item: a hash of the caller's idempotency key, or random.
    pub(super) operation: CompactString,
    /// The digest of the request, to notice a key that is reused for another one.
    pub(super) digest: [u8; DIGEST_LEN],
}

impl SettleRequest {
    /// Validates a request.
    pub(super) fn new(settle: &Settle, key: Option<&str>) -> Result<SettleRequest> {
        let operation = operation(key)?;
        let change =
            |kind, deltas| SettleRequest::of(kind, deltas, BTreeMap::new(), operation.clone());
        let end = |state, actual| {
            SettleRequest::of(SettleKind::End(state), BTreeMap::new(), actual, operation.clone())
        };
        Ok(match settle {
            Settle::Adjust(amounts) => {
                change(SettleKind::Adjust, milli("adjust", amounts, Sign::Both)?)
            }
            Settle::Consume(amounts) => {
                change(SettleKind::Consume, milli("consume", amounts, Sign::Take)?)
            }
            Settle::Release(amounts) if !amounts.is_empty() => {
                change(SettleKind::Release, milli("release", amounts, Sign::Refund)?)
            }
            Settle::Release(_) => end(LeaseState::Released, BTreeMap::new()),
            Settle::Commit => end(LeaseState::Committed, BTreeMap::new()),
            Settle::CommitActual(amounts) => {
                end(LeaseState::Committed, milli("actual", amounts, Sign::Total)?)
            }
            Settle::Rollback => end(LeaseState::RolledBack, BTreeMap::new()),
        })
    }

    fn of(
        kind: SettleKind,
        deltas: BTreeMap<LimitName, i64>,
        actual: BTreeMap<LimitName, i64>,
        operation: CompactString,
    ) -> SettleRequest {
        let digest = digest_of(kind, deltas.iter().chain(&actual));
        SettleRequest { kind, deltas, actual, operation, digest }
    }

    /// The request that expires a lease.
    pub(super) fn expire() -> SettleRequest {
        let kind = SettleKind::End(LeaseState::Expired);
        let (deltas, actual) = (BTreeMap::new(), BTreeMap::new());
        SettleRequest::of(kind, deltas, actual, CompactString::default())
    }

    /// Whether the request changes the lease's item alone.
    pub(super) fn keeps_tokens(&self) -> bool {
        self.kind == SettleKind::End(LeaseState::Committed) && self.actual.is_empty()
    }
}

/// The sign that a caller's amounts have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Both,
    Take,
    Refund,
    /// Not what changes, but what the lease holds afterwards.
    Total,
}

/// A caller's amounts in millitokens, negative if they are refunded.
fn milli(
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
        let (least, nonzero) = match sign {
            Sign::Both => (-max, ", without 0"),
            Sign::Take | Sign::Refund => (1, ""),
            Sign::Total => (0, ""),
        };
        if (*amount == 0 && sign == Sign::Both) || !(least..=max).contains(amount) {
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

fn digest_of<'a>(
    kind: SettleKind,
    amounts: impl Iterator<Item = (&'a LimitName, &'a i64)>,
) -> [u8; DIGEST_LEN] {
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
    for (name, amount) in amounts {
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
            Settle::CommitActual(amounts(&[])),
            Settle::CommitActual(amounts(&[("rpm", -1)])),
            Settle::CommitActual(amounts(&[("rpm", most + 1)])),
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
            Settle::CommitActual(amounts(&[("rpm", 1)])),
            Settle::Rollback,
        ] {
            assert_ne!(one(&plus).digest, one(&other).digest, "{other:?}");
        }
        let keyless = || SettleRequest::new(&plus, None).unwrap().operation;
        assert_ne!(keyless(), keyless());
    }
}
