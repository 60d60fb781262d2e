//! The verbs of the table on the socket. Request and answer are `weir_table`'s own types.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Path, Request, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weir_table::{Error, Get, Item, Page, Query, TableSpec, Write, Written};

use crate::problem::Failed;
use crate::router::App;

type Reply<T> = Result<Json<T>, Failed>;

/// A JSON body; what is wrong with one is told like every other mistake.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failed> {
        let wrong = |what: String| Failed::from(Error::invalid("body", what));
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| wrong(rejection.body_text()))?;
        serde_json::from_slice(&bytes)
            .map(Body)
            .map_err(|problem| wrong(problem.to_string()))
    }
}

/// Who answers on a socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The version of the server.
    pub version: String,
    /// Its process id.
    pub pid: u32,
}

pub(crate) async fn server() -> Json<About> {
    Json(About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
    })
}

pub(crate) async fn list(State(app): State<App>) -> Reply<Vec<String>> {
    Ok(Json(app.table_names().await?))
}

pub(crate) async fn create(State(app): State<App>, Body(spec): Body<TableSpec>) -> Reply<()> {
    Ok(Json(app.create_table(&spec).await?))
}

pub(crate) async fn describe(State(app): State<App>, Path(name): Path<String>) -> Reply<TableSpec> {
    Ok(Json((*app.spec(&name).await?).clone()))
}

pub(crate) async fn remove(State(app): State<App>, Path(name): Path<String>) -> Reply<()> {
    Ok(Json(app.delete_table(&name).await?))
}

pub(crate) async fn verify(State(app): State<App>, Body(spec): Body<TableSpec>) -> Reply<()> {
    Ok(Json(app.verify_table(&spec).await?))
}

pub(crate) async fn get(State(app): State<App>, Body(get): Body<Get>) -> Reply<Option<Item>> {
    Ok(Json(app.get(&get).await?))
}

pub(crate) async fn query(State(app): State<App>, Body(query): Body<Query>) -> Reply<Page> {
    Ok(Json(app.query(&query).await?))
}

pub(crate) async fn write(State(app): State<App>, Body(write): Body<Write>) -> Reply<Written> {
    Ok(Json(app.write(write).await?))
}

pub(crate) async fn batch_write(
    State(app): State<App>,
    Body(writes): Body<Vec<Write>>,
) -> Reply<()> {
    Ok(Json(app.batch_write(writes).await?))
}
