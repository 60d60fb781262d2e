//! The org, app, webhook or notice that a path names.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_keeper::ids::{AppId, Label, OrgId, Scope, WebhookId};
use weir_keeper::{Error, Keeper};
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

/// The inference profile `{label}` of the app `{app}` of the org `{org}`.
pub(crate) struct ProfilePath(pub(crate) OrgId, pub(crate) AppId, pub(crate) Label);

impl FromRequestParts<App> for ProfilePath {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<ProfilePath, KeeperError> {
        let AppPath(org, app) = AppPath::from_request_parts(parts, app).await?;
        let label = param(parts, "label", |text| Label::new(text)).await;
        label.map(|label| ProfilePath(org, app, label))
    }
}

/// The notice `{sequence}` to the webhook `{id}` of the org `{org}`.
pub(crate) struct DeliveryPath(pub(crate) OrgId, pub(crate) WebhookId, pub(crate) u64);

impl FromRequestParts<App> for DeliveryPath {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<DeliveryPath, KeeperError> {
        let WebhookPath(org, id) = WebhookPath::from_request_parts(parts, app).await?;
        let number = |text: &str| {
            let wrong = |_| Error::invalid("sequence", "is not the number of a notice");
            text.parse().map_err(wrong)
        };
        param(parts, "sequence", number).await.map(|sequence| DeliveryPath(org, id, sequence))
    }
}
