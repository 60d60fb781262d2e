//! How often a client shall ask again, and how long it may believe the answer.

use serde::Serialize;

use super::{Mode, Question};

/// Seconds between two checks of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Refresh {
    /// While there is room.
    pub normal_secs: u32,
    /// Close to a quota.
    pub tight_secs: u32,
}

impl Refresh {
    /// The seconds of a mode.
    #[must_use]
    pub fn secs(self, mode: Mode) -> u32 {
        match mode {
            Mode::Normal => self.normal_secs,
            Mode::Tight => self.tight_secs,
        }
    }
}

/// What clients shall do with a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guidance {
    /// `PERIODIC_300S`: how often to ask.
    pub check_frequency: String,
    /// How long to believe the answer; never past the local midnight, when all quotas begin anew.
    pub cache_duration_secs: u64,
    /// Why.
    pub explanation: String,
}

impl Guidance {
    pub(super) fn new(question: &Question<'_>, mode: Mode, is_open: bool) -> Guidance {
        let secs = question.refresh.secs(mode);
        let left_ms = question.today.end_ms.saturating_sub(question.now_ms);
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
