//! The ten kinds of attribute values, with DynamoDB's sizes.

use std::collections::BTreeSet;
use std::fmt;

use compact_str::CompactString;

use crate::attrs::Attrs;
use crate::number::Number;

/// An attribute name. Short names, which almost all are, need no allocation.
pub type Name = CompactString;

/// One attribute's value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// Text.
    S(String),
    /// Exact decimal number.
    N(Number),
    /// Bytes.
    B(Vec<u8>),
    /// True or false.
    Bool(bool),
    /// Null.
    Null,
    /// List of values.
    L(Vec<Value>),
    /// Map of values.
    M(Attrs),
    /// Set of texts.
    Ss(BTreeSet<String>),
    /// Set of numbers.
    Ns(BTreeSet<Number>),
    /// Set of byte strings.
    Bs(BTreeSet<Vec<u8>>),
}

/// The kind of a [`Value`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Kind {
    /// Text.
    S,
    /// Number.
    N,
    /// Bytes.
    B,
    /// Boolean.
    Bool,
    /// Null.
    Null,
    /// List.
    L,
    /// Map.
    M,
    /// Set of texts.
    Ss,
    /// Set of numbers.
    Ns,
    /// Set of byte strings.
    Bs,
}

impl Kind {
    /// The name DynamoDB gives the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::S => "S",
            Kind::N => "N",
            Kind::B => "B",
            Kind::Bool => "BOOL",
            Kind::Null => "NULL",
            Kind::L => "L",
            Kind::M => "M",
            Kind::Ss => "SS",
            Kind::Ns => "NS",
            Kind::Bs => "BS",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Value {
    /// The kind of this value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Value::S(_) => Kind::S,
            Value::N(_) => Kind::N,
            Value::B(_) => Kind::B,
            Value::Bool(_) => Kind::Bool,
            Value::Null => Kind::Null,
            Value::L(_) => Kind::L,
            Value::M(_) => Kind::M,
            Value::Ss(_) => Kind::Ss,
            Value::Ns(_) => Kind::Ns,
            Value::Bs(_) => Kind::Bs,
        }
    }

    /// A set of texts.
    pub fn strings<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Value {
        Value::Ss(texts.into_iter().map(Into::into).collect())
    }

    /// A set of numbers.
    pub fn numbers<T: Into<Number>>(numbers: impl IntoIterator<Item = T>) -> Value {
        Value::Ns(numbers.into_iter().map(Into::into).collect())
    }

    /// A map.
    pub fn map<K: Into<Name>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Value {
        Value::M(entries.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// A list.
    pub fn list<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Value {
        Value::L(values.into_iter().map(Into::into).collect())
    }

    /// The text, if this is one.
    #[must_use]
    pub fn as_s(&self) -> Option<&str> {
        if let Value::S(text) = self { Some(text) } else { None }
    }

    /// The number, if this is one.
    #[must_use]
    pub fn as_n(&self) -> Option<Number> {
        if let Value::N(number) = self { Some(*number) } else { None }
    }

    /// The whole number, if this is one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_n()?.to_i64()
    }

    /// The boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// Bytes of the value in an item's size, by DynamoDB's rules: text and bytes by length, a number a byte per two digits
    /// (paired from the decimal point) and one more, a list or map three and one per element.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Value::S(text) => text.len(),
            Value::N(number) => number_size(number),
            Value::B(bytes) => bytes.len(),
            Value::Bool(_) | Value::Null => 1,
            Value::L(values) => 3 + values.iter().map(|value| 1 + value.size()).sum::<usize>(),
            Value::M(map) => {
                3 + map.iter().map(|(name, value)| 1 + name.len() + value.size()).sum::<usize>()
            }
            Value::Ss(set) => set.iter().map(String::len).sum(),
            Value::Ns(set) => set.iter().map(number_size).sum(),
            Value::Bs(set) => set.iter().map(Vec::len).sum(),
        }
    }
}

/// Bytes of the longest number.
const NUMBER_BYTES_MAX: usize = 21;

fn number_size(number: &Number) -> usize {
    let digits = number.digits() as usize;
    if digits == 0 {
        1
    } else {
        // Digits are stored in pairs that do not straddle the decimal point: 1.5 is 01 50.
        let paired = digits + usize::from(number.exponent() % 2 != 0);
        let bytes = paired.div_ceil(2) + 1 + usize::from(number.mantissa() < 0);
        bytes.min(NUMBER_BYTES_MAX)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::S(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::S(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::N(number)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::B(bytes)
    }
}

macro_rules! values_from_integers {
    ($($int:ty),*) => {$(
        impl From<$int> for Value {
            fn from(value: $int) -> Value {
                Value::N(Number::from(value))
            }
        }
    )*};
}
values_from_integers!(i8, i16, i32, i64, u8, u16, u32, u64);
