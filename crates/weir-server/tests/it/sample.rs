//! A small service with the routes that domains typically have: every kind of tenant in the path, a
//! body with nested fields and bounds, a list, answers without a body, and things that are not there.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;
use weir_framework::auth::scope_kind::{Level, ScopeKind};
use weir_framework::extract::{Body, Path, Query};
use weir_framework::jobs::{self, Done, Jobs, PeriodicJob, RunContext};
use weir_framework::page::{Page, PageLimit as _, PageParams};
use weir_framework::{Api, ApiError, App, RequiredScope, Service};
use weir_table::expr::attr;
use weir_table::{Get, Item, Key, Kind, Query as TableQuery, TableSpec, Write};

pub(crate) struct Sample;

impl Service for Sample {
    fn tables(&self) -> Vec<TableSpec> {
        vec![spec()]
    }

    fn jobs(&self, _: &App, jobs: Jobs) -> Jobs {
        jobs.periodic_job(Sweep)
    }

    fn routes(&self, api: Api) -> Api {
        let (space, team) = (RequiredScope::Tenant(&SPACE), RequiredScope::Tenant(&TEAM));
        api.route(space, routes!(add_limit, list_limits))
            .route(space, routes!(read_limit, remove_limit))
            .route(team, routes!(read_app, write_app))
            .route(RequiredScope::Tenant(&OWNER), routes!(read_owner))
    }

    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        vec![&SPACE, &TEAM, &OWNER]
    }
}

static SPACE: ScopeKind = ScopeKind::new("sample:space", &[Level::exact("ns")]);
static TEAM: ScopeKind = ScopeKind::new("sample:team", &[Level::exact("org"), Level::exact("app")])
    .with_inner("sample:app");
static OWNER: ScopeKind = ScopeKind::new("sample", &[Level::exact("owner")]).or_without_tenant();

/// A job that has nothing to do.
struct Sweep;

impl PeriodicJob for Sweep {
    fn name(&self) -> &str {
        "sample-sweep"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3600)
    }

    async fn run(&self, _: &RunContext) -> jobs::Result<Done> {
        Ok(Done::all(0))
    }
}

/// A limit to add.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewLimit {
    /// What people call it.
    #[schema(min_length = 1, max_length = 32, pattern = "^[a-z][a-z0-9-]*$")]
    name: String,
    /// How much it holds.
    #[schema(minimum = 1, maximum = 1_000_000)]
    capacity: u64,
    /// How it fills up again.
    refill: Refill,
    /// What else belongs to it.
    #[serde(default)]
    #[schema(max_items = 4, min_length = 1, max_length = 16)]
    labels: Vec<String>,
}

/// How a limit fills up again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Refill {
    /// How much at a time.
    #[schema(minimum = 1, maximum = 1000)]
    amount: u32,
    /// How long between two times.
    #[schema(minimum = 1, maximum = 3600)]
    every_secs: Option<u32>,
}

/// A limit.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
struct Limit {
    /// Its id.
    id: String,
    /// What people call it.
    name: String,
    /// How much it holds.
    capacity: u64,
    /// How it fills up again.
    refill: Refill,
    /// What else belongs to it.
    labels: Vec<String>,
}

/// What an app is called.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AppNames {
    /// Its name.
    #[schema(min_length = 1, max_length = 64)]
    name: String,
}

/// An id in a path.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, min_length = 1, max_length = 32, pattern = "^[A-Za-z0-9_-]+$")]
struct Id(String);

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Id, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if (1..=32).contains(&text.len()) && text.chars().all(plain) {
            Ok(Id(text))
        } else {
            Err("must have 1 to 32 letters, digits, _ and -".to_owned())
        }
    }
}

/// Adds a limit
#[utoipa::path(post, path = "/s/namespaces/{ns}/limits", tag = "sample", request_body = NewLimit,
    params(("ns" = inline(Id), Path, description = "The namespace")),
    responses((status = 201, body = Limit)))]
async fn add_limit(
    State(app): State<App>,
    Path(Id(ns)): Path<Id>,
    Body(new): Body<NewLimit>,
) -> Result<(StatusCode, Json<Limit>), ApiError> {
    let new = checked(new)?;
    let limit = Limit {
        id: format!("{:032x}", fastrand::u128(..)),
        name: new.name,
        capacity: new.capacity,
        refill: new.refill,
        labels: new.labels,
    };
    put(&app, &Key::new(limits(&ns), limit.id.as_str()), &limit).await?;
    Ok((StatusCode::CREATED, Json(limit)))
}

/// Lists the limits
#[utoipa::path(get, path = "/s/namespaces/{ns}/limits", tag = "sample",
    params(("ns" = inline(Id), Path, description = "The namespace"), PageParams),
    responses((status = 200, body = Page<Limit>)))]
async fn list_limits(
    State(app): State<App>,
    Path(Id(ns)): Path<Id>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Limit>>, ApiError> {
    let mut query = TableQuery::partition(TABLE, limits(&ns)).limit(page.checked_limit()?);
    if let Some(cursor) = page.cursor {
        query = query.after(cursor);
    }
    let found = app.store().query(&query).await?;
    Ok(Json(Page { items: found.items.iter().map(parsed).collect(), next_cursor: found.cursor }))
}

/// Tells a limit
#[utoipa::path(get, path = "/s/namespaces/{ns}/limits/{id}", tag = "sample",
    params(("ns" = inline(Id), Path, description = "The namespace"), ("id" = inline(Id), Path, description = "The limit")),
    responses((status = 200, body = Limit)))]
async fn read_limit(
    State(app): State<App>,
    Path((Id(ns), Id(id))): Path<(Id, Id)>,
) -> Result<Json<Limit>, ApiError> {
    find(&app, Key::new(limits(&ns), id)).await.map(Json)
}

/// Removes a limit
#[utoipa::path(delete, path = "/s/namespaces/{ns}/limits/{id}", tag = "sample",
    params(("ns" = inline(Id), Path, description = "The namespace"), ("id" = inline(Id), Path, description = "The limit")),
    responses((status = 204, description = "It is removed")))]
async fn remove_limit(
    State(app): State<App>,
    Path((Id(ns), Id(id))): Path<(Id, Id)>,
) -> Result<StatusCode, ApiError> {
    let remove = Write::delete(TABLE, Key::new(limits(&ns), id)).when(attr("PK").exists());
    match app.store().write(remove).await?.is_applied() {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::not_found("such limit")),
    }
}

/// Tells an app
#[utoipa::path(get, path = "/s/orgs/{org}/apps/{app}", tag = "sample",
    params(("org" = inline(Id), Path, description = "The org"), ("app" = inline(Id), Path, description = "The app")),
    responses((status = 200, body = AppNames)))]
async fn read_app(
    State(app): State<App>,
    Path((Id(org), Id(name))): Path<(Id, Id)>,
) -> Result<Json<AppNames>, ApiError> {
    find(&app, Key::new(format!("ORG#{org}"), name)).await.map(Json)
}

/// Writes an app
#[utoipa::path(put, path = "/s/orgs/{org}/apps/{app}", tag = "sample", request_body = AppNames,
    params(("org" = inline(Id), Path, description = "The org"), ("app" = inline(Id), Path, description = "The app")),
    responses((status = 200, body = AppNames)))]
async fn write_app(
    State(app): State<App>,
    Path((Id(org), Id(name))): Path<(Id, Id)>,
    Body(new): Body<AppNames>,
) -> Result<Json<AppNames>, ApiError> {
    if !(1..=64).contains(&new.name.chars().count()) {
        return Err(ApiError::invalid("name", "must have 1 to 64 characters"));
    }
    put(&app, &Key::new(format!("ORG#{org}"), name), &new).await?;
    Ok(Json(new))
}

/// Tells an owner
#[utoipa::path(get, path = "/s/owners/{owner}", tag = "sample",
    params(("owner" = inline(Id), Path, description = "The owner")),
    responses((status = 200, body = AppNames)))]
async fn read_owner(Path(Id(name)): Path<Id>) -> Json<AppNames> {
    Json(AppNames { name })
}

fn checked(new: NewLimit) -> Result<NewLimit, ApiError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let named = new.name.starts_with(|c: char| c.is_ascii_lowercase()) && new.name.len() <= 32;
    let short = |label: &String| (1..=16).contains(&label.chars().count());
    for (field, holds) in [
        ("name", named && new.name.chars().all(plain)),
        ("capacity", (1..=1_000_000).contains(&new.capacity)),
        ("refill.amount", (1..=1000).contains(&new.refill.amount)),
        ("refill.every_secs", new.refill.every_secs.is_none_or(|n| (1..=3600).contains(&n))),
        ("labels", new.labels.len() <= 4 && new.labels.iter().all(short)),
    ] {
        if !holds {
            return Err(ApiError::invalid(field, "is out of bounds"));
        }
    }
    Ok(new)
}

const TABLE: &str = "sample";

fn spec() -> TableSpec {
    TableSpec::new(TABLE, "PK", Kind::S).sort("SK", Kind::S)
}

fn limits(ns: &str) -> String {
    format!("NS#{ns}")
}

async fn put(app: &App, key: &Key, thing: &impl Serialize) -> Result<(), ApiError> {
    let text = serde_json::to_string(thing).unwrap();
    let item = key.to_item(&spec()).with("json", text);
    app.store().write(Write::put(TABLE, item)).await?;
    Ok(())
}

async fn find<T: serde::de::DeserializeOwned>(app: &App, key: Key) -> Result<T, ApiError> {
    let found = app.store().get(&Get::new(TABLE, key)).await?;
    found.map(|item| parsed(&item)).ok_or_else(|| ApiError::not_found("such thing"))
}

fn parsed<T: serde::de::DeserializeOwned>(item: &Item) -> T {
    serde_json::from_str(item.s("json").unwrap()).unwrap()
}
