//! Values of SARIF that need other care than a type: property bags, which may hold anything, lists of which one element
//! counts, and lists that must not fill the memory.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::bounds::SARIF_TAGS_MAX;

/// A value of a property bag. Every JSON value is accepted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Loose {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// The texts of a list.
    Texts(Vec<String>),
    /// Anything else.
    #[default]
    Other,
}

impl Loose {
    /// The text, if this is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Loose::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, which may be written as a text.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            Loose::Number(number) => Some(*number),
            Loose::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite())
    }

    /// The texts, if this is a list.
    pub(super) fn texts(&self) -> &[String] {
        match self {
            Loose::Texts(texts) => texts,
            _ => &[],
        }
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

#[expect(clippy::cast_precision_loss, reason = "scores are small")]
impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
        Ok(Loose::Text(text.to_owned()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Loose, E> {
        Ok(Loose::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Loose, E> {
        Ok(Loose::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Loose, E> {
        Ok(Loose::Number(number as f64))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Loose, E> {
        Ok(Loose::Other)
    }

    fn visit_unit<E>(self) -> Result<Loose, E> {
        Ok(Loose::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Loose, A::Error> {
        let mut texts = Vec::new();
        while texts.len() < SARIF_TAGS_MAX {
            match list.next_element::<Loose>()? {
                Some(Loose::Text(text)) => texts.push(text),
                Some(_) => {}
                None => return Ok(Loose::Texts(texts)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Texts(texts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Loose::Other)
    }
}

/// The first element of a list. The others are not kept.
#[derive(Debug, Clone)]
pub(super) struct First<T>(pub(super) Option<T>);

impl<T> Default for First<T> {
    fn default() -> First<T> {
        First(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<First<T>, D::Error> {
        deserializer.deserialize_any(FirstVisitor(PhantomData))
    }
}

struct FirstVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstVisitor<T> {
    type Value = First<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<First<T>, E> {
        Ok(First(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First<T>, A::Error> {
        let first = list.next_element()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(First(first))
    }
}

/// A list of at most `MAX` elements, or a map of at most `MAX` texts to values. A longer one is an error.
#[derive(Debug, Clone)]
pub(super) struct Bounded<C, const MAX: usize>(pub(super) C);

impl<C: Default, const MAX: usize> Default for Bounded<C, MAX> {
    fn default() -> Bounded<C, MAX> {
        Bounded(C::default())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<Vec<T>, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoundedVisitor::<Vec<T>, MAX>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de>
    for Bounded<BTreeMap<String, T>, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoundedVisitor::<BTreeMap<String, T>, MAX>(PhantomData))
    }
}

struct BoundedVisitor<C, const MAX: usize>(PhantomData<C>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for BoundedVisitor<Vec<T>, MAX> {
    type Value = Bounded<Vec<T>, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Bounded::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            if elements.len() == MAX {
                return Err(A::Error::custom(format_args!("more than {MAX} elements")));
            }
            elements.push(element);
        }
        Ok(Bounded(elements))
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de>
    for BoundedVisitor<BTreeMap<String, T>, MAX>
{
    type Value = Bounded<BTreeMap<String, T>, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Bounded::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry()? {
            if entries.len() == MAX {
                return Err(A::Error::custom(format_args!("more than {MAX} entries")));
            }
            entries.insert(key, value);
        }
        Ok(Bounded(entries))
    }
}
