//! The table operations on the socket. Requests and responses are `weir_table`'s own types.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use weir_table::{Get, Item, Page, Query, TableSpec, Write, Written};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, ListBody, Path};

type Reply<T> = Result<Json<T>, ApiError>;

/// The server behind a socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The version of the server.
    pub version: String,
    /// Process id of the server.
    pub pid: u32,
    /// Address at which the server accepts requests.
    #[serde(default)]
    pub url: Option<String>,
}

pub(crate) async fn server(State(app): State<App>) -> Json<About> {
    Json(About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        url: app.origin().map(|origin| origin.to_string()),
    })
}

pub(crate) async fn list(State(app): State<App>) -> Reply<Vec<String>> {
    Ok(Json(app.store().table_names().await?))
}

pub(crate) async fn create(State(app): State<App>, Body(spec): Body<TableSpec>) -> Reply<()> {
    Ok(Json(app.store().create_table(&spec).await?))
}

pub(crate) async fn describe(State(app): State<App>, Path(name): Path<String>) -> Reply<TableSpec> {
    Ok(Json((*app.store().spec(&name).await?).clone()))
}

pub(crate) async fn remove(State(app): State<App>, Path(name): Path<String>) -> Reply<()> {
    Ok(Json(app.store().delete_table(&name).await?))
}

pub(crate) async fn verify(State(app): State<App>, Body(spec): Body<TableSpec>) -> Reply<()> {
    Ok(Json(app.store().verify_table(&spec).await?))
}

pub(crate) async fn get(State(app): State<App>, Body(get): Body<Get>) -> Reply<Option<Item>> {
    Ok(Json(app.store().get(&get).await?))
}

pub(crate) async fn query(State(app): State<App>, Body(query): Body<Query>) -> Reply<Page> {
    Ok(Json(app.store().query(&query).await?))
}

pub(crate) async fn write(State(app): State<App>, Body(write): Body<Write>) -> Reply<Written> {
    Ok(Json(app.store().write(write).await?))
}

pub(crate) async fn batch_write(
    State(app): State<App>,
    ListBody(writes): ListBody<Write>,
) -> Reply<()> {
    Ok(Json(app.store().batch_write(writes).await?))
}
