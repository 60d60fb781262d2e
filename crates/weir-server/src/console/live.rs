//! Figures as they change: `/v1/live`.
//!
//! A stream sends a tick every two seconds. A tick is a picture of the moment, so a client that reconnects misses nothing;
//! the ids only increase. Rates are differences of this instance's counters over the stream's last ticks.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use weir_api::console::{OrgSpend, ResourceRates, Tick};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::auth::Identity;
use weir_framework::authorize::Caller;
use weir_framework::time::rfc3339;
use weir_keeper::ids::OrgId;
use weir_keeper::money::MicroUsd;

use super::figures::figures;
use super::overview::{counts, jobs};
use crate::event_stream::{Lifetime, event_stream, last_event_id, take_slot, wants_events};
use crate::keeper::budgets::ReadableOrgs;

/// Streams at the same time; further ones are refused with 503.
const STREAMS_MAX: usize = 256;
/// Time between two ticks.
const TICK: Duration = Duration::from_secs(2);
/// Time over which the only tick of a request without a stream measures rates.
const SINGLE_TICK: Duration = Duration::from_millis(250);
/// Ticks over which rates are measured: ten seconds.
const SAMPLES_MAX: usize = 6;
/// Time between two reads of budgets.
const BUDGETS_EVERY: Duration = Duration::from_secs(6);
/// Orgs of a tick, the highest spend first.
const ORGS_MAX: usize = 50;
/// Resources of a tick, the highest rates first.
const RESOURCES_MAX: usize = 50;

/// The slots of streams.
#[derive(Debug)]
pub(super) struct Streams(Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Streams {
        Streams(Arc::new(Semaphore::new(STREAMS_MAX)))
    }
}

/// Returns the figures of the moment, or follows them
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events: a `tick` every two seconds, whose ids only
/// increase, also over a reconnect with `Last-Event-ID`. A tick has what the caller's scopes reach.
#[utoipa::path(get, path = "/v1/live", tag = "console",
    params(("Last-Event-ID" = Option<String>, Header, description = "Id of the last event that a client of the stream has")),
    responses((status = 200, content((Tick = "application/json"), (String = "text/event-stream")))))]
pub(super) async fn live(
    State(app): State<App>,
    Caller(caller): Caller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last = last_event_id(&headers)?;
    let last = last.map(|id| id.parse::<u64>()).transpose();
    let last = last.map_err(|_| ApiError::invalid("Last-Event-ID", "is not the id of an event"))?;
    let Streams(slots) = app.kept_by("console")?;
    let slot = take_slot(slots, "streams of figures")?;
    let mut viewer = Viewer::new(app, caller, last.unwrap_or_default(), slot);
    if wants_events(&headers) {
        return Ok(event_stream(viewer.events()));
    }
    viewer.sample()?;
    sleep(SINGLE_TICK).await;
    Ok(Json(viewer.tick().await?).into_response())
}

/// A client that follows the figures.
struct Viewer {
    app: App,
    caller: Arc<Identity>,
    orgs: ReadableOrgs,
    /// Id of the last event.
    last_id: u64,
    samples: VecDeque<Sample>,
    /// Spend that the client has, and when it was read.
    spend: HashMap<OrgId, MicroUsd>,
    spend_read: Option<Instant>,
    is_first: bool,
    lifetime: Lifetime,
    _slot: OwnedSemaphorePermit,
}

/// The counters of acquires at a time, granted and refused by namespace and resource.
struct Sample {
    at: Instant,
    counts: HashMap<(String, String), (u64, u64)>,
}

impl Viewer {
    fn new(app: App, caller: Arc<Identity>, last_id: u64, slot: OwnedSemaphorePermit) -> Viewer {
        let lifetime = Lifetime::new(Arc::clone(&caller));
        Viewer {
            orgs: ReadableOrgs::of(&caller.grants),
            app,
            caller,
            last_id,
            samples: VecDeque::new(),
            spend: HashMap::new(),
            spend_read: None,
            is_first: true,
            lifetime,
            _slot: slot,
        }
    }

    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(self, |mut viewer| async {
            let event = viewer.next().await?;
            Some((Ok(event), viewer))
        })
    }

    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first && !self.lifetime.wait(&self.app, TICK).await {
            return None;
        }
        match self.tick().await {
            Ok(tick) => {
                // Later than the last event, whatever the clock of the instance that sent that one.
                self.last_id = self.app.now_ms().max(self.last_id.saturating_add(1));
                Event::default().event("tick").id(self.last_id.to_string()).json_data(&tick).ok()
            }
            Err(error) => {
                // The client reconnects.
                tracing::debug!(error = %error.detail, "a stream of figures ended early");
                None
            }
        }
    }

    async fn tick(&mut self) -> Result<Tick, ApiError> {
        self.sample()?;
        Ok(Tick {
            at: rfc3339(self.app.now_ms()),
            limiter: self.rates(),
            keeper: self.changed_spend().await?,
            jobs: self.caller.grants.is_admin().then(|| jobs(&self.app)),
        })
    }

    /// Reads the counters of acquires.
    fn sample(&mut self) -> Result<(), ApiError> {
        let counts = counts(&self.app, &self.caller.grants)?;
        let counts =
            counts.into_iter().map(|of| ((of.namespace, of.resource), (of.granted, of.refused)));
        self.samples.push_back(Sample { at: Instant::now(), counts: counts.collect() });
        if self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
        Ok(())
    }

    /// Rates between the oldest and the newest sample, of resources with acquires in between.
    fn rates(&self) -> Vec<ResourceRates> {
        let (Some(old), Some(new)) = (self.samples.front(), self.samples.back()) else {
            return Vec::new();
        };
        let secs = new.at.duration_since(old.at).as_secs_f64();
        let resources = new.counts.iter().filter_map(|(key, (granted, refused))| {
            let (old_granted, old_refused) = old.counts.get(key).copied().unwrap_or_default();
            let more = (granted.saturating_sub(old_granted), refused.saturating_sub(old_refused));
            (more != (0, 0)).then_some((key, more))
        });
        let mut resources: Vec<_> = resources.collect();
        resources.sort_by_key(|(key, (granted, refused))| {
            (Reverse(granted.saturating_add(*refused)), *key)
        });
        let rate =
            |((namespace, resource), (granted, refused)): (&(String, String), (u64, u64))| {
                ResourceRates {
                    namespace: namespace.clone(),
                    resource: resource.clone(),
                    granted_per_sec: per_sec(granted, secs),
                    refused_per_sec: per_sec(refused, secs),
                }
            };
        resources.into_iter().take(RESOURCES_MAX).map(rate).collect()
    }

    /// Orgs whose spend has changed since the client got it.
    async fn changed_spend(&mut self) -> Result<Vec<OrgSpend>, ApiError> {
        if self.spend_read.is_some_and(|at| at.elapsed() < BUDGETS_EVERY) {
            return Ok(Vec::new());
        }
        self.spend_read = Some(Instant::now());
        let figures = figures(&self.app, &self.orgs).await?;
        let mut orgs: Vec<_> = figures.orgs.iter().collect();
        orgs.sort_by_key(|org| Reverse(org.totals.cost));
        let mut changed = Vec::new();
        for org in orgs.into_iter().take(ORGS_MAX) {
            let spend = org.totals.cost;
            if self.spend.insert(org.config.org_id.clone(), spend) != Some(spend) {
                changed.push(OrgSpend {
                    org_id: org.config.org_id.to_string(),
                    day: org.day.to_string(),
                    spent_usd_micros: spend.0,
                    quota_usd_micros: org.quota.0,
                });
            }
        }
        Ok(changed)
    }
}

/// A rate with two decimal places.
#[expect(clippy::cast_precision_loss, reason = "two decimal places of any rate fit")]
fn per_sec(count: u64, secs: f64) -> f64 {
    if secs <= 0.0 { 0.0 } else { (count as f64 / secs * 100.0).round() / 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_two_decimal_places() {
        for (count, secs, expected) in
            [(0, 2.0, 0.0), (7, 3.0, 2.33), (5, 0.0, 0.0), (20, 2.0, 10.0)]
        {
            assert!((per_sec(count, secs) - expected).abs() < 1e-9, "{count} in {secs}");
        }
    }
}
