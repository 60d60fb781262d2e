//! The server under attack, and clients that speak to it in raw bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit};
use axum::routing::{get, post};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use weir_framework::listen::{Listener, Origin, Settings};

/// No wait of a test is longer; a test that gets here has failed.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
/// Bytes of a body that the site takes.
pub(crate) const BODY_MAX: usize = 64 * 1024;
/// Bytes of its big answer: more than the kernel buffers of both sides take.
pub(crate) const BIG: usize = 48 * 1024 * 1024;

pub(crate) const HELLO: &str = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
const LAST_HELLO: &str = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// A running listener with a few routes.
pub(crate) struct Site {
    pub(crate) origin: Origin,
    /// A permit appears for each request that has entered `/slow`.
    pub(crate) entered: Arc<Semaphore>,
    /// `/slow` answers once it gets a permit.
    pub(crate) gate: Arc<Semaphore>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Site {
    pub(crate) async fn open(settings: Settings) -> Site {
        let listener = Listener::bind("127.0.0.1:0", settings).await.unwrap();
        let origin = listener.origin();
        let (entered, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (stop, stopped) = oneshot::channel();
        let routes = routes(Arc::clone(&entered), Arc::clone(&gate));
        let serving = tokio::spawn(listener.serve(routes, async {
            stopped.await.ok();
        }));
        Site { origin, entered, gate, stop: Some(stop), serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.origin.address
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        soon(TcpStream::connect(self.address())).await.unwrap()
    }

    /// A new connection that has sent `bytes`.
    pub(crate) async fn send(&self, bytes: impl AsRef<[u8]>) -> TcpStream {
        let mut stream = self.connect().await;
        soon(stream.write_all(bytes.as_ref())).await.unwrap();
        stream
    }

    /// Sends `bytes` and answers all that comes back until the connection ends.
    pub(crate) async fn ask(&self, bytes: impl AsRef<[u8]>) -> String {
        rest(&mut self.send(bytes).await).await
    }

    /// The proof after each attack: somebody else is served.
    pub(crate) async fn serves(&self) {
        let answer = self.ask(LAST_HELLO).await;
        assert!(is_hello(&answer), "{answer}");
    }

    pub(crate) fn tell_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    pub(crate) async fn stopped(self) {
        soon(self.serving).await.unwrap();
    }
}

fn routes(entered: Arc<Semaphore>, gate: Arc<Semaphore>) -> Router {
    let slow = async move || {
        entered.add_permits(1);
        gate.acquire().await.unwrap().forget();
        "done"
    };
    Router::new()
        .route("/hello", get(async || "hello"))
        .route("/thread", get(async || format!("{:?}", std::thread::current().id())))
        .route("/count", post(async |body: Bytes| body.len().to_string()))
        .route("/slow", get(slow))
        .route("/panic", get(panics))
        .route("/big", get(async || Body::from(vec![b'x'; BIG])))
        .route("/peer", get(async |ConnectInfo(peer): ConnectInfo<SocketAddr>| peer.to_string()))
        .layer(DefaultBodyLimit::max(BODY_MAX))
}

async fn panics() -> &'static str {
    panic!("a handler with a fault")
}

/// Fails the test when `what` does not happen.
pub(crate) async fn soon<F: Future>(what: F) -> F::Output {
    match timeout(WAIT_MAX, what).await {
        Ok(output) => output,
        Err(_) => panic!("it does not happen"),
    }
}

/// All that comes until the connection ends, in whatever way it does.
pub(crate) async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    soon(stream.read_to_end(&mut bytes)).await.ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one answer that ends in `end`, and leaves the connection open.
pub(crate) async fn answer(stream: &mut (impl AsyncRead + Unpin), end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        let mut piece = [0; 4096];
        let read = soon(stream.read(&mut piece)).await.unwrap();
        assert!(read > 0, "closed after {text:?}");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    text
}

pub(crate) fn is_hello(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello")
}

pub(crate) fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or("none")
}
