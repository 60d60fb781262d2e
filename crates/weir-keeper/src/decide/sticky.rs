//! The recorded state of a sticky fallback.

use crate::ids::Label;

/// Why a scope is not at the first model of its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StickyReason {
    /// A quota was exceeded.
    QuotaExceeded,
    /// An administrator overrode the model.
    ManualOverride,
}

impl StickyReason {
    /// The stored text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StickyReason::QuotaExceeded => "QUOTA_EXCEEDED",
            StickyReason::ManualOverride => "MANUAL_OVERRIDE",
        }
    }

    /// Parses the stored text.
    #[must_use]
    pub fn parse(text: &str) -> Option<StickyReason> {
        [StickyReason::QuotaExceeded, StickyReason::ManualOverride]
            .into_iter()
            .find(|reason| reason.as_str() == text)
    }
}

/// The model that a scope has fallen back to today. Stored by label: its index is looked up on every read, because the
/// chain may have been reordered since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StickyState {
    /// The model in use.
    pub label: Label,
    /// Version of the configuration that the fallback was decided by.
    pub config_version: u64,
    /// Why the scope uses this model.
    pub reason: StickyReason,
    /// The model before it.
    pub previous: Option<Label>,
    /// When it took effect, in seconds since 1970.
    pub activated_at_epoch: i64,
}
