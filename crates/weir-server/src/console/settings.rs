//! The configuration in force: `/v1/settings`.

use axum::Json;
use axum::extract::State;
use weir_api::console::ConfigEntry;
use weir_framework::app::App;
use weir_framework::page::Page;
use weir_framework::prelude::Reply;

/// The configuration in force, with secrets as dots.
#[derive(Debug, Clone)]
pub(super) struct InForce(pub(super) Vec<ConfigEntry>);

/// Lists the configuration in force
///
/// Each value has the layer that sets it; secrets are shown as dots.
#[utoipa::path(get, path = "/v1/settings", tag = "console",
    responses((status = 200, body = Page<ConfigEntry>)))]
pub(super) async fn list(State(app): State<App>) -> Reply<Page<ConfigEntry>> {
    let InForce(items) = app.kept_by("console")?;
    Ok(Json(Page { items: items.clone(), next_cursor: None }))
}
