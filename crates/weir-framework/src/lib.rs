//! The HTTP edge of Weir: what every service shares.
//!
//! A server listens twice. The TCP listener is for everyone who may reach it. The socket `weir.sock`
//! in the data folder is for commands: an embedded store belongs to one process, so while a server
//! has it open, commands ask the server through [`client::Client`]. The file system decides who may
//! use the socket (mode 0600), so its callers may do everything.
//!
//! A request: [`listen`] takes the connection → [`edge`] gives it an id, bounds, a log line and a
//! count → [`router`] finds its route → [`authorize`] checks the caller's grants against the route's [`RequiredScope`] →
//! a handler in `routes` asks one thing of a domain → an [`error::ApiError`], if it comes to that,
//! is written as `application/problem+json` by the edge.
//!
//! Read next: [`router`], where every route stands once; `docs/add-a-route.md`.

pub mod actor;
pub mod api;
pub mod app;
pub mod auth;
pub mod authorize;
pub mod client;
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
pub mod objects;
pub mod once;
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
pub mod settings;
mod socket;
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
pub use saved_key::save_admin_key;
