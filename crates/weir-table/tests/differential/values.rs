//! Values, keys and items. Few distinct ones, so that programs meet the same item again.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use weir_table::{Item, Key, KeyValue, Kind, Name, Number, TableSpec, Value};

use crate::shapes::{EXPIRY, INDEX_KEYS};

/// Plain attributes, each with the kind it mostly holds.
pub(crate) const ATTRIBUTES: [(&str, Kind); 13] = [
    ("n", Kind::N),
    ("count", Kind::N),
    (EXPIRY, Kind::N),
    ("s", Kind::S),
    ("odd name.x", Kind::S),
    ("b", Kind::B),
    ("flag", Kind::Bool),
    ("nil", Kind::Null),
    ("l", Kind::L),
    ("m", Kind::M),
    ("ss", Kind::Ss),
    ("ns", Kind::Ns),
    ("bs", Kind::Bs),
];

const KINDS: [Kind; 10] = [
    Kind::S,
    Kind::N,
    Kind::B,
    Kind::Bool,
    Kind::Null,
    Kind::L,
    Kind::M,
    Kind::Ss,
    Kind::Ns,
    Kind::Bs,
];

const TEXTS: [&str; 8] = ["", "a", "ab", "b", "é", "\u{ffff}", "𝄞x", "10"];

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "0.5",
    "-0.25",
    "1e-130",
    "-1e-100",
    "9.9999999999999999999999999999999999999e125",
    "99999999999999999999999999999999999999",
    "-99999999999999999999999999999999999999",
    "12345678901234567890.123456789012345678",
    "1e37",
];

const BYTES: [&[u8]; 5] = [&[], &[0], &[0, 1], &[1, 2], &[255]];

/// Any kind.
pub(crate) fn kind() -> impl Strategy<Value = Kind> + Clone {
    select(KINDS.as_slice())
}

/// A text that may be empty.
pub(crate) fn text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        9 => select(TEXTS.as_slice()).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
    ]
}

/// A number: small ones, and some at the ends of what is allowed.
pub(crate) fn number() -> impl Strategy<Value = Number> + Clone {
    prop_oneof![
        6 => (-3i64..12).prop_map(Number::from),
        4 => select(NUMBERS.as_slice()).prop_map(|text| text.parse::<Number>().unwrap_or_default()),
        1 => (any::<i64>(), -140i32..110)
            .prop_map(|(digits, exp)| Number::new(digits.into(), exp).unwrap_or_default()),
    ]
}

/// Bytes that may be none.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> + Clone {
    select(BYTES.as_slice()).prop_map(<[u8]>::to_vec)
}

/// A value of `kind`, at most `depth` levels deep below it.
pub(crate) fn of_kind(kind: Kind, depth: u32) -> BoxedStrategy<Value> {
    match kind {
        Kind::S => text().prop_map(Value::S).boxed(),
        Kind::N => number().prop_map(Value::N).boxed(),
        Kind::B => bytes().prop_map(Value::B).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Null => Just(Value::Null).boxed(),
        Kind::L => prop::collection::vec(inner(depth), 0..4).prop_map(Value::L).boxed(),
        Kind::M => map(depth).boxed(),
        Kind::Ss => set(text()).prop_map(Value::Ss).boxed(),
        Kind::Ns => set(number()).prop_map(Value::Ns).boxed(),
        Kind::Bs => set(bytes()).prop_map(Value::Bs).boxed(),
    }
}

/// Sets are rarely empty, which is refused.
fn set<T: Ord + Clone + std::fmt::Debug>(
    element: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = std::collections::BTreeSet<T>> {
    prop_oneof![
        150 => prop::collection::btree_set(element.clone(), 1..4),
        1 => prop::collection::btree_set(element, 0..1),
    ]
}

fn map(depth: u32) -> impl Strategy<Value = Value> {
    let fields = subsequence(vec!["x", "y", "l", "m"], 1..=4);
    fields.prop_flat_map(move |fields| {
        let values: Vec<BoxedStrategy<Value>> = fields
            .iter()
            .map(|field| match *field {
                "l" if depth > 0 => of_kind(Kind::L, depth - 1),
                "m" if depth > 0 => of_kind(Kind::M, depth - 1),
                _ => inner(depth),
            })
            .collect();
        values.prop_map(move |values| {
            let named = fields.iter().map(|field| Name::from(*field));
            Value::M(named.zip(values).collect())
        })
    })
}

fn inner(depth: u32) -> BoxedStrategy<Value> {
    let scalar = prop_oneof![
        3 => number().prop_map(Value::N),
        3 => text().prop_map(Value::S),
        1 => bytes().prop_map(Value::B),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ];
    if depth == 0 {
        return scalar.boxed();
    }
    prop_oneof![
        6 => scalar,
        1 => kind().prop_flat_map(move |kind| of_kind(kind, depth - 1)),
    ]
    .boxed()
}

/// Any value.
pub(crate) fn value() -> BoxedStrategy<Value> {
    kind().prop_flat_map(|kind| of_kind(kind, 2)).boxed()
}

/// A value as an attribute mostly holds it; sometimes one of another kind.
pub(crate) fn mostly(kind: Kind) -> BoxedStrategy<Value> {
    prop_oneof![14 => of_kind(kind, 2), 1 => value()].boxed()
}

fn partition_values(kind: Kind) -> Vec<KeyValue> {
    match kind {
        Kind::N => ["0", "-7", "1e20"].iter().map(|text| key_number(text)).collect(),
        Kind::B => [&[0u8][..], &[255, 0]].iter().map(|b| KeyValue::from(b.to_vec())).collect(),
        _ => ["p", "é#1"].iter().map(|text| KeyValue::from(*text)).collect(),
    }
}

fn sort_values(kind: Kind) -> Vec<KeyValue> {
    match kind {
        Kind::N => ["-2e100", "-1", "1e-130", "0.5", "10", "9e125"]
            .iter()
            .map(|text| key_number(text))
            .collect(),
        Kind::B => [&[0u8][..], &[0, 0], &[0, 1], &[255], &[255, 255]]
            .iter()
            .map(|bytes| KeyValue::from(bytes.to_vec()))
            .collect(),
        _ => ["a", "a\u{1}", "ab", "é", "\u{ffff}", "𝄞"]
            .iter()
            .map(|text| KeyValue::from(*text))
            .collect(),
    }
}

fn key_number(text: &str) -> KeyValue {
    KeyValue::N(text.parse().unwrap_or_default())
}

fn declared(spec: &TableSpec, name: &str) -> Kind {
    spec.attributes.get(name).copied().unwrap_or(Kind::S)
}

/// A partition value for attribute `name`; now and then one that is refused.
pub(crate) fn partition_value(spec: &TableSpec, name: &str) -> BoxedStrategy<KeyValue> {
    let all = partition_values(declared(spec, name));
    // One partition is met more often than the others.
    prop_oneof![
        100 => select(all.iter().take(1).cloned().collect::<Vec<_>>()),
        50 => select(all),
        1 => wrong_key_value(),
    ]
    .boxed()
}

/// A sort value for attribute `name`; now and then one that is refused.
pub(crate) fn sort_value(spec: &TableSpec, name: &str) -> BoxedStrategy<KeyValue> {
    prop_oneof![
        150 => select(sort_values(declared(spec, name))),
        1 => wrong_key_value(),
    ]
    .boxed()
}

fn wrong_key_value() -> impl Strategy<Value = KeyValue> {
    select(vec![
        KeyValue::from(""),
        KeyValue::from("x"),
        KeyValue::from(vec![7u8]),
        KeyValue::from(7),
    ])
}

/// A key of the table; rarely one without its sort value.
pub(crate) fn key(spec: &TableSpec) -> BoxedStrategy<Key> {
    let partition = partition_value(spec, &spec.partition);
    let Some(name) = &spec.sort else {
        return partition.prop_map(Key::partition).boxed();
    };
    let sort = prop_oneof![150 => sort_value(spec, name).prop_map(Some), 1 => Just(None)];
    (partition, sort).prop_map(|(partition, sort)| Key { partition, sort }).boxed()
}

/// An item of the table: a key, some index keys, some plain attributes.
pub(crate) fn item(spec: &TableSpec) -> BoxedStrategy<Item> {
    let spec = spec.clone();
    let mut attributes: Vec<(Name, BoxedStrategy<Value>)> = Vec::new();
    for (name, _) in INDEX_KEYS {
        attributes.push((name.into(), index_key(&spec, name)));
    }
    for (name, kind) in ATTRIBUTES {
        attributes.push((name.into(), mostly(kind)));
    }
    let count = attributes.len();
    let held = subsequence(attributes, 2..=count).prop_flat_map(|held| {
        let (names, values): (Vec<Name>, Vec<BoxedStrategy<Value>>) = held.into_iter().unzip();
        values.prop_map(move |values| names.iter().cloned().zip(values).collect::<Vec<_>>())
    });
    (key(&spec), held)
        .prop_map(move |(key, held)| {
            let mut item = key.to_item(&spec);
            for (name, value) in held {
                item.set(name, value);
            }
            item
        })
        .boxed()
}

/// A value for an attribute that an index may use as a key; rarely one the index refuses.
pub(crate) fn index_key(spec: &TableSpec, name: &str) -> BoxedStrategy<Value> {
    let kind = declared(spec, name);
    let good = if kind == Kind::N {
        select(sort_values(kind)).prop_map(|key| key.to_value()).boxed()
    } else {
        select(partition_values(kind)).prop_map(|key| key.to_value()).boxed()
    };
    prop_oneof![150 => good, 1 => value()].boxed()
}
