//! The result of a decision.

use std::fmt;

use super::guidance::Guidance;
use crate::ids::Label;
use crate::money::{MicroUsd, Percent};

/// How close a model is to its quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Below the threshold.
    Normal,
    /// At or above the threshold.
    Tight,
    /// At or above the quota.
    Exceeded,
}

/// How closely clients should watch the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The current model is below its threshold.
    Normal,
    /// The current model is near its quota or over it.
    Tight,
}

impl Mode {
    /// The mode while the current model has this status.
    #[must_use]
    pub fn of(status: Status) -> Mode {
        if status == Status::Normal { Mode::Normal } else { Mode::Tight }
    }
}

/// A model of the chain with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// The model label.
    pub label: Label,
    /// Spend on the model today, in micro-USD.
    pub spend: MicroUsd,
    /// Daily quota of the model, in micro-USD.
    pub quota: MicroUsd,
    /// Spend as a percentage of the quota.
    pub percent: Percent,
    /// How close the model is to its quota.
    pub status: Status,
    /// When the model reaches its quota at the rate of the day so far, in milliseconds since 1970; `None` when not
    /// today or already reached.
    pub exhausted_at_ms: Option<i64>,
}

/// Why a model is recommended, or none is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The model is the first of the chain.
    Normal,
    /// This model, before it in the chain, has exceeded its quota.
    QuotaExceeded(Label),
    /// The chain fell back to it earlier today.
    StickyFallback,
    /// An administrator chose it.
    ManualOverride,
    /// No model is open.
    AllQuotasExceeded,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Normal => f.write_str("NORMAL"),
            Reason::QuotaExceeded(label) => write!(f, "QUOTA_EXCEEDED_{label}"),
            Reason::StickyFallback => f.write_str("STICKY_FALLBACK"),
            Reason::ManualOverride => f.write_str("MANUAL_OVERRIDE"),
            Reason::AllQuotasExceeded => f.write_str("ALL_QUOTAS_EXCEEDED"),
        }
    }
}

/// A fallback to a later model that has to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The model to use from now on.
    pub to: Label,
    /// Index of the model in the chain.
    pub index: usize,
    /// The model before it, whose quota is exceeded.
    pub previous: Label,
}

/// The recommendation, and what has to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Every model, in the order of the chain.
    pub models: Vec<ModelStatus>,
    /// Index of the recommended model; `None` when all quotas are exceeded.
    pub recommended: Option<usize>,
    /// Why that model is recommended, or none is.
    pub reason: Reason,
    /// How closely clients should watch the quota.
    pub mode: Mode,
    /// Whether a fallback is in force, from this decision or an earlier one.
    pub sticky_fallback_active: bool,
    /// The fallback to record, if this decision made one.
    pub fallback: Option<Fallback>,
    /// Whether the recorded state names a model that left the chain.
    pub is_sticky_stale: bool,
    /// When all quotas reset: the next local midnight, in milliseconds since 1970.
    pub retry_at_ms: i64,
    /// How clients should act on the decision.
    pub guidance: Guidance,
}

impl Decision {
    /// The recommended model.
    #[must_use]
    pub fn model(&self) -> Option<&ModelStatus> {
        self.models.get(self.recommended?)
    }

    /// The recommended model; the last of the chain when all quotas are exceeded.
    #[must_use]
    pub fn current(&self) -> Option<&ModelStatus> {
        self.model().or_else(|| self.models.last())
    }

    /// Seconds until all quotas reset, rounded up.
    #[must_use]
    pub fn retry_after_secs(&self, now_ms: i64) -> u64 {
        let left = self.retry_at_ms.saturating_sub(now_ms).max(0);
        u64::try_from(left).unwrap_or_default().div_ceil(1000)
    }
}
