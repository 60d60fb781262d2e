//! How often a client should check again, and how long it may cache a decision.

use super::{DecisionInput, Mode};

/// Seconds between two checks of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refresh {
    /// Interval while the current model is below its threshold.
    pub normal_secs: u32,
    /// Interval near a quota.
    pub tight_secs: u32,
}

impl Refresh {
    /// The interval of a mode.
    #[must_use]
    pub fn secs(self, mode: Mode) -> u32 {
        match mode {
            Mode::Normal => self.normal_secs,
            Mode::Tight => self.tight_secs,
        }
    }
}

/// How clients should act on a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guidance {
    /// How often to check again: `PERIODIC_300S`.
    pub check_frequency: String,
    /// Seconds to cache the decision; never past the local midnight, when all quotas reset.
    pub cache_duration_secs: u64,
    /// The reason for this interval, for people.
    pub explanation: String,
}

impl Guidance {
    pub(super) fn new(input: &DecisionInput<'_>, mode: Mode, is_open: bool) -> Guidance {
        let secs = input.refresh.secs(mode);
        let left_ms = input.today.end_ms.saturating_sub(input.now_ms);
        let left_secs = u64::try_from(left_ms / 1000).unwrap_or_default();
        let explanation = match (is_open, mode) {
            (false, _) => {
                "All quotas are spent; they open again at the next local midnight.".into()
            }
            (true, Mode::Normal) => format!("There is room in the quota; check every {secs} s."),
            (true, Mode::Tight) => {
                format!("The quota is nearly spent; check every {secs} s to fall back in time.")
            }
        };
        Guidance {
            check_frequency: format!("PERIODIC_{secs}S"),
            cache_duration_secs: left_secs.min(u64::from(secs)),
            explanation,
        }
    }
}
