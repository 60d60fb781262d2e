//! The org, app or webhook that a path names.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_keeper::ids::{AppId, OrgId, Scope, WebhookId};
use weir_keeper::Keeper;
use weir_table::AnyBackend;

use super::error::KeeperError;
use weir_framework::app::App;
use weir_framework::path::{optional_param, param};

/// The keeper of the running server.
pub(crate) fn keeper(app: &App) -> Result<&Keeper<AnyBackend>, KeeperError> {
    Ok(app.kept_by("keeper")?)
}

async fn org(parts: &mut Parts) -> Result<OrgId, KeeperError> {
    param(parts, "org", |text| OrgId::new(text)).await
}

/// The org `{org}`.
pub(crate) struct OrgPath(pub(crate) OrgId);

impl FromRequestParts<App> for OrgPath {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<OrgPath, KeeperError> {
        Ok(OrgPath(org(parts).await?))
    }
}

/// The app `{app}` of the org `{org}`.
pub(crate) struct AppPath(pub(crate) OrgId, pub(crate) AppId);

impl FromRequestParts<App> for AppPath {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<AppPath, KeeperError> {
        let org = org(parts).await?;
        param(parts, "app", |text| AppId::new(text)).await.map(|app| AppPath(org, app))
    }
}

/// The org `{org}`, or its app `{app}` where the path has one.
pub(crate) struct TargetPath(pub(crate) Scope);

impl FromRequestParts<App> for TargetPath {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<TargetPath, KeeperError> {
        let org = org(parts).await?;
        let app: Result<_, KeeperError> =
            optional_param(parts, "app", |text| AppId::new(text)).await;
        Ok(TargetPath(match app? {
            Some(app) => Scope::App(org, app),
            None => Scope::Org(org),
        }))
    }
}

/// The webhook `{id}` of the org `{org}`.
pub(crate) struct WebhookPath(pub(crate) OrgId, pub(crate) WebhookId);

impl FromRequestParts<App> for WebhookPath {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<WebhookPath, KeeperError> {
        let org = org(parts).await?;
        param(parts, "id", |text| WebhookId::new(text)).await.map(|id| WebhookPath(org, id))
    }
}
