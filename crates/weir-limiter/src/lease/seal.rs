//! A grant as an opaque signed text, so that any instance can settle it.
//!
//! base64url of `version ‖ grant ‖ tag`, where the tag is the first half of an HMAC-SHA256 over all before it.
//! Nothing of the content is believed before the tag has been checked. Every acquire over HTTP makes one, so it is written in
//! one pass; names of limits stand in it once, however many shards and entities were taken from.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::wire::{Reader, put_number, put_signed, put_text};
use super::{EntityTake, Grant, OnExpiry};
use crate::bounds::LEASE_TOKEN_MAX;
use crate::bucket::ShardTake;
use crate::error::{Error, Result};
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};

const VERSION: u8 = 1;
const TAG_LEN: usize = 16;
/// What the key is for, so that it opens nothing else that is sealed with the same secret.
const LABEL: &[u8] = b"weir limiter lease 1";
const ROLLBACK: u8 = 1;
const DEGRADED: u8 = 2;
/// Room for the token of an ordinary grant.
const ORDINARY_LEN: usize = 192;

/// Signs and opens the tokens of leases.
pub struct Seal(hmac::Key);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(…)")
    }
}

impl Seal {
    /// A seal with this key.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Seal {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), LABEL);
        Seal(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// Appends the token of a grant.
    pub(super) fn seal(&self, grant: &Grant, to: &mut Vec<u8>) {
        let mut bytes = Vec::with_capacity(ORDINARY_LEN);
        write(&mut bytes, grant);
        let tag = hmac::sign(&self.0, &bytes);
        bytes.extend_from_slice(tag.as_ref().get(..TAG_LEN).unwrap_or_default());
        let from = to.len();
        to.resize(from + base64::encoded_len(bytes.len(), false).unwrap_or_default(), 0);
        let room = to.get_mut(from..).unwrap_or_default();
        URL_SAFE_NO_PAD.encode_slice(&bytes, room).ok();
    }

    /// The grant of a token of this namespace.
    pub(super) fn open(&self, token: &str, ns: &NamespaceId) -> Result<Grant> {
        let grant = self.checked(token).ok_or(Error::NotALease)?;
        if grant.ns == *ns { Ok(grant) } else { Err(Error::NotALease) }
    }

    fn checked(&self, token: &str) -> Option<Grant> {
        if token.len() > LEASE_TOKEN_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (content, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_LEN)?)?;
        let expected = hmac::sign(&self.0, content);
        let expected = expected.as_ref().get(..TAG_LEN)?;
        if !bool::from(expected.ct_eq(tag)) {
            return None;
        }
        let mut reader = Reader(content);
        let grant = read(&mut reader)?;
        reader.is_empty().then_some(grant)
    }
}

fn write(to: &mut Vec<u8>, grant: &Grant) {
    let rollback = if grant.on_expiry == OnExpiry::Rollback { ROLLBACK } else { 0 };
    let degraded = if grant.degraded { DEGRADED } else { 0 };
    to.extend([VERSION, rollback | degraded]);
    put_text(to, &grant.id);
    put_text(to, grant.ns.as_str());
    put_text(to, grant.resource.as_str());
    put_signed(to, grant.taken_ms);
    put_signed(to, grant.expires_ms.wrapping_sub(grant.taken_ms));
    let names = names(grant);
    put_number(to, names.len() as u64);
    for name in &names {
        put_text(to, name.as_str());
    }
    put_number(to, grant.takes.len() as u64);
    for take in &grant.takes {
        put_text(to, take.entity.as_str());
        put_number(to, take.shards.len() as u64);
        for shard in &take.shards {
            put_number(to, u64::from(shard.shard));
            put_number(to, shard.amounts.len() as u64);
            for (name, amount) in &shard.amounts {
                let place = names.binary_search(&name).unwrap_or_default();
                put_number(to, place as u64);
                put_signed(to, *amount);
            }
        }
    }
}

/// Every limit that was taken from, once, in order.
fn names(grant: &Grant) -> Vec<&LimitName> {
    let shards = grant.takes.iter().flat_map(|take| &take.shards);
    let mut names: Vec<&LimitName> = shards.flat_map(|shard| shard.amounts.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn read(from: &mut Reader<'_>) -> Option<Grant> {
    if from.byte()? != VERSION {
        return None;
    }
    let flags = from.byte()?;
    let id = from.text()?.to_owned();
    let ns = NamespaceId::new(from.text()?).ok()?;
    let resource = Resource::stored(from.text()?);
    let taken_ms = from.signed()?;
    let expires_ms = taken_ms.wrapping_add(from.signed()?);
    let names = many(from, |from| Some(LimitName::stored(from.text()?)))?;
    let takes = many(from, |from| {
        let entity = EntityId::stored(from.text()?);
        Some(EntityTake { entity, shards: many(from, |from| shard(from, &names))? })
    })?;
    let on_expiry = if flags & ROLLBACK == 0 { OnExpiry::Keep } else { OnExpiry::Rollback };
    let degraded = flags & DEGRADED != 0;
    Some(Grant { id, ns, resource, takes, taken_ms, expires_ms, on_expiry, degraded })
}

fn shard(from: &mut Reader<'_>, names: &[LimitName]) -> Option<ShardTake> {
    let shard = u32::try_from(from.number()?).ok()?;
    let amounts = many(from, |from| {
        let place = usize::try_from(from.number()?).ok()?;
        Some((names.get(place)?.clone(), from.signed()?))
    })?;
    Some(ShardTake { shard, amounts: amounts.into_iter().collect() })
}

fn many<T>(
    from: &mut Reader<'_>,
    mut one: impl FnMut(&mut Reader<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = from.count()?;
    (0..count).map(|_| one(from)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn ns() -> NamespaceId {
        NamespaceId::new("abcdefghijk").unwrap()
    }

    fn grant(shards: u32, limits: usize) -> Grant {
        let amounts: BTreeMap<LimitName, i64> = (0..limits)
            .map(|n| (LimitName::new(format!("limit{n}")).unwrap(), 1_000 * n as i64 + 5))
            .collect();
        let shards: Vec<ShardTake> =
            (0..shards).map(|shard| ShardTake { shard, amounts: amounts.clone() }).collect();
        let take = |entity: &str| EntityTake {
            entity: EntityId::new(entity).unwrap(),
            shards: shards.clone(),
        };
        Grant {
            id: "0123456789abcdefghijkl".to_owned(),
            ns: ns(),
            resource: Resource::new("gpt-4").unwrap(),
            takes: vec![take("user-1"), take("team")],
            taken_ms: 1_768_478_400_000,
            expires_ms: 1_768_478_400_000 + 600_000,
            on_expiry: OnExpiry::Rollback,
            degraded: true,
        }
    }

    fn sealed(seal: &Seal, grant: &Grant) -> String {
        let mut token = b"before".to_vec();
        seal.seal(grant, &mut token);
        String::from_utf8(token).unwrap().strip_prefix("before").unwrap().to_owned()
    }

    #[test]
    fn a_grant_is_opened_as_it_was_sealed() {
        let seal = Seal::new(&KEY);
        for (shards, limits) in [(0, 0), (1, 1), (1, 2), (3, 16), (32, 16)] {
            let grant = grant(shards, limits);
            let token = sealed(&seal, &grant);
            assert!(token.len() <= LEASE_TOKEN_MAX, "{}", token.len());
            assert_eq!(seal.open(&token, &ns()).unwrap(), grant);
        }
    }

    #[test]
    fn the_longest_grant_fits_a_token() {
        let long = |text: &str, length: usize| text.repeat(length);
        let name = |n: usize| LimitName::new(format!("{}{n:02}", long("n", 62))).unwrap();
        let most = 1_000 * i64::try_from(crate::bounds::TOKENS_MAX).unwrap();
        let amounts: BTreeMap<LimitName, i64> = (0..16).map(|n| (name(n), most)).collect();
        let mut grant = grant(0, 0);
        grant.resource = Resource::new(long("r", 128)).unwrap();
        for take in &mut grant.takes {
            take.entity = EntityId::new(long("e", 256)).unwrap();
            let shard = |shard| ShardTake { shard, amounts: amounts.clone() };
            take.shards = (0..crate::bounds::SHARDS_MAX).map(shard).collect();
        }
        let token = sealed(&Seal::new(&KEY), &grant);
        assert!(token.len() <= LEASE_TOKEN_MAX, "{}", token.len());
        assert_eq!(Seal::new(&KEY).open(&token, &ns()).unwrap(), grant);
    }

    #[test]
    fn an_ordinary_token_is_short() {
        let mut grant = grant(1, 2);
        grant.takes.truncate(1);
        assert!(sealed(&Seal::new(&KEY), &grant).len() < 150);
    }

    #[test]
    fn a_token_of_another_key_or_namespace_is_no_lease() {
        let token = sealed(&Seal::new(&KEY), &grant(1, 2));
        let other = NamespaceId::new("ABCDEFGHIJK").unwrap();
        assert!(matches!(Seal::new(&KEY).open(&token, &other), Err(Error::NotALease)));
        assert!(matches!(Seal::new(&[8; 32]).open(&token, &ns()), Err(Error::NotALease)));
    }

    #[test]
    fn a_token_with_any_byte_changed_is_no_lease() {
        let seal = Seal::new(&KEY);
        let token = sealed(&seal, &grant(2, 2));
        for place in 0..token.len() {
            for other in [b'A', b'B', b'_', b'=', b'#', 0] {
                let mut bytes = token.clone().into_bytes();
                if std::mem::replace(&mut bytes[place], other) == other {
                    continue;
                }
                let changed = String::from_utf8(bytes).unwrap();
                assert!(matches!(seal.open(&changed, &ns()), Err(Error::NotALease)), "{place}");
            }
            assert!(seal.open(&token[..place], &ns()).is_err(), "cut at {place}");
        }
        assert!(seal.open(&"A".repeat(LEASE_TOKEN_MAX + 1), &ns()).is_err());
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", Seal::new(&KEY)), "Seal(…)");
    }

    proptest! {
        #[test]
        fn any_text_can_be_tried(text in "\\PC*") {
            prop_assert!(Seal::new(&KEY).open(&text, &ns()).is_err());
        }

        #[test]
        fn any_signed_bytes_can_be_read(mut content: Vec<u8>, version: bool) {
            if version {
                content.insert(0, VERSION);
            }
            let seal = Seal::new(&KEY);
            let tag = hmac::sign(&seal.0, &content);
            content.extend_from_slice(&tag.as_ref()[..TAG_LEN]);
            let _ = seal.open(&URL_SAFE_NO_PAD.encode(content), &ns());
        }

        #[test]
        fn any_damage_to_a_sealed_grant_is_survived(place in 0usize..200, byte: u8) {
            let mut content = Vec::new();
            write(&mut content, &grant(2, 3));
            if let Some(found) = content.get_mut(place) {
                *found = byte;
            }
            let _ = read(&mut Reader(&content));
        }
    }
}
