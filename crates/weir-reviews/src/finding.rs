//! Findings: what a model says about lines of a file.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds::{LINE_MAX, PATH_MAX, RULE_MAX, TEXT_MAX};
use crate::error::{Error, Result};
use crate::ids::{Category, FindingId, ModelId};

/// How bad an issue is; the worst is the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Critical.
    Critical,
}

impl Severity {
    /// All severities, the worst first.
    pub const ALL: [Severity; 5] =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

    /// The severity as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
            Severity::Info => "info",
        }
    }

    /// Parses a severity.
    ///
    /// # Errors
    /// There is no such severity.
    pub fn parse(text: &str) -> Result<Severity> {
        Severity::ALL.into_iter().find(|severity| severity.as_str() == text).ok_or_else(|| {
            let shown = weir_table::id::shown(text);
            Error::invalid(
                "severity",
                format!("{shown} is not critical, high, medium, low or info"),
            )
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A finding of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The model.
    pub model: ModelId,
    /// The finding's id, unique among those of the model.
    pub id: FindingId,
    /// How bad it is.
    pub severity: Severity,
    /// Category of the finding; none if the tool does not categorise.
    pub category: Option<Category>,
    /// The rule that the code breaks, as a linter names it: `B608`.
    pub rule: Option<String>,
    /// The file.
    pub file_path: String,
    /// The first line.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
    /// The issue in a few words.
    pub title: String,
    /// The issue.
    pub description: String,
    /// How to mend it.
    pub suggestion: Option<String>,
}

impl Finding {
    /// Checks what the types leave open.
    ///
    /// # Errors
    /// A line range is backwards or out of bounds, the file or the rule has no name, or a text is too large.
    pub fn check(&self) -> Result<()> {
        if self.line_start == 0 || self.line_start > LINE_MAX {
            return Err(Error::invalid("line_start", format!("is not from 1 to {LINE_MAX}")));
        }
        if self.line_end < self.line_start || self.line_end > LINE_MAX {
            let problem = format!("is not from line_start ({}) to {LINE_MAX}", self.line_start);
            return Err(Error::invalid("line_end", problem));
        }
        if self.file_path.is_empty() || self.file_path.chars().any(char::is_control) {
            return Err(Error::invalid("file_path", "is empty or has control characters"));
        }
        if self.title.trim().is_empty() {
            return Err(Error::invalid("title", "is empty"));
        }
        let is_good_rule = |rule: &str| !rule.is_empty() && !rule.chars().any(char::is_control);
        if !self.rule.as_deref().is_none_or(is_good_rule) {
            return Err(Error::invalid("rule", "is empty or has control characters"));
        }
        check_length("rule", self.rule.as_deref().unwrap_or_default(), RULE_MAX)?;
        check_length("file_path", &self.file_path, PATH_MAX)?;
        check_length("title", &self.title, TEXT_MAX)?;
        check_length("description", &self.description, TEXT_MAX)?;
        check_length("suggestion", self.suggestion.as_deref().unwrap_or_default(), TEXT_MAX)
    }
}

/// Checks that a text has at most `max` bytes.
///
/// # Errors
/// It has more.
pub fn check_length(field: &str, text: &str, max: usize) -> Result<()> {
    if text.len() <= max {
        return Ok(());
    }
    Err(Error::too_large(field, format!("has {} bytes; at most {max} are allowed", text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        Finding {
            model: ModelId::new("m").unwrap(),
            id: FindingId::new("f").unwrap(),
            severity: Severity::High,
            category: None,
            rule: None,
            file_path: "src/a.rs".to_owned(),
            line_start: 3,
            line_end: 5,
            title: "t".to_owned(),
            description: String::new(),
            suggestion: None,
        }
    }

    #[test]
    fn a_wrong_finding_is_refused_by_its_field() {
        finding().check().unwrap();
        let long = "x".repeat(TEXT_MAX + 1);
        for (wrong, field) in [
            (Finding { line_start: 0, ..finding() }, "line_start"),
            (Finding { line_end: 2, ..finding() }, "line_end"),
            (Finding { line_end: LINE_MAX + 1, ..finding() }, "line_end"),
            (Finding { file_path: String::new(), ..finding() }, "file_path"),
            (Finding { file_path: "a\0".to_owned(), ..finding() }, "file_path"),
            (Finding { rule: Some(String::new()), ..finding() }, "rule"),
            (Finding { rule: Some("x".repeat(RULE_MAX + 1)), ..finding() }, "rule"),
            (Finding { title: " ".to_owned(), ..finding() }, "title"),
            (Finding { title: long.clone(), ..finding() }, "title"),
            (Finding { description: long.clone(), ..finding() }, "description"),
            (Finding { suggestion: Some(long), ..finding() }, "suggestion"),
        ] {
            let text = wrong.check().unwrap_err().to_string();
            assert!(text.starts_with(field), "{text}");
        }
    }

    #[test]
    fn severities_are_ordered_and_read_back() {
        assert!(Severity::ALL.windows(2).all(|pair| matches!(pair, [a, b] if a > b)));
        for severity in Severity::ALL {
            assert_eq!(Severity::parse(severity.as_str()).unwrap(), severity);
        }
        assert!(Severity::parse("High").is_err());
    }
}
