//! Items: named values. A clone shares them; a change copies them if they are shared.

use std::fmt;
use std::sync::Arc;

pub use crate::attrs::Attrs;
use crate::value::{Name, Value};

/// A row of a table.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Item {
    attrs: Arc<Attrs>,
}

impl Item {
    /// An item with no attributes.
    #[must_use]
    pub fn new() -> Item {
        Item::default()
    }

    /// The same item with `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Item {
        self.set(name, value);
        self
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: impl Into<Name>, value: impl Into<Value>) {
        self.attrs_mut().insert(name.into(), value.into());
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.attrs_mut().remove(name)
    }

    /// The value of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.attrs.get(name)
    }

    /// The text of an attribute, if it is a text.
    #[must_use]
    pub fn s(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_s()
    }

    /// The whole number of an attribute, if it is one.
    #[must_use]
    pub fn i64(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    /// All attributes, sorted by name.
    #[must_use]
    pub fn attrs(&self) -> &Attrs {
        &self.attrs
    }

    /// All attributes, mutable.
    pub fn attrs_mut(&mut self) -> &mut Attrs {
        Arc::make_mut(&mut self.attrs)
    }

    /// Number of attributes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.attrs.len()
    }

    /// Whether the item has no attributes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.attrs.is_empty()
    }

    /// The item's size by DynamoDB's rules: names and values.
    #[must_use]
    pub fn size(&self) -> usize {
        self.attrs.iter().map(|(name, value)| name.len() + value.size()).sum()
    }
}

impl From<Attrs> for Item {
    fn from(attrs: Attrs) -> Item {
        Item { attrs: Arc::new(attrs) }
    }
}

impl<N: Into<Name>, V: Into<Value>> FromIterator<(N, V)> for Item {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Item {
        Item::from(entries.into_iter().map(|(n, v)| (n.into(), v.into())).collect::<Attrs>())
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.attrs.iter()).finish()
    }
}
