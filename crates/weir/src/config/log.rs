//! `[log]`: level and format of the server's log.

use serde::{Deserialize, Serialize};

/// The levels, in order of verbosity.
pub(super) const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Level and format of the server's log.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Log {
    /// Log level: off, error, warn, info, debug or trace. Levels of single modules may follow, as in
    /// "info,weir_table=debug".
    #[config(default = "info", env = "WEIR_LOG")]
    pub(crate) level: String,
    /// Log format: "pretty", "json", or "auto", which is pretty on a terminal and JSON otherwise.
    #[config(default = "auto", env = "WEIR_LOG_FORMAT")]
    pub(crate) format: Format,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Pretty on a terminal, JSON otherwise.
    Auto,
    /// Lines that are easy to read.
    Pretty,
    /// One JSON object per line.
    Json,
}

/// The problem of a log level, if it has one.
pub(super) fn level_problem(text: &str) -> Option<String> {
    let wrong = text.split(',').find(|part| {
        let (target, level) = part.split_once('=').unwrap_or(("all", part));
        target.trim().is_empty() || !LEVELS.contains(&level.trim())
    })?;
    Some(format!("{wrong:?} is not a log level; use {}, or MODULE=LEVEL", LEVELS.join(", ")))
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
