//! The result of an import.

use std::collections::BTreeMap;

/// Most problems that a report lists.
const PROBLEMS_MAX: usize = 1_000;

/// A kind of item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A namespace.
    Namespace,
    /// An entity.
    Entity,
    /// A level of limits.
    Level,
    /// A live bucket.
    Bucket,
    /// A snapshot of usage.
    Usage,
    /// An audit event.
    Audit,
    /// Any other item.
    Other,
}

/// How many items of a kind there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Items that were created, or would be.
    pub imported: u64,
    /// Items that exist already.
    pub unchanged: u64,
    /// Items that Weir cannot express, or that exist otherwise.
    pub refused: u64,
}

/// An item that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The name of its namespace.
    pub namespace: String,
    /// The item.
    pub item: String,
    /// Why it was not imported.
    pub problem: String,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Report {
    /// How many items there were, by kind.
    pub counts: BTreeMap<Kind, Counts>,
    /// Items that were not imported, at most a thousand.
    pub problems: Vec<Problem>,
}

/// The outcome of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Imported,
    Unchanged,
    Refused(String),
}

impl Report {
    /// The number of items that were not imported.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.counts.values().map(|counts| counts.refused).sum()
    }

    pub(super) fn add(&mut self, namespace: &str, kind: Kind, item: &str, outcome: Outcome) {
        let counts = self.counts.entry(kind).or_default();
        match outcome {
            Outcome::Imported => counts.imported += 1,
            Outcome::Unchanged => counts.unchanged += 1,
            Outcome::Refused(problem) => {
                counts.refused += 1;
                if self.problems.len() < PROBLEMS_MAX {
                    let (namespace, item) = (namespace.to_owned(), item.to_owned());
                    self.problems.push(Problem { namespace, item, problem });
                }
            }
        }
    }
}
