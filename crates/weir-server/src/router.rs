//! Every route, once, grouped by who calls it.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use weir_table::{AnyBackend, Store};

use crate::{backup, health, tables};

/// Bytes of a request on the socket: a full batch write, with room for its JSON and base64.
const LOCAL_BODY_MAX: usize = 32 * 1024 * 1024;

/// What handlers share.
pub type App = Store<AnyBackend>;

/// What the TCP listener serves.
pub fn public(app: App) -> Router {
    Router::new()
        .route("/healthz", get(health::process))
        .route("/readyz", get(health::store))
        .with_state(app)
}

/// What the socket in the data folder serves: the verbs of the table, for commands.
pub fn local(app: App) -> Router {
    Router::new()
        .route("/local/server", get(tables::server))
        .route("/local/tables", get(tables::list).post(tables::create))
        .route(
            "/local/tables/{name}",
            get(tables::describe).delete(tables::remove),
        )
        .route("/local/verify", post(tables::verify))
        .route("/local/get", post(tables::get))
        .route("/local/query", post(tables::query))
        .route("/local/write", post(tables::write))
        .route("/local/batch-write", post(tables::batch_write))
        .route("/local/backup", post(backup::start))
        .layer(DefaultBodyLimit::max(LOCAL_BODY_MAX))
        .with_state(app)
}
