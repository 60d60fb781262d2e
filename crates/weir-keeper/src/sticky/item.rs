//! The stored form of a sticky fallback.
//!
//! The item stores the label. It also stores the index in the chain, for people to read; decisions look the index up
//! again, because the chain may have been reordered since.

use weir_calendar::DaySpan;
use weir_table::expr::{Condition, attr};
use weir_table::{Item, Name, Write};

use crate::bounds::STICKY_RETENTION_MS;
use crate::decide::{Fallback, StickyReason, StickyState};
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keys;
use crate::table::TTL;

const LABEL: &str = "active_model_label";
const INDEX: &str = "active_model_index";
const VERSION: &str = "config_version";
const REASON: &str = "reason";
const PREVIOUS: &str = "previous_model_label";
const ACTIVATED: &str = "activated_at_epoch";

impl StickyState {
    /// The state that records a fallback.
    #[must_use]
    pub fn from_fallback(fallback: &Fallback, config_version: u64, now_ms: i64) -> StickyState {
        StickyState {
            label: fallback.to.clone(),
            config_version,
            reason: StickyReason::QuotaExceeded,
            previous: Some(fallback.previous.clone()),
            activated_at_epoch: now_ms.div_euclid(1000),
        }
    }

    /// Encodes the state of a model at this index of the chain. The item expires an hour after the day ends.
    #[must_use]
    pub fn encode(&self, scope: &Scope, today: DaySpan, index: usize) -> Item {
        let expires_ms = today.end_ms.saturating_add(STICKY_RETENTION_MS);
        let mut item = keys::item(keys::sticky(scope, today.day))
            .with(LABEL, self.label.as_str())
            .with(INDEX, u64::try_from(index).unwrap_or(u64::MAX))
            .with(VERSION, self.config_version)
            .with(REASON, self.reason.as_str())
            .with(ACTIVATED, self.activated_at_epoch)
            .with(TTL, expires_ms.div_euclid(1000));
        if let Some(previous) = &self.previous {
            item.set(PREVIOUS, previous.as_str());
        }
        item
    }

    /// Decodes the state.
    ///
    /// # Errors
    /// An attribute is missing or invalid.
    pub fn decode(item: &Item) -> Result<StickyState> {
        let wrong = |name: &str| {
            let what = format!("the sticky state of {}", item.s("PK").unwrap_or_default());
            Error::damaged(what, format!("{name} is missing or invalid"))
        };
        let label = |name| item.s(name).and_then(|text| Label::new(text).ok());
        let version = item.i64(VERSION).and_then(|version| u64::try_from(version).ok());
        Ok(StickyState {
            label: label(LABEL).ok_or_else(|| wrong(LABEL))?,
            config_version: version.ok_or_else(|| wrong(VERSION))?,
            reason: item.s(REASON).and_then(StickyReason::parse).ok_or_else(|| wrong(REASON))?,
            previous: label(PREVIOUS),
            activated_at_epoch: item.i64(ACTIVATED).ok_or_else(|| wrong(ACTIVATED))?,
        })
    }

    /// The write that records this state, unless that would move the chain back: the stored state must be of the same
    /// or an older configuration version, and its model earlier in `chain` or no longer in it. An expired item counts
    /// as absent.
    #[must_use]
    pub fn put(
        &self,
        table: Name,
        scope: &Scope,
        today: DaySpan,
        chain: &[Label],
        now_ms: i64,
    ) -> Write {
        let index = chain.iter().position(|label| *label == self.label).unwrap_or_default();
        let from_here = chain.iter().skip(index).map(Label::as_str);
        let is_earlier = !attr(LABEL).is_in(from_here);
        let moves_on = attr(VERSION).le(self.config_version).and(is_earlier);
        let is_over = attr(TTL).le(now_ms.div_euclid(1000));
        let free = [attr(LABEL).absent(), is_over, moves_on];
        Write::put(table, self.encode(scope, today, index)).when(Condition::Or(free.into()))
    }
}

#[cfg(test)]
mod tests {
    use weir_calendar::Zone;
    use weir_table::expr::eval::holds;

    use super::*;
    use crate::ids::OrgId;

    fn scope() -> Scope {
        Scope::Org(OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap())
    }

    fn today() -> DaySpan {
        Zone::new("America/New_York").unwrap().span_of(1_769_187_600_000)
    }

    fn sticky(label: &str, config_version: u64) -> StickyState {
        let label = Label::new(label).unwrap();
        let fallback = Fallback { to: label, index: 1, previous: Label::new("premium").unwrap() };
        StickyState::from_fallback(&fallback, config_version, 1_769_187_600_999)
    }

    #[test]
    fn a_sticky_state_round_trips() {
        let item = sticky("standard", 3).encode(&scope(), today(), 1);
        assert_eq!(StickyState::decode(&item).unwrap(), sticky("standard", 3));
        assert_eq!(item.s("SK"), Some("DAY#20260123"));
        assert_eq!(item.s("previous_model_label"), Some("premium"));
        assert_eq!(item.i64("activated_at_epoch"), Some(1_769_187_600));
        // One hour after the next local midnight.
        assert_eq!(item.i64("expires_at_epoch"), Some(1_769_230_800 + 3_600));
        let by_hand =
            StickyState { reason: StickyReason::ManualOverride, previous: None, ..sticky("a", 1) };
        assert_eq!(StickyState::decode(&by_hand.encode(&scope(), today(), 0)).unwrap(), by_hand);
        let mut damaged = item;
        damaged.remove("reason");
        let error = StickyState::decode(&damaged).unwrap_err().to_string();
        assert!(error.ends_with("reason is missing or invalid"), "{error}");
    }

    #[test]
    fn a_fallback_never_moves_the_chain_back() {
        let stored = sticky("standard", 3).encode(&scope(), today(), 1);
        let now_ms = today().start_ms;
        for (label, version, chain, expected) in [
            ("economy", 3, ["premium", "standard", "economy"], true),
            ("standard", 3, ["premium", "standard", "economy"], false),
            ("premium", 3, ["premium", "standard", "economy"], false),
            // A newer version, but it would move back: the decision was made without reading the stored state.
            ("premium", 4, ["premium", "standard", "economy"], false),
            ("economy", 4, ["premium", "standard", "economy"], true),
            ("economy", 2, ["premium", "standard", "economy"], false),
            ("premium", 4, ["standard", "premium", "economy"], true),
            ("premium", 4, ["premium", "economy", "ultra_premium"], true),
        ] {
            let chain = chain.map(|label| Label::new(label).unwrap());
            let write = sticky(label, version).put("t".into(), &scope(), today(), &chain, now_ms);
            let condition = write.condition.unwrap();
            assert_eq!(holds(&condition, &stored), expected, "{label} {version} {chain:?}");
            assert!(holds(&condition, &Item::new()));
        }
        let chain = [Label::new("premium").unwrap()];
        let late_ms = today().end_ms + STICKY_RETENTION_MS;
        let write = sticky("premium", 1).put("t".into(), &scope(), today(), &chain, late_ms);
        assert!(holds(&write.condition.unwrap(), &stored), "an expired item counts as absent");
    }
}
