//! Colours of states. The word always stays, so nothing is said by colour alone.

use console::{Color, style};

/// The columns of tables that hold states.
const COLUMNS: [&str; 6] = ["state", "status", "outcome", "mode", "severity", "verified"];

/// Whether a column of this name holds states.
pub(crate) fn is_column(name: &str) -> bool {
    COLUMNS.contains(&name)
}

/// The colour of a state: green when all is well, yellow for work under way and warnings, red for failures.
fn colour(state: &str) -> Option<Color> {
    Some(match state.to_lowercase().replace('_', " ").as_str() {
        "normal" | "ok" | "active" | "completed" | "delivered" | "success" | "committed"
        | "verified" | "yes" => Color::Green,
        "tight" | "running" | "pending" | "processing" | "queued" | "started" | "in progress"
        | "stopping" | "purging" | "needs review" | "timeout" | "medium" => Color::Yellow,
        "exceeded" | "failed" | "error" | "dropped" | "critical" | "high" | "failure" | "no" => {
            Color::Red
        }
        _ => return None,
    })
}

/// A part of the text of a state, in its colour.
pub(crate) fn coloured(state: &str, part: &str) -> String {
    match colour(state) {
        Some(colour) if !part.is_empty() => style(part).fg(colour).force_styling(true).to_string(),
        _ => part.to_owned(),
    }
}

/// A text that is less important than its neighbours.
pub(crate) fn dimmed(text: &str) -> String {
    style(text).dim().force_styling(true).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_one_colour_however_they_are_written() {
        for state in ["TIGHT", "in_progress", "in progress", "Running"] {
            assert_eq!(colour(state), Some(Color::Yellow), "{state}");
        }
        assert_eq!(coloured("EXCEEDED", "EXCEEDED"), "\u{1b}[31mEXCEEDED\u{1b}[0m");
        for state in ["", "draft", "waiting_for_lease", "a sentence about an error"] {
            assert_eq!(coloured(state, state), state);
        }
    }
}
