//! What the keeper did.
//!
//! A quota can be overshot by what is spent before a total shows it: the rate of `keeper_spend_usd_micros` times
//! `keeper_aggregate_lag_seconds`. How close orgs and apps are to their quotas is told by rank, not by name, so that the
//! number of series stays bounded.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_keeper::Keeper;
use weir_keeper::aggregate::Summed;
use weir_table::AnyBackend;

use crate::app::App;

/// Ranks of closeness that are told.
const RANKS: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rank {
    rank: u32,
}

type Figure = Gauge<f64, AtomicU64>;

/// The keeper's counters. Those of the hot path are made once: a request looks nothing up.
#[derive(Debug)]
pub(crate) struct Counts {
    selections: Family<Label, Counter>,
    recommended: Counter,
    exceeded: Counter,
    submissions: Family<Label, Counter>,
    accepted: Counter,
    duplicate: Counter,
    failed: Counter,
    tokens: Family<Label, Counter>,
    aggregate_lag: Figure,
    spend: Counter,
    closest: Family<Rank, Figure>,
    deliveries: Family<Label, Counter>,
    revocations: Gauge,
    sticky_flips: Gauge,
    notices_queued: Gauge,
    notices_undelivered: Gauge,
    totals_written: Gauge,
    secret_checks: Gauge,
    retrievals: Family<Label, Gauge>,
}

impl Default for Counts {
    fn default() -> Counts {
        let (selections, submissions) =
            (Family::<Label, Counter>::default(), Family::<Label, Counter>::default());
        let of = |family: &Family<Label, Counter>, result| {
            family.get_or_create(&Label { result }).clone()
        };
        Counts {
            recommended: of(&selections, "recommended"),
            exceeded: of(&selections, "quota_exceeded"),
            selections,
            accepted: of(&submissions, "accepted"),
            duplicate: of(&submissions, "duplicate"),
            failed: of(&submissions, "failed"),
            submissions,
            tokens: Family::default(),
            aggregate_lag: Gauge::default(),
            spend: Counter::default(),
            closest: Family::default(),
            deliveries: Family::default(),
            revocations: Gauge::default(),
            sticky_flips: Gauge::default(),
            notices_queued: Gauge::default(),
            notices_undelivered: Gauge::default(),
            totals_written: Gauge::default(),
            secret_checks: Gauge::default(),
            retrievals: Family::default(),
        }
    }
}

impl Counts {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Questions which model to use, by what became of them";
        registry.register("keeper_selections", help, self.selections.clone());
        let help = "Submissions, by what became of them";
        registry.register("keeper_submissions", help, self.submissions.clone());
        let help = "Requests for tokens, by what became of them";
        registry.register("keeper_tokens", help, self.tokens.clone());
        let help = "Time from a submission to the total that shows it, in the last pass";
        registry.register("keeper_aggregate_lag_seconds", help, self.aggregate_lag.clone());
        let help = "Spend that came into totals, in millionths of a US dollar";
        registry.register("keeper_spend_usd_micros", help, self.spend.clone());
        let help = "How much of a quota is spent, in percent: the closest of those looked at last";
        registry.register("keeper_quota_percent", help, self.closest.clone());
        let help = "Notices sent to webhooks, by what became of them";
        registry.register("keeper_deliveries", help, self.deliveries.clone());
        let help = "Revocations made by this instance, of tokens and of all tokens of a client";
        registry.register("auth_revocations", help, self.revocations.clone());
        let help = "Chains that this instance moved on";
        registry.register("keeper_sticky_flips", help, self.sticky_flips.clone());
        let help = "Notices that this instance queued";
        registry.register("keeper_notices_queued", help, self.notices_queued.clone());
        let help = "Notices that this instance gave up on";
        registry.register("keeper_notices_undelivered", help, self.notices_undelivered.clone());
        let help = "Totals that this instance wrote";
        registry.register("keeper_totals_written", help, self.totals_written.clone());
        let help = "Secrets that this instance checked, of clients that there are and others: each costs a hash";
        registry.register("keeper_secret_checks", help, self.secret_checks.clone());
        let help = "One-time tokens for secrets made, redeemed, and refused";
        registry.register("keeper_secret_retrievals", help, self.retrievals.clone());
    }

    /// Counts a question which model to use.
    pub(crate) fn selected(&self, is_recommended: bool) {
        if is_recommended { &self.recommended } else { &self.exceeded }.inc();
    }

    /// Counts a submission: whether it is a duplicate, if it was taken.
    pub(crate) fn submitted<E>(&self, is_duplicate: Result<bool, E>) {
        match is_duplicate {
            Ok(false) => &self.accepted,
            Ok(true) => &self.duplicate,
            Err(_) => &self.failed,
        }
        .inc();
    }

    /// Counts a request for tokens: `issued`, `refused`, `refreshed`.
    pub(crate) fn token(&self, result: &'static str) {
        self.tokens.get_or_create(&Label { result }).inc();
    }

    /// Counts a notice that was sent: `delivered` or `failed`.
    pub(crate) fn delivery(&self, is_delivered: bool) {
        let result = if is_delivered { "delivered" } else { "failed" };
        self.deliveries.get_or_create(&Label { result }).inc();
    }

    /// Notes what summing up came to.
    pub(crate) fn summed(&self, summed: &Summed) {
        self.spend.inc_by(summed.spend_added.0);
        if summed.written > 0 {
            self.aggregate_lag.set(summed.lag_ms.max(0) as f64 / 1000.0);
        }
        if summed.closest.is_empty() {
            return;
        }
        let percents = summed.closest.iter().map(|near| near.percent.hundredths() as f64 / 100.0);
        let percents = percents.chain(std::iter::repeat(0.0)).take(RANKS);
        for (rank, percent) in (1..).zip(percents) {
            self.closest.get_or_create(&Rank { rank }).set(percent);
        }
    }

    /// Takes the figures that others keep.
    pub(super) fn look(&self, app: &App) {
        self.revocations.set(super::gauge(app.auth().revocation_counts().revocations));
        let Some(keeper) = app.kept::<Keeper<AnyBackend>>() else {
            return;
        };
        let did = keeper.meters_read();
        self.sticky_flips.set(super::gauge(did.sticky_flips));
        self.notices_queued.set(super::gauge(did.notices_queued));
        self.notices_undelivered.set(super::gauge(did.notices_undelivered));
        self.totals_written.set(super::gauge(did.totals_written));
        self.secret_checks.set(super::gauge(keeper.secrets_checked()));
        let secrets = keeper.retrieval_counts();
        for (result, count) in [
            ("made", secrets.tokens_made),
            ("redeemed", secrets.tokens_redeemed),
            ("failed", secrets.failed),
        ] {
            self.retrievals.get_or_create(&Label { result }).set(super::gauge(count));
        }
    }
}
