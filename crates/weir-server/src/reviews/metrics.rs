//! Metrics of reviews. How long routes take is in the metrics of requests.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::{ApiError, App};
use weir_reviews::record::Recorded;
use weir_reviews::rollup::RunReport;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    result: &'static str,
}

/// Metrics of reviews.
#[derive(Debug, Default)]
pub(crate) struct ReviewsMetrics {
    recordings: Family<Label, Counter>,
    findings: Counter,
    consensus: Counter,
    rollup_lag: Gauge<f64, AtomicU64>,
    rollup_days: Counter,
}

impl ReviewsMetrics {
    /// Counts an attempt to record or to complete a review.
    pub(crate) fn recorded<E>(&self, recorded: &Result<Recorded, E>) {
        let result = match recorded {
            Ok(Recorded { changed: true, review }) => {
                self.findings.inc_by(review.total_findings);
                self.consensus.inc_by(review.consensus_findings);
                "recorded"
            }
            Ok(_) => "unchanged",
            Err(_) => "refused",
        };
        self.recordings.get_or_create(&Label { result }).inc();
    }

    /// Records a run of the job that rolls up.
    pub(crate) fn rolled_up(&self, report: &RunReport) {
        self.rollup_lag.set(report.lag_ms as f64 / 1000.0);
        self.rollup_days.inc_by(report.repository_days.saturating_add(report.all_days));
    }
}

impl ServiceMetrics for ReviewsMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Reviews recorded, opened or completed, by result";
        registry.register("reviews_recordings", help, self.recordings.clone());
        let help = "Findings of the reviews that were recorded or completed";
        registry.register("reviews_findings", help, self.findings.clone());
        let help =
            "Issues that several models found, in the reviews that were recorded or completed";
        registry.register("reviews_consensus", help, self.consensus.clone());
        let help = "Age of the oldest change that the last rollup found, in seconds";
        registry.register("reviews_rollup_lag_seconds", help, self.rollup_lag.clone());
        let help = "Days that were rolled up";
        registry.register("reviews_rollup_days", help, self.rollup_days.clone());
    }
}

/// The metrics of the running service.
pub(crate) fn metrics(app: &App) -> Result<&ReviewsMetrics, ApiError> {
    app.kept_by::<Arc<ReviewsMetrics>>("reviews").map(Arc::as_ref)
}
