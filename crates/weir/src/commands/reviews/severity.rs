//! Severities of the API and of the domain, which orders them.

use clap::builder::TypedValueParser;
use weir_api::reviews::Severity;
use weir_reviews::finding::Severity as Ranked;

use crate::commands::api_context::one_of;

/// Parses the severity of a flag.
pub(super) fn parser() -> impl TypedValueParser<Value = Severity> {
    one_of::<Severity>(&["critical", "high", "medium", "low", "info"])
}

/// The severity in its order: the worst is the largest.
pub(super) fn ranked(severity: Severity) -> Ranked {
    match severity {
        Severity::Critical => Ranked::Critical,
        Severity::High => Ranked::High,
        Severity::Medium => Ranked::Medium,
        Severity::Low => Ranked::Low,
        Severity::Info => Ranked::Info,
    }
}

/// The severity as the API has it.
pub(super) fn of(ranked: Ranked) -> Severity {
    match ranked {
        Ranked::Critical => Severity::Critical,
        Ranked::High => Severity::High,
        Ranked::Medium => Severity::Medium,
        Ranked::Low => Severity::Low,
        Ranked::Info => Severity::Info,
    }
}
