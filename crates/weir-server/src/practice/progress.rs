//! Progress steps of a job: a page, or a stream of server-sent events.
//!
//! The id of an event is the position of its step, so a client that reconnects sends the last one as `Last-Event-ID` and gets
//! the steps after it, each once. When the job has ended, the event `end` has its status, and the stream ends.
//!
//! A stream costs a slot, not one of the requests that the edge bounds, and between two looks at the job it holds nothing
//! else. It ends when the server stops, and after [`STREAM_MAX`], so that a client's credentials are checked again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, sleep_until};
use weir_api::practice::{JobParam, ProgressEnd, ProgressStep};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageParams, page_response};
use weir_practice::jobs::{JobRef, ProgressEvents};
use weir_practice::kinds::JobStatus;

use super::convert;
use super::error::PracticeError;
use super::path::{JobPath, practice};
use super::slots::slots;

/// Longest stream; then the client reconnects.
const STREAM_MAX: Duration = Duration::from_secs(15 * 60);
/// Time between comments on a stream without events, so that proxies do not close it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Steps of one look at the job.
const STEPS_PER_READ: u32 = 99;
const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Lists the progress steps of a job, or follows them
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events: `progress` with a step, whose id is the
/// one to send as `Last-Event-ID` when the client reconnects, and `end` with the status of the job, after which the client
/// closes the stream.
#[utoipa::path(get, path = "/v1/practice/jobs/{type}/{id}/progress", tag = "practice-jobs",
    params(JobParam, PageParams,
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event that a client of the stream has")),
    responses((status = 200, content(
        (Page<ProgressStep> = "application/json"), (String = "text/event-stream")))))]
pub(crate) async fn follow(
    State(app): State<App>,
    JobPath(job): JobPath,
    Query(page): Query<PageParams>,
    headers: HeaderMap,
) -> Result<Response, PracticeError> {
    if !wants_events(&headers) {
        let found = practice(&app)?.progress(&job, &convert::page_request(page)?).await?;
        return Ok(page_response(found, convert::progress_step).into_response());
    }
    check_no_page(&page)?;
    let last = last_event_id(&headers)?;
    let events = Follower::start(app, job, last).await?.events();
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    Ok((no_store, Sse::new(events).keep_alive(keep_alive)).into_response())
}

/// Whether a client accepts server-sent events.
fn wants_events(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let mut kinds = lines.flat_map(|line| line.split(','));
    kinds.any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case(EVENT_STREAM)
    })
}

fn check_no_page(page: &PageParams) -> Result<(), ApiError> {
    let field = match (page.limit, &page.cursor) {
        (None, None) => return Ok(()),
        (Some(_), _) => "limit",
        (None, Some(_)) => "cursor",
    };
    Err(ApiError::invalid(field, "is of a page; a stream begins after Last-Event-ID"))
}

/// The last event that the client has; an empty text stands for none, as in the specification of server-sent events.
fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().map_err(|_| ApiError::invalid("Last-Event-ID", "is not text"))?;
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

/// A client that follows a job.
struct Follower {
    app: App,
    job: JobRef,
    /// Position of the last step that was read.
    last: Option<String>,
    /// Steps that were read and not sent yet.
    steps: VecDeque<weir_practice::jobs::ProgressStep>,
    phase: Phase,
    poll: Duration,
    until: Instant,
    _slot: OwnedSemaphorePermit,
}

/// How far a stream is, once its steps are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Further steps are stored already.
    Behind,
    /// The client has all steps.
    Waiting,
    /// The job has ended, and the event that reports it is not sent yet.
    Ended(JobStatus),
    /// The client has everything.
    Closed,
}

impl Follower {
    /// Takes a slot and reads the first steps, so that a mistake of the client is an error and not a stream.
    async fn start(app: App, job: JobRef, last: Option<String>) -> Result<Follower, PracticeError> {
        let slots = slots(&app)?;
        let (slot, poll) = (slots.stream()?, slots.progress_poll);
        let mut follower = Follower {
            app,
            job,
            last,
            steps: VecDeque::new(),
            phase: Phase::Behind,
            poll,
            until: Instant::now() + STREAM_MAX,
            _slot: slot,
        };
        follower.read().await?;
        Ok(follower)
    }

    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(self, |mut follower| async {
            let event = follower.next().await?;
            Some((Ok(event), follower))
        })
    }

    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return step_event(step);
            }
            match self.phase {
                Phase::Closed => return None,
                Phase::Ended(status) => {
                    self.phase = Phase::Closed;
                    return end_event(status);
                }
                Phase::Waiting if !self.wait().await => return None,
                Phase::Behind | Phase::Waiting => {}
            }
            if let Err(error) = self.read().await {
                // The client reconnects and goes on after the last step that it has.
                let error = ApiError::from(error);
                tracing::debug!(job = %self.job, error = %error.detail, "a stream of progress ended early");
                return None;
            }
        }
    }

    /// Waits until it is time to look again; false when the stream has to end.
    async fn wait(&self) -> bool {
        tokio::select! {
            () = sleep(self.poll) => true,
            () = sleep_until(self.until) => false,
            () = self.app.stopped() => false,
        }
    }

    /// Reads the steps after the last one.
    async fn read(&mut self) -> Result<(), PracticeError> {
        let practice = practice(&self.app)?;
        let found =
            practice.progress_after(&self.job, self.last.as_deref(), STEPS_PER_READ).await?;
        self.phase = phase(&found);
        self.last = found.position;
        self.steps = found.steps.into();
        Ok(())
    }
}

/// How far a stream is after these steps.
fn phase(found: &ProgressEvents) -> Phase {
    match found.is_end {
        true => Phase::Ended(found.status),
        false if found.more => Phase::Behind,
        false => Phase::Waiting,
    }
}

fn step_event(step: weir_practice::jobs::ProgressStep) -> Option<Event> {
    let step = convert::progress_step(step);
    Event::default().event("progress").id(&step.id).json_data(&step).ok()
}

fn end_event(status: JobStatus) -> Option<Event> {
    let end = ProgressEnd { status: convert::job_status(status) };
    Event::default().event("end").json_data(end).ok()
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

    #[test]
    fn a_stream_goes_on_at_once_while_steps_are_stored() {
        let found = |more, is_end| ProgressEvents {
            steps: Vec::new(),
            position: None,
            more,
            status: JobStatus::Failed,
            is_end,
        };
        assert_eq!(phase(&found(true, false)), Phase::Behind);
        assert_eq!(phase(&found(false, false)), Phase::Waiting);
        assert_eq!(phase(&found(false, true)), Phase::Ended(JobStatus::Failed));
    }
}
