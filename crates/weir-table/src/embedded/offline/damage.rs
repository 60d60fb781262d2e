//! What is wrong with a store, and what that means.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::embedded::log::inspect::{Gap, Inspected};

/// The effect of damage on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Opening the store recovers it: a power cut leaves such a file, and nothing that was synced is lost.
    Recovered,
    /// The feed lacks changes; the tables have them. Consumers make a full pass.
    FeedOnly,
    /// Index or expiry entries differ from the items. A repair rebuilds them.
    Entries,
    /// Items or commits cannot be read. A repair keeps what can be read.
    Lost,
}

impl Effect {
    /// A short text for people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Effect::Recovered => "recovered on opening",
            Effect::FeedOnly => "the feed lacks changes",
            Effect::Entries => "repair rebuilds entries",
            Effect::Lost => "data is unreadable",
        }
    }
}

/// Damage of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file or the folder.
    pub path: PathBuf,
    /// Offset in the file, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Description of the damage.
    pub what: String,
    /// The consequence of the damage.
    pub effect: Effect,
}

impl Damage {
    pub(super) fn new(path: &Path, effect: Effect, what: impl Into<String>) -> Damage {
        Damage { path: path.to_owned(), offset: None, what: what.into(), effect }
    }

    /// A gap of the log, for a base store at `applied`.
    pub(super) fn of_gap(gap: &Gap, log: &Inspected, applied: u64) -> Damage {
        let was_synced = log.synced_seq >= gap.first && log.last_seq > gap.first;
        let effect = match gap.last {
            Some(last) if last.max(gap.first) <= applied => Effect::FeedOnly,
            None if gap.first == applied => Effect::FeedOnly,
            None if gap.first > applied => Effect::Recovered,
            Some(_) if !was_synced => Effect::Recovered,
            _ => Effect::Lost,
        };
        let records = match gap.last {
            Some(last) if last < gap.first => String::new(),
            Some(last) if last == gap.first => format!(" (commit {last})"),
            Some(last) => format!(" (commits {} to {last})", gap.first),
            None => format!(" (from commit {} on)", gap.first),
        };
        let what = format!("{}{records}", gap.what);
        Damage { path: gap.path.clone(), offset: Some(gap.offset), what, effect }
    }
}
