//! Converts items of zae-limiter's table.

use weir_table::Item;

use super::report::Kind;
use crate::bounds::SHARDS_MAX;
use crate::bucket::{self, Bucket};
use crate::config::{self, Level, LevelConfig};
use crate::entities::{self, Entity};
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::item::{self, BucketId, RF, SHARD_COUNT};
use crate::keys;

/// Attributes by which later releases find the owner of a bucket. They say nothing about its limits.
const OWNER: [&str; 2] = ["pgen", "pinc"];

/// The meaning of an item.
#[derive(Debug)]
pub(super) enum Found {
    Entity(Entity),
    Level(Level, LevelConfig),
    /// The first shard of a bucket.
    Bucket(BucketId),
    Usage,
    Audit,
    /// Something that has no place in Weir, and why.
    Other(String),
    /// Something that follows from other items, or that nobody needs.
    Nothing,
}

/// Reads an item.
///
/// # Errors
/// The kind of the item, and why Weir cannot express it.
pub(super) fn found(item: &Item) -> std::result::Result<Found, (Kind, String)> {
    let (pk, sk) = (item.s("PK").unwrap_or_default(), item.s("SK").unwrap_or_default());
    if let Some((ns, entity, resource, shard)) = keys::parse_bucket(pk) {
        if shard != 0 || !keys::is_bucket_sort(sk) || item.i64(RF).is_none() {
            return Ok(Found::Nothing);
        }
        let id = checked_id(&entity, &resource).map_err(|problem| (Kind::Bucket, problem))?;
        return Ok(Found::Bucket(BucketId { ns, ..id }));
    }
    if sk == keys::META {
        let entity = entities::decode_entity(item);
        let entity = entity.ok_or((Kind::Entity, "it has no id".to_owned()))?;
        EntityId::new(entity.id.as_str()).map_err(|error| (Kind::Entity, error.to_string()))?;
        return Ok(Found::Entity(entity));
    }
    if let Some(level) = keys::parse_level(pk, sk) {
        let level = level.map_err(|error| (Kind::Level, error.to_string()))?;
        let config = config::decode_level(item).map_err(|attribute| {
            (Kind::Level, format!("weir cannot express its attribute {attribute:?}"))
        })?;
        let is_empty = config == LevelConfig { version: config.version, ..LevelConfig::default() };
        return Ok(if is_empty { Found::Nothing } else { Found::Level(level, config) });
    }
    Ok(match keys::parse_history(pk, sk) {
        Some(true) => Found::Audit,
        Some(false) => Found::Usage,
        None if keys::is_zae_provisioner(sk) => Found::Other(
            "the state of its provisioner is not imported: keep limits in a file for `weir limiter limits apply`"
                .to_owned(),
        ),
        None => Found::Nothing,
    })
}

fn checked_id(entity: &EntityId, resource: &Resource) -> std::result::Result<BucketId, String> {
    let checked = || -> Result<(EntityId, Resource)> {
        Ok((EntityId::new(entity.as_str())?, Resource::new(resource.as_str())?))
    };
    let (entity, resource) = checked().map_err(|error| error.to_string())?;
    Ok(BucketId { ns: crate::ids::NamespaceId::stored(""), entity, resource })
}

/// An item as a report shows it.
pub(super) fn label(item: &Item) -> String {
    let (pk, sk) = (item.s("PK").unwrap_or_default(), item.s("SK").unwrap_or_default());
    let pk = pk.split_once('/').map_or(pk, |(_, rest)| rest);
    format!("{pk} {sk}")
}

/// The numbers of the shards after the first.
pub(super) fn siblings(first: &Item) -> std::ops::Range<u32> {
    let count = first.i64(SHARD_COUNT).and_then(|count| u32::try_from(count).ok());
    1..count.unwrap_or(1).min(SHARDS_MAX)
}

/// A bucket of one shard with the balances of `shards`, which are those that exist. None, if it has expired.
///
/// Its counters start at zero: what was used before the import is in the usage of the source.
///
/// # Errors
/// Names an attribute that Weir does not know.
pub(super) fn whole_bucket(
    shards: &[Item],
    meters_writes: bool,
    now_ms: i64,
) -> std::result::Result<Option<Bucket>, String> {
    let mut decoded = Vec::with_capacity(shards.len());
    for shard in shards.iter().filter(|shard| shard.i64(RF).is_some()) {
        let mut shard = shard.clone();
        shard.attrs_mut().retain(|name, _| !OWNER.contains(&&**name));
        let bucket = item::decode(&shard);
        if let Some(unknown) = bucket.unknown {
            return Err(format!("weir cannot express its attribute {unknown:?}"));
        }
        decoded.push(bucket);
    }
    decoded.retain(|shard| !shard.is_expired(now_ms));
    if let [only] = decoded.as_mut_slice() {
        // Shards that were counted and never made hold nothing.
        only.shard_count = 1;
    } else {
        decoded.iter_mut().for_each(|shard| *shard = shard.refilled(now_ms));
    }
    let Some(mut whole) = bucket::combine(&decoded) else { return Ok(None) };
    whole.shard_count = 1;
    whole.meters.retain(|meter| meters_writes || !meter.name.is_wcu());
    for meter in &mut whole.meters {
        meter.level.tokens = meter.level.tokens.min(meter.rate.capacity);
        meter.consumed = 0;
    }
    Ok((!whole.meters.is_empty()).then_some(whole))
}

/// An item under another namespace id.
pub(super) fn moved(item: &Item, from: &str, to: &str) -> Item {
    let mut moved = item.clone();
    let prefix = format!("{from}/");
    for name in ["PK", "GSI1PK", "GSI2PK", "GSI3PK", "GSI4PK", "GSI4SK"] {
        let Some(text) = item.s(name) else { continue };
        if text == from {
            moved.set(name, to);
        } else if let Some(rest) = text.strip_prefix(&prefix) {
            moved.set(name, format!("{to}/{rest}"));
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: u32, count: u32, tokens: i64) -> Item {
        Item::new()
            .with("PK", format!("abcdefghijk/BUCKET#user#gpt-4#{number}"))
            .with("SK", "#STATE")
            .with("rf", 1_000_000)
            .with("shard_count", count)
            .with("pgen", 5)
            .with("b_rpm_tk", tokens)
            .with("b_rpm_cp", 10_000)
            .with("b_rpm_ra", 10)
            .with("b_rpm_rp", 86_400_000)
            .with("b_rpm_tc", 3_000)
            .with("b_wcu_tk", 0)
            .with("b_wcu_cp", 1_000_000)
            .with("b_wcu_ra", 1_000_000)
            .with("b_wcu_rp", 1_000)
    }

    #[test]
    fn a_bucket_has_the_balance_of_the_shards_that_exist() {
        for (shards, expected) in [
            (vec![shard(0, 1, 7_000)], 7_000),
            (vec![shard(0, 1_024, 7_000)], 7_000),
            (vec![shard(0, 2, 2_000), shard(1, 2, 1_000)], 3_000),
            (vec![shard(0, 1, 70_000)], 10_000),
            (vec![shard(0, 1, -4_000)], -4_000),
        ] {
            let bucket = whole_bucket(&shards, false, 1_000_000).unwrap().unwrap();
            assert_eq!((bucket.meters.len(), bucket.shard_count), (1, 1));
            assert_eq!((bucket.meters[0].level.tokens, bucket.meters[0].consumed), (expected, 0));
        }
        let expired = shard(0, 1, 1).with("ttl", 5);
        assert_eq!(whole_bucket(&[expired], false, 1_000_000).unwrap(), None);
        let disabled = shard(0, 1, 1).with("disabled", true);
        assert!(whole_bucket(&[disabled], true, 1_000_000).unwrap_err().contains("disabled"));
    }

    #[test]
    fn an_item_moves_to_another_namespace() {
        let item = Item::new()
            .with("PK", "abcdefghijk/ENTITY#user")
            .with("GSI4PK", "abcdefghijk")
            .with("entity_id", "abcdefghijk/x");
        let moved = moved(&item, "abcdefghijk", "ABCDEFGHIJK");
        assert_eq!(moved.s("PK"), Some("ABCDEFGHIJK/ENTITY#user"));
        assert_eq!(moved.s("GSI4PK"), Some("ABCDEFGHIJK"));
        assert_eq!(moved.s("entity_id"), Some("abcdefghijk/x"));
    }
}
