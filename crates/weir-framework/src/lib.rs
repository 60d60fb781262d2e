//! The framework of Weir's servers: listener, edge, authentication, routes and jobs that every service shares.
//!
//! A server has two listeners. The TCP listener is for clients on the network. The socket `weir.sock` in the data folder
//! is for commands: only one process can open an embedded store, so while a server has it open, commands use the
//! server through [`client::Client`]. The mode of the socket (0600) restricts it to the server's user, so its callers have full
//! access.
//!
//! The path of a request: [`listen`] accepts the connection → [`edge`] assigns an id and applies the limits → [`router`] finds
//! the route → [`authorize`] checks the caller's grants against the route's [`RequiredScope`] → a handler calls its domain →
//! the edge writes an [`error::ApiError`] as `application/problem+json` and records log line and metrics.
//!
//! Read next: [`router`], which lists every route once; `docs/add-a-route.md`.

pub mod actor;
pub mod api;
pub mod app;
pub mod auth;
pub mod authorize;
mod body;
pub mod client;
pub mod client_address;
pub mod code;
mod description;
mod domain_error;
pub mod edge;
pub mod error;
pub mod extract;
mod fraction;
pub mod jobs;
pub mod limits;
mod links;
pub mod listen;
pub mod local;
pub mod metrics;
pub mod names;
pub mod networks;
pub mod objects;
pub mod once;
pub mod packed;
pub mod page;
pub mod path;
pub mod prelude;
pub mod problem;
pub mod request_id;
pub mod required_scope;
pub mod router;
pub mod routes;
pub mod run;
mod saved_key;
pub mod security;
pub mod serde_problem;
pub mod session_cookie;
pub mod settings;
mod socket;
mod store_check;
#[cfg(feature = "testing")]
pub mod testing;
pub mod time;

pub use api::Api;
pub use app::{App, Service, Settings};
pub use client::Client;
pub use code::Code;
pub use error::ApiError;
pub use required_scope::RequiredScope;
pub use run::{Server, Started, run};
pub use saved_key::ADMIN_KEY_FILE;
