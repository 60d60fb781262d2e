//! Metrics of the keeper.
//!
//! The rate of `keeper_spend_usd_micros_total` times `keeper_aggregate_lag_seconds` bounds how far a quota can be overshot.
//! How close orgs and apps are to their quotas is exported by rank, not by name, to bound the number of series. Deliveries are
//! exported by org, up to a bound.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_keeper::Keeper;
use weir_keeper::aggregate::AggregateReport;
use weir_keeper::ids::OrgId;
use weir_keeper::webhooks::DeliveryOutcome;
use weir_table::AnyBackend;

use weir_framework::metrics::{ServiceMetrics, set};
use weir_framework::{ApiError, App};

/// How many orgs and apps are reported.
const RANKS: usize = 10;
/// Orgs with a label of their own.
const ORGS_MAX: usize = 100;
const OTHER_ORGS: &str = "_other";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OrgResult {
    org: String,
    result: &'static str,
}

/// The orgs with series of their own: the first that this instance saw, so that the number of series is bounded.
#[derive(Debug, Default)]
struct OrgLabels(Mutex<BTreeSet<String>>);

impl OrgLabels {
    /// The label of an org. No org has the id of the others' label.
    fn label(&self, org: &OrgId) -> String {
        let mut known = self.0.lock();
        let has_label =
            known.contains(org.as_str()) || known.len() < ORGS_MAX && known.insert(org.to_string());
        if has_label { org.to_string() } else { OTHER_ORGS.to_owned() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rank {
    rank: u32,
}

type Figure = Gauge<f64, AtomicU64>;

/// Metrics of the keeper. The counters of the hot path are made once, so that a request looks nothing up.
#[derive(Debug)]
pub(crate) struct KeeperMetrics {
    selections: Family<Label, Counter>,
    recommended: Counter,
    exceeded: Counter,
    submissions: Family<Label, Counter>,
    accepted: Counter,
    duplicate: Counter,
    failed: Counter,
    tokens: Family<Label, Counter>,
    aggregate_lag: Figure,
    aggregate_interval: Figure,
    spend: Counter,
    closest: Family<Rank, Figure>,
    deliveries: Family<OrgResult, Counter>,
    delivery_orgs: OrgLabels,
    sticky_flips: Counter,
    notices_queued: Counter,
    notices_undelivered: Counter,
    totals_written: Counter,
    unsummed_totals: Gauge,
    secret_checks: Counter,
    retrievals: Family<Label, Counter>,
}

impl Default for KeeperMetrics {
    fn default() -> KeeperMetrics {
        let (selections, submissions) =
            (Family::<Label, Counter>::default(), Family::<Label, Counter>::default());
        let of = |family: &Family<Label, Counter>, result| {
            family.get_or_create(&Label { result }).clone()
        };
        KeeperMetrics {
            recommended: of(&selections, "recommended"),
            exceeded: of(&selections, "quota_exceeded"),
            selections,
            accepted: of(&submissions, "accepted"),
            duplicate: of(&submissions, "duplicate"),
            failed: of(&submissions, "failed"),
            submissions,
            tokens: Family::default(),
            aggregate_lag: Gauge::default(),
            aggregate_interval: Gauge::default(),
            spend: Counter::default(),
            closest: Family::default(),
            deliveries: Family::default(),
            delivery_orgs: OrgLabels::default(),
            sticky_flips: Counter::default(),
            notices_queued: Counter::default(),
            notices_undelivered: Counter::default(),
            totals_written: Counter::default(),
            unsummed_totals: Gauge::default(),
            secret_checks: Counter::default(),
            retrievals: Family::default(),
        }
    }
}

impl KeeperMetrics {
    /// Records the time between two passes of the aggregator.
    pub(crate) fn aggregate_every(&self, every: Duration) {
        self.aggregate_interval.set(every.as_secs_f64());
    }

    /// Counts a model selection.
    pub(crate) fn selected(&self, is_recommended: bool) {
        if is_recommended { &self.recommended } else { &self.exceeded }.inc();
    }

    /// Counts a submission, by whether it was a duplicate.
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

    /// Counts an attempt to deliver a webhook notice: `delivered`, `failed` or `given_up`.
    pub(crate) fn delivery(&self, org: &OrgId, outcome: DeliveryOutcome) {
        let result = match outcome {
            DeliveryOutcome::Delivered => "delivered",
            DeliveryOutcome::Retry(_) => "failed",
            DeliveryOutcome::GivenUp => "given_up",
        };
        let org = self.delivery_orgs.label(org);
        self.deliveries.get_or_create(&OrgResult { org, result }).inc();
    }

    /// Records the result of a pass of the aggregator.
    pub(crate) fn summed(&self, report: &AggregateReport) {
        self.spend.inc_by(report.spend_added.0);
        if report.written > 0 {
            self.aggregate_lag.set(report.lag_ms.max(0) as f64 / 1000.0);
        }
        if report.closest.is_empty() {
            return;
        }
        let ratios = report.closest.iter().map(|near| near.percent.hundredths() as f64 / 10_000.0);
        let ratios = ratios.chain(std::iter::repeat(0.0)).take(RANKS);
        for (rank, ratio) in (1..).zip(ratios) {
            self.closest.get_or_create(&Rank { rank }).set(ratio);
        }
    }
}

impl ServiceMetrics for KeeperMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Model selections, by result";
        registry.register("keeper_selections", help, self.selections.clone());
        registry.register("keeper_submissions", "Submissions, by result", self.submissions.clone());
        let help = "Token requests of orgs and apps, by result";
        registry.register("keeper_token_requests", help, self.tokens.clone());
        let help = "Time from a submission to the total that includes it, in the last pass";
        registry.register("keeper_aggregate_lag_seconds", help, self.aggregate_lag.clone());
        let help = "Time between two passes that add submissions to totals";
        let interval = self.aggregate_interval.clone();
        registry.register("keeper_aggregate_interval_seconds", help, interval);
        let help = "Spend added to totals, in micro-USD";
        registry.register("keeper_spend_usd_micros", help, self.spend.clone());
        let help = "Spend as a ratio of the quota, of the orgs and apps closest to theirs, by rank";
        registry.register("keeper_quota_used_ratio", help, self.closest.clone());
        let help = "Attempts to deliver webhook notices, by org and result";
        registry.register("keeper_webhook_deliveries", help, self.deliveries.clone());
        let help = "Fallbacks to the next model of a chain, made by this instance";
        registry.register("keeper_sticky_fallbacks", help, self.sticky_flips.clone());
        let help = "Webhook notices queued by this instance";
        registry.register("keeper_notices_queued", help, self.notices_queued.clone());
        let help = "Webhook notices that this instance gave up on";
        registry.register("keeper_notices_undelivered", help, self.notices_undelivered.clone());
        let help = "Daily totals written by this instance";
        registry.register("keeper_totals_written", help, self.totals_written.clone());
        let help = "Daily totals that this instance cannot sum; their chains are closed";
        registry.register("keeper_unsummed_totals", help, self.unsummed_totals.clone());
        let help = "Client secrets checked by this instance, each at the cost of a hash";
        registry.register("keeper_secret_checks", help, self.secret_checks.clone());
        let help = "One-time tokens for secrets, by event: made, redeemed, failed";
        registry.register("keeper_secret_retrievals", help, self.retrievals.clone());
    }

    fn collect(&self, app: &App) {
        let Some(keeper) = app.kept::<Keeper<AnyBackend>>() else {
            return;
        };
        let snapshot = keeper.metrics();
        set(&self.sticky_flips, snapshot.fallbacks);
        set(&self.notices_queued, snapshot.notifications_queued);
        set(&self.notices_undelivered, snapshot.notifications_abandoned);
        set(&self.totals_written, snapshot.totals_written);
        let unsummed = i64::try_from(snapshot.unsummed_totals).unwrap_or(i64::MAX);
        self.unsummed_totals.set(unsummed);
        set(&self.secret_checks, snapshot.secrets_verified);
        for (result, count) in [
            ("made", snapshot.retrieval_tokens_issued),
            ("redeemed", snapshot.retrieval_tokens_redeemed),
            ("failed", snapshot.retrievals_refused),
        ] {
            set(&self.retrievals.get_or_create(&Label { result }), count);
        }
    }
}

/// The metrics of the running service.
pub(crate) fn metrics(app: &App) -> Result<&KeeperMetrics, ApiError> {
    app.kept_by::<Arc<KeeperMetrics>>("keeper").map(Arc::as_ref)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orgs_beyond_the_bound_share_a_label() {
        let labels = OrgLabels::default();
        let org =
            |number: usize| OrgId::new(format!("550e8400-e29b-41d4-a716-{number:012}")).unwrap();
        for _ in 0..2 {
            for number in 0..ORGS_MAX {
                assert_eq!(labels.label(&org(number)), org(number).as_str());
            }
            assert_eq!(labels.label(&org(ORGS_MAX)), OTHER_ORGS);
        }
    }
}
