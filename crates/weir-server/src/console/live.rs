//! Figures as they change: `/v1/live`.
//!
//! A stream sends a tick every two seconds. A tick is a picture of the moment, so a client that reconnects misses nothing;
//! the ids only increase. Rates are differences of this instance's counters over the last seconds. A stream that ends in order
//! sends `reconnect` last, so that the client does not take it for a lost connection.

use std::cmp::Reverse;
use std::collections::HashMap;
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
use tokio::time::{Instant, sleep};
use weir_api::console::{NamespaceRates, OrgSpend, ResourceRates, Tick, TotalRates};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::auth::Identity;
use weir_framework::auth::grant::Access;
use weir_framework::authorize::Caller;
use weir_framework::time::rfc3339;
use weir_keeper::day::OrgDay;
use weir_keeper::ids::OrgId;
use weir_keeper::money::MicroUsd;

use super::figures::figures;
use super::overview::jobs;
use super::samples::{Acquires, Samples};
use super::stream_slots::{StreamSlot, StreamSlots};
use crate::event_stream::{Lifetime, Next, event_stream, last_event_id, wants_events};
use crate::keeper::budgets::ReadableOrgs;
use crate::limiter::scopes::NAMESPACE;

/// Time between two ticks.
const TICK: Duration = Duration::from_secs(2);
/// Time over which the only tick of a request without a stream measures rates.
const SINGLE_TICK: Duration = Duration::from_millis(250);
/// Time between two reads of budgets.
const BUDGETS_EVERY: Duration = Duration::from_secs(6);
/// Orgs of a tick, the highest spend first.
const ORGS_MAX: usize = 50;
/// Resources of a tick, the highest rates first.
const RESOURCES_MAX: usize = 50;
/// Namespaces of a tick, the highest rates first.
const NAMESPACES_MAX: usize = 50;
/// Largest id of an event. Ids are milliseconds since 1970, and JavaScript has no larger integers.
const ID_MAX: u64 = 1 << 53;

/// Returns the figures of the moment, or follows them
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events: a `tick` every two seconds, whose ids only
/// increase, also over a reconnect with `Last-Event-ID`. A tick has what the caller's scopes reach. A stream ends after 15
/// minutes, or when the server stops; then the last event is `reconnect`, and the client opens another stream. A caller may have
/// 16 streams at the same time.
#[utoipa::path(get, path = "/v1/live", tag = "console",
    params(("Last-Event-ID" = Option<String>, Header, description = "Id of the last event that a client of the stream has")),
    responses((status = 200, content((Tick = "application/json"), (String = "text/event-stream"))),
        (status = 429, description = "The caller has too many streams open", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(super) async fn live(
    State(app): State<App>,
    Caller(caller): Caller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last = last_event_id(&headers)?;
    let last = last.map_or(Ok(0), |id| event_id(&id))?;
    let slot = app.kept_by::<StreamSlots>("console")?.take(&caller)?;
    let mut viewer = Viewer::new(app, caller, last, slot);
    if wants_events(&headers) {
        return Ok(event_stream(viewer.events()));
    }
    viewer.app.kept_by::<Samples>("console")?.take(&viewer.app)?;
    sleep(SINGLE_TICK).await;
    Ok(Json(viewer.tick().await?).into_response())
}

/// The id of an event that the client has.
fn event_id(text: &str) -> Result<u64, ApiError> {
    let id = text.parse().ok().filter(|id| *id <= ID_MAX);
    id.ok_or_else(|| ApiError::invalid("Last-Event-ID", "is not the id of an event"))
}

/// A client that follows the figures.
struct Viewer {
    app: App,
    caller: Arc<Identity>,
    orgs: ReadableOrgs,
    /// Id of the last event.
    last_id: u64,
    /// Day, spend and quota of orgs that the client has, and when they were read.
    spend: HashMap<OrgId, (OrgDay, MicroUsd, MicroUsd)>,
    spend_read: Option<Instant>,
    is_first: bool,
    /// Whether the last event has been sent.
    is_over: bool,
    lifetime: Lifetime,
    _slot: StreamSlot,
}

impl Viewer {
    fn new(app: App, caller: Arc<Identity>, last_id: u64, slot: StreamSlot) -> Viewer {
        let lifetime = Lifetime::new(Arc::clone(&caller));
        Viewer {
            orgs: ReadableOrgs::of(&caller.grants),
            app,
            caller,
            last_id,
            spend: HashMap::new(),
            spend_read: None,
            is_first: true,
            is_over: false,
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
        if self.is_over {
            return None;
        }
        if !std::mem::take(&mut self.is_first) {
            match self.lifetime.wait(&self.app, TICK).await {
                Next::GoOn => {}
                Next::Renew => return Some(self.reconnect("renew")),
                Next::Stop => return Some(self.reconnect("stop")),
                Next::Refuse => return None,
            }
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

    /// The last event of a stream that ends in order.
    fn reconnect(&mut self, reason: &str) -> Event {
        self.is_over = true;
        Event::default().event("reconnect").data(format!("{{\"reason\":\"{reason}\"}}"))
    }

    async fn tick(&mut self) -> Result<Tick, ApiError> {
        let grants = &self.caller.grants;
        let is_shown = |namespace: &str| grants.allows(&NAMESPACE, &[namespace], Access::Read);
        let span = self.app.kept_by::<Samples>("console")?.take(&self.app)?;
        let (mut acquires, secs) = (span.acquires(is_shown), span.secs());
        acquires.sort_by_key(|of| (Reverse(of.sum()), of.namespace, of.resource));
        let (limiter_namespaces, limiter_totals) = sums(&acquires, secs);
        let rates = |of: &Acquires<'_>| ResourceRates {
            namespace: of.namespace.to_owned(),
            resource: of.resource.to_owned(),
            granted_per_sec: per_sec(of.granted, secs),
            refused_per_sec: per_sec(of.refused, secs),
        };
        let limiter = acquires.iter().take(RESOURCES_MAX).map(rates).collect();
        Ok(Tick {
            at: rfc3339(self.app.now_ms()),
            limiter,
            limiter_namespaces,
            limiter_totals,
            keeper: self.changed_spend().await?,
            jobs: self.caller.grants.is_admin().then(|| jobs(&self.app)),
        })
    }

    /// Orgs whose day, spend or quota has changed since the client got them.
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
            let now = (org.day, org.totals.cost, org.quota);
            if self.spend.insert(org.config.org_id.clone(), now) != Some(now) {
                changed.push(OrgSpend {
                    org_id: org.config.org_id.to_string(),
                    day: org.day.to_string(),
                    spent_usd_micros: org.totals.cost.0,
                    quota_usd_micros: org.quota.0,
                });
            }
        }
        Ok(changed)
    }
}

/// The rates of namespaces, the highest first, and those of all of them.
fn sums(acquires: &[Acquires<'_>], secs: f64) -> (Vec<NamespaceRates>, TotalRates) {
    #[derive(Debug, Clone, Copy, Default)]
    struct Sum {
        granted: u64,
        refused: u64,
        resources: u64,
    }
    let (mut by_namespace, mut all) = (HashMap::<&str, Sum>::new(), Sum::default());
    for of in acquires {
        for sum in [by_namespace.entry(of.namespace).or_default(), &mut all] {
            sum.granted = sum.granted.saturating_add(of.granted);
            sum.refused = sum.refused.saturating_add(of.refused);
            sum.resources += 1;
        }
    }
    let mut namespaces: Vec<_> = by_namespace.into_iter().collect();
    namespaces.sort_by_key(|(name, of)| (Reverse(of.granted.saturating_add(of.refused)), *name));
    let totals = TotalRates {
        granted_per_sec: per_sec(all.granted, secs),
        refused_per_sec: per_sec(all.refused, secs),
        resources: all.resources,
        namespaces: namespaces.len() as u64,
    };
    let rates = |(name, of): (&str, Sum)| NamespaceRates {
        namespace: name.to_owned(),
        granted_per_sec: per_sec(of.granted, secs),
        refused_per_sec: per_sec(of.refused, secs),
        resources: of.resources,
    };
    (namespaces.into_iter().take(NAMESPACES_MAX).map(rates).collect(), totals)
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
    fn sums_are_over_resources_that_the_list_does_not_have() {
        let names: Vec<_> = (0..200).map(|number| format!("{number:03}")).collect();
        let of = |namespace, resource| Acquires { namespace, resource, granted: 3, refused: 1 };
        let mut acquires: Vec<_> = names.iter().map(|name| of("busy", name.as_str())).collect();
        acquires.extend(names.iter().map(|name| of(name.as_str(), "gpt")));
        let (namespaces, totals) = sums(&acquires, 2.0);
        assert_eq!(namespaces.len(), NAMESPACES_MAX);
        let busy = &namespaces[0];
        assert_eq!((busy.namespace.as_str(), busy.resources), ("busy", 200));
        assert!((busy.granted_per_sec - 300.0).abs() < 1e-9, "{busy:?}");
        assert_eq!((totals.resources, totals.namespaces), (400, 201));
        assert!((totals.granted_per_sec - 600.0).abs() < 1e-9, "{totals:?}");
        assert!((totals.refused_per_sec - 200.0).abs() < 1e-9, "{totals:?}");
        assert_eq!(sums(&[], 0.0), (Vec::new(), TotalRates::default()));
    }

    #[test]
    fn the_id_of_an_event_leaves_room_for_later_ones() {
        assert_eq!(event_id("1767225600000").ok(), Some(1_767_225_600_000));
        for wrong in ["soon", "-1", "", "18446744073709551615"] {
            assert!(event_id(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_has_two_decimal_places() {
        for (count, secs, expected) in
            [(0, 2.0, 0.0), (7, 3.0, 2.33), (5, 0.0, 0.0), (20, 2.0, 10.0)]
        {
            assert!((per_sec(count, secs) - expected).abs() < 1e-9, "{count} in {secs}");
        }
    }
}
