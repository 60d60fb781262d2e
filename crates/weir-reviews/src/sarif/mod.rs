//! SARIF 2.1.0, the format of static analysis tools and of code scanning: findings in, findings and consensus out.
//!
//! [`read`] takes a file as a stream, so that a large one needs no more memory than the findings that are kept. [`write()`]
//! has the issues that models agree on as one run, [`write_findings`] every finding as one run for each model.
//!
//! A file that [`write_findings`] made reads back with the same models, ids, files, lines, rules, titles, texts, severities
//! and categories. What SARIF has no field for is in `properties`, which other tools ignore.

mod collector;
mod document;
mod finding_ids;
mod loose;
mod reader;
mod resolve;
mod rules;
mod uri;
mod writer;

pub use collector::{ModelFindings, Skipped};
pub use reader::{Excess, ReadOptions, read};
pub use writer::{write, write_findings};

use crate::finding::Severity;

/// The version of SARIF that is read and written.
pub const VERSION: &str = "2.1.0";

/// The level of a result, which has fewer steps than a severity.
fn level_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
        Severity::Info => "none",
    }
}
