//! Sends signed notices to webhooks: the job, and the sender that replays use too.
//!
//! A notice is claimed for a minute and sent once. A response of 2xx before the deadline completes it; after any other
//! outcome, a redirect too, it is due again later, and the notices behind it wait. The keeper bounds the number of attempts.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::task::JoinSet;
use weir_keeper::Keeper;
use weir_keeper::webhooks::{
    AddressPolicy, Delivery, DeliveryAttempt, DeliveryOutcome, SIGNATURE_HEADER,
};
use weir_table::AnyBackend;

use super::http_client::{HttpClient, HttpError, send};
use super::metrics::metrics;
use weir_framework::app::App;
use weir_framework::jobs::{Done, Failure, PeriodicJob, Placement, Result, RunContext};

/// Notices sent concurrently: a webhook that hangs delays no more than these.
const CONCURRENCY: u32 = 16;
/// Largest response of a webhook, in bytes.
const RESPONSE_MAX: usize = 64 * 1024;
const ID_HEADER: HeaderName = HeaderName::from_static("weir-notice-id");
const SEQUENCE_HEADER: HeaderName = HeaderName::from_static("weir-notice-sequence");
const ATTEMPT_HEADER: HeaderName = HeaderName::from_static("weir-notice-attempt");
const REPLAY_HEADER: HeaderName = HeaderName::from_static("weir-notice-replay");

/// Posts notices to webhooks. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct WebhookSender(HttpClient);

impl WebhookSender {
    /// A sender to addresses that `policy` permits.
    pub(super) fn new(policy: AddressPolicy) -> std::result::Result<WebhookSender, HttpError> {
        HttpClient::restricted(policy).map(WebhookSender)
    }

    /// Sends a notice once.
    pub(super) async fn send(&self, delivery: &Delivery) -> DeliveryAttempt {
        let failed = |error| DeliveryAttempt { http_status: None, error: Some(error) };
        let Some(headers) = headers(delivery) else {
            return failed("the signature is not a valid header".to_owned());
        };
        let sent = async {
            let request = self.0.post(&delivery.url)?.headers(headers);
            send(request.body(delivery.body.clone()), RESPONSE_MAX).await
        };
        match sent.await {
            Ok((status, _)) => {
                let error = (!status.is_success()).then(|| format!("the response was {status}"));
                DeliveryAttempt { http_status: Some(status.as_u16()), error }
            }
            Err(error) => failed(weir_framework::error::with_causes(&error)),
        }
    }
}

fn headers(delivery: &Delivery) -> Option<HeaderMap> {
    let signature = HeaderName::from_bytes(SIGNATURE_HEADER.as_bytes()).ok()?;
    let mut headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (signature, HeaderValue::try_from(&delivery.signature).ok()?),
        (ID_HEADER, HeaderValue::try_from(delivery.id.as_str()).ok()?),
        (SEQUENCE_HEADER, HeaderValue::from(delivery.sequence)),
        (ATTEMPT_HEADER, HeaderValue::from(delivery.attempt)),
    ]);
    if delivery.is_replay() {
        headers.insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Some(headers)
}

/// The job that sends due notices.
pub(super) struct Deliver(Arc<Deliverer>);

struct Deliverer {
    app: App,
    keeper: Keeper<AnyBackend>,
    sender: WebhookSender,
    every: Duration,
}

impl Deliver {
    pub(super) fn new(
        app: &App,
        keeper: Keeper<AnyBackend>,
        sender: WebhookSender,
        every: Duration,
    ) -> Deliver {
        Deliver(Arc::new(Deliverer { app: app.clone(), keeper, sender, every }))
    }
}

impl PeriodicJob for Deliver {
    fn name(&self) -> &str {
        "keeper-notices"
    }

    fn every(&self) -> Duration {
        self.0.every
    }

    fn placement(&self) -> Placement {
        Placement::EveryInstance
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let due = self.0.keeper.claim_deliveries(CONCURRENCY).await?;
        let mut sent = JoinSet::new();
        for delivery in due.deliveries {
            let deliverer = Arc::clone(&self.0);
            sent.spawn(async move { deliverer.deliver(&delivery).await });
        }
        let mut items = 0;
        while let Some(ended) = sent.join_next().await {
            ended.map_err(Failure::from)??;
            items += 1;
        }
        // Behind each notice there may be another one for the same webhook.
        Ok(Done { more: due.more || items > 0, ..Done::all(items) })
    }
}

impl Deliverer {
    async fn deliver(&self, delivery: &Delivery) -> weir_keeper::Result<()> {
        let attempt = self.sender.send(delivery).await;
        let outcome = self.keeper.record_delivery(delivery, &attempt).await?;
        if let Ok(metrics) = metrics(&self.app) {
            metrics.delivery(&delivery.org, outcome);
        }
        let (id, number) = (delivery.id.as_str(), delivery.attempt);
        let (org, problem) = (delivery.org.as_str(), attempt.error.unwrap_or_default());
        match outcome {
            DeliveryOutcome::Delivered => {}
            DeliveryOutcome::Retry(_) => tracing::info!(
                org.id = org,
                notice = id,
                attempt = number,
                problem,
                "a webhook notice was not delivered; it will be sent again"
            ),
            DeliveryOutcome::GivenUp => tracing::warn!(
                org.id = org,
                notice = id,
                attempt = number,
                problem,
                "a webhook notice was not delivered; the keeper gave up on it"
            ),
        }
        Ok(())
    }
}
