//! dynoxide, served over HTTP from a thread of the test process.

use std::net::{SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::Error;

/// A dynoxide with an empty in-memory database; it ends when this value is dropped.
#[derive(Debug)]
pub struct Dynoxide {
    endpoint: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Dynoxide {
    /// Starts serving on a free loopback port; connections are accepted from now on.
    ///
    /// # Errors
    /// When a socket, a thread or the in-memory database is refused.
    pub fn start() -> Result<Self, Error> {
        let database =
            ::dynoxide::Database::memory().map_err(|error| Error::Dynoxide(error.to_string()))?;
        let (listener, address) = listen().map_err(io("listen"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(io("build a runtime"))?;
        let (stop, stopped) = oneshot::channel();
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            tokio::select! {
                () = ::dynoxide::server::serve_on(listener, database) => {}
                _ = stopped => {}
            }
        };
        let thread = thread::Builder::new()
            .name("dynoxide".to_owned())
            // Ending the runtime drops open connections too: a test that is over waits for none.
            .spawn(move || runtime.block_on(serve))
            .map_err(io("start a thread"))?;
        Ok(Self { endpoint: format!("http://{address}"), stop: Some(stop), thread: Some(thread) })
    }

    /// The address, as `http://HOST:PORT`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl Drop for Dynoxide {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the server has been printed by its thread already.
            thread.join().ok();
        }
    }
}

fn listen() -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Io { doing, server: "dynoxide", source }
}
