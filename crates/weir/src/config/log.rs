//! `[log]`: what the server writes to its log.

use serde::{Deserialize, Serialize};

/// The levels, from silence to everything.
pub(super) const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// What the server writes to its log.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Log {
    /// What is logged: off, error, warn, info, debug or trace; also per part, as in
    /// "info,weir_table=debug".
    #[config(default = "info", env = "WEIR_LOG")]
    pub(crate) level: String,
    /// "pretty" for people, "json" for programs; "auto" is pretty on a terminal and JSON otherwise.
    #[config(default = "auto", env = "WEIR_LOG_FORMAT")]
    pub(crate) format: Format,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Pretty on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Pretty,
    /// For programs.
    Json,
}

/// What is wrong with a level; none when it is one.
pub(super) fn level_problem(text: &str) -> Option<String> {
    let wrong = text.split(',').find(|part| {
        let (target, level) = part.split_once('=').unwrap_or(("all", part));
        target.trim().is_empty() || !LEVELS.contains(&level.trim())
    })?;
    Some(format!("{wrong:?} is no level; there are {}, also as PART=LEVEL", LEVELS.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_stand_alone_or_for_a_part() {
        for good in ["info", "off", "info,weir_table=debug", "warn, weir=trace"] {
            assert_eq!(level_problem(good), None, "{good}");
        }
        for bad in ["", "loud", "info,", "weir=loud", "=info"] {
            assert!(level_problem(bad).is_some(), "{bad}");
        }
    }
}
