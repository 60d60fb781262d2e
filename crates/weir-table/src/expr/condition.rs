//! Conditions and filters.

use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::value::{Kind, Name, Value};

/// How two operands are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compare {
    /// Equal, of the same kind.
    Eq,
    /// Not equal; also true when the attribute is missing or of another kind.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operand {
    /// The value at a path.
    Path(Path),
    /// A constant.
    Value(Value),
    /// The size of the value at a path.
    Size(Path),
}

/// A condition on an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// A comparison.
    Compare(Operand, Compare, Operand),
    /// `low <= operand <= high`.
    Between(Operand, Operand, Operand),
    /// The operand equals one of these.
    In(Operand, Vec<Operand>),
    /// The path has a value.
    Exists(Path),
    /// The path has no value.
    Absent(Path),
    /// The value at the path is of this kind.
    IsKind(Path, Kind),
    /// Text or bytes at the path begin with this.
    BeginsWith(Path, Operand),
    /// Text at the path contains this text, or a set or list there this element.
    Contains(Path, Operand),
    /// All are true.
    And(Vec<Condition>),
    /// At least one is true.
    Or(Vec<Condition>),
    /// The condition is false.
    Not(Box<Condition>),
}

/// The attribute called `name`, to build a condition from.
pub fn attr(name: impl Into<Name>) -> Operand {
    Operand::Path(Path::new(name))
}

/// The size of the value at `path`, to build a condition from.
pub fn size(path: impl Into<Path>) -> Operand {
    Operand::Size(path.into())
}

impl<V: Into<Value>> From<V> for Operand {
    fn from(value: V) -> Operand {
        Operand::Value(value.into())
    }
}

impl From<Path> for Operand {
    fn from(path: Path) -> Operand {
        Operand::Path(path)
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident => $compare:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $method(self, other: impl Into<Operand>) -> Condition {
            Condition::Compare(self, Compare::$compare, other.into())
        }
    )*};
}

impl Operand {
    comparisons! {
        /// Equal.
        eq => Eq,
        /// Not equal, or missing.
        ne => Ne,
        /// Less.
        lt => Lt,
        /// Less or equal.
        le => Le,
        /// Greater.
        gt => Gt,
        /// Greater or equal.
        ge => Ge,
    }

    /// The path of this operand. A constant has an empty one, which the checks refuse.
    fn into_path(self) -> Path {
        match self {
            Operand::Path(path) | Operand::Size(path) => path,
            Operand::Value(_) => Path::new(""),
        }
    }

    /// A field of this map.
    #[must_use]
    pub fn field(self, name: impl Into<Name>) -> Operand {
        Operand::Path(self.into_path().field(name))
    }

    /// An element of this list.
    #[must_use]
    pub fn element(self, position: usize) -> Operand {
        Operand::Path(self.into_path().element(position))
    }

    /// `low <= this <= high`.
    #[must_use]
    pub fn between(self, low: impl Into<Operand>, high: impl Into<Operand>) -> Condition {
        Condition::Between(self, low.into(), high.into())
    }

    /// Equal to one of `values`.
    #[must_use]
    pub fn is_in<T: Into<Operand>>(self, values: impl IntoIterator<Item = T>) -> Condition {
        Condition::In(self, values.into_iter().map(Into::into).collect())
    }

    /// The attribute exists.
    #[must_use]
    pub fn exists(self) -> Condition {
        Condition::Exists(self.into_path())
    }

    /// The attribute is missing.
    #[must_use]
    pub fn absent(self) -> Condition {
        Condition::Absent(self.into_path())
    }

    /// The value is of this kind.
    #[must_use]
    pub fn is_kind(self, kind: Kind) -> Condition {
        Condition::IsKind(self.into_path(), kind)
    }

    /// The text or bytes begin with `prefix`.
    #[must_use]
    pub fn begins_with(self, prefix: impl Into<Operand>) -> Condition {
        Condition::BeginsWith(self.into_path(), prefix.into())
    }

    /// The text contains `part`, or the set or list has it as an element.
    #[must_use]
    pub fn contains(self, part: impl Into<Operand>) -> Condition {
        Condition::Contains(self.into_path(), part.into())
    }
}

impl Condition {
    /// Both are true.
    #[must_use]
    pub fn and(self, other: Condition) -> Condition {
        match self {
            Condition::And(mut all) => {
                all.push(other);
                Condition::And(all)
            }
            first => Condition::And(vec![first, other]),
        }
    }

    /// At least one is true.
    #[must_use]
    pub fn or(self, other: Condition) -> Condition {
        match self {
            Condition::Or(mut any) => {
                any.push(other);
                Condition::Or(any)
            }
            first => Condition::Or(vec![first, other]),
        }
    }
}

impl std::ops::Not for Condition {
    type Output = Condition;

    fn not(self) -> Condition {
        Condition::Not(Box::new(self))
    }
}
