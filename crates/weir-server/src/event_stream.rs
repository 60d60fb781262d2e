//! Server-sent events: what all streams have in common.
//!
//! A stream costs a slot, not one of the requests that the edge bounds. It ends when the server stops, when the caller's
//! credential has ended, and after [`STREAM_MAX`]; then the client reconnects after the time that the stream began with
//! (`retry`).

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::once;
use futures_util::{Stream, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until};
use weir_framework::app::App;
use weir_framework::auth::Identity;
use weir_framework::{ApiError, Code, limits};

/// Longest stream; then the client reconnects.
const STREAM_MAX: Duration = Duration::from_secs(15 * 60);
/// Time between comments on a stream without events, so that proxies do not close it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Time after which the client of a stream that has ended reconnects.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// When a refused request may be sent again, in seconds.
const RETRY_SECS: u64 = 1;
const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Whether a client accepts server-sent events.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let mut kinds = lines.flat_map(|line| line.split(','));
    kinds.any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case(EVENT_STREAM)
    })
}

/// The last event that the client has; an empty text stands for none, as in the specification of server-sent events.
///
/// # Errors
/// It is not text.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().map_err(|_| ApiError::invalid("Last-Event-ID", "is not text"))?;
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// The response with a stream of events.
pub(crate) fn event_stream(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    let retry = Event::default().retry(RECONNECT_AFTER);
    let events = once(ready(Ok(retry))).chain(events);
    (no_store, Sse::new(events).keep_alive(keep_alive)).into_response()
}

/// Takes a slot until it is dropped.
///
/// # Errors
/// All of them are taken: a 503.
pub(crate) fn take_slot(
    slots: &Arc<Semaphore>,
    what: &str,
) -> Result<OwnedSemaphorePermit, ApiError> {
    let full = |_| {
        let detail = format!("the server is at its limit of {what}; retry after {RETRY_SECS} s");
        limits::retry_after(ApiError::new(Code::SERVICE_UNAVAILABLE, detail), RETRY_SECS)
    };
    Arc::clone(slots).try_acquire_owned().map_err(full)
}

/// What a stream does after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It goes on.
    GoOn,
    /// It ends because it is as old as it may be, and the client opens another one.
    Renew,
    /// It ends because the server stops.
    Stop,
    /// It ends because the caller's credential has ended.
    Refuse,
}

/// How long a stream may go on.
pub(crate) struct Lifetime {
    caller: Arc<Identity>,
    until: Instant,
}

impl Lifetime {
    /// The lifetime of a stream that this caller opens now.
    pub(crate) fn new(caller: Arc<Identity>) -> Lifetime {
        Lifetime { caller, until: Instant::now() + STREAM_MAX }
    }

    /// Waits for `pause`, or until the stream has to end.
    pub(crate) async fn wait(&self, app: &App, pause: Duration) -> Next {
        tokio::select! {
            () = sleep(pause) => match app.auth().is_valid(&self.caller).await {
                true => Next::GoOn,
                false => Next::Refuse,
            },
            () = sleep_until(self.until) => Next::Renew,
            () = app.stopped() => Next::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(lines: &[&str]) -> bool {
        let lines = lines.iter().map(|line| (header::ACCEPT, line.parse().unwrap()));
        wants_events(&lines.collect())
    }

    #[test]
    fn a_client_asks_for_events_by_its_accept_header() {
        assert!(accepts(&["text/event-stream"]));
        assert!(accepts(&["application/json;q=0.5, Text/Event-Stream;q=1"]));
        assert!(accepts(&["application/json", "text/event-stream"]));
        for other in [&[][..], &["*/*"], &["application/json"], &["text/*"]] {
            assert!(!accepts(other), "{other:?}");
        }
    }
}
