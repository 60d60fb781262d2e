//! Metrics of the embedded store's disk: free space, fsyncs, expiry, and consumers of the feed.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
#[cfg(feature = "embedded")]
use weir_table::embedded::{Embedded, SyncDurations};

use super::Seconds;
#[cfg(feature = "embedded")]
use super::{gauge, set};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Consumer {
    table: String,
    consumer: String,
}

#[derive(Debug, Default)]
pub(super) struct DiskMetrics {
    free_bytes: OptionalGauge,
    refuses_growth: Gauge,
    refuses_writes: Gauge,
    space_refusals: Counter,
    syncs: SyncHistogram,
    expired: Counter,
    sweep_backlog: Seconds,
    consumer_lag: Family<Consumer, Gauge>,
}

impl DiskMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Free space of the disk";
        registry.register("store_disk_free_bytes", help, self.free_bytes.clone());
        let help = "Whether writes that grow the store are refused: 0 or 1";
        registry.register("store_refuses_growth", help, self.refuses_growth.clone());
        let help = "Whether all writes are refused: 0 or 1";
        registry.register("store_refuses_writes", help, self.refuses_writes.clone());
        let help = "Commits refused because the disk was nearly full";
        registry.register("store_space_refusals", help, self.space_refusals.clone());
        let help = "Duration of fsyncs of the log";
        registry.register("store_fsync_duration_seconds", help, self.syncs.clone());
        let help = "Items removed because they had expired";
        registry.register("store_expired_items", help, self.expired.clone());
        let help = "Age of the oldest expired item that the sweeper has yet to remove";
        registry.register("store_sweep_backlog_seconds", help, self.sweep_backlog.clone());
        let help = "Commits that a consumer of the change feed has yet to read past";
        registry.register("store_consumer_lag_commits", help, self.consumer_lag.clone());
    }

    #[cfg(feature = "embedded")]
    pub(super) fn collect(&self, embedded: &Embedded) {
        use weir_table::WriteState::{Accepting, DiskFull, Failed};
        let stats = embedded.stats();
        let state = embedded.write_state();
        *self.free_bytes.0.lock() = stats.disk_free_bytes.map(gauge);
        self.refuses_growth.set(i64::from(state != Accepting));
        self.refuses_writes.set(i64::from(matches!(state, DiskFull | Failed)));
        set(&self.space_refusals, stats.space_refusals_total);
        *self.syncs.0.lock() = stats.syncs;
        set(&self.expired, stats.expired_total);
        self.sweep_backlog.set(stats.sweep_backlog_ms as f64 / 1000.0);
        // A consumer that was removed is no longer reported.
        self.consumer_lag.clear();
        for lag in embedded.consumer_lags() {
            let consumer = Consumer { table: lag.table, consumer: lag.consumer };
            self.consumer_lag.get_or_create(&consumer).set(gauge(lag.commits));
        }
    }
}

/// A gauge that is left out while its value is unknown.
#[derive(Debug, Clone, Default)]
struct OptionalGauge(Arc<Mutex<Option<i64>>>);

impl EncodeMetric for OptionalGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.0.lock().map_or(Ok(()), |value| encoder.encode_gauge(&value))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// The histogram that the store keeps itself.
#[cfg(feature = "embedded")]
#[derive(Debug, Clone, Default)]
struct SyncHistogram(Arc<Mutex<SyncDurations>>);

#[cfg(feature = "embedded")]
impl EncodeMetric for SyncHistogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let syncs = *self.0.lock();
        let buckets: Vec<(f64, u64)> = syncs.buckets().collect();
        let count = syncs.counts.iter().sum();
        encoder.encode_histogram::<NoLabelSet>(syncs.sum_us as f64 / 1e6, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_free_space_is_left_out() {
        let (mut registry, metrics) = (Registry::default(), DiskMetrics::default());
        metrics.register(&mut registry);
        let shown = || {
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            text.lines().find(|line| line.starts_with("store_disk_free_bytes")).map(str::to_owned)
        };
        assert_eq!(shown(), None);
        *metrics.free_bytes.0.lock() = Some(7);
        assert_eq!(shown().as_deref(), Some("store_disk_free_bytes 7"));
    }
}
