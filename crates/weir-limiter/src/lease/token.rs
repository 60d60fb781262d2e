//! Lease tokens: a grant as an opaque signed text, so that any instance can settle it.
//!
//! A token is the base64url of `version ‖ grant ‖ tag`, where the tag is the first half of an HMAC-SHA256 over everything
//! before it. No content is trusted before the tag is verified. Every acquire over HTTP creates a token, so it is encoded in
//! one pass; it contains each limit's name once, however many shards and entities paid.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::varint::{Reader, put_number, put_signed, put_text};
use super::{EntityTake, Grant, OnExpiry};
use crate::bounds::LEASE_TOKEN_MAX;
use crate::bucket::ShardTake;
use crate::error::{Error, Result};
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};

const VERSION: u8 = 1;
const TAG_LEN: usize = 16;
/// Binds the key to its purpose, so that it verifies nothing else that is signed with the same secret.
const LABEL: &[u8] = b"weir limiter lease 1";
const ROLLBACK: u8 = 1;
const DEGRADED: u8 = 2;
/// Space for the token of an ordinary grant.
const TYPICAL_LEN: usize = 192;

/// Signs and verifies lease tokens.
pub(crate) struct LeaseSigner(hmac::Key);

impl std::fmt::Debug for LeaseSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LeaseSigner(…)")
    }
}

impl LeaseSigner {
    /// A signer with this key.
    pub(crate) fn new(key: &[u8; 32]) -> LeaseSigner {
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), LABEL);
        LeaseSigner(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// Appends the token of a grant.
    pub(super) fn sign(&self, grant: &Grant, to: &mut Vec<u8>) {
        let mut bytes = Vec::with_capacity(TYPICAL_LEN);
        encode(&mut bytes, grant);
        let tag = hmac::sign(&self.0, &bytes);
        bytes.extend_from_slice(tag.as_ref().get(..TAG_LEN).unwrap_or_default());
        let from = to.len();
        to.resize(from + base64::encoded_len(bytes.len(), false).unwrap_or_default(), 0);
        let space = to.get_mut(from..).unwrap_or_default();
        URL_SAFE_NO_PAD.encode_slice(&bytes, space).ok();
    }

    /// Verifies a token of this namespace and decodes its grant.
    pub(super) fn verify(&self, token: &str, ns: &NamespaceId) -> Result<Grant> {
        let grant = self.verified(token).ok_or(Error::NotALease)?;
        if grant.ns == *ns { Ok(grant) } else { Err(Error::NotALease) }
    }

    fn verified(&self, token: &str) -> Option<Grant> {
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
        let grant = decode(&mut reader)?;
        reader.is_empty().then_some(grant)
    }
}

impl Grant {
    /// The grant in the form of its token, unsigned: for the store, which nobody else writes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(TYPICAL_LEN);
        encode(&mut bytes, self);
        bytes
    }

    /// Decodes a stored grant.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Grant> {
        decode(&mut Reader(bytes))
    }
}

fn encode(to: &mut Vec<u8>, grant: &Grant) {
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
                let index = names.binary_search(&name).unwrap_or_default();
                put_number(to, index as u64);
                put_signed(to, *amount);
            }
        }
    }
}

/// Every limit that was taken from, once, sorted.
fn names(grant: &Grant) -> Vec<&LimitName> {
    let shards = grant.takes.iter().flat_map(|take| &take.shards);
    let mut names: Vec<&LimitName> =
        shards.flat_map(|shard| shard.amounts.iter().map(|(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn decode(from: &mut Reader<'_>) -> Option<Grant> {
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
        let index = usize::try_from(from.number()?).ok()?;
        Some((names.get(index)?.clone(), from.signed()?))
    })?;
    Some(ShardTake { shard, amounts })
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
    use proptest::prelude::*;

    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn ns() -> NamespaceId {
        NamespaceId::new("abcdefghijk").unwrap()
    }

    fn grant(shards: u32, limits: usize) -> Grant {
        let amounts: Vec<(LimitName, i64)> = (0..limits)
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

    fn signed(signer: &LeaseSigner, grant: &Grant) -> String {
        let mut token = b"before".to_vec();
        signer.sign(grant, &mut token);
        String::from_utf8(token).unwrap().strip_prefix("before").unwrap().to_owned()
    }

    #[test]
    fn a_signed_grant_is_decoded_unchanged() {
        let signer = LeaseSigner::new(&KEY);
        for (shards, limits) in [(0, 0), (1, 1), (1, 2), (3, 16), (32, 16)] {
            let grant = grant(shards, limits);
            let token = signed(&signer, &grant);
            assert!(token.len() <= LEASE_TOKEN_MAX, "{}", token.len());
            assert_eq!(signer.verify(&token, &ns()).unwrap(), grant);
        }
    }

    #[test]
    fn the_longest_grant_fits_a_token() {
        let long = |text: &str, length: usize| text.repeat(length);
        let name = |n: usize| LimitName::new(format!("{}{n:02}", long("n", 62))).unwrap();
        let most = 1_000 * i64::try_from(crate::bounds::TOKENS_MAX).unwrap();
        let amounts: Vec<(LimitName, i64)> = (0..16).map(|n| (name(n), most)).collect();
        let mut grant = grant(0, 0);
        grant.resource = Resource::new(long("r", 128)).unwrap();
        for take in &mut grant.takes {
            take.entity = EntityId::new(long("e", 256)).unwrap();
            let shard = |shard| ShardTake { shard, amounts: amounts.clone() };
            take.shards = (0..crate::bounds::SHARDS_MAX).map(shard).collect();
        }
        let token = signed(&LeaseSigner::new(&KEY), &grant);
        assert!(token.len() <= LEASE_TOKEN_MAX, "{}", token.len());
        assert_eq!(LeaseSigner::new(&KEY).verify(&token, &ns()).unwrap(), grant);
    }

    #[test]
    fn an_ordinary_token_is_short() {
        let mut grant = grant(1, 2);
        grant.takes.truncate(1);
        assert!(signed(&LeaseSigner::new(&KEY), &grant).len() < 150);
    }

    #[test]
    fn a_token_of_another_key_or_namespace_is_no_lease() {
        let token = signed(&LeaseSigner::new(&KEY), &grant(1, 2));
        let other = NamespaceId::new("ABCDEFGHIJK").unwrap();
        assert!(matches!(LeaseSigner::new(&KEY).verify(&token, &other), Err(Error::NotALease)));
        assert!(matches!(LeaseSigner::new(&[8; 32]).verify(&token, &ns()), Err(Error::NotALease)));
    }

    #[test]
    fn a_token_with_any_byte_changed_is_no_lease() {
        let signer = LeaseSigner::new(&KEY);
        let token = signed(&signer, &grant(2, 2));
        for index in 0..token.len() {
            for other in [b'A', b'B', b'_', b'=', b'#', 0] {
                let mut bytes = token.clone().into_bytes();
                if std::mem::replace(&mut bytes[index], other) == other {
                    continue;
                }
                let changed = String::from_utf8(bytes).unwrap();
                assert!(matches!(signer.verify(&changed, &ns()), Err(Error::NotALease)), "{index}");
            }
            assert!(signer.verify(&token[..index], &ns()).is_err(), "cut at {index}");
        }
        assert!(signer.verify(&"A".repeat(LEASE_TOKEN_MAX + 1), &ns()).is_err());
    }

    #[test]
    fn debug_output_hides_the_key() {
        assert_eq!(format!("{:?}", LeaseSigner::new(&KEY)), "LeaseSigner(…)");
    }

    proptest! {
        #[test]
        fn any_text_can_be_tried(text in "\\PC*") {
            prop_assert!(LeaseSigner::new(&KEY).verify(&text, &ns()).is_err());
        }

        #[test]
        fn any_signed_bytes_can_be_read(mut content: Vec<u8>, version: bool) {
            if version {
                content.insert(0, VERSION);
            }
            let signer = LeaseSigner::new(&KEY);
            let tag = hmac::sign(&signer.0, &content);
            content.extend_from_slice(&tag.as_ref()[..TAG_LEN]);
            let _ = signer.verify(&URL_SAFE_NO_PAD.encode(content), &ns());
        }

        #[test]
        fn any_damage_to_an_encoded_grant_is_survived(index in 0usize..200, byte: u8) {
            let mut content = Vec::new();
            encode(&mut content, &grant(2, 3));
            if let Some(found) = content.get_mut(index) {
                *found = byte;
            }
            let _ = decode(&mut Reader(&content));
        }
    }
}
