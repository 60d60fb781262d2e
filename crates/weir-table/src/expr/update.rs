//! Updates: what to set, remove, add to and delete from.

use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::value::Value;

/// A value to set, computed from the item before the update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Term {
    /// A constant.
    Value(Value),
    /// The value at a path; the update is refused if it is missing.
    Path(Path),
    /// The value at a path, or a default if it is missing.
    PathOr(Path, Box<Term>),
    /// The sum of two numbers.
    Plus(Box<Term>, Box<Term>),
    /// The difference of two numbers.
    Minus(Box<Term>, Box<Term>),
    /// Two lists, concatenated.
    Append(Box<Term>, Box<Term>),
}

impl Term {
    /// The value at `path`.
    pub fn path(path: impl Into<Path>) -> Term {
        Term::Path(path.into())
    }

    /// The value at `path`, or `otherwise` if it is missing.
    pub fn path_or(path: impl Into<Path>, otherwise: impl Into<Term>) -> Term {
        Term::PathOr(path.into(), Box::new(otherwise.into()))
    }

    /// `self + other`.
    #[must_use]
    pub fn plus(self, other: impl Into<Term>) -> Term {
        Term::Plus(Box::new(self), Box::new(other.into()))
    }

    /// `self - other`.
    #[must_use]
    pub fn minus(self, other: impl Into<Term>) -> Term {
        Term::Minus(Box::new(self), Box::new(other.into()))
    }

    /// The list `self`, then the list `other`.
    #[must_use]
    pub fn append(self, other: impl Into<Term>) -> Term {
        Term::Append(Box::new(self), Box::new(other.into()))
    }
}

impl<V: Into<Value>> From<V> for Term {
    fn from(value: V) -> Term {
        Term::Value(value.into())
    }
}

/// One change of an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Sets the value at a path.
    Set(Path, Term),
    /// Removes the value at a path.
    Remove(Path),
    /// Adds a number to a number, or elements to a set; creates a missing value.
    Add(Path, Value),
    /// Deletes elements from a set; removes an empty set.
    Delete(Path, Value),
}

impl Change {
    /// The path that is changed.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Change::Set(path, _)
            | Change::Remove(path)
            | Change::Add(path, _)
            | Change::Delete(path, _) => path,
        }
    }
}

/// The changes of one update. Every term reads the item before the update.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Update {
    /// The changes.
    pub changes: Vec<Change>,
}

/// Sets the value at `path`.
pub fn set(path: impl Into<Path>, term: impl Into<Term>) -> Update {
    Update::default().set(path, term)
}

/// Sets the value at `path` if it is missing.
pub fn set_if_absent(path: impl Into<Path>, term: impl Into<Term>) -> Update {
    Update::default().set_if_absent(path, term)
}

/// Adds to the number or set at `path`.
pub fn add(path: impl Into<Path>, value: impl Into<Value>) -> Update {
    Update::default().add(path, value)
}

/// Removes the value at `path`.
pub fn remove(path: impl Into<Path>) -> Update {
    Update::default().remove(path)
}

/// Deletes elements from the set at `path`.
pub fn delete_from(path: impl Into<Path>, elements: impl Into<Value>) -> Update {
    Update::default().delete_from(path, elements)
}

impl Update {
    fn and(mut self, change: Change) -> Update {
        self.changes.push(change);
        self
    }

    /// Sets the value at `path`.
    #[must_use]
    pub fn set(self, path: impl Into<Path>, term: impl Into<Term>) -> Update {
        self.and(Change::Set(path.into(), term.into()))
    }

    /// Sets the value at `path` if it is missing.
    #[must_use]
    pub fn set_if_absent(self, path: impl Into<Path>, term: impl Into<Term>) -> Update {
        let path = path.into();
        self.and(Change::Set(path.clone(), Term::path_or(path, term)))
    }

    /// Adds to the number or set at `path`.
    #[must_use]
    pub fn add(self, path: impl Into<Path>, value: impl Into<Value>) -> Update {
        self.and(Change::Add(path.into(), value.into()))
    }

    /// Removes the value at `path`.
    #[must_use]
    pub fn remove(self, path: impl Into<Path>) -> Update {
        self.and(Change::Remove(path.into()))
    }

    /// Deletes elements from the set at `path`.
    #[must_use]
    pub fn delete_from(self, path: impl Into<Path>, elements: impl Into<Value>) -> Update {
        self.and(Change::Delete(path.into(), elements.into()))
    }
}
