//! Keys: a partition value and, where the table has one, a sort value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::item::Item;
use crate::number::Number;
use crate::value::{Kind, Value};

/// A value that can be part of a key: text, number or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyValue {
    /// Text, in byte order.
    S(String),
    /// Number, in numeric order.
    N(Number),
    /// Bytes, in byte order.
    B(Vec<u8>),
}

impl KeyValue {
    /// The kind of this value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            KeyValue::S(_) => Kind::S,
            KeyValue::N(_) => Kind::N,
            KeyValue::B(_) => Kind::B,
        }
    }

    /// The key value in `value`, if its kind can be one.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<KeyValue> {
        match value {
            Value::S(text) => Some(KeyValue::S(text.clone())),
            Value::N(number) => Some(KeyValue::N(*number)),
            Value::B(bytes) => Some(KeyValue::B(bytes.clone())),
            _ => None,
        }
    }

    /// The value as an attribute value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            KeyValue::S(text) => Value::S(text.clone()),
            KeyValue::N(number) => Value::N(*number),
            KeyValue::B(bytes) => Value::B(bytes.clone()),
        }
    }

    /// Size of the value by DynamoDB's rules.
    #[must_use]
    pub fn size(&self) -> usize {
        self.to_value().size()
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyValue::S(text) => f.write_str(text),
            KeyValue::N(number) => write!(f, "{number}"),
            KeyValue::B(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl From<&str> for KeyValue {
    fn from(text: &str) -> KeyValue {
        KeyValue::S(text.to_owned())
    }
}

impl From<String> for KeyValue {
    fn from(text: String) -> KeyValue {
        KeyValue::S(text)
    }
}

impl From<Vec<u8>> for KeyValue {
    fn from(bytes: Vec<u8>) -> KeyValue {
        KeyValue::B(bytes)
    }
}

impl From<i64> for KeyValue {
    fn from(number: i64) -> KeyValue {
        KeyValue::N(number.into())
    }
}

impl From<i32> for KeyValue {
    fn from(number: i32) -> KeyValue {
        KeyValue::N(number.into())
    }
}

impl From<Number> for KeyValue {
    fn from(number: Number) -> KeyValue {
        KeyValue::N(number)
    }
}

impl Serialize for KeyValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KeyValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<KeyValue, D::Error> {
        let value = Value::deserialize(deserializer)?;
        KeyValue::from_value(&value).ok_or_else(|| {
            serde::de::Error::custom(format!("a key must be S, N or B, not {}", value.kind()))
        })
    }
}

/// The key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The partition value.
    pub partition: KeyValue,
    /// The sort value, if the table has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<KeyValue>,
}

impl Key {
    /// A key with a sort value.
    pub fn new(partition: impl Into<KeyValue>, sort: impl Into<KeyValue>) -> Key {
        Key { partition: partition.into(), sort: Some(sort.into()) }
    }

    /// A key without a sort value.
    pub fn partition(partition: impl Into<KeyValue>) -> Key {
        Key { partition: partition.into(), sort: None }
    }

    /// The key attributes as an item, named as `spec` names them.
    #[must_use]
    pub fn to_item(&self, spec: &crate::spec::TableSpec) -> Item {
        let mut item = Item::new().with(spec.partition.clone(), self.partition.to_value());
        if let (Some(name), Some(value)) = (&spec.sort, &self.sort) {
            item.set(name.clone(), value.to_value());
        }
        item
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.sort {
            Some(sort) => write!(f, "{} | {sort}", self.partition),
            None => write!(f, "{}", self.partition),
        }
    }
}
