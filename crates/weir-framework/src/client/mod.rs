//! The clients of a server: through the socket in its data folder, which has the table operations too, or over the network.

mod events;
mod remote;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_table::embedded::{BackupReport, Passphrase};
use weir_table::{Error, Get, Item, Page, Query, TableSpec, Write, Written};

type Result<T, E = Error> = std::result::Result<T, E>;

pub use self::events::{ServerEvent, ServerEvents};
pub use self::remote::{Remote, RemoteError, RemoteSettings, has_credentials};
use crate::app::{App, Service};
use crate::local::backup::{Event, Request as BackupRequest};
pub use crate::local::tables::About;
use crate::once::{IDEMPOTENCY_KEY, OnceKey};
use crate::problem::Problem;
use crate::{router, socket};

/// Maximum duration of a call. Creating a table is the slowest.
const CALL_WITHIN: Duration = Duration::from_secs(60);
/// Maximum duration of an upload, whose content the server stores before it responds.
const UPLOAD_WITHIN: Duration = Duration::from_secs(15 * 60);
/// Maximum size of a response in bytes: a page of 1 MB as JSON, with room for one-byte attributes.
const ANSWER_MAX: usize = 64 * 1024 * 1024;
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The API: through the socket of a running server or in this process, with full access, or over the network.
#[derive(Debug)]
pub enum ApiClient {
    /// A server that has the store open.
    Socket(Client),
    /// The same routes on a store that this process has open.
    Own(Box<Router>),
    /// A server elsewhere, with the credentials of the user.
    Remote(Box<Remote>),
}

/// The failure of a call.
#[derive(Debug)]
pub enum Refusal {
    /// The API returned an error.
    Problem(Box<Problem>),
    /// The API could not be reached.
    Unreachable(Error),
    /// The server elsewhere could not be called.
    Remote(RemoteError),
}

impl From<RemoteError> for Refusal {
    fn from(error: RemoteError) -> Refusal {
        Refusal::Remote(error)
    }
}

impl ApiClient {
    /// The API of `services` on the store that `app` has open.
    #[must_use]
    pub fn own(app: &App, services: &[Box<dyn Service>]) -> ApiClient {
        ApiClient::Own(Box::new(router::local(app, services)))
    }

    /// Calls the API.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, Refusal> {
        self.call_once(method, path, body, None).await
    }

    /// Calls the API. With a `key`, repeated calls take effect once, on routes that support it.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn call_once<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
        key: Option<&OnceKey>,
    ) -> Result<T, Refusal> {
        let mut request = request(method, path, body).map_err(Refusal::Unreachable)?;
        if let Some(key) = key {
            request.headers_mut().insert(IDEMPOTENCY_KEY, key.into());
        }
        self.parsed(&self.exchange(request, CALL_WITHIN).await?)
    }

    /// Sends a POST request whose body comes in pieces, in any format.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        content_type: &'static str,
        pieces: impl Iterator<Item = Bytes> + Send + 'static,
    ) -> Result<T, Refusal> {
        let mut request = request(Method::POST, path, None::<&()>).map_err(Refusal::Unreachable)?;
        let content_type = HeaderValue::from_static(content_type);
        request.headers_mut().insert(header::CONTENT_TYPE, content_type);
        let pieces = tokio_stream::iter(pieces.map(Ok::<_, Infallible>));
        *request.body_mut() = Body::from_stream(pieces);
        self.parsed(&self.exchange(request, UPLOAD_WITHIN).await?)
    }

    /// Opens a stream of server-sent events, after the event `last` if one is given.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn events(&self, path: &str, last: Option<&str>) -> Result<ServerEvents, Refusal> {
        let mut request = request(Method::GET, path, None::<&()>).map_err(Refusal::Unreachable)?;
        request.headers_mut().insert(header::ACCEPT, EVENT_STREAM);
        if let Some(last) = last {
            let invalid = |error| Refusal::Unreachable(Error::backend("writing a request", error));
            let last = HeaderValue::from_str(last).map_err(invalid)?;
            request.headers_mut().insert(LAST_EVENT_ID, last);
        }
        let (status, body) = self.open(request).await?;
        if status.is_success() {
            return Ok(ServerEvents::new(body));
        }
        Err(self.problem(status, &whole(body).await.map_err(Refusal::Unreachable)?))
    }

    /// Sends a request. Returns the status, and the body as it arrives.
    async fn open(&self, request: Request<Body>) -> Result<(StatusCode, Body), Refusal> {
        match self {
            ApiClient::Socket(client) => {
                let sent = client.in_time(CALL_WITHIN, client.send(request)).await;
                sent.map(|(status, body)| (status, Body::new(body))).map_err(Refusal::Unreachable)
            }
            ApiClient::Own(router) => Ok(ask(router, request).await),
            ApiClient::Remote(remote) => Ok(remote.open(request, CALL_WITHIN).await?),
        }
    }

    /// Sends a GET request. Returns the body as it is, in any format.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn body(&self, path: &str) -> Result<Bytes, Refusal> {
        let request = request(Method::GET, path, None::<&()>).map_err(Refusal::Unreachable)?;
        self.exchange(request, CALL_WITHIN).await
    }

    /// The body of a successful response.
    async fn exchange(&self, request: Request<Body>, within: Duration) -> Result<Bytes, Refusal> {
        let sent = match self {
            ApiClient::Socket(client) => client.exchange(request, within).await,
            ApiClient::Own(router) => {
                let (status, body) = ask(router, request).await;
                whole(body).await.map(|bytes| (status, bytes))
            }
            ApiClient::Remote(remote) => Ok(remote.exchange(request, within).await?),
        };
        let (status, bytes) = sent.map_err(Refusal::Unreachable)?;
        if status.is_success() { Ok(bytes) } else { Err(self.problem(status, &bytes)) }
    }

    /// The body of a successful response, from JSON. A response without a body has nothing to parse.
    fn parsed<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Refusal> {
        let bytes: &[u8] = if bytes.is_empty() { b"null" } else { bytes };
        let parsed = serde_json::from_slice(bytes);
        parsed.map_err(|error| self.unreadable(StatusCode::OK, error))
    }

    /// The error that a body describes.
    fn problem(&self, status: StatusCode, bytes: &[u8]) -> Refusal {
        match serde_json::from_slice(bytes) {
            Ok(problem) => Refusal::Problem(Box::new(problem)),
            Err(error) => self.unreadable(status, error),
        }
    }

    fn unreadable(&self, status: StatusCode, source: serde_json::Error) -> Refusal {
        match self {
            ApiClient::Remote(remote) => remote.not_weir(status).into(),
            _ => Refusal::Unreachable(Error::backend("reading the API's answer", source)),
        }
    }
}

/// Calls routes in this process.
async fn ask(router: &Router, request: Request<Body>) -> (StatusCode, Body) {
    use tower_service::Service as _;
    let Ok(answer) = router.clone().call(request).await;
    (answer.status(), answer.into_body())
}

/// All of a body.
async fn whole(body: Body) -> Result<Bytes> {
    let read = axum::body::to_bytes(body, ANSWER_MAX).await;
    read.map_err(|source| Error::backend("reading the API's answer", source))
}

/// A request with a JSON body.
fn request(
    method: Method,
    path: &str,
    body: Option<&(impl Serialize + ?Sized + Sync)>,
) -> Result<Request<Body>> {
    let failed = |source| Error::backend("writing a request", source);
    let body = body.map(serde_json::to_vec).transpose().map_err(failed)?;
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, "weir.sock");
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    request
        .body(Body::from(body.unwrap_or_default()))
        .map_err(|source| Error::backend("writing a request", source))
}

/// A running server, reached through the socket in its data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    data: PathBuf,
}

impl Client {
    /// The server that has the store in `data` open, or none.
    ///
    /// # Errors
    /// This user may not use the socket, or another program answers on it.
    pub async fn find(data: &Path) -> Result<Option<Client>> {
        let client = Client { data: data.to_owned() };
        match socket::connect(data).await {
            Ok(None) => Ok(None),
            Ok(Some(_)) => client.about().await.map(|_| Some(client)),
            Err(source) => Err(client.io(source)),
        }
    }

    fn io(&self, source: std::io::Error) -> Error {
        let path = self.data.display();
        Error::io(format!("reaching the server that has {path} open"), source)
    }

    /// Version and process id of the server.
    ///
    /// # Errors
    /// The server does not respond.
    pub async fn about(&self) -> Result<About> {
        self.call(Method::GET, "/local/server", &()).await
    }

    /// The names of all tables, sorted.
    ///
    /// # Errors
    /// The server or its store fails.
    pub async fn table_names(&self) -> Result<Vec<String>> {
        self.call(Method::GET, "/local/tables", &()).await
    }

    /// Creates the table, or checks that the existing one has the same schema.
    ///
    /// # Errors
    /// The spec is invalid, a table of that name has another schema, or the server fails.
    pub async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.call(Method::POST, "/local/tables", spec).await
    }

    /// Checks that the table exists with this schema.
    ///
    /// # Errors
    /// The table does not exist or differs, or the server fails.
    pub async fn verify_table(&self, spec: &TableSpec) -> Result<()> {
        self.call(Method::POST, "/local/verify", spec).await
    }

    /// Deletes a table with all its items.
    ///
    /// # Errors
    /// The table does not exist, or the server fails.
    pub async fn delete_table(&self, table: &str) -> Result<()> {
        self.call(Method::DELETE, &table_path(table)?, &()).await
    }

    /// The schema of a table.
    ///
    /// # Errors
    /// The table does not exist, or the server fails.
    pub async fn spec(&self, table: &str) -> Result<TableSpec> {
        self.call(Method::GET, &table_path(table)?, &()).await
    }

    /// Reads an item.
    ///
    /// # Errors
    /// The request is invalid or the server fails.
    pub async fn get(&self, get: &Get) -> Result<Option<Item>> {
        self.call(Method::POST, "/local/get", get).await
    }

    /// Reads a page of a query or scan.
    ///
    /// # Errors
    /// The request is invalid, the cursor is not of this query, or the server fails.
    pub async fn query(&self, query: &Query) -> Result<Page> {
        self.call(Method::POST, "/local/query", query).await
    }

    /// Puts, updates or deletes an item.
    ///
    /// # Errors
    /// The request is invalid or the server fails.
    pub async fn write(&self, write: &Write) -> Result<Written> {
        self.call(Method::POST, "/local/write", write).await
    }

    /// Puts and deletes up to 25 items, each on its own.
    ///
    /// # Errors
    /// The request is invalid or the server fails; some of the writes may have been applied.
    pub async fn batch_write(&self, writes: &[Write]) -> Result<()> {
        self.call(Method::POST, "/local/batch-write", writes).await
    }

    /// Backs the store up to the folder `to`. Calls `progress` with the bytes written so far and in total.
    ///
    /// # Errors
    /// The target is refused, writing fails, or the server stops.
    pub async fn backup(
        &self,
        to: &Path,
        passphrase: Option<&Passphrase>,
        progress: impl Fn(u64, u64),
    ) -> Result<BackupReport> {
        let to = std::path::absolute(to).map_err(|source| self.io(source))?;
        let passphrase = passphrase.map(|passphrase| passphrase.expose().to_owned());
        let ask = BackupRequest { to, passphrase };
        let asked = request(Method::POST, "/local/backup", Some(&ask))?;
        let (status, mut body) = self.send(asked).await?;
        if status != StatusCode::OK {
            return Err(self.refusal(body).await);
        }
        let mut waiting = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|problem| self.broken(problem))?;
            waiting.extend(frame.into_data().unwrap_or_default());
            while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = waiting.drain(..=end).collect();
                match self.parse::<Event>(&line)? {
                    Event::Progress(done, total) => progress(done, total),
                    Event::Done(report) => return Ok(report),
                    Event::Failed(problem) => return Err((*problem).into()),
                }
            }
        }
        Err(self.broken("the end of the backup was not reported"))
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &(impl Serialize + ?Sized + Sync),
    ) -> Result<T> {
        let call = async {
            let (status, body) = self.send(request(method, path, Some(body))?).await?;
            if status.is_success() {
                self.parse(&self.read(body).await?)
            } else {
                Err(self.refusal(body).await)
            }
        };
        self.in_time(CALL_WITHIN, call).await
    }

    async fn in_time<T>(
        &self,
        within: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::time::timeout(within, call).await.unwrap_or_else(|_| {
            let path = self.data.display();
            let seconds = within.as_secs();
            Err(Error::Unavailable(format!(
                "the server that has {path} open took more than {seconds} s"
            )))
        })
    }

    async fn exchange(
        &self,
        request: Request<Body>,
        within: Duration,
    ) -> Result<(StatusCode, Bytes)> {
        let exchanged = async {
            let (status, body) = self.send(request).await?;
            Ok((status, self.read(body).await?))
        };
        self.in_time(within, exchanged).await
    }

    /// Sends a request on a new connection, which takes microseconds on one machine.
    async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Incoming)> {
        let stream = socket::connect(&self.data)
            .await
            .map_err(|source| self.io(source))?
            .ok_or_else(|| Error::Unavailable("the server has gone away".into()))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|problem| self.broken(problem))?;
        tokio::spawn(connection);
        let answer = sender.send_request(request).await.map_err(|problem| self.broken(problem))?;
        Ok((answer.status(), answer.into_body()))
    }

    async fn read(&self, body: Incoming) -> Result<Bytes> {
        let read = Limited::new(body, ANSWER_MAX).collect().await;
        read.map(http_body_util::Collected::to_bytes).map_err(|problem| self.broken(problem))
    }

    async fn refusal(&self, body: Incoming) -> Error {
        let read = self.read(body).await;
        match read.and_then(|bytes| self.parse::<Problem>(&bytes)) {
            Ok(problem) => problem.into(),
            Err(error) => error,
        }
    }

    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).map_err(|problem| self.broken(problem))
    }

    fn broken(&self, problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        let path = self.data.display();
        Error::backend(format!("talking to the server that has {path} open"), problem)
    }
}

/// Table names need no escaping in a URL; a name that would need it is invalid.
fn table_path(table: &str) -> Result<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !table.is_empty() && table.chars().all(good) {
        Ok(format!("/local/tables/{table}"))
    } else {
        Err(Error::NoSuchTable(table.to_owned()))
    }
}
