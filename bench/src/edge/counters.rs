//! A service made to be measured: two routes that do nothing, with and without credentials, a read
//! and a write of the store.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;
use weir_framework::extract::{Body, Path};
use weir_framework::{Api, ApiError, App, Need, Service};
use weir_table::expr::{add, attr};
use weir_table::{AnyBackend, Get, Item, Key, Kind, Store, TableSpec, Write};

const TABLE: &str = "counters";
const COUNT: &str = "count";
/// Counters that there are.
const COUNTERS: u64 = 1_000;
/// The namespace that holds them.
pub(super) const NAMESPACE: &str = "bench";

pub(super) struct Counters;

impl Service for Counters {
    fn tables(&self) -> Vec<TableSpec> {
        vec![spec()]
    }

    fn routes(&self, api: Api) -> Api {
        api.route(Need::Nothing("measures the edge"), routes!(open))
            .route(Need::Namespace, routes!(guarded))
            .route(Need::Namespace, routes!(read, count))
    }
}

fn spec() -> TableSpec {
    TableSpec::new(TABLE, "PK", Kind::S).sort("SK", Kind::S).ttl("ttl").feed()
}

fn key(ns: &str, id: &str) -> Key {
    Key::new(format!("{ns}/COUNTER#{id}"), "#STATE")
}

/// Puts the counters into an empty store.
pub(super) async fn fill(store: &Store<AnyBackend>) {
    store.create_table(&spec()).await.expect("a table");
    let last = Get::new(TABLE, key(NAMESPACE, &(COUNTERS - 1).to_string()));
    if store.get(&last).await.expect("a get").is_some() {
        return;
    }
    for number in 0..COUNTERS {
        let item = key(NAMESPACE, &number.to_string())
            .to_item(&spec())
            .with(COUNT, 0)
            .with("capacity", 10_000_000)
            .with("refill", 10_000_000)
            .with("period_ms", 60_000)
            .with("refilled_ms", 1_763_193_600_000_i64)
            .with("ttl", 4_000_000_000_i64)
            .with("name", "a bucket of tokens for one user and one model");
        let put = Write::put(TABLE, item).flushed();
        store.write(put).await.expect("a put");
    }
}

/// What a caller adds.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Addition {
    by: i64,
}

/// A counter.
#[derive(Debug, Serialize, ToSchema)]
struct Counter {
    id: String,
    count: i64,
    capacity: i64,
}

/// Says hello
#[utoipa::path(get, path = "/hello", tag = "bench", responses((status = 200)))]
async fn open() -> &'static str {
    "Hello, World!"
}

/// Says hello to a caller with a token
#[utoipa::path(get, path = "/v1/namespaces/{ns}/hello", tag = "bench", responses((status = 200)))]
async fn guarded() -> &'static str {
    "Hello, World!"
}

/// Reads a counter
#[utoipa::path(get, path = "/v1/namespaces/{ns}/counters/{id}", tag = "bench",
    responses((status = 200, body = Counter)))]
async fn read(
    State(app): State<App>,
    Path((ns, id)): Path<(String, String)>,
) -> Result<Json<Counter>, ApiError> {
    let item = app.store().get(&Get::new(TABLE, key(&ns, &id))).await?;
    let item = item.ok_or_else(|| ApiError::not_found("such counter"))?;
    Ok(Json(told(id, &item)))
}

/// Counts, if that leaves the counter at zero or more
#[utoipa::path(post, path = "/v1/namespaces/{ns}/counters/{id}", tag = "bench",
    request_body = Addition, responses((status = 200, body = Counter)))]
async fn count(
    State(app): State<App>,
    Path((ns, id)): Path<(String, String)>,
    Body(addition): Body<Addition>,
) -> Result<Json<Counter>, ApiError> {
    let update = Write::update(TABLE, key(&ns, &id), add(COUNT, addition.by));
    let update = update.when(attr(COUNT).ge(-addition.by)).flushed();
    let written = app.store().write(update).await?;
    let item = written.item().filter(|_| written.is_applied());
    let item = item.ok_or_else(|| ApiError::not_found("such counter, or it has too little"))?;
    Ok(Json(told(id, item)))
}

fn told(id: String, item: &Item) -> Counter {
    Counter {
        id,
        count: item.i64(COUNT).unwrap_or_default(),
        capacity: item.i64("capacity").unwrap_or_default(),
    }
}
