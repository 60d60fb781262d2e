//! Which model an app shall use now.
//!
//! What the decision rests on is read with one request. A decision that moves a sticky chain on is written down before it is
//! told; who is refused because another was faster looks again.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use weir_table::Backend;

use super::Selection;
use super::look::Look;
use crate::bounds::TRIES_MAX;
use crate::config::Effective;
use crate::day::DaySpan;
use crate::decide::{Decision, decide};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId};
use crate::keeper::Keeper;
use crate::retry::pause;

/// What was chosen, and what that rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// What the client is told.
    pub answer: Selection,
    /// What was decided; without a recommended model when all quotas are exceeded.
    pub decision: Decision,
    /// The org's day.
    pub today: DaySpan,
    /// When this was decided, in milliseconds since 1970.
    pub now_ms: i64,
    config_version: u64,
}

impl<B: Backend> Keeper<B> {
    /// Which model an app shall use now. With `force` it sums up the shards instead of believing the totals.
    ///
    /// # Errors
    /// The org or app does not exist, or the store fails.
    pub async fn select(&self, org: &OrgId, app: &AppId, force: bool) -> Result<Selected> {
        let now_ms = self.now_ms();
        let effective = self.effective(org, Some(app)).await?;
        let (decision, today) = self.decide_now(&effective, force, now_ms).await?;
        let (mut model, mut priced) = (None, None);
        if let Some(chosen) = decision.model()
            && let Some(meaning) = self.meaning((org, app), &chosen.label).await?
        {
            let price = self.price(&meaning.model, Some(&chosen.label), None, now_ms).await?;
            priced = price.map(|price| (*price).clone());
            model = Some((meaning.model, meaning.description));
        }
        let answer = Selection::new(&effective, &decision, model, priced, now_ms);
        let config_version = effective.config_version;
        Ok(Selected { answer, decision, today, now_ms, config_version })
    }

    async fn decide_now(
        &self,
        effective: &Effective,
        force: bool,
        now_ms: i64,
    ) -> Result<(Decision, DaySpan)> {
        let scope = effective.scope();
        let today = effective.timezone.span_of(now_ms);
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let look = match (force, attempt) {
                (true, _) => Look::Shards,
                (false, 0) => Look::Eventual,
                (false, _) => Look::Strong,
            };
            let (chain, sticky) = self.look_at(effective, &scope, today.day, look, now_ms).await?;
            let decision = decide(&effective.question(&chain, sticky.as_ref(), now_ms));
            let is_written = match &decision.flip {
                Some(flip) => self.flip(effective, flip, today, now_ms).await?,
                None => true,
            };
            if is_written {
                return Ok((decision, today));
            }
        }
        Err(Error::Contended)
    }
}

impl Selected {
    /// A text that is the same as long as the decision is: times and amounts are not part of it.
    #[must_use]
    pub fn etag(&self) -> String {
        let mut told = String::with_capacity(TOLD_BYTES);
        let mut tag = String::with_capacity(2 * ETAG_BYTES + 4);
        // Writing to text in memory does not fail.
        self.tell(&mut told).ok();
        tag.push_str("W/\"");
        for byte in Sha256::digest(&told).iter().take(ETAG_BYTES) {
            write!(tag, "{byte:02x}").ok();
        }
        tag.push('"');
        tag
    }

    /// What the decision is, each part ended by a character that none of them has.
    fn tell(&self, told: &mut String) -> std::fmt::Result {
        let decision = &self.decision;
        let (day, version, frequency) =
            (self.today.day, self.config_version, &decision.guidance.check_frequency);
        let sticky = decision.sticky_fallback_active;
        write!(told, "{day}\0{version}\0{}\0{frequency}\0{sticky}\0", decision.reason)?;
        if let Some(model) = &self.answer.recommended_model {
            write!(told, "{}\0{}\0", model.label.as_str(), model.bedrock_model_id.as_str())?;
        }
        if let Some(pricing) = &self.answer.pricing {
            write!(told, "{}\0", pricing.version)?;
        }
        for model in &decision.models {
            write!(told, "{}\0{:?}\0", model.label.as_str(), model.status)?;
        }
        Ok(())
    }

    /// How long the answer may be believed: never past the local midnight.
    #[must_use]
    pub fn max_age_secs(&self) -> u64 {
        self.decision.guidance.cache_duration_secs
    }

    /// Seconds until all quotas are open again.
    #[must_use]
    pub fn retry_after_secs(&self) -> u64 {
        self.decision.retry_after_secs(self.now_ms)
    }
}

/// Bytes of the hash that an `ETag` shows.
const ETAG_BYTES: usize = 8;
/// About how much text a decision is.
const TOLD_BYTES: usize = 256;
