//! A backup on the socket, which reports its progress as one JSON line per event.

use std::convert::Infallible;
use std::path::PathBuf;

use axum::body::{Body as StreamBody, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use weir_table::Error;
use weir_table::embedded::{BackupReport, Passphrase};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::security::{Action, SecurityTrail};

/// Capacity of the queue of events for a slow client. Further progress events are dropped.
const EVENTS_WAITING_MAX: usize = 16;

/// The target of a backup.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// An absolute path, because the server's working folder is not the caller's.
    pub(crate) to: PathBuf,
    /// Encrypts the keys; without it they are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) passphrase: Option<String>,
}

/// An event of a backup.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// Bytes written so far, and in total.
    Progress(u64, u64),
    /// The backup is complete.
    Done(BackupReport),
    /// The backup failed; the target is not a valid backup.
    Failed(Box<Problem>),
}

/// Starts a backup and streams its events. It continues if the caller disconnects.
pub(crate) async fn start(
    State(app): State<App>,
    id: RequestId,
    trail: SecurityTrail,
    Body(request): Body<Request>,
) -> Result<Response, ApiError> {
    if !request.to.is_absolute() {
        return Err(Error::invalid("to", "must be an absolute path").into());
    }
    let passphrase = request.passphrase.map(Passphrase::new).transpose()?;
    let (events, received) = mpsc::channel(EVENTS_WAITING_MAX);
    tokio::spawn(async move {
        let progress = events.clone();
        let progress = move |done, total| {
            progress.try_send(Event::Progress(done, total)).ok();
        };
        let detail = if passphrase.is_some() { "with keys" } else { "without keys" };
        let end = match app.store().backend().backup(&request.to, passphrase, progress).await {
            Ok(report) => {
                let to = request.to.display().to_string();
                trail.record_with(Action::BackupWritten, &to, detail).await;
                Event::Done(report)
            }
            Err(error) => Event::Failed(Box::new(failed(&app, &id, error))),
        };
        events.send(end).await.ok();
    });
    let lines = ReceiverStream::new(received).map(|event| Ok::<_, Infallible>(line(&event)));
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    Ok((kind, StreamBody::from_stream(lines)).into_response())
}

fn failed(app: &App, id: &RequestId, error: Error) -> Problem {
    Problem::of(&ApiError::from(error), id.text(), app.now_ms(), true)
}

fn line(event: &Event) -> Bytes {
    let mut line = serde_json::to_vec(event).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
