//! Keys of the ordered byte spaces. This layout is the file format.
//!
//! ```text
//! items   table:4  bucket:1  partition  sort
//! index   table:4  index:2   bucket:1   partition  sort  item's partition  item's sort
//! ttl     expiry:8 table:4   item's key after the table
//! meta    a letter and a name
//! ```
//! Numbers are big-endian. Text and bytes are escaped (`00` → `00 FF`) and end with `00 01`, so they keep their order and no
//! key is a prefix of another. The bucket is a hash of the partition: it spreads scans and selects the shard of the dirty
//! set.

use crate::item::Item;
use crate::key::{Key, KeyValue};
use crate::request::SortRange;
use crate::spec::{IndexSpec, TableSpec};
use crate::value::{Kind, Name, Value};

/// A key in one of the spaces.
pub(super) type Bytes = Vec<u8>;

/// Buckets that partitions are hashed into.
pub(super) const BUCKETS: u32 = 256;

/// The storage key of an item.
pub(super) fn item(table: u32, key: &Key) -> Bytes {
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(&table.to_be_bytes());
    put_partition(&mut out, &key.partition);
    if let Some(sort) = &key.sort {
        put_part(&mut out, sort);
    }
    out
}

/// The item key of a storage key, if it can be decoded: numbers cannot.
pub(super) fn parse_item(spec: &TableSpec, place: &[u8]) -> Option<Key> {
    // Skips the table's id and the bucket.
    let mut rest = place.get(5..)?;
    let partition = take_part(&mut rest, spec, &spec.partition)?;
    let sort = match &spec.sort {
        Some(name) => Some(take_part(&mut rest, spec, name)?),
        None => None,
    };
    rest.is_empty().then_some(Key { partition, sort })
}

fn take_part(rest: &mut &[u8], spec: &TableSpec, name: &Name) -> Option<KeyValue> {
    let kind = *spec.attributes.get(name)?;
    if !matches!(kind, Kind::S | Kind::B) {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    loop {
        let zero = rest.iter().position(|byte| *byte == 0)?;
        bytes.extend_from_slice(rest.get(..zero)?);
        let mark = *rest.get(zero + 1)?;
        *rest = rest.get(zero + 2..)?;
        match mark {
            1 => break,
            0xff => bytes.push(0),
            _ => return None,
        }
    }
    match kind {
        Kind::S => String::from_utf8(bytes).ok().map(KeyValue::S),
        _ => Some(KeyValue::B(bytes)),
    }
}

/// The storage key of an index entry; `None` if the item lacks a key attribute of the index.
pub(super) fn index(
    table: u32,
    number: u16,
    spec: &TableSpec,
    index: &IndexSpec,
    item: &Item,
) -> Option<Bytes> {
    let partition = KeyValue::from_value(item.get(&index.partition)?)?;
    let mut out = index_prefix(table, number);
    put_partition(&mut out, &partition);
    if let Some(sort) = &index.sort {
        put_value(&mut out, item.get(sort)?);
    }
    put_value(&mut out, item.get(&spec.partition)?);
    if let Some(sort) = &spec.sort {
        put_value(&mut out, item.get(sort)?);
    }
    Some(out)
}

/// The prefix of a table's items.
pub(super) fn item_prefix(table: u32) -> Bytes {
    table.to_be_bytes().to_vec()
}

/// The prefix of an index.
pub(super) fn index_prefix(table: u32, number: u16) -> Bytes {
    let mut out = Vec::with_capacity(96);
    out.extend_from_slice(&table.to_be_bytes());
    out.extend_from_slice(&number.to_be_bytes());
    out
}

/// The storage key of an item's expiry.
pub(super) fn ttl(expiry_secs: u64, item_key: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(8 + item_key.len());
    out.extend_from_slice(&expiry_secs.to_be_bytes());
    out.extend_from_slice(item_key);
    out
}

fn put_partition(out: &mut Bytes, partition: &KeyValue) {
    let start = out.len();
    out.push(0);
    put_part(out, partition);
    let bucket = crc32fast::hash(out.get(start + 1..).unwrap_or_default()).to_be_bytes();
    if let (Some(slot), Some(byte)) = (out.get_mut(start), bucket.last()) {
        *slot = *byte;
    }
}

fn put_part(out: &mut Bytes, value: &KeyValue) {
    match value {
        KeyValue::S(text) => put_text(out, text.as_bytes()),
        KeyValue::B(bytes) => put_text(out, bytes),
        KeyValue::N(number) => out.extend_from_slice(&number.to_ordered_bytes()),
    }
}

/// A key attribute of an item. The item was checked, so its kind is allowed in a key.
fn put_value(out: &mut Bytes, value: &Value) {
    match value {
        Value::S(text) => put_text(out, text.as_bytes()),
        Value::B(bytes) => put_text(out, bytes),
        Value::N(number) => out.extend_from_slice(&number.to_ordered_bytes()),
        _ => {}
    }
}

fn put_text(out: &mut Bytes, bytes: &[u8]) {
    put_escaped(out, bytes);
    out.extend_from_slice(&[0, 1]);
}

fn put_escaped(out: &mut Bytes, bytes: &[u8]) {
    if !bytes.contains(&0) {
        out.extend_from_slice(bytes);
        return;
    }
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xff);
        }
    }
}

/// Keys from `low`, inclusive, to `high`, exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyRange {
    pub(super) low: Bytes,
    pub(super) high: Bytes,
}

impl KeyRange {
    /// Every key that begins with `prefix`.
    pub(super) fn of_prefix(prefix: Bytes) -> KeyRange {
        KeyRange { high: successor(&prefix), low: prefix }
    }

    /// A range of sort values of a partition under `prefix`.
    pub(super) fn of_partition(
        mut prefix: Bytes,
        partition: &KeyValue,
        sort: &SortRange,
    ) -> KeyRange {
        put_partition(&mut prefix, partition);
        let all = KeyRange::of_prefix(prefix.clone());
        let with = |value: &KeyValue| {
            let mut key = prefix.clone();
            put_part(&mut key, value);
            key
        };
        match sort {
            SortRange::All => all,
            SortRange::Eq(value) => KeyRange::of_prefix(with(value)),
            SortRange::Lt(value) => KeyRange { high: with(value), ..all },
            SortRange::Le(value) => KeyRange { high: successor(&with(value)), ..all },
            SortRange::Gt(value) => KeyRange { low: successor(&with(value)), ..all },
            SortRange::Ge(value) => KeyRange { low: with(value), ..all },
            SortRange::Between(low, high) => {
                KeyRange { low: with(low), high: successor(&with(high)) }
            }
            SortRange::BeginsWith(KeyValue::S(text)) => begins_with(prefix, text.as_bytes()),
            SortRange::BeginsWith(KeyValue::B(bytes)) => begins_with(prefix, bytes),
            SortRange::BeginsWith(value @ KeyValue::N(_)) => KeyRange::of_prefix(with(value)),
        }
    }

    /// Segment `number` of `of` equal segments of the keys under `prefix`.
    pub(super) fn of_segment(prefix: Bytes, number: u32, of: u32) -> KeyRange {
        let border = |part: u32| -> Bytes {
            let bucket = u64::from(part) * u64::from(BUCKETS) / u64::from(of.max(1));
            match u8::try_from(bucket) {
                Ok(bucket) => [prefix.as_slice(), &[bucket]].concat(),
                Err(_) => successor(&prefix),
            }
        };
        KeyRange { low: border(number), high: border(number + 1) }
    }

    /// The part after `last` in the direction of reading.
    pub(super) fn after(mut self, last: &[u8], reverse: bool) -> KeyRange {
        if reverse {
            if last < self.high.as_slice() {
                self.high = last.to_vec();
            }
        } else if last >= self.low.as_slice() {
            self.low = [last, &[0]].concat();
        }
        self
    }

    /// Whether the range contains no key.
    pub(super) fn is_empty(&self) -> bool {
        self.low >= self.high
    }
}

fn begins_with(mut prefix: Bytes, beginning: &[u8]) -> KeyRange {
    put_escaped(&mut prefix, beginning);
    KeyRange::of_prefix(prefix)
}

/// The first key after every key that begins with `prefix`.
pub(super) fn successor(prefix: &[u8]) -> Bytes {
    let mut out = prefix.to_vec();
    while let Some(last) = out.pop() {
        if last < 0xff {
            out.push(last + 1);
            return out;
        }
    }
    // All bytes are 0xff. Table ids start at one and stay far below, so this is past every key.
    vec![0xff; prefix.len() + 1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::number::Number;

    #[test]
    fn keys_of_text_and_bytes_are_told_from_places() {
        let spec = TableSpec::new("t", "p", Kind::S).sort("s", Kind::B);
        for (partition, sort) in [("a", vec![]), ("a\0b\0", vec![0, 1, 0, 255, 0]), ("", vec![1])] {
            let key = Key::new(partition, sort);
            assert_eq!(parse_item(&spec, &item(7, &key)), Some(key));
        }
        let alone = TableSpec::new("t", "p", Kind::S);
        let key = Key::partition("ä");
        assert_eq!(parse_item(&alone, &item(7, &key)), Some(key));
        let numbered = TableSpec::new("t", "p", Kind::S).sort("s", Kind::N);
        assert_eq!(parse_item(&numbered, &item(7, &Key::new("a", 5))), None);
        assert_eq!(parse_item(&spec, &item(7, &Key::partition("a"))), None, "cut short");
    }

    #[test]
    fn item_key_bytes() {
        let key = item(7, &Key::new("a\0b", 5));
        assert_eq!(key[..4], [0, 0, 0, 7]);
        assert_eq!(key[5..11], [b'a', 0, 0xff, b'b', 0, 1]);
        assert_eq!(key[11..], crate::number::Number::from(5).to_ordered_bytes());
    }

    #[test]
    fn text_sorts_as_it_is() {
        let mut texts = vec!["", "\0", "\0\0", "a", "a\0", "a\0b", "ab", "b", "é", "\u{10ffff}"];
        let encoded = |text: &&str| {
            let mut out = Vec::new();
            put_text(&mut out, text.as_bytes());
            out
        };
        texts.reverse();
        texts.sort_by_key(encoded);
        assert!(texts.is_sorted());
    }

    #[test]
    fn successor_is_past_the_prefix() {
        assert_eq!(successor(&[1, 0xff, 0xff]), [2]);
        assert_eq!(successor(&[1, 2]), [1, 3]);
        assert!(successor(&[0xff]).as_slice() > [0xff, 0xfe].as_slice());
    }

    fn sort_value(kind: u8) -> BoxedStrategy<KeyValue> {
        let number = (-999i64..999, -3i32..3)
            .prop_map(|(digits, exp)| Number::new(digits.into(), exp).unwrap_or_default());
        match kind {
            0 => "[\0\x01a\u{ff}\u{ffff}\u{10000}]{1,4}".prop_map(KeyValue::from).boxed(),
            1 => number.prop_map(KeyValue::N).boxed(),
            _ => prop::collection::vec(prop::sample::select(vec![0u8, 1, 254, 255]), 1..5)
                .prop_map(KeyValue::from)
                .boxed(),
        }
    }

    fn in_range(value: &KeyValue, range: &SortRange) -> bool {
        let bytes = |value: &KeyValue| match value {
            KeyValue::S(text) => text.as_bytes().to_vec(),
            KeyValue::B(bytes) => bytes.to_vec(),
            KeyValue::N(_) => Vec::new(),
        };
        match range {
            SortRange::All => true,
            SortRange::Eq(other) => value == other,
            SortRange::Lt(other) => value < other,
            SortRange::Le(other) => value <= other,
            SortRange::Gt(other) => value > other,
            SortRange::Ge(other) => value >= other,
            SortRange::Between(low, high) => low <= value && value <= high,
            SortRange::BeginsWith(prefix) => bytes(value).starts_with(&bytes(prefix)),
        }
    }

    proptest! {
        #[test]
        fn keys_sort_as_dynamodb_sorts((a, b) in (0u8..3).prop_flat_map(|k| (sort_value(k), sort_value(k)))) {
            let place = |sort: &KeyValue| item(1, &Key::new("p", sort.clone()));
            prop_assert_eq!(place(&a).cmp(&place(&b)), a.cmp(&b));
        }

        #[test]
        fn ranges_hold_what_they_say(
            (value, a, b) in (0u8..3).prop_flat_map(|k| (sort_value(k), sort_value(k), sort_value(k)))
        ) {
            let (low, high) = if a <= b { (a.clone(), b) } else { (b, a.clone()) };
            let ranges = [
                SortRange::All,
                SortRange::Eq(a.clone()),
                SortRange::Lt(a.clone()),
                SortRange::Le(a.clone()),
                SortRange::Gt(a.clone()),
                SortRange::Ge(a.clone()),
                SortRange::Between(low, high),
                SortRange::BeginsWith(a.clone()),
            ];
            let partition = KeyValue::from("p");
            let place = item(1, &Key::new("p", value.clone()));
            for range in ranges {
                if matches!(range, SortRange::BeginsWith(KeyValue::N(_))) {
                    continue;
                }
                let found = KeyRange::of_partition(item_prefix(1), &partition, &range);
                let held = found.low <= place && place < found.high;
                prop_assert_eq!(held, in_range(&value, &range), "{:?} {:?}", value, range);
            }
        }
    }
}
