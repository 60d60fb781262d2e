//! The encoding of items: a version byte, then the name, kind and value of each attribute. Integers are varints.

use std::collections::BTreeSet;

use crate::feed::Wanted;
use crate::item::{Attrs, Item};
use crate::limits;
use crate::number::Number;
use crate::value::{Name, Value};

/// The encoding that this version writes, and the newest that it reads.
const VERSION: u8 = 1;

/// Bytes of seven bits that fit 64 bits.
const U64_BYTES: usize = 9;

/// Spare capacity for an item that grows.
const GROWTH: usize = 32;

/// Why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub(super) &'static str);

/// Encodes an item.
pub(super) fn encode(item: &Item) -> Vec<u8> {
    let mut out = Vec::with_capacity(item.size() + 2 * item.len() + 8);
    out.push(VERSION);
    put_attrs(&mut out, item.attrs());
    out
}

/// Decodes an item.
pub(super) fn decode(bytes: &[u8]) -> Result<Item, Malformed> {
    let mut input = attributes_of(bytes)?;
    let attrs = take_attrs(&mut input, 0)?;
    if input.rest.is_empty() {
        Ok(Item::from(attrs))
    } else {
        Err(Malformed("bytes after an item"))
    }
}

/// Decodes the selected attributes of an item and skips the others.
pub(super) fn pick(bytes: &[u8], wanted: Wanted<'_>) -> Result<Item, Malformed> {
    let mut input = attributes_of(bytes)?;
    let attrs = pick_attrs(&mut input, wanted)?;
    if input.rest.is_empty() {
        Ok(Item::from(attrs))
    } else {
        Err(Malformed("bytes after an item"))
    }
}

/// Decodes the attributes with these sorted names, and those that `also` selects.
pub(super) fn pick_named(
    bytes: &[u8],
    names: &[&Name],
    also: Option<fn(&str) -> bool>,
) -> Result<Item, Malformed> {
    let mut input = attributes_of(bytes)?;
    let count = input.len()?;
    let mut attrs = Attrs::with_capacity(count.min(ATTRS_AHEAD));
    let mut names = names.iter().peekable();
    // Both are sorted, so one pass suffices.
    for _ in 0..count {
        let name = input.text()?;
        while names.next_if(|wanted| wanted.as_str() < name).is_some() {}
        let is_named = names.next_if(|wanted| wanted.as_str() == name).is_some();
        if is_named || also.is_some_and(|also| also(name)) {
            attrs.insert(Name::from(name), take_value(&mut input, 0)?);
        } else {
            skip_value(&mut input, 0)?;
        }
    }
    Ok(Item::from(attrs))
}

/// Encodes a changed item: takes the attributes in `changed` (sorted, with their old values) from `new`, and copies all
/// others from the old encoding.
pub(super) fn patched(
    old: &[u8],
    changed: &[(Name, Option<Value>)],
    new: &Item,
) -> Result<Vec<u8>, Malformed> {
    let mut input = attributes_of(old)?;
    let count = input.len()?;
    let was_there = changed.iter().filter(|(_, before)| before.is_some()).count();
    let changed: Vec<(&Name, Option<&Value>)> =
        changed.iter().map(|(name, _)| (name, new.get(name))).collect();
    let is_there = changed.iter().filter(|(_, value)| value.is_some()).count();
    let mut out = Vec::with_capacity(old.len() + GROWTH);
    out.push(VERSION);
    put_len(&mut out, (count + is_there).checked_sub(was_there).ok_or(Malformed("cut short"))?);
    let put = |out: &mut Vec<u8>, (name, value): (&Name, Option<&Value>)| {
        if let Some(value) = value {
            put_bytes(out, name.as_bytes());
            put_value(out, value);
        }
    };
    let mut changed = changed.into_iter().peekable();
    // Start of the part that was skipped and is yet to be copied.
    let mut kept = input.rest;
    for _ in 0..count {
        let here = input.rest;
        let name = input.bytes()?;
        skip_value(&mut input, 0)?;
        while let Some(first) = changed.next_if(|(changed, _)| changed.as_bytes() <= name) {
            copy_until(&mut out, kept, here);
            kept = if first.0.as_bytes() == name { input.rest } else { here };
            put(&mut out, first);
        }
        if changed.peek().is_none() {
            break;
        }
    }
    out.extend_from_slice(kept);
    changed.for_each(|rest| put(&mut out, rest));
    Ok(out)
}

/// Appends the part of `bytes` before its suffix `end`.
fn copy_until(out: &mut Vec<u8>, bytes: &[u8], end: &[u8]) {
    let before = bytes.len().saturating_sub(end.len());
    out.extend_from_slice(bytes.get(..before).unwrap_or_default());
}

/// The encoded attributes of an item.
fn attributes_of(bytes: &[u8]) -> Result<Input<'_>, Malformed> {
    let mut input = Input { rest: bytes };
    if input.byte()? == VERSION {
        Ok(input)
    } else {
        Err(Malformed("an item of an unknown encoding"))
    }
}

/// Decodes the selected attributes of the old item from those of the new one and the delta of [`put_delta`].
pub(super) fn pick_old(delta: &[u8], new: &Item, wanted: Wanted<'_>) -> Result<Item, Malformed> {
    let mut input = Input { rest: delta };
    let mut attrs = new.attrs().clone();
    for _ in 0..input.len()? {
        attrs.remove(input.text()?);
    }
    attrs.extend(pick_attrs(&mut input, wanted)?);
    if input.rest.is_empty() {
        Ok(Item::from(attrs))
    } else {
        Err(Malformed("bytes after a delta"))
    }
}

fn pick_attrs(input: &mut Input<'_>, wanted: Wanted<'_>) -> Result<Attrs, Malformed> {
    let mut attrs = Attrs::new();
    for _ in 0..input.len()? {
        let name = input.text()?;
        if wanted(name) {
            attrs.insert(Name::from(name), take_value(input, 0)?);
        } else {
            skip_value(input, 0)?;
        }
    }
    Ok(attrs)
}

/// Appends the delta that turns `new` into `old`: attributes to remove, attributes to set. One pass in name order; most
/// updates change an attribute or two.
pub(super) fn put_delta(out: &mut Vec<u8>, old: &Item, new: &Item) {
    let mut body = Vec::with_capacity(64);
    let mut added: Vec<&Name> = Vec::new();
    let mut changed: Vec<(&Name, &Value)> = Vec::new();
    for (name, before, _) in old.attrs().differences(new.attrs()) {
        match before {
            Some(value) => changed.push((name, value)),
            None => added.push(name),
        }
    }
    put_len(&mut body, added.len());
    added.iter().for_each(|name| put_bytes(&mut body, name.as_bytes()));
    put_len(&mut body, changed.len());
    for (name, value) in changed {
        put_bytes(&mut body, name.as_bytes());
        put_value(&mut body, value);
    }
    put_bytes(out, &body);
}

/// Appends the same delta, from the old values of the changed attributes.
pub(super) fn put_different(out: &mut Vec<u8>, before: &[(Name, Option<Value>)]) {
    let mut body = Vec::with_capacity(96);
    let changed = before.iter().filter(|(_, value)| value.is_some()).count();
    put_len(&mut body, before.len() - changed);
    for (name, _) in before.iter().filter(|(_, value)| value.is_none()) {
        put_bytes(&mut body, name.as_bytes());
    }
    put_len(&mut body, changed);
    for (name, value) in before {
        if let Some(value) = value {
            put_bytes(&mut body, name.as_bytes());
            put_value(&mut body, value);
        }
    }
    put_bytes(out, &body);
}

/// Appends the head of a delta that removes nothing and sets `set` attributes.
pub(super) fn put_unlost(out: &mut Vec<u8>, changed: usize) {
    put_len(out, 0);
    put_len(out, changed);
}

/// The range of an attribute's value in an encoded item, if it has one.
pub(super) fn span(bytes: &[u8], name: &Name) -> Result<Option<(usize, usize)>, Malformed> {
    let mut input = attributes_of(bytes)?;
    for _ in 0..input.len()? {
        let is_it = input.bytes()? == name.as_bytes();
        let start = bytes.len() - input.rest.len();
        skip_value(&mut input, 0)?;
        if is_it {
            return Ok(Some((start, bytes.len() - input.rest.len())));
        }
    }
    Ok(None)
}

/// How many attributes an item has.
pub(super) fn count(bytes: &[u8]) -> Result<usize, Malformed> {
    attributes_of(bytes)?.len()
}

/// Whether the new item has attributes that the old one lacks, by its delta.
pub(super) fn adds(delta: &[u8]) -> Result<bool, Malformed> {
    Ok(Input { rest: delta }.len()? > 0)
}

/// Whether a selected attribute differs between the old and the new item, by its delta.
pub(super) fn touches(delta: &[u8], wanted: fn(&str) -> bool) -> Result<bool, Malformed> {
    let mut input = Input { rest: delta };
    for _ in 0..input.len()? {
        input.bytes()?;
    }
    for _ in 0..input.len()? {
        if wanted(input.text()?) {
            return Ok(true);
        }
        skip_value(&mut input, 0)?;
    }
    Ok(false)
}

/// Rebuilds the old item from the new one and its delta.
pub(super) fn apply_delta(delta: &[u8], new: &Item) -> Result<Item, Malformed> {
    let mut input = Input { rest: delta };
    let mut attrs = new.attrs().clone();
    for _ in 0..input.len()? {
        attrs.remove(input.text()?);
    }
    attrs.extend(take_attrs(&mut input, 0)?);
    if input.rest.is_empty() {
        Ok(Item::from(attrs))
    } else {
        Err(Malformed("bytes after a delta"))
    }
}

fn put_attrs(out: &mut Vec<u8>, attrs: &Attrs) {
    put_len(out, attrs.len());
    for (name, value) in attrs {
        put_bytes(out, name.as_bytes());
        put_value(out, value);
    }
}

/// Appends a value.
pub(super) fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::S(text) => {
            out.push(b'S');
            put_bytes(out, text.as_bytes());
        }
        Value::N(number) => {
            out.push(b'N');
            put_number(out, number);
        }
        Value::B(bytes) => {
            out.push(b'B');
            put_bytes(out, bytes);
        }
        Value::Bool(false) => out.push(b'f'),
        Value::Bool(true) => out.push(b't'),
        Value::Null => out.push(b'0'),
        Value::L(list) => {
            out.push(b'L');
            put_len(out, list.len());
            list.iter().for_each(|value| put_value(out, value));
        }
        Value::M(map) => {
            out.push(b'M');
            put_attrs(out, map);
        }
        Value::Ss(set) => {
            out.push(b's');
            put_len(out, set.len());
            set.iter().for_each(|text| put_bytes(out, text.as_bytes()));
        }
        Value::Ns(set) => {
            out.push(b'n');
            put_len(out, set.len());
            set.iter().for_each(|number| put_number(out, number));
        }
        Value::Bs(set) => {
            out.push(b'b');
            put_len(out, set.len());
            set.iter().for_each(|bytes| put_bytes(out, bytes));
        }
    }
}

fn put_number(out: &mut Vec<u8>, number: &Number) {
    put_varint(out, zigzag(i128::from(number.exponent())));
    put_varint(out, zigzag(number.mantissa()));
}

fn zigzag(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)).cast_unsigned()
}

fn unzigzag(value: u128) -> i128 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Appends an unsigned integer, seven bits a byte.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u128) {
    if let Ok(mut small) = u64::try_from(value) {
        while small >= 0x80 {
            out.push((small as u8) | 0x80);
            small >>= 7;
        }
        out.push(small as u8);
        return;
    }
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    put_varint(out, len as u128);
}

/// Appends a length and that many bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Bytes that are parsed from the front. Running out of them is an error, never a panic.
pub(super) struct Input<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed("cut short"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1)?.first().copied().ok_or(Malformed("cut short"))
    }

    pub(super) fn varint(&mut self) -> Result<u128, Malformed> {
        // Most are lengths or exponents of one byte, and nearly all others fit 64 bits.
        if let Some((first, rest)) = self.rest.split_first()
            && *first < 0x80
        {
            self.rest = rest;
            return Ok(u128::from(*first));
        }
        let mut small: u64 = 0;
        for (place, byte) in self.rest.iter().enumerate().take(U64_BYTES) {
            small |= u64::from(byte & 0x7f) << (7 * place);
            if *byte < 0x80 {
                self.rest = self.rest.get(place + 1..).unwrap_or_default();
                return Ok(u128::from(small));
            }
        }
        let mut value: u128 = 0;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("an integer that does not end"))
    }

    pub(super) fn len(&mut self) -> Result<usize, Malformed> {
        let len =
            usize::try_from(self.varint()?).map_err(|_| Malformed("a length out of range"))?;
        // Every element has at least one byte, so a larger count is damage.
        if len > self.rest.len() { Err(Malformed("a length past the end")) } else { Ok(len) }
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.len()?;
        self.take(len)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("text that is not UTF-8"))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed("cut short"))?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        let bytes = self.take(4)?.try_into().map_err(|_| Malformed("cut short"))?;
        Ok(u32::from_le_bytes(bytes))
    }
}

/// Preallocated attributes; a damaged length must not allocate more.
const ATTRS_AHEAD: usize = 64;

fn take_attrs(input: &mut Input<'_>, depth: usize) -> Result<Attrs, Malformed> {
    let len = input.len()?;
    let mut attrs = Attrs::with_capacity(len.min(ATTRS_AHEAD));
    for _ in 0..len {
        let name = Name::from(input.text()?);
        attrs.insert(name, take_value(input, depth)?);
    }
    Ok(attrs)
}

fn take_value(input: &mut Input<'_>, depth: usize) -> Result<Value, Malformed> {
    if depth > limits::NESTING_MAX {
        return Err(Malformed("nested too deep"));
    }
    Ok(match input.byte()? {
        b'S' => Value::S(input.text()?.to_owned()),
        b'N' => Value::N(take_number(input)?),
        b'B' => Value::B(input.bytes()?.to_vec()),
        b'f' => Value::Bool(false),
        b't' => Value::Bool(true),
        b'0' => Value::Null,
        b'L' => {
            let len = input.len()?;
            Value::L((0..len).map(|_| take_value(input, depth + 1)).collect::<Result<_, _>>()?)
        }
        b'M' => Value::M(take_attrs(input, depth + 1)?),
        b's' => Value::Ss(take_set(input, |input| Ok(input.text()?.to_owned()))?),
        b'n' => Value::Ns(take_set(input, take_number)?),
        b'b' => Value::Bs(take_set(input, |input| Ok(input.bytes()?.to_vec()))?),
        _ => return Err(Malformed("a value of unknown kind")),
    })
}

/// Skips a value without checking its content.
fn skip_value(input: &mut Input<'_>, depth: usize) -> Result<(), Malformed> {
    if depth > limits::NESTING_MAX {
        return Err(Malformed("nested too deep"));
    }
    match input.byte()? {
        b'S' | b'B' => drop(input.bytes()?),
        b'N' => skip_number(input)?,
        b'f' | b't' | b'0' => {}
        b'L' => {
            for _ in 0..input.len()? {
                skip_value(input, depth + 1)?;
            }
        }
        b'M' => {
            for _ in 0..input.len()? {
                input.bytes()?;
                skip_value(input, depth + 1)?;
            }
        }
        b's' | b'b' => {
            for _ in 0..input.len()? {
                input.bytes()?;
            }
        }
        b'n' => {
            for _ in 0..input.len()? {
                skip_number(input)?;
            }
        }
        _ => return Err(Malformed("a value of unknown kind")),
    }
    Ok(())
}

fn skip_number(input: &mut Input<'_>) -> Result<(), Malformed> {
    // An exponent and a mantissa, each of bytes of which the last has no continuation bit.
    for _ in 0..2 {
        let last = input.rest.iter().position(|byte| *byte < 0x80);
        input.take(last.ok_or(Malformed("cut short"))? + 1)?;
    }
    Ok(())
}

fn take_set<T: Ord>(
    input: &mut Input<'_>,
    mut take: impl FnMut(&mut Input<'_>) -> Result<T, Malformed>,
) -> Result<BTreeSet<T>, Malformed> {
    let len = input.len()?;
    (0..len).map(|_| take(input)).collect()
}

fn take_number(input: &mut Input<'_>) -> Result<Number, Malformed> {
    let exponent =
        i32::try_from(unzigzag(input.varint()?)).map_err(|_| Malformed("a bad number"))?;
    let mantissa = unzigzag(input.varint()?);
    Number::new(mantissa, exponent).map_err(|_| Malformed("a bad number"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_delta_makes_the_old_item_from_the_new_one() {
        let old = Item::new().with("a", 1).with("b", "x").with("gone", true);
        let new = Item::new().with("a", 2).with("b", "x").with("added", Value::Null);
        let mut out = Vec::new();
        put_delta(&mut out, &old, &new);
        let delta = Input { rest: &out }.bytes().unwrap();
        assert_eq!(apply_delta(delta, &new), Ok(old.clone()));
        let different = old.attrs().differences(new.attrs());
        let different: Vec<_> =
            different.map(|(name, before, _)| (name.clone(), before.cloned())).collect();
        let mut same = Vec::new();
        put_different(&mut same, &different);
        assert_eq!(same, out);
        assert_eq!(pick_old(delta, &new, &|_| true), Ok(old));
        let wanted = |name: &str| matches!(name, "a" | "added" | "gone");
        let picked = pick(&encode(&new), &wanted).unwrap();
        assert_eq!(picked, Item::new().with("a", 2).with("added", Value::Null));
        let before = Item::new().with("a", 1).with("gone", true);
        assert_eq!(pick_old(delta, &picked, &wanted), Ok(before));
    }

    #[test]
    fn items_come_back_and_every_cut_is_noticed() {
        let item = Item::new()
            .with("PK", "ORG#1")
            .with("n", "-12345678901234567890.5e-10".parse::<Number>().unwrap())
            .with("min", Number::new(-(10i128.pow(38) - 1), 88).unwrap())
            .with("b", vec![0u8, 1, 255])
            .with("yes", true)
            .with("no", false)
            .with("null", Value::Null)
            .with("l", Value::list([Value::from(1), Value::from("x")]))
            .with("m", Value::map([("k", Value::numbers([3, 1, 2]))]))
            .with("ss", Value::strings(["b", "a"]))
            .with("bs", Value::Bs([vec![1u8], vec![]].into()));
        let bytes = encode(&item);
        assert_eq!(decode(&bytes), Ok(item));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let number = (any::<i64>(), -130i32..100)
            .prop_map(|(digits, exp)| Number::new(digits.into(), exp).unwrap_or_default());
        let (text, bytes) = (".{0,6}", prop::collection::vec(any::<u8>(), 0..6));
        let leaf = prop_oneof![
            text.prop_map(Value::S),
            number.clone().prop_map(Value::N),
            bytes.clone().prop_map(Value::B),
            any::<bool>().prop_map(Value::Bool),
            Just(Value::Null),
            prop::collection::btree_set(text, 1..4).prop_map(Value::Ss),
            prop::collection::btree_set(number, 1..4).prop_map(Value::Ns),
            prop::collection::btree_set(bytes, 1..4).prop_map(Value::Bs),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let field = "[a-z]{0,3}".prop_map(Name::from);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::L),
                prop::collection::btree_map(field, inner, 0..4)
                    .prop_map(|fields| Value::M(fields.into())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_item_comes_back(attrs in prop::collection::btree_map(".{1,4}", value(), 0..6)) {
            let item: Item = attrs.into_iter().collect();
            let bytes = encode(&item);
            // `check::size` relies on this.
            prop_assert!(item.size() <= 2 * bytes.len());
            prop_assert_eq!(decode(&bytes), Ok(item));
        }

        #[test]
        fn what_is_picked_is_what_is_there(attrs in prop::collection::btree_map("[a-d]{1,2}", value(), 0..6)) {
            let item: Item = attrs.into_iter().collect();
            let wanted = |name: &str| name.starts_with('a');
            let expected: Item = item.attrs().iter()
                .filter(|(name, _)| wanted(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            prop_assert_eq!(pick(&encode(&item), &wanted), Ok(expected));
        }

        /// A patched encoding equals the encoding of the whole new item, byte for byte; and picking by names equals
        /// picking by a predicate.
        #[test]
        fn a_patch_is_the_new_item(
            old in prop::collection::btree_map("[a-d]{1,2}", value(), 0..8),
            new in prop::collection::btree_map("[a-d]{1,2}", prop::option::of(value()), 0..8),
        ) {
            let old: Item = old.into_iter().collect();
            let mut changed = Vec::new();
            let mut whole = old.clone();
            for (name, value) in new {
                let before = whole.attrs_mut().swap(&Name::from(name.as_str()), value.clone());
                if before != value {
                    changed.push((Name::from(name), before));
                }
            }
            let names: Vec<&Name> = changed.iter().map(|(name, _)| name).collect();
            let bytes = encode(&whole);
            let part = pick_named(&bytes, &names, None).unwrap();
            prop_assert_eq!(patched(&encode(&old), &changed, &part), Ok(bytes.clone()));
            prop_assert_eq!(&part, &pick(&bytes, &|name| names.contains(&&Name::from(name))).unwrap());
            let returned = |name: &str| name.starts_with('a');
            let more = pick_named(&bytes, &names, Some(returned)).unwrap();
            let wanted = |name: &str| returned(name) || names.contains(&&Name::from(name));
            prop_assert_eq!(more, pick(&bytes, &wanted).unwrap());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&[&[VERSION], bytes.as_slice()].concat());
            let _ = pick(&[&[VERSION], bytes.as_slice()].concat(), &|_| false);
            let named = [(Name::from("b"), Some(Value::Null)), (Name::from("m"), None)];
            let names: Vec<&Name> = named.iter().map(|(name, _)| name).collect();
            let _ = pick_named(&[&[VERSION], bytes.as_slice()].concat(), &names, None);
            let _ = patched(&[&[VERSION], bytes.as_slice()].concat(), &named, &Item::new().with("m", 1));
        }
    }
}
