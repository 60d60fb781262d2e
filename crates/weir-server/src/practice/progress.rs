//! Progress steps of a job: a page, or a stream of server-sent events.
//!
//! The id of an event is the position of its step, so a client that reconnects sends the last one as `Last-Event-ID` and gets
//! the steps after it, each once. When the job has ended, the event `end` has its status, and the stream ends.
//!
//! Between two looks at the job a stream holds nothing but its slot; see [`crate::event_stream`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;
use weir_api::practice::{JobParam, ProgressEnd, ProgressStep};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::authorize::Caller;
use weir_framework::extract::Query;
use weir_framework::page::{Page, PageParams, page_response};
use weir_practice::jobs::{JobRef, ProgressEvents};
use weir_practice::kinds::JobStatus;

use super::convert;
use super::error::PracticeError;
use super::path::{JobPath, practice};
use super::slots::slots;
use crate::event_stream::{Lifetime, Next, event_stream, last_event_id, wants_events};

/// Steps of one look at the job.
const STEPS_PER_READ: u32 = 99;

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
    Caller(caller): Caller,
    Query(page): Query<PageParams>,
    headers: HeaderMap,
) -> Result<Response, PracticeError> {
    if !wants_events(&headers) {
        let found = practice(&app)?.progress(&job, &convert::page_request(page)?).await?;
        return Ok(page_response(found, convert::progress_step).into_response());
    }
    check_no_page(&page)?;
    let last = last_event_id(&headers)?;
    Ok(event_stream(Follower::start(app, job, last, Lifetime::new(caller)).await?.events()))
}

fn check_no_page(page: &PageParams) -> Result<(), ApiError> {
    let field = match (page.limit, &page.cursor) {
        (None, None) => return Ok(()),
        (Some(_), _) => "limit",
        (None, Some(_)) => "cursor",
    };
    Err(ApiError::invalid(field, "is of a page; a stream begins after Last-Event-ID"))
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
    lifetime: Lifetime,
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
    async fn start(
        app: App,
        job: JobRef,
        last: Option<String>,
        lifetime: Lifetime,
    ) -> Result<Follower, PracticeError> {
        let slots = slots(&app)?;
        let (slot, poll) = (slots.stream()?, slots.progress_poll);
        let mut follower = Follower {
            app,
            job,
            last,
            steps: VecDeque::new(),
            phase: Phase::Behind,
            poll,
            lifetime,
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
        self.lifetime.wait(&self.app, self.poll).await == Next::GoOn
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
