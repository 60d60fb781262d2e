//! What was decided.

use std::fmt;

use serde::{Serialize, Serializer};

use super::guidance::Guidance;
use crate::ids::Label;
use crate::money::{MicroUsd, Percent};

/// How a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Below the threshold.
    Normal,
    /// At the threshold or above.
    Tight,
    /// The quota is spent.
    Exceeded,
}

/// How closely clients have to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Mode {
    /// There is room.
    Normal,
    /// The current model is close to its quota, or beyond.
    Tight,
}

impl Mode {
    /// The mode in which the current model has this status.
    #[must_use]
    pub fn of(status: Status) -> Mode {
        if status == Status::Normal { Mode::Normal } else { Mode::Tight }
    }
}

/// A model, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// Its label.
    pub label: Label,
    /// What was spent today.
    pub spend: MicroUsd,
    /// What may be.
    pub quota: MicroUsd,
    /// The first as a part of the second.
    pub percent: Percent,
    /// How it does.
    pub status: Status,
    /// When the quota will be spent, at the rate of the day so far; nothing when not today, or when it is spent already.
    pub exhausted_at_ms: Option<i64>,
}

/// Why a model is recommended, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is the first of the chain.
    Normal,
    /// The quota of this one, before it in the chain, is spent.
    QuotaExceeded(Label),
    /// The chain came to it earlier today.
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

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A fallback that has to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The model to use from now on.
    pub to: Label,
    /// Where in the chain it is.
    pub index: usize,
    /// The model before it, whose quota is spent.
    pub previous: Label,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Every model of the chain, in its order.
    pub models: Vec<ModelStatus>,
    /// Where in the chain the recommended model is; nothing when all quotas are exceeded.
    pub recommended: Option<usize>,
    /// Why.
    pub reason: Reason,
    /// How closely to watch.
    pub mode: Mode,
    /// Whether the chain is, or now comes to be, at a later model for the rest of the day.
    pub sticky_fallback_active: bool,
    /// What has to be written down.
    pub flip: Option<Flip>,
    /// Whether what was written down names a model that the chain no longer has.
    pub is_sticky_stale: bool,
    /// When all quotas are open again: the next local midnight.
    pub retry_at_ms: i64,
    /// What clients shall do.
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

    /// Seconds until all quotas are open again, rounded up.
    #[must_use]
    pub fn retry_after_secs(&self, now_ms: i64) -> u64 {
        let left = self.retry_at_ms.saturating_sub(now_ms).max(0);
        u64::try_from(left).unwrap_or_default().div_ceil(1000)
    }
}
