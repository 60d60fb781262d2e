//! A thread with low priority for the jobs of an embedded store, so that requests do not wait for them.

use std::io;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Niceness of the thread: on a busy core it gets a tenth of what a serving thread gets.
const NICE: i32 = 10;

/// A runtime on a thread of its own. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct BackgroundRuntime {
    pub(super) handle: Handle,
    _running: oneshot::Sender<()>,
}

impl BackgroundRuntime {
    pub(super) fn start() -> io::Result<BackgroundRuntime> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (running, dropped) = oneshot::channel::<()>();
        let serve = move || {
            // On Linux niceness belongs to the thread. Without permission the jobs run all the same.
            if let Err(error) = rustix::process::nice(NICE) {
                tracing::debug!(%error, "the jobs keep the priority of requests");
            }
            runtime.block_on(dropped).ok();
        };
        std::thread::Builder::new().name("weir-jobs".to_owned()).spawn(serve)?;
        Ok(BackgroundRuntime { handle, _running: running })
    }
}
