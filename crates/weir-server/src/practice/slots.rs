//! Bounds on requests that hold memory or a connection for long.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_framework::ApiError;
use weir_framework::app::App;

use super::settings::Settings;
use crate::event_stream::take_slot;

/// Uploads of test cases at the same time. Each holds up to 64 MiB, and as much again while it is read.
const UPLOADS_MAX: usize = 4;

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
        take_slot(&self.uploads, "uploads of test cases")
    }

    /// A slot for a stream of progress steps, until it is dropped.
    ///
    /// # Errors
    /// All of them are taken: a 503.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        take_slot(&self.streams, "streams of progress steps")
    }
}

/// The slots of the running server.
pub(super) fn slots(app: &App) -> Result<&Slots, ApiError> {
    app.kept_by("practice")
}

#[cfg(test)]
mod tests {
    use weir_framework::Code;

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
