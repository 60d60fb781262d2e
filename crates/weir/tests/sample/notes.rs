//! Notes of a namespace: the smallest service there can be.
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_framework::jobs::{self, Done, Jobs, PeriodicJob, RunContext};
use weir_framework::prelude::*;
use weir_table::{AnyBackend, Item, Key, Kind, Store, TableSpec, Write, expr::attr};

const TABLE: &str = "sample-notes";
const TEXT_MAX: usize = 200;
const KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    #[schema(min_length = 1, max_length = 64)]
    pub id: String,
    #[schema(min_length = 1, max_length = 200)]
    pub text: String,
}

/// Adds a note
#[utoipa::path(post, path = "/v1/namespaces/{ns}/notes", tag = "notes",
    params(("ns" = String, Path)), request_body = Note, responses((status = 201, body = Note)))]
async fn add(
    app: State<App>,
    ns: Path<String>,
    note: Body<Note>,
) -> Result<Created<Note>, ApiError> {
    let (Path(ns), Body(note)) = (ns, note);
    if !(1..=TEXT_MAX).contains(&note.text.chars().count()) {
        return Err(ApiError::invalid("text", "must have 1 to 200 characters"));
    }
    let item = Item::new().with("PK", ns).with("SK", note.id.as_str());
    let item = item.with("text", note.text.as_str()).with("at", app.now_ms());
    let put = Write::put(TABLE, item).when(attr("PK").absent());
    if !app.store().write(put).await?.is_applied() {
        return Err(ApiError::new(Code::ALREADY_EXISTS, "there is a note with this id"));
    }
    Ok(Created(note))
}

/// Lists notes
#[utoipa::path(get, path = "/v1/namespaces/{ns}/notes", tag = "notes",
    params(("ns" = String, Path), PageParams), responses((status = 200, body = Page<Note>)))]
async fn list(app: State<App>, ns: Path<String>, page: Query<PageParams>) -> Reply<Page<Note>> {
    let mut find = weir_table::Query::partition(TABLE, ns.0).limit(page.0.checked_limit()?);
    find.cursor = page.0.cursor;
    let found = app.store().query(&find).await?;
    let text = |item: &Item, name| item.s(name).unwrap_or_default().to_owned();
    let note = |item| Note { id: text(item, "SK"), text: text(item, "text") };
    Ok(Json(Page { items: found.items.iter().map(note).collect(), next_cursor: found.cursor }))
}

/// Removes notes that are older than a month.
struct Tidy(Store<AnyBackend>);

impl PeriodicJob for Tidy {
    fn name(&self) -> &str {
        "notes-tidy"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3600)
    }

    async fn run(&self, run: &RunContext) -> jobs::Result<Done> {
        let old = attr("at").lt(run.now_ms().saturating_sub(KEPT_MS));
        let found = self.0.query(&weir_table::Query::scan(TABLE).filter(old)).await?;
        for note in &found.items {
            let text = |name| note.s(name).unwrap_or_default();
            self.0.write(Write::delete(TABLE, Key::new(text("PK"), text("SK")))).await?;
        }
        Ok(Done { more: found.cursor.is_some(), ..Done::all(found.count) })
    }
}

/// The scopes `notes:{ns}` and `notes:{ns}:read`.
static NOTES: ScopeKind = ScopeKind::new("notes", &[Level::exact("ns")]);

pub struct Notes;

impl Service for Notes {
    fn tables(&self) -> Vec<TableSpec> {
        vec![TableSpec::new(TABLE, "PK", Kind::S).sort("SK", Kind::S)]
    }

    fn routes(&self, api: Api) -> Api {
        api.route(RequiredScope::Tenant(&NOTES), routes!(add, list))
    }

    fn scope_kinds(&self) -> Vec<&'static ScopeKind> {
        vec![&NOTES]
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        jobs.periodic_job(Tidy(app.store().clone()))
    }
}
