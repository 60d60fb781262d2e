//! Paths into an item: an attribute, and steps into maps and lists.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::item::Item;
use crate::value::{Name, Value};

/// One step below an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// A field of a map.
    Field(Name),
    /// An element of a list.
    Element(usize),
}

/// A path into an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The attribute.
    pub attribute: Name,
    /// Steps below the attribute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl Path {
    /// The attribute called `name`; dots in it are part of the name.
    pub fn new(name: impl Into<Name>) -> Path {
        Path { attribute: name.into(), steps: Vec::new() }
    }

    /// A field of the map at this path.
    #[must_use]
    pub fn field(mut self, name: impl Into<Name>) -> Path {
        self.steps.push(Step::Field(name.into()));
        self
    }

    /// An element of the list at this path.
    #[must_use]
    pub fn element(mut self, position: usize) -> Path {
        self.steps.push(Step::Element(position));
        self
    }

    /// The value at this path of `item`.
    #[must_use]
    pub fn find<'a>(&self, item: &'a Item) -> Option<&'a Value> {
        self.steps.iter().try_fold(item.get(&self.attribute)?, |value, step| match (step, value) {
            (Step::Field(name), Value::M(map)) => map.get(name),
            (Step::Element(position), Value::L(list)) => list.get(*position),
            _ => None,
        })
    }

    /// Whether two paths conflict in one request: one is a prefix of the other, or one treats a value as a map and the
    /// other as a list.
    #[must_use]
    pub fn overlaps(&self, other: &Path) -> bool {
        let parting = self.steps.iter().zip(&other.steps).find(|(ours, theirs)| ours != theirs);
        self.attribute == other.attribute
            && !matches!(
                parting,
                Some((Step::Field(_), Step::Field(_)) | (Step::Element(_), Step::Element(_)))
            )
    }
}

impl From<Name> for Path {
    fn from(name: Name) -> Path {
        Path::new(name)
    }
}

impl From<&str> for Path {
    fn from(name: &str) -> Path {
        Path::new(name)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.attribute)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Element(position) => write!(f, "[{position}]"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_overlap_unless_they_part_alike() {
        let m = || Path::new("m");
        for (one, other, overlaps) in [
            (m(), m(), true),
            (m(), m().field("x"), true),
            (m().field("x"), m().field("y"), false),
            (m().element(0), m().element(1), false),
            (m().field("x"), m().element(0), true),
            (m().field("x"), m().field("y").element(0), false),
            (m(), Path::new("n"), false),
        ] {
            assert_eq!(one.overlaps(&other), overlaps, "{one} {other}");
            assert_eq!(other.overlaps(&one), overlaps, "{other} {one}");
        }
    }
}
