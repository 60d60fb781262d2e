//! Updates: what to set, remove, add to and delete from.

use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::value::Value;

/// A value to set, computed from the item as it was before the update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Term {
    /// A given value.
    Value(Value),
    /// What the item holds at a path; the update is refused when there is nothing.
    Path(Path),
    /// What the item holds at a path or, when there is nothing, this.
    PathOr(Path, Box<Term>),
    /// The sum of two numbers.
    Plus(Box<Term>, Box<Term>),
    /// The difference of two numbers.
    Minus(Box<Term>, Box<Term>),
    /// One list after the other.
    Append(Box<Term>, Box<Term>),
}

impl Term {
    /// What the item holds at `path`.
    pub fn path(path: impl Into<Path>) -> Term {
        Term::Path(path.into())
    }

    /// What the item holds at `path` or, when there is nothing, `otherwise`.
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
    /// Put a value at a path.
    Set(Path, Term),
    /// Take away what is at a path.
    Remove(Path),
    /// Add a number to a number, or elements to a set; what is missing is made.
    Add(Path, Value),
    /// Take elements out of a set; an empty set is removed.
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

/// All changes of one update. Every term reads the item as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Update {
    /// The changes.
    pub changes: Vec<Change>,
}

/// Sets the value at `path`.
pub fn set(path: impl Into<Path>, term: impl Into<Term>) -> Update {
    Update::default().set(path, term)
}

/// Sets the value at `path` unless there is one.
pub fn set_if_absent(path: impl Into<Path>, term: impl Into<Term>) -> Update {
    Update::default().set_if_absent(path, term)
}

/// Adds to the number or set at `path`.
pub fn add(path: impl Into<Path>, value: impl Into<Value>) -> Update {
    Update::default().add(path, value)
}

/// Removes what is at `path`.
pub fn remove(path: impl Into<Path>) -> Update {
    Update::default().remove(path)
}

/// Takes elements out of the set at `path`.
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

    /// Sets the value at `path` unless there is one.
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

    /// Removes what is at `path`.
    #[must_use]
    pub fn remove(self, path: impl Into<Path>) -> Update {
        self.and(Change::Remove(path.into()))
    }

    /// Takes elements out of the set at `path`.
    #[must_use]
    pub fn delete_from(self, path: impl Into<Path>, elements: impl Into<Value>) -> Update {
        self.and(Change::Delete(path.into(), elements.into()))
    }
}
