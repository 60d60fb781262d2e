//! Every route of the framework, grouped by who calls it, each with the scope that it requires.

use axum::Router;
use axum::routing::{get, post};
use utoipa_axum::routes;

use crate::api::Api;
use crate::app::{App, Service};
use crate::auth::scope_kind::METRICS;
use crate::edge::Edge;
use crate::local::{backup, tables};
use crate::required_scope::RequiredScope;
use crate::routes::{admin, docs, health, jobs, security_log, tokens};
use crate::{ApiError, Code};

/// The largest request on the socket, in bytes: a full batch write with the overhead of JSON and
/// base64.
const LOCAL_BODY_MAX: usize = 32 * 1024 * 1024;

/// The routes of the server itself and of its services.
fn declared(app: &App, services: &[Box<dyn Service>]) -> Api {
    let probes = RequiredScope::Public("load balancers have no credentials");
    let description = RequiredScope::Public("the description of the API is public");
    let public_keys = RequiredScope::Public("public keys are public");
    let api = Api::new(app.clone())
        // Load balancers and scrapers
        .route(probes, routes!(health::process))
        .route(probes, routes!(health::store))
        .route(probes, routes!(health::health))
        .route(RequiredScope::Tenant(&METRICS), routes!(health::metrics))
        // Readers of the documentation
        .route(description, routes!(docs::openapi))
        // Operators
        .route(RequiredScope::Admin, routes!(jobs::list))
        .route(RequiredScope::Admin, routes!(jobs::run))
        .route(RequiredScope::Admin, routes!(admin::rotate_admin_key))
        .route(RequiredScope::Admin, routes!(admin::rotate_signing_key))
        .route(RequiredScope::Admin, routes!(admin::signing_keys))
        .route(RequiredScope::Admin, routes!(admin::end_signing_key))
        .route(RequiredScope::Admin, routes!(security_log::security_events))
        .route(RequiredScope::Admin, routes!(tokens::issue, tokens::list))
        .route(RequiredScope::Admin, routes!(tokens::revoke))
        // Everyone with a token
        .route(RequiredScope::Authenticated, routes!(tokens::whoami))
        .route(public_keys, routes!(admin::jwks));
    services.iter().fold(api, |api, service| service.routes(api))
}

/// The routes of the socket in the data folder only: the table operations, for commands.
fn table_verbs() -> Router<App> {
    Router::new()
        .route("/local/server", get(tables::server))
        .route("/local/tables", get(tables::list).post(tables::create))
        .route("/local/tables/{name}", get(tables::describe).delete(tables::remove))
        .route("/local/verify", post(tables::verify))
        .route("/local/get", post(tables::get))
        .route("/local/query", post(tables::query))
        .route("/local/write", post(tables::write))
        .route("/local/batch-write", post(tables::batch_write))
        .route("/local/backup", post(backup::start))
}

/// The routes of the TCP listener.
pub fn public(app: &App, services: &[Box<dyn Service>]) -> Edge {
    let (api, fast_routes, description) = declared(app, services).finish();
    app.describe(description.to_json().unwrap_or_default());
    let pages = Router::new()
        .route("/docs", get(docs::index))
        .route("/docs/", get(docs::start))
        .route("/docs/{*path}", get(docs::page));
    let pages = services.iter().fold(pages, |pages, service| pages.merge(service.pages()));
    Edge::public(app, framed(api.merge(pages)).with_state(app.clone()), fast_routes)
}

/// The routes of the socket. Its callers have every grant.
pub fn local(app: &App, services: &[Box<dyn Service>]) -> Router {
    let (api, _, _) = declared(app, services).finish();
    let routes = framed(api.merge(table_verbs())).with_state(app.clone());
    Router::new().fallback_service(Edge::local(app, routes, LOCAL_BODY_MAX))
}

/// The mistakes in declarations; a test asserts that there are none.
#[must_use]
pub fn mistakes(app: &App, services: &[Box<dyn Service>]) -> Vec<String> {
    declared(app, services).mistakes()
}

/// Returns unknown paths and methods as the same kind of error as all others.
fn framed(router: Router<App>) -> Router<App> {
    router
        .fallback(|| async { ApiError::new(Code::NOT_FOUND, "no route matches this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(Code::METHOD_NOT_ALLOWED, "this path does not support the method")
        })
}
