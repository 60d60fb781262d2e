//! Converts values and items to and from the types of the SDK.
//!
//! The table service and the stream service each have their own `AttributeValue` with the same variants, so a macro writes
//! the readers once.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::error::{Error, Result};
use crate::item::{Attrs, Item};
use crate::key::Key;
use crate::number::Number;
use crate::spec::TableSpec;
use crate::value::{Name, Value};

/// An item of the SDK.
pub(super) type WireItem = HashMap<String, AttributeValue>;

/// A value for the wire.
pub(super) fn value(value: &Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text.clone()),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(Blob::new(bytes.clone())),
        Value::Bool(value) => AttributeValue::Bool(*value),
        Value::Null => AttributeValue::Null(true),
        Value::L(values) => AttributeValue::L(values.iter().map(self::value).collect()),
        Value::M(map) => AttributeValue::M(attrs(map)),
        Value::Ss(set) => AttributeValue::Ss(set.iter().cloned().collect()),
        Value::Ns(set) => AttributeValue::Ns(set.iter().map(Number::to_string).collect()),
        Value::Bs(set) => AttributeValue::Bs(set.iter().map(|b| Blob::new(b.clone())).collect()),
    }
}

fn attrs(attrs: &Attrs) -> WireItem {
    attrs.iter().map(|(name, value)| (name.to_string(), self::value(value))).collect()
}

/// An item for the wire.
pub(super) fn item(item: &Item) -> WireItem {
    attrs(item.attrs())
}

/// A key for the wire.
pub(super) fn key(spec: &TableSpec, key: &Key) -> WireItem {
    item(&key.to_item(spec))
}

macro_rules! readers {
    ($value:ident, $item:ident, $($wire:ident)::+) => {
        /// A value from the wire.
        fn $value(wire: $($wire)::+) -> Result<Value> {
            type Wire = $($wire)::+;
            Ok(match wire {
                Wire::S(text) => Value::S(text),
                Wire::N(text) => Value::N(number(&text)?),
                Wire::B(bytes) => Value::B(bytes.into_inner()),
                Wire::Bool(value) => Value::Bool(value),
                Wire::Null(_) => Value::Null,
                Wire::L(values) => Value::L(values.into_iter().map($value).collect::<Result<_>>()?),
                Wire::M(map) => Value::M(
                    map.into_iter()
                        .map(|(name, wire)| Ok((Name::from(name), $value(wire)?)))
                        .collect::<Result<_>>()?,
                ),
                Wire::Ss(texts) => Value::Ss(set(texts.into_iter().map(Ok))?),
                Wire::Ns(texts) => Value::Ns(set(texts.iter().map(|text| number(text)))?),
                Wire::Bs(all) => Value::Bs(set(all.into_iter().map(|b| Ok(b.into_inner())))?),
                other => {
                    let problem = format!("a value of unknown kind: {other:?}");
                    return Err(Error::backend("reading an item of DynamoDB", problem));
                }
            })
        }

        /// An item from the wire.
        pub(super) fn $item(wire: HashMap<String, $($wire)::+>) -> Result<Item> {
            let attrs: Attrs = wire
                .into_iter()
                .map(|(name, wire)| Ok((Name::from(name), $value(wire)?)))
                .collect::<Result<_>>()?;
            Ok(Item::from(attrs))
        }
    };
}

readers!(read_value, read_item, aws_sdk_dynamodb::types::AttributeValue);
readers!(read_stream_value, read_stream_item, aws_sdk_dynamodbstreams::types::AttributeValue);

fn number(text: &str) -> Result<Number> {
    text.parse().map_err(|problem| {
        Error::backend("reading an item of DynamoDB", format!("the number {text:?} {problem}"))
    })
}

/// A set; two equal elements would silently become one.
fn set<T: Ord>(elements: impl Iterator<Item = Result<T>>) -> Result<BTreeSet<T>> {
    let mut set = BTreeSet::new();
    for element in elements {
        if !set.insert(element?) {
            let problem = "a set holds an element twice";
            return Err(Error::backend("reading an item of DynamoDB", problem));
        }
    }
    Ok(set)
}

/// An optional item from the wire.
pub(super) fn read_optional(wire: Option<WireItem>) -> Result<Option<Item>> {
    wire.map(read_item).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips() {
        let sent = Item::new()
            .with("s", "text")
            .with("n", "-1.50".parse::<Number>().unwrap())
            .with("b", vec![0u8, 255])
            .with("bool", true)
            .with("null", Value::Null)
            .with("l", Value::list([1, 2]))
            .with("m", Value::map([("inner", Value::strings(["a", "b"]))]))
            .with("ns", Value::numbers([1, 2]))
            .with("bs", Value::Bs([vec![1u8]].into()));
        assert_eq!(read_item(item(&sent)).unwrap(), sent);
    }

    #[test]
    fn a_malformed_number_is_a_fault_of_the_store() {
        let wire = HashMap::from([("n".to_owned(), AttributeValue::N("x".into()))]);
        assert!(!read_item(wire).unwrap_err().is_invalid());
    }

    #[test]
    fn a_set_with_an_element_twice_is_a_fault_of_the_store() {
        let read = |numbers: [&str; 2]| {
            let set = AttributeValue::Ns(numbers.map(str::to_owned).to_vec());
            read_item(HashMap::from([("ns".to_owned(), set)]))
        };
        assert!(read(["100", "1E+3"]).is_ok());
        assert!(!read(["100", "1E+2"]).unwrap_err().is_invalid());
        let texts = AttributeValue::Ss(vec!["a".to_owned(), "a".to_owned()]);
        assert!(read_item(HashMap::from([("ss".to_owned(), texts)])).is_err());
    }
}
