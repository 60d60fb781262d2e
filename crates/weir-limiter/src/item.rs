//! The item of a bucket.

use compact_str::CompactString;
use weir_table::{Item, Name, Number, Value};

use crate::bucket::{Bucket, Level, Meter, Origin, Rate, Retired};
use crate::error::{Error, Result};
use crate::ids::{EntityId, LimitName, NamespaceId, Resource};
use crate::keys;

/// When all limits were refilled, in milliseconds since 1970.
pub const RF: &str = "rf";
/// When the item expires, in seconds since 1970.
pub const TTL: &str = "ttl";
/// Number of shards.
pub const SHARD_COUNT: &str = "shard_count";
/// Whether the parent pays too.
pub const CASCADE: &str = "cascade";
/// The parent entity.
pub const PARENT: &str = "parent_id";

/// The time until which refills were granted, if it is later than `rf`, in milliseconds since 1970.
pub const GRANTED_UNTIL: &str = "rf_max";
/// Where the limits come from; missing if it is the config.
pub const ORIGIN: &str = "limits_from";
/// Limits that were removed: the balance, rate, remainder and last refill of each. Their counters stay where they were.
pub const RETIRED: &str = "retired";

/// Attributes of a bucket item that only find it.
const KEYS: [&str; 9] =
    ["SK", "entity_id", "resource", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "GSI4PK", "GSI4SK"];

/// Attributes by which releases of zae-limiter after 0.10 mark a bucket that follows other rules: disabled, bypassed, or
/// on a schedule.
pub(crate) const LATER_ZAE: [&str; 3] = ["disabled", "bypass", "vu"];
/// The same for one limit: it never refuses, or it is renewed by session.
const LATER_ZAE_LIMIT: [&str; 2] = ["soft", "rsa"];

/// Attributes by which releases of zae-limiter after 0.10 mark a limit that follows other rules.
pub(crate) fn later_zae_limit(limit: &LimitName) -> [Name; 2] {
    LATER_ZAE_LIMIT.map(|field| compact_str::format_compact!("b_{limit}_{field}"))
}

/// One number of a limit in a bucket item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Available millitokens.
    Tokens,
    /// Capacity in millitokens.
    Capacity,
    /// Millitokens consumed so far, refunds subtracted.
    Consumed,
    /// Refill per period in millitokens.
    Refill,
    /// Refill period in milliseconds.
    Period,
    /// Remainder of the last refill.
    Remainder,
}

impl Field {
    fn suffix(self) -> &'static str {
        match self {
            Field::Tokens => "_tk",
            Field::Capacity => "_cp",
            Field::Consumed => "_tc",
            Field::Refill => "_ra",
            Field::Period => "_rp",
            Field::Remainder => "_fr",
        }
    }

    /// The attribute that stores this number of a limit.
    #[must_use]
    pub fn of(self, limit: &LimitName) -> Name {
        // Built for every take, so without the cost of `format!`.
        let mut name = Name::const_new("b_");
        name.push_str(limit.as_str());
        name.push_str(self.suffix());
        name
    }

    /// Whether an attribute stores this number of any limit.
    pub(crate) fn is_in(self, attribute: &str) -> bool {
        self.limit_in(attribute).is_some()
    }

    /// The limit whose number of this kind an attribute stores.
    pub(crate) fn limit_in(self, attribute: &str) -> Option<&str> {
        attribute.strip_prefix("b_")?.strip_suffix(self.suffix())
    }

    /// The limit and the kind of number that an attribute stores.
    fn parse(attribute: &str) -> Option<(&str, Field)> {
        let rest = attribute.strip_prefix("b_")?;
        // Every suffix is an underscore and two letters.
        let (limit, suffix) = rest.split_at_checked(rest.len().checked_sub(3)?)?;
        let field = match suffix {
            "_tk" => Field::Tokens,
            "_cp" => Field::Capacity,
            "_tc" => Field::Consumed,
            "_ra" => Field::Refill,
            "_rp" => Field::Period,
            "_fr" => Field::Remainder,
            _ => return None,
        };
        Some((limit, field))
    }
}

/// Limits to reserve space for before decoding; most buckets have fewer.
const METERS_RESERVED: usize = 4;

/// Identifies a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BucketId {
    /// The namespace.
    pub ns: NamespaceId,
    /// The entity.
    pub entity: EntityId,
    /// The resource.
    pub resource: Resource,
}

/// Whether [`decode`] reads an attribute. Keys are left out: whoever requests a bucket's item knows its shard.
pub(crate) fn is_decoded(attribute: &str) -> bool {
    attribute.starts_with("b_")
        || matches!(
            attribute,
            RF | TTL | SHARD_COUNT | CASCADE | PARENT | GRANTED_UNTIL | ORIGIN | RETIRED
        )
}

/// Decodes a bucket item.
///
/// Ignores a limit without its rate or balance too: zae-limiter leaves such incomplete limits when one is added to the
/// config of a live bucket, and nobody could take from it.
#[must_use]
pub fn decode(item: &Item) -> Bucket {
    let mut meters: Vec<Meter> = Vec::with_capacity(METERS_RESERVED);
    let mut bucket = Bucket::empty();
    for (name, value) in item.attrs() {
        let Some((limit, field)) = Field::parse(name) else {
            bucket.set_attribute(name, value);
            continue;
        };
        let Some(value) = value.as_n().and_then(to_i64) else { continue };
        // Attributes are sorted, so a limit's numbers are adjacent, unless one limit's name is a prefix of another's.
        let index = meters.iter().rposition(|meter| meter.name.as_str() == limit);
        let index = index.unwrap_or_else(|| {
            meters.push(Meter {
                name: LimitName::stored(limit),
                rate: Rate { capacity: 0, refill: 0, period_ms: 0 },
                level: Level::default(),
                consumed: 0,
            });
            meters.len() - 1
        });
        let Some(meter) = meters.get_mut(index) else { continue };
        match field {
            Field::Tokens => meter.level.tokens = value,
            Field::Capacity => meter.rate.capacity = value,
            Field::Consumed => meter.consumed = value,
            Field::Refill => meter.rate.refill = value,
            Field::Period => meter.rate.period_ms = value,
            Field::Remainder => meter.level.remainder = value,
        }
    }
    for retired in &mut bucket.retired {
        let counter = meters.iter().find(|meter| meter.name == retired.meter.name);
        retired.meter.consumed = counter.map_or(0, |counter| counter.consumed);
    }
    meters.retain(|meter| {
        let is_complete = meter.rate.period_ms > 0 && meter.rate.refill > 0;
        // A balance other than zero was certainly stored.
        let has_balance = || item.get(Field::Tokens.of(&meter.name).as_str()).is_some();
        is_complete && (meter.level.tokens != 0 || has_balance())
    });
    meters.sort_by(|a, b| a.name.cmp(&b.name));
    Bucket { meters, ..bucket }
}

/// A whole number, saturated where it exceeds every bound.
fn to_i64(number: Number) -> Option<i64> {
    let saturated = || {
        let value = number.to_i128()?;
        Some(if value < 0 { i64::MIN } else { i64::MAX })
    };
    number.to_i64().or_else(saturated)
}

impl Bucket {
    /// The bucket of an item without attributes.
    fn empty() -> Bucket {
        Bucket {
            shard: 0,
            shard_count: 1,
            refilled_ms: 0,
            granted_until_ms: None,
            meters: Vec::new(),
            retired: Vec::new(),
            origin: Origin::Config,
            expires: None,
            cascade: false,
            parent: None,
            unknown: None,
        }
    }

    /// Decodes an attribute that belongs to no limit.
    fn set_attribute(&mut self, name: &str, value: &Value) {
        match name {
            "PK" => {
                let shard = value.as_s().and_then(|pk| pk.rsplit_once('#')?.1.parse().ok());
                self.shard = shard.unwrap_or_default();
            }
            SHARD_COUNT => {
                let count = value.as_i64().and_then(|count| u32::try_from(count).ok());
                self.shard_count = count.unwrap_or(1).max(1);
            }
            RF => self.refilled_ms = value.as_i64().unwrap_or_default(),
            TTL => self.expires = value.as_i64(),
            CASCADE => self.cascade = value.as_bool().unwrap_or_default(),
            PARENT => self.parent = value.as_s().map(EntityId::stored),
            GRANTED_UNTIL => self.granted_until_ms = value.as_i64(),
            ORIGIN => self.origin = value.as_s().map(origin).unwrap_or_default(),
            RETIRED => self.retired = decode_retired(value),
            _ if KEYS.contains(&name) => {}
            _ => self.unknown = self.unknown.take().or_else(|| Some(name.into())),
        }
    }

    /// The bucket, if all its attributes are known.
    pub(crate) fn known(self, id: &BucketId) -> Result<Bucket> {
        match self.unknown {
            Some(attribute) => Err(Error::UnknownAttribute {
                item: format!("the bucket of entity {} on resource {}", id.entity, id.resource),
                attribute: attribute.to_string(),
            }),
            None => Ok(self),
        }
    }
}

/// Where the limits come from, as text; none if it is the config.
pub(crate) fn origin_text(origin: Origin) -> Option<&'static str> {
    match origin {
        Origin::Config => None,
        Origin::Caller => Some("caller"),
        Origin::Nowhere => Some("nowhere"),
    }
}

fn origin(text: &str) -> Origin {
    let all = [Origin::Caller, Origin::Nowhere];
    all.into_iter().find(|origin| origin_text(*origin) == Some(text)).unwrap_or_default()
}

/// Encodes the limits that were removed; none if there are none.
pub(crate) fn encode_retired(retired: &[Retired]) -> Option<Value> {
    let encode = |Retired { meter, refilled_ms }: &Retired| {
        let numbers = [
            meter.level.tokens,
            meter.rate.capacity,
            meter.rate.refill,
            meter.rate.period_ms,
            meter.level.remainder,
            *refilled_ms,
        ];
        (Name::from(meter.name.as_str()), Value::L(numbers.map(Value::from).into()))
    };
    (!retired.is_empty()).then(|| Value::map(retired.iter().map(encode)))
}

/// Decodes the limits that were removed, without their counters.
fn decode_retired(value: &Value) -> Vec<Retired> {
    let Value::M(limits) = value else { return Vec::new() };
    let decode = |(name, numbers): (&Name, &Value)| {
        let Value::L(numbers) = numbers else { return None };
        let numbers: Vec<i64> = numbers.iter().map(Value::as_i64).collect::<Option<_>>()?;
        let [tokens, capacity, refill, period_ms, remainder, refilled_ms] = *numbers.as_slice()
        else {
            return None;
        };
        let rate = Rate { capacity, refill, period_ms };
        let (name, level) = (LimitName::stored(name), Level { tokens, remainder });
        Some(Retired { meter: Meter { name, rate, level, consumed: 0 }, refilled_ms })
    };
    limits.iter().filter_map(decode).collect()
}

/// Encodes a bucket as an item.
#[must_use]
pub fn encode(id: &BucketId, bucket: &Bucket) -> Item {
    let BucketId { ns, entity, resource } = id;
    let tail = keys::bucket_tail(entity, resource, bucket.shard);
    let mut item = keys::item(keys::bucket(ns, entity, resource, bucket.shard))
        .with("entity_id", entity.as_str())
        .with("resource", resource.as_str())
        .with(SHARD_COUNT, bucket.shard_count)
        .with(RF, bucket.refilled_ms)
        .with(CASCADE, bucket.cascade)
        .with("GSI2PK", keys::resource_partition(ns, resource))
        .with("GSI2SK", keys::gsi2_bucket(entity, bucket.shard))
        .with("GSI3PK", keys::entity_partition(ns, entity))
        .with("GSI3SK", keys::gsi3_bucket(resource, bucket.shard))
        .with("GSI4PK", ns.as_str())
        .with("GSI4SK", tail);
    if let Some(parent) = &bucket.parent {
        item.set(PARENT, parent.as_str());
    }
    if let Some(expires) = bucket.expires {
        item.set(TTL, expires);
    }
    if let Some(until) = bucket.granted_until_ms {
        item.set(GRANTED_UNTIL, until);
    }
    if let Some(origin) = origin_text(bucket.origin) {
        item.set(ORIGIN, origin);
    }
    if let Some(retired) = encode_retired(&bucket.retired) {
        item.set(RETIRED, retired);
    }
    for Retired { meter, .. } in &bucket.retired {
        item.set(Field::Consumed.of(&meter.name), meter.consumed);
    }
    for meter in &bucket.meters {
        for (field, value) in numbers(meter) {
            item.set(field.of(&meter.name), value);
        }
    }
    item
}

/// Every number of a meter.
#[must_use]
pub fn numbers(meter: &Meter) -> [(Field, i64); 6] {
    [
        (Field::Tokens, meter.level.tokens),
        (Field::Capacity, meter.rate.capacity),
        (Field::Consumed, meter.consumed),
        (Field::Refill, meter.rate.refill),
        (Field::Period, meter.rate.period_ms),
        (Field::Remainder, meter.level.remainder),
    ]
}

/// The limits that an item has any attribute of, complete or not.
#[must_use]
pub fn limits_in(item: &Item) -> Vec<CompactString> {
    let mut names: Vec<CompactString> = item
        .attrs()
        .keys()
        .filter_map(|name| Some(CompactString::from(Field::parse(name)?.0)))
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;

    #[test]
    fn a_bucket_is_read_back_as_it_was_written() {
        let id = BucketId {
            ns: NamespaceId::new("abcdefghijk").unwrap(),
            entity: EntityId::new("user-1").unwrap(),
            resource: Resource::new("gpt-4").unwrap(),
        };
        let names = ["a", "a_tk", "tpm", "a_b"];
        let limits = names.map(|name| Limit::per_minute(LimitName::new(name).unwrap(), 7));
        let mut bucket = Bucket::full(&limits, 2, 4, 1_768_478_400_000).with_wcu();
        bucket.expires = Some(1_768_478_700);
        bucket.parent = Some(EntityId::new("team").unwrap());
        bucket.cascade = true;
        bucket.take(&limits[0].name, 9_000);
        bucket.origin = Origin::Caller;
        bucket.granted_until_ms = Some(1_768_478_500_000);
        let other = Limit::per_minute(LimitName::new("once").unwrap(), 9);
        let once = Bucket::full(std::slice::from_ref(&other), 2, 4, 7);
        let removed = once.with_limits(&[]).retired;
        let item = encode(&id, &Bucket { retired: removed.clone(), ..bucket.clone() });
        assert_eq!(decode(&item), Bucket { retired: removed, ..bucket.clone() });
        let item = encode(&id, &bucket);
        assert_eq!(decode(&item), bucket);
        assert_eq!(item.s("PK"), Some("abcdefghijk/BUCKET#user-1#gpt-4#2"));
        assert_eq!(item.i64("b_a_tk_tk"), Some(1750));
        assert_eq!(item.i64("b_wcu_cp"), Some(1_000_000));
        assert_eq!(limits_in(&item), ["a", "a_b", "a_tk", "tpm", "wcu"]);
    }
    #[test]
    fn an_incomplete_limit_is_ignored() {
        let whole = Item::new()
            .with("rf", 1_794_751_933_458_i64)
            .with("b_rpm_tk", 8_010)
            .with("b_rpm_cp", 10_000)
            .with("b_rpm_ra", 10_000)
            .with("b_rpm_rp", 60_000)
            .with("b_rpm_tc", 2_000);
        let no_balance = whole.clone().with("b_a_cp", 5).with("b_a_ra", 5).with("b_a_rp", 1_000);
        let no_rate = whole.clone().with("b_a_tk", 0).with("b_a_tc", 0);
        for item in [whole, no_balance, no_rate] {
            let names: Vec<_> = decode(&item).meters.into_iter().map(|meter| meter.name).collect();
            assert_eq!(names, [LimitName::new("rpm").unwrap()], "{item:?}");
        }
    }
}
