//! The API for commands: of a server elsewhere that the user named, through the socket of the server that has the store
//! open, or in this process on a store that the command opens itself. The routes are the same.

use axum::body::Bytes;
use axum::http::Method;
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_framework::client::{ApiClient, Refusal, ServerEvents};
use weir_framework::once::OnceKey;
use weir_framework::problem::{Problem, RetryAfter};
use weir_framework::{App, Service, Settings};

use crate::config::{Loaded, Source, StoreFlags};
use crate::failure::Failure;
use crate::remote;
use crate::settings;
use crate::store_location::{Missing, StoreLocation};
use crate::tables::Tables;
use crate::time;

/// Flags of every command that calls the API.
#[derive(Debug, Args)]
pub(crate) struct ApiFlags {
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    store: StoreFlags,
}

impl ApiFlags {
    /// The configuration, with these flags as its top layer.
    pub(crate) fn load(&self, source: &Source) -> Result<Loaded, Failure> {
        source.load_for_api(&self.store.given())
    }
}

/// A client of the API.
#[derive(Debug)]
pub struct Api {
    client: ApiClient,
    alone: bool,
}

impl Api {
    /// Connects to the API of the named server or of the configured store, runs `act` with it, and closes the store if this
    /// process opened it.
    pub(crate) async fn with<T>(
        loaded: &Loaded,
        act: impl AsyncFnOnce(&Api) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(remote) = &loaded.remote {
            let client = ApiClient::Remote(Box::new(remote::connect(remote)?));
            return act(&Api { client, alone: false }).await;
        }
        let location = StoreLocation::of(&loaded.config.store);
        let settings = Settings { run_jobs: false, ..settings::server(&loaded.config)? };
        let services = crate::services(loaded);
        let reach = async |tables: &Tables| {
            let api = Api::reach(tables, settings, &location, &services).await?;
            act(&api).await
        };
        // The servers' key, so that cursors and leases are valid there too.
        let cursors = settings::cursor_key(&loaded.config.auth)?;
        location.with_cursors(Missing::Refuse, cursors, reach).await
    }

    async fn reach(
        tables: &Tables,
        settings: Settings,
        location: &StoreLocation,
        services: &[Box<dyn Service>],
    ) -> Result<Api, Failure> {
        let client = match tables {
            Tables::Server(client) => ApiClient::Socket(client.clone()),
            Tables::Own(store) => {
                let data = location.folder().map(Into::into);
                let app = App::open(store.clone(), settings, data, services).await?;
                ApiClient::own(&app, services)
            }
        };
        let alone = matches!(client, ApiClient::Own(_)) && location.folder().is_some();
        Ok(Api { client, alone })
    }

    /// Calls the API through `client`.
    #[must_use]
    pub fn new(client: ApiClient) -> Api {
        Api { client, alone: false }
    }

    /// Sends a GET request.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.checked(self.client.call(Method::GET, path, None::<&()>).await)
    }

    /// Sends a GET request. Returns none on 404.
    ///
    /// # Errors
    /// The API returns another error, or cannot be reached.
    pub async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failure> {
        match self.client.call(Method::GET, path, None::<&()>).await {
            Ok(found) => Ok(Some(found)),
            Err(Refusal::Problem(problem)) if problem.status == 404 => Ok(None),
            Err(refusal) => Err(self.failure(refusal)),
        }
    }

    /// Sends a GET request. Returns the body as it is, in any format.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn body(&self, path: &str) -> Result<Bytes, Failure> {
        self.checked(self.client.body(path).await)
    }

    /// Sends a POST request.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, Failure> {
        self.checked(self.client.call(Method::POST, path, Some(body)).await)
    }

    /// Sends a POST request with an idempotency key, so that repeated requests take effect once.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        key: Option<&OnceKey>,
    ) -> Result<T, Failure> {
        self.checked(self.client.call_once(Method::POST, path, Some(body), key).await)
    }

    /// Sends a PUT request.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, Failure> {
        self.checked(self.client.call(Method::PUT, path, Some(body)).await)
    }

    /// Sends a PATCH request.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, Failure> {
        self.checked(self.client.call(Method::PATCH, path, Some(body)).await)
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
    ) -> Result<T, Failure> {
        self.checked(self.client.upload(path, content_type, pieces).await)
    }

    /// Opens a stream of server-sent events, after the event `last` if one is given.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn events(&self, path: &str, last: Option<&str>) -> Result<ServerEvents, Failure> {
        self.checked(self.client.events(path, last).await)
    }

    fn checked<T>(&self, called: Result<T, Refusal>) -> Result<T, Failure> {
        called.map_err(|refusal| self.failure(refusal))
    }

    /// The failure of a call. Only a server elsewhere asks for credentials, so only then is there advice about them.
    fn failure(&self, refusal: Refusal) -> Failure {
        let advice = match (&self.client, &refusal) {
            (ApiClient::Remote(_), Refusal::Problem(problem)) => advice(problem),
            _ => None,
        };
        let failure = Failure::from(refusal);
        match advice {
            Some(advice) => failure.help(advice),
            None => failure,
        }
    }

    /// Whether no other process can change the store while this one runs: it has an embedded store open itself.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Sends a DELETE request.
    ///
    /// # Errors
    /// The API returns an error, or cannot be reached.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.checked(self.client.call(Method::DELETE, path, None::<&()>).await)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let problem = match refusal {
            Refusal::Unreachable(error) => return error.into(),
            Refusal::Remote(error) => return error.into(),
            Refusal::Problem(problem) => problem,
        };
        let cause = problem.details.get("cause").and_then(serde_json::Value::as_str);
        let failure = match problem.status {
            400 | 413 | 415 | 422 => Failure::usage(problem.detail.as_str()),
            500..=599 => Failure::fault(problem.detail.as_str()),
            _ => Failure::refused(problem.detail.as_str()),
        };
        let failure = match retry_after_ms(&problem) {
            Some(ms) => failure.help(format!("try again in {}", time::wait(ms.max(1)))),
            None => match problem.details.get("what").and_then(serde_json::Value::as_str) {
                Some(kind) => failure.missing(kind),
                None => failure,
            },
        };
        let failure = match cause {
            Some(cause) => failure.because(cause),
            None => failure,
        };
        failure.with_problem(problem)
    }
}

/// What to do about refused credentials.
fn advice(problem: &Problem) -> Option<String> {
    match problem.error.as_str() {
        "UNAUTHORIZED" => Some(
            "put a valid token or the admin key into WEIR_TOKEN, or into a file named with --token-file".to_owned(),
        ),
        "FORBIDDEN" => {
            let scope = problem.details.get("scope_needed").and_then(serde_json::Value::as_str)?;
            Some(format!("an administrator can issue one: weir token issue NAME --scope '{scope}'"))
        }
        _ => None,
    }
}

/// When a refused request may be sent again, in milliseconds.
fn retry_after_ms(problem: &Problem) -> Option<i64> {
    let exact = problem.details.get("retry_after_ms").and_then(serde_json::Value::as_i64);
    exact.or_else(|| match (problem.status, &problem.retry_after) {
        (429, Some(RetryAfter::Secs(secs))) => i64::try_from(secs.saturating_mul(1_000)).ok(),
        _ => None,
    })
}

/// All characters except the unreserved ones of RFC 3986.
const RESERVED: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

/// `text` escaped as one segment of a path.
#[must_use]
pub fn part(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, RESERVED).to_string()
}
