//! Sends signed notices to webhooks.
//!
//! A delivery is claimed for a minute, sent once, and then done with or due again later; the keeper bounds how often. An
//! answer of 2xx within the time counts as delivered, everything else as failed. Redirects are failures.

use crate::keeper::metrics::metrics;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::task::JoinSet;
use weir_keeper::Keeper;
use weir_keeper::notices::{Delivery, SIGNATURE_HEADER};
use weir_table::AnyBackend;

use crate::outbound::Outbound;
use weir_framework::app::App;
use weir_framework::jobs::{Done, Failure, Periodic, Place, Result, Turn};

/// Notices that are sent at once: a webhook that hangs holds up no more than these.
const AT_ONCE: u32 = 16;
/// Bytes of an answer that are read.
const ANSWER_MAX: usize = 64 * 1024;
const ID_HEADER: HeaderName = HeaderName::from_static("weir-notice-id");
const ATTEMPT_HEADER: HeaderName = HeaderName::from_static("weir-notice-attempt");

/// The job.
pub(super) struct Deliver(Arc<Sender>);

struct Sender {
    app: App,
    keeper: Keeper<AnyBackend>,
    outbound: Outbound,
    every: Duration,
}

impl Deliver {
    pub(super) fn new(
        app: &App,
        keeper: Keeper<AnyBackend>,
        outbound: Outbound,
        every: Duration,
    ) -> Deliver {
        Deliver(Arc::new(Sender { app: app.clone(), keeper, outbound, every }))
    }
}

impl Periodic for Deliver {
    fn name(&self) -> &str {
        "keeper-notices"
    }

    fn every(&self) -> Duration {
        self.0.every
    }

    fn place(&self) -> Place {
        Place::Everywhere
    }

    async fn run(&self, _: &Turn) -> Result<Done> {
        let due = self.0.keeper.due_deliveries(AT_ONCE).await?;
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
            return self.keeper.delivered(delivery).await;
        };
        let next = self.keeper.failed(delivery).await?;
        let (id, attempt) = (delivery.id.as_str(), delivery.attempt);
        match next {
            Some(_) => tracing::info!(notice = id, attempt, problem, "a notice did not arrive"),
            None => tracing::warn!(notice = id, attempt, problem, "a notice was given up"),
        }
        Ok(())
    }

    async fn send(&self, delivery: &Delivery) -> std::result::Result<(), String> {
        let headers = headers(delivery).ok_or("its signature is no header")?;
        let body = Bytes::copy_from_slice(delivery.body.as_bytes());
        let answer = self.outbound.post(&delivery.url, headers, body, ANSWER_MAX).await;
        match answer {
            Ok(answer) if answer.status.is_success() => Ok(()),
            Ok(answer) => Err(format!("the answer was {}", answer.status)),
            Err(failed) => Err(weir_framework::error::with_causes(&failed)),
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
