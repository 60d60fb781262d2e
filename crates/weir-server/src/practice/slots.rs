//! Bounds on requests that hold memory or a connection for long.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_framework::app::App;
use weir_framework::{ApiError, Code, limits};

use super::settings::Settings;

/// Uploads of test cases at the same time. Each holds up to 64 MiB, and as much again while it is read.
const UPLOADS_MAX: usize = 4;
/// When a refused request may be sent again, in seconds.
const RETRY_SECS: u64 = 1;

/// The slots of one server.
#[derive(Debug)]
pub(super) struct Slots {
    uploads: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    /// Time between two reads of the steps of a job, for a stream.
    pub(super) progress_poll: Duration,
}

impl Slots {
    pub(super) fn new(settings: &Settings) -> Slots {
        let streams = usize::try_from(settings.progress_streams_max).unwrap_or(usize::MAX);
        Slots {
            uploads: Arc::new(Semaphore::new(UPLOADS_MAX)),
            streams: Arc::new(Semaphore::new(streams.min(Semaphore::MAX_PERMITS))),
            progress_poll: Duration::from_millis(settings.progress_poll_ms),
        }
    }

    /// A slot for an upload, until it is dropped.
    ///
    /// # Errors
    /// All of them are taken: a 503.
    pub(super) fn upload(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        take(&self.uploads, "uploads of test cases")
    }

    /// A slot for a stream of progress steps, until it is dropped.
    ///
    /// # Errors
    /// All of them are taken: a 503.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        take(&self.streams, "streams of progress steps")
    }
}

fn take(slots: &Arc<Semaphore>, what: &str) -> Result<OwnedSemaphorePermit, ApiError> {
    let full = |_| {
        let detail = format!("the server is at its limit of {what}; retry after {RETRY_SECS} s");
        limits::retry_after(ApiError::new(Code::SERVICE_UNAVAILABLE, detail), RETRY_SECS)
    };
    Arc::clone(slots).try_acquire_owned().map_err(full)
}

/// The slots of the running server.
pub(super) fn slots(app: &App) -> Result<&Slots, ApiError> {
    app.kept_by("practice")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_when_its_holder_is_gone() {
        let slots = Slots::new(&Settings { progress_streams_max: 1, ..Settings::default() });
        let first = slots.stream().unwrap();
        assert_eq!(slots.stream().unwrap_err().code(), Code::SERVICE_UNAVAILABLE);
        drop(slots.upload().unwrap());
        drop(first);
        drop(slots.stream().unwrap());
    }
}
