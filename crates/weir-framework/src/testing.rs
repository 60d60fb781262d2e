//! A complete server for tests: real sockets, a temporary or a given store, and a clock that only the test
//! moves. Every response is compared with the server's OpenAPI description.
//!
//! ```no_run
//! # async fn example() {
//! use weir_framework::Code;
//! use weir_framework::testing::TestApp;
//!
//! let app = TestApp::start(vec![]).await;
//! let reply = app.get("/v1/jobs").send().await;
//! reply.problem(Code::UNAUTHORIZED);
//! assert_eq!(app.get("/v1/jobs").admin().send().await.status, 200);
//! # }
//! ```
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "for tests: a failure here is a failed test"
)]

mod conformance;
mod transport;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, header};
use http_body_util::Full;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Result, Store};

use crate::Code;
use crate::app::{Service, Settings};
use crate::auth::Secret;
use crate::listen;
use crate::problem::{self, Problem};
use crate::run::{Server, run_until};
use conformance::{Answer, Description};
use transport::Transport;

/// The admin key of every test server.
pub const ADMIN_KEY: &str = "an-admin-key-for-tests-only";
/// Start of a test's clock: 2026-01-15, noon, UTC.
pub const NOON_MS: u64 = 1_768_478_400_000;

/// A running server.
#[derive(Debug)]
pub struct TestApp {
    /// Address of the server.
    pub address: SocketAddr,
    /// Clock of the server.
    pub clock: Clock,
    /// Store of the server.
    pub store: Store<AnyBackend>,
    data: Option<PathBuf>,
    transport: Transport,
    description: Arc<Description>,
    _folder: tempfile::TempDir,
    stop: mpsc::Sender<()>,
    ended: Option<JoinHandle<Result<()>>>,
}

/// Builds a test server.
pub struct Builder {
    services: Vec<Box<dyn Service>>,
    settings: Settings,
    store: Option<Store<AnyBackend>>,
    data: Option<PathBuf>,
    store_options: StoreOptions,
    listen: listen::Settings,
}

#[cfg(feature = "embedded")]
type StoreOptions = Option<Box<dyn FnOnce(&mut weir_table::embedded::Options) + Send>>;
#[cfg(not(feature = "embedded"))]
type StoreOptions = Option<()>;

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Builder")
    }
}

impl TestApp {
    /// Starts a server with `services` on a temporary embedded store.
    pub async fn start(services: Vec<Box<dyn Service>>) -> TestApp {
        TestApp::builder(services).start().await
    }

    /// Builds a server with other settings.
    #[must_use]
    pub fn builder(services: Vec<Box<dyn Service>>) -> Builder {
        let mut settings =
            Settings { run_jobs: true, clock: Clock::manual(NOON_MS), ..Settings::default() };
        settings.auth.admin_key = Some(Secret::new(ADMIN_KEY));
        let (store, data, store_options) = (None, None, None);
        let listen = listen::Settings::default();
        Builder { services, settings, store, data, store_options, listen }
    }

    /// The folder of the embedded store, which contains the socket.
    #[must_use]
    pub fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// A request to the server.
    #[must_use]
    pub fn request(&self, method: Method, path: &str) -> Call {
        Call {
            address: self.address,
            transport: self.transport.clone(),
            description: Arc::clone(&self.description),
            method,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// A GET request to the server.
    #[must_use]
    pub fn get(&self, path: &str) -> Call {
        self.request(Method::GET, path)
    }

    /// A POST request to the server.
    #[must_use]
    pub fn post(&self, path: &str, body: &impl Serialize) -> Call {
        self.request(Method::POST, path).json(body)
    }

    /// Issues a token with this scope.
    pub async fn token(&self, scope: &str) -> String {
        let new = serde_json::json!({"name": "test", "scope": scope, "expires_in": 3600});
        let reply = self.post("/v1/tokens", &new).admin().send().await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        let made: Value = reply.json();
        let token = made.get("access_token").and_then(Value::as_str);
        token.expect("a token").to_owned()
    }

    /// Sends the stop signal. A second one, from [`TestApp::stop`], cuts requests in progress off.
    pub async fn begin_stop(&self) {
        self.stop.send(()).await.ok();
    }

    /// Stops the server and waits for its end.
    ///
    /// # Errors
    /// The server failed.
    pub async fn stop(mut self) -> Result<()> {
        self.stop.send(()).await.ok();
        let ended = self.ended.take().expect("stopped once");
        ended.await.expect("the server's task")
    }
}

impl Builder {
    /// Uses this store, for example on a DynamoDB endpoint, instead of a temporary one.
    #[must_use]
    pub fn store(mut self, store: Store<AnyBackend>) -> Builder {
        self.store = Some(store);
        self
    }

    /// Uses the embedded store in this folder instead of a temporary one.
    #[must_use]
    pub fn data(mut self, data: PathBuf) -> Builder {
        self.data = Some(data);
        self
    }

    /// Changes the options of the embedded store that the server opens.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub fn store_options(
        mut self,
        change: impl FnOnce(&mut weir_table::embedded::Options) + Send + 'static,
    ) -> Builder {
        self.store_options = Some(Box::new(change));
        self
    }

    /// Changes the settings.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Builder {
        change(&mut self.settings);
        self
    }

    /// Changes the settings of the listener.
    #[must_use]
    pub fn listen(mut self, change: impl FnOnce(&mut listen::Settings)) -> Builder {
        change(&mut self.listen);
        self
    }

    /// Starts the server.
    pub async fn start(self) -> TestApp {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock = self.settings.clock.clone();
        let (store, data) = match self.store {
            Some(store) => (store, None),
            None => {
                let data = self.data.unwrap_or_else(|| folder.path().join("data"));
                own_store(data, &clock, self.store_options).await
            }
        };
        let transport = Transport::new(self.listen.tls.as_ref());
        let server = Server {
            store: store.clone(),
            services: self.services,
            settings: self.settings,
            listen: "127.0.0.1:0".to_owned(),
            listen_settings: self.listen,
            data: data.clone(),
        };
        let (ready, started) = oneshot::channel();
        let (stop, mut stopped) = mpsc::channel::<()>(1);
        // On a thread of its own, like a real server.
        let runtime = tokio::runtime::Handle::current();
        let mut ended = tokio::task::spawn_blocking(move || {
            let stop = async || {
                stopped.recv().await;
            };
            let ready = |started| drop(ready.send(started));
            runtime.block_on(run_until(server, ready, stop))
        });
        let started = tokio::select! {
            started = started => started.ok(),
            ended = &mut ended => panic!("the server did not start: {ended:?}"),
        };
        let mut app = TestApp {
            address: started.expect("a started server").origin.address,
            clock,
            store,
            data,
            transport,
            description: Arc::default(),
            _folder: folder,
            stop,
            ended: Some(ended),
        };
        let served = app.get("/openapi.json").send().await.json();
        app.description = Arc::new(Description::new(served));
        app
    }
}

#[cfg(feature = "embedded")]
async fn own_store(
    data: PathBuf,
    clock: &Clock,
    change: StoreOptions,
) -> (Store<AnyBackend>, Option<PathBuf>) {
    use weir_table::embedded::{Embedded, Options};
    let key_files = vec![crate::auth::key_file::NAME.to_owned(), crate::ADMIN_KEY_FILE.to_owned()];
    let mut options = Options { clock: clock.clone(), key_files, ..Options::new(&data) };
    if let Some(change) = change {
        change(&mut options);
    }
    let opened = tokio::task::spawn_blocking(move || Embedded::open(options)).await;
    let embedded = opened.expect("opening").expect("an embedded store");
    let cursors = embedded.cursor_key();
    (Store::new(AnyBackend::Embedded(embedded), cursors), Some(data))
}

#[cfg(not(feature = "embedded"))]
async fn own_store(_: PathBuf, _: &Clock, _: StoreOptions) -> (Store<AnyBackend>, Option<PathBuf>) {
    panic!("this build has no embedded store; give one with `store`")
}

/// A request under construction.
#[derive(Debug, Clone)]
pub struct Call {
    address: SocketAddr,
    transport: Transport,
    description: Arc<Description>,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    /// Adds the admin key.
    #[must_use]
    pub fn admin(self) -> Call {
        self.header("x-api-key", ADMIN_KEY)
    }

    /// Adds a token.
    #[must_use]
    pub fn bearer(self, token: &str) -> Call {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Call {
        self.headers.append(name, value.parse().expect("a header"));
        self
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: &impl Serialize) -> Call {
        let bytes = serde_json::to_vec(body).expect("JSON");
        self.header("content-type", "application/json").body(bytes)
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Call {
        self.body = body.into();
        self
    }

    /// Sends the request on a new connection, and compares the response with the description.
    pub async fn send(self) -> Reply {
        let mut request = Request::builder().method(&self.method).uri(&self.path);
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers);
            let host = "weir.test".parse().expect("a host");
            headers.entry(header::HOST).or_insert(host);
        }
        let request = request.body(Full::new(self.body)).expect("a request");
        let (parts, body) = self.transport.send(self.address, request).await.into_parts();
        let reply = Reply { status: parts.status.as_u16(), headers: parts.headers, body };
        check(&self.description, &self.method, &self.path, &reply);
        reply
    }
}

/// Compares a response with the description.
fn check(description: &Description, method: &Method, path: &str, reply: &Reply) {
    // Other clients decompress the body; this one does not.
    if *method == Method::HEAD || !reply.header("content-encoding").is_empty() {
        return;
    }
    let faults = description.faults(&Answer {
        method: method.as_str(),
        path,
        status: reply.status,
        content_type: reply.header("content-type").split(';').next().unwrap_or_default(),
        body: &reply.body,
    });
    let status = reply.status;
    assert!(
        faults.is_empty(),
        "{method} {path} answers {status}, not as described: {faults:#?} in {}",
        reply.text()
    );
}

/// A response.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Reply {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header, or an empty text.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The response without its date, for comparison with another.
    #[must_use]
    pub fn whole(&self) -> (u16, Vec<(String, Vec<u8>)>, String) {
        let headers = self.headers.iter().filter(|(name, _)| *name != "date");
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_owned()));
        let mut headers: Vec<_> = headers.collect();
        headers.sort();
        (self.status, headers, self.text())
    }

    /// The parsed JSON body.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        let parsed = serde_json::from_slice(&self.body);
        parsed.unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// Asserts that the response is a complete, consistent problem with this code, and returns it.
    pub fn problem(&self, code: Code) -> Problem {
        let problem = self.any_problem();
        assert_eq!(problem.error, code.name(), "{}", self.text());
        assert_eq!(problem.title, code.title(), "{}", self.text());
        assert_eq!(problem.kind, code.urn(), "{}", self.text());
        assert_eq!(self.status, code.status().as_u16(), "{}", self.text());
        problem
    }

    /// Asserts that the response is a complete, consistent problem, and returns it.
    pub fn any_problem(&self) -> Problem {
        let text = self.text();
        assert_eq!(self.header("content-type"), problem::CONTENT_TYPE, "{} {text}", self.status);
        assert_eq!(self.header("cache-control"), "no-store", "{text}");
        let problem: Problem = self.json();
        assert_eq!(problem.status, self.status, "{text}");
        assert!(!problem.title.is_empty(), "{text}");
        assert_eq!(problem.message, problem.detail, "{text}");
        assert_eq!(problem.request_id, self.header("x-request-id"), "{text}");
        assert!(
            !problem.detail.is_empty() && problem.kind.starts_with("urn:weir:problem:"),
            "{text}"
        );
        assert!(problem.timestamp.parse::<jiff::Timestamp>().is_ok(), "{text}");
        problem
    }
}
