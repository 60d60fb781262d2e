//! Named values sorted by name: the attributes of an item, the fields of a map.
//!
//! They are stored in one sorted vector. An item has a few dozen attributes and is decoded and encoded with every write;
//! building and dropping a tree costs more than its lookups save.

use std::cmp::Ordering;
use std::fmt;

use crate::value::{Name, Value};

/// Named values with unique names, sorted by name.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Attrs {
    entries: Vec<(Name, Value)>,
}

impl Attrs {
    /// No values.
    #[must_use]
    pub fn new() -> Attrs {
        Attrs::default()
    }

    /// No values, with capacity for `count`.
    #[must_use]
    pub fn with_capacity(count: usize) -> Attrs {
        Attrs { entries: Vec::with_capacity(count) }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let place = self.place(name).ok()?;
        self.entries.get(place).map(|(_, value)| value)
    }

    /// The value of `name`, and its position.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Value)> {
        let place = self.place(name).ok()?;
        self.entries.get(place).map(|(_, value)| (place, value))
    }

    /// The value at a position.
    pub(crate) fn at(&self, place: usize) -> Option<&Value> {
        self.entries.get(place).map(|(_, value)| value)
    }

    /// The value at a position, mutable.
    pub(crate) fn at_mut(&mut self, place: usize) -> Option<&mut Value> {
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// The value of `name`, mutable.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let place = self.place(name).ok()?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// Whether `name` has a value.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Sets a value; returns the one it replaces.
    pub fn insert(&mut self, name: Name, value: Value) -> Option<Value> {
        // Decoded attributes arrive sorted.
        if self.entries.last().is_none_or(|(last, _)| *last < name) {
            self.entries.push((name, value));
            return None;
        }
        match self.place(&name) {
            Ok(place) => {
                let (_, old) = self.entries.get_mut(place)?;
                Some(std::mem::replace(old, value))
            }
            Err(place) => {
                self.entries.insert(place, (name, value));
                None
            }
        }
    }

    /// Removes a value, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let place = self.place(name).ok()?;
        Some(self.entries.remove(place).1)
    }

    /// Sets or removes the value of a name; returns the old one.
    pub(crate) fn swap(&mut self, name: &Name, value: Option<Value>) -> Option<Value> {
        match value {
            Some(value) => self.insert(name.clone(), value),
            None => self.remove(name),
        }
    }

    /// Retains the values that `keep` selects.
    pub fn retain(&mut self, mut keep: impl FnMut(&Name, &Value) -> bool) {
        self.entries.retain(|(name, value)| keep(name, value));
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All names and values, sorted by name.
    pub fn iter(&self) -> Iter<'_> {
        self.entries.iter().map(pair)
    }

    /// The differences to `other`: name, value here, value there. One pass over both.
    pub fn differences<'a>(
        &'a self,
        other: &'a Attrs,
    ) -> impl Iterator<Item = (&'a Name, Option<&'a Value>, Option<&'a Value>)> {
        let (mut here, mut there) = (self.iter().peekable(), other.iter().peekable());
        std::iter::from_fn(move || {
            loop {
                let order = match (here.peek(), there.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (Some((a, _)), Some((b, _))) => a.cmp(b),
                };
                match order {
                    Ordering::Less => {
                        return here.next().map(|(name, value)| (name, Some(value), None));
                    }
                    Ordering::Greater => {
                        return there.next().map(|(name, value)| (name, None, Some(value)));
                    }
                    Ordering::Equal => {
                        let (name, a) = here.next()?;
                        let (_, b) = there.next()?;
                        if a != b {
                            return Some((name, Some(a), Some(b)));
                        }
                    }
                }
            }
        })
    }

    /// The names, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Name> + ExactSizeIterator {
        self.entries.iter().map(|(name, _)| name)
    }

    /// The values, sorted by name.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }
}

/// Named values by reference.
pub type Iter<'a> = std::iter::Map<
    std::slice::Iter<'a, (Name, Value)>,
    fn(&'a (Name, Value)) -> (&'a Name, &'a Value),
>;

fn pair(entry: &(Name, Value)) -> (&Name, &Value) {
    (&entry.0, &entry.1)
}

impl<'a> IntoIterator for &'a Attrs {
    type Item = (&'a Name, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl IntoIterator for Attrs {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<(Name, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl FromIterator<(Name, Value)> for Attrs {
    /// Of two values with one name the last wins.
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(entries: I) -> Attrs {
        let mut attrs = Attrs::new();
        attrs.extend(entries);
        attrs
    }
}

impl Extend<(Name, Value)> for Attrs {
    fn extend<I: IntoIterator<Item = (Name, Value)>>(&mut self, entries: I) {
        let entries = entries.into_iter();
        self.entries.reserve(entries.size_hint().0);
        for (name, value) in entries {
            self.insert(name, value);
        }
    }
}

impl<const N: usize> From<[(Name, Value); N]> for Attrs {
    fn from(entries: [(Name, Value); N]) -> Attrs {
        entries.into_iter().collect()
    }
}

impl From<std::collections::BTreeMap<Name, Value>> for Attrs {
    fn from(entries: std::collections::BTreeMap<Name, Value>) -> Attrs {
        entries.into_iter().collect()
    }
}

impl fmt::Debug for Attrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_each_is_there_once() {
        let entries = ["b", "a", "c", "a", "B"].into_iter().zip(0..);
        let attrs: Attrs = entries.map(|(name, n)| (name.into(), Value::from(n))).collect();
        let found: Vec<(&str, i64)> =
            attrs.iter().map(|(name, value)| (name.as_str(), value.as_i64().unwrap())).collect();
        assert_eq!(found, [("B", 4), ("a", 3), ("b", 0), ("c", 2)]);
        assert_eq!(attrs.get("c"), Some(&Value::from(2)));
        assert_eq!(attrs.get("d"), None);
    }

    #[test]
    fn differences_are_what_was_added_changed_and_removed() {
        let of = |text: &str| -> Attrs {
            text.split_whitespace()
                .map(|name| (name[..1].into(), Value::from(&name[1..])))
                .collect()
        };
        let (old, new) = (of("a1 b1 c1 d1"), of("b1 c2 d1 e1"));
        let found: Vec<String> = old
            .differences(&new)
            .map(|(name, a, b)| format!("{name}{:?}{:?}", a.is_some(), b.is_some()))
            .collect();
        assert_eq!(found, ["atruefalse", "ctruetrue", "efalsetrue"]);
        assert_eq!(old.differences(&old).count(), 0);
    }

    #[test]
    fn what_is_set_replaces_and_what_is_removed_is_gone() {
        let mut attrs = Attrs::new();
        assert_eq!(attrs.insert("x".into(), Value::from(1)), None);
        assert_eq!(attrs.insert("x".into(), Value::from(2)), Some(Value::from(1)));
        assert_eq!(attrs.insert("w".into(), Value::Null), None);
        assert_eq!(attrs.remove("x"), Some(Value::from(2)));
        assert_eq!(attrs.remove("x"), None);
        assert_eq!((attrs.len(), attrs.contains_key("w")), (1, true));
    }
}
