//! The job that sends signed notices to webhooks.
//!
//! A delivery is claimed for a minute and sent once. A response of 2xx before the deadline completes it; after any other
//! outcome, a redirect too, it is due again later. The keeper bounds the number of attempts.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::task::JoinSet;
use weir_keeper::Keeper;
use weir_keeper::webhooks::{Delivery, SIGNATURE_HEADER};
use weir_table::AnyBackend;

use super::http_client::{HttpClient, send};
use super::metrics::metrics;
use weir_framework::app::App;
use weir_framework::jobs::{Done, Failure, PeriodicJob, Placement, Result, RunContext};

/// Notices sent concurrently: a webhook that hangs delays no more than these.
const CONCURRENCY: u32 = 16;
/// Largest response of a webhook, in bytes.
const RESPONSE_MAX: usize = 64 * 1024;
const ID_HEADER: HeaderName = HeaderName::from_static("weir-notice-id");
const ATTEMPT_HEADER: HeaderName = HeaderName::from_static("weir-notice-attempt");

pub(super) struct Deliver(Arc<Sender>);

struct Sender {
    app: App,
    keeper: Keeper<AnyBackend>,
    http: HttpClient,
    every: Duration,
}

impl Deliver {
    pub(super) fn new(
        app: &App,
        keeper: Keeper<AnyBackend>,
        http: HttpClient,
        every: Duration,
    ) -> Deliver {
        Deliver(Arc::new(Sender { app: app.clone(), keeper, http, every }))
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
            let sender = Arc::clone(&self.0);
            sent.spawn(async move { sender.deliver(&delivery).await });
        }
        let mut items = 0;
        while let Some(ended) = sent.join_next().await {
            ended.map_err(Failure::from)??;
            items += 1;
        }
        Ok(Done { more: due.more, ..Done::all(items) })
    }
}

impl Sender {
    async fn deliver(&self, delivery: &Delivery) -> weir_keeper::Result<()> {
        let problem = self.send(delivery).await.err();
        if let Ok(metrics) = metrics(&self.app) {
            metrics.delivery(problem.is_none());
        }
        let Some(problem) = problem else {
            return self.keeper.mark_delivered(delivery).await;
        };
        let next = self.keeper.mark_failed(delivery).await?;
        let (id, attempt) = (delivery.id.as_str(), delivery.attempt);
        match next {
            Some(_) => tracing::info!(
                notice = id,
                attempt,
                problem,
                "a webhook notice was not delivered; it will be sent again"
            ),
            None => tracing::warn!(
                notice = id,
                attempt,
                problem,
                "a webhook notice was not delivered; the keeper gave up on it"
            ),
        }
        Ok(())
    }

    async fn send(&self, delivery: &Delivery) -> std::result::Result<(), String> {
        let headers = headers(delivery).ok_or("the signature is not a valid header")?;
        let sent = async {
            let request = self.http.post(&delivery.url)?.headers(headers);
            send(request.body(delivery.body.clone()), RESPONSE_MAX).await
        };
        match sent.await {
            Ok((status, _)) if status.is_success() => Ok(()),
            Ok((status, _)) => Err(format!("the response was {status}")),
            Err(error) => Err(weir_framework::error::with_causes(&error)),
        }
    }
}

fn headers(delivery: &Delivery) -> Option<HeaderMap> {
    let signature = HeaderName::from_bytes(SIGNATURE_HEADER.as_bytes()).ok()?;
    Some(HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (signature, HeaderValue::try_from(&delivery.signature).ok()?),
        (ID_HEADER, HeaderValue::try_from(delivery.id.as_str()).ok()?),
        (ATTEMPT_HEADER, HeaderValue::from(delivery.attempt)),
    ]))
}
