//! Selects the model that an app should use now.
//!
//! One batch read fetches everything the decision depends on. A decision that falls back to a cheaper model is recorded
//! before it is returned; when another instance records one first, the state is read again and decided anew.

mod chain_spend;
mod response;

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use weir_table::Backend;

pub(crate) use self::chain_spend::{ChainSpend, SpendRead};
pub use crate::label_lookup::ResolvedModel;
use weir_calendar::DaySpan;

pub use self::response::{ModelQuota, Pricing, QuotaStatus, RecommendedModel, SelectionResponse};
use crate::bounds::TRIES_MAX;
use crate::config::EffectiveConfig;
use crate::decide::{Decision, decide};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId};
use crate::keeper::Keeper;
use crate::prices::PriceQuery;
use crate::retry::pause;

/// Bytes of the hash in an `ETag`.
const ETAG_BYTES: usize = 8;
/// Initial capacity of the text that an `ETag` hashes.
const ETAG_TEXT_BYTES: usize = 256;

/// A selected model, with the decision behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The response for the client.
    pub response: SelectionResponse,
    /// The decision; it recommends no model when all quotas are exceeded.
    pub decision: Decision,
    /// The org's current day.
    pub today: DaySpan,
    /// Time of the decision, in milliseconds since 1970.
    pub now_ms: i64,
    config_version: u64,
}

impl<B: Backend> Keeper<B> {
    /// Selects the model an app should use now. `force` sums the shards instead of reading the totals, which lag.
    ///
    /// # Errors
    /// The org or app does not exist, or the store fails.
    pub async fn select(&self, org: &OrgId, app: &AppId, force: bool) -> Result<Selection> {
        let now_ms = self.now_ms();
        let effective = self.effective_config(org, Some(app)).await?;
        let (decision, today) = self.decide_now(&effective, force, now_ms).await?;
        let (mut model, mut price) = (None, None);
        if let Some(chosen) = decision.model()
            && let Some(resolved) = self.model_for_label((org, app), &chosen.label).await?
        {
            let label = (&chosen.label, resolved.profile.as_deref());
            let query = PriceQuery::new(&resolved.model);
            price = match self.price_by_label(&query, label, now_ms).await {
                Ok(found) => found.map(|price| (*price).clone()),
                // The submission may name the vendor.
                Err(Error::Invalid { .. }) => None,
                Err(error) => return Err(error),
            };
            model = Some(resolved);
        }
        let response = SelectionResponse::new(&effective, &decision, model, price, now_ms);
        let config_version = effective.config_version;
        Ok(Selection { response, decision, today, now_ms, config_version })
    }

    async fn decide_now(
        &self,
        effective: &EffectiveConfig,
        force: bool,
        now_ms: i64,
    ) -> Result<(Decision, DaySpan)> {
        let scope = effective.scope();
        let today = effective.timezone.span_of(now_ms);
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let read = match (force, attempt) {
                (true, _) => SpendRead::Shards,
                (false, 0) => SpendRead::EventualTotals,
                (false, _) => SpendRead::StrongTotals,
            };
            let chain = self.chain_spend(effective, &scope, today.day, read, now_ms).await?;
            let decision = decide(&chain.decision_input(effective, now_ms));
            let is_recorded = match &decision.fallback {
                Some(fallback) => self.record_fallback(effective, fallback, today, now_ms).await?,
                None => true,
            };
            if is_recorded {
                return Ok((decision, today));
            }
        }
        Err(Error::Contended)
    }
}

impl Selection {
    /// The `ETag` of the decision. Times and amounts are not part of it, so it changes only when the decision does.
    #[must_use]
    pub fn etag(&self) -> String {
        let mut text = String::with_capacity(ETAG_TEXT_BYTES);
        let mut tag = String::with_capacity(2 * ETAG_BYTES + 4);
        // Writing to a `String` cannot fail.
        self.write_etag_text(&mut text).ok();
        tag.push_str("W/\"");
        for byte in Sha256::digest(&text).iter().take(ETAG_BYTES) {
            write!(tag, "{byte:02x}").ok();
        }
        tag.push('"');
        tag
    }

    /// The parts of the decision, each ended by a NUL, which none of them contains.
    fn write_etag_text(&self, text: &mut String) -> std::fmt::Result {
        let decision = &self.decision;
        let (day, version, frequency) =
            (self.today.day, self.config_version, &decision.guidance.check_frequency);
        let sticky = decision.sticky_fallback_active;
        write!(text, "{day}\0{version}\0{}\0{frequency}\0{sticky}\0", decision.reason)?;
        if let Some(model) = &self.response.recommended_model {
            write!(text, "{}\0{}\0", model.label.as_str(), model.model_id.as_str())?;
        }
        if let Some(pricing) = &self.response.pricing {
            write!(text, "{}\0", pricing.version)?;
        }
        for model in &decision.models {
            write!(text, "{}\0{:?}\0", model.label.as_str(), model.status)?;
        }
        Ok(())
    }

    /// Seconds that clients may cache the response; never past the local midnight.
    #[must_use]
    pub fn max_age_secs(&self) -> u64 {
        self.decision.guidance.cache_duration_secs
    }

    /// Seconds until all quotas reset.
    #[must_use]
    pub fn retry_after_secs(&self) -> u64 {
        self.decision.retry_after_secs(self.now_ms)
    }
}
