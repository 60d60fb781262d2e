//! What is written down of a fallback.

use serde::Serialize;

use crate::ids::Label;

/// Why a scope is at a later model than its first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StickyReason {
    /// A quota was spent.
    QuotaExceeded,
    /// An administrator said so.
    ManualOverride,
}

impl StickyReason {
    /// The text of it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StickyReason::QuotaExceeded => "QUOTA_EXCEEDED",
            StickyReason::ManualOverride => "MANUAL_OVERRIDE",
        }
    }

    /// The reason of a text.
    #[must_use]
    pub fn parse(text: &str) -> Option<StickyReason> {
        [StickyReason::QuotaExceeded, StickyReason::ManualOverride]
            .into_iter()
            .find(|reason| reason.as_str() == text)
    }
}

/// The model that a scope has come to on a day. It is kept by its label: where in the chain that is, is found when it is
/// read, because the chain may have been reordered since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sticky {
    /// The model.
    pub label: Label,
    /// The version of the configuration by which it was chosen.
    pub config_version: u64,
    /// Why.
    pub reason: StickyReason,
    /// The model before it.
    pub previous: Option<Label>,
    /// Since when, in seconds since 1970.
    pub activated_at_epoch: i64,
}
