//! The org, app or webhook that a path names, and the caller that a request comes from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use weir_keeper::Keeper;
use weir_keeper::ids::{AppId, OrgId, Scope, WebhookId};
use weir_table::AnyBackend;

use super::error::KeeperError;
use weir_framework::app::App;
use weir_framework::auth::Identity;
use weir_framework::authorize::{Caller, Local};
use weir_framework::path::{optional_param, param};
use weir_framework::{ApiError, Code};

/// The keeper of the running server.
pub(crate) fn keeper(app: &App) -> Result<&Keeper<AnyBackend>, KeeperError> {
    let missing = || ApiError::new(Code::INTERNAL_ERROR, "the keeper is not open");
    Ok(app.kept().ok_or_else(missing)?)
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

/// The caller of a request.
pub(crate) struct Actor {
    identity: Arc<Identity>,
    is_local: bool,
}

impl Actor {
    /// The name that audit events show and rate limits apply to.
    pub(crate) fn name(&self) -> &str {
        &self.identity.subject
    }

    /// Whether rate limits of clients apply to the caller: not to the operator.
    pub(crate) fn is_client(&self) -> bool {
        !self.identity.grants.is_admin()
    }

    /// Whether the request came through the socket of the data folder.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }
}

impl FromRequestParts<App> for Actor {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Actor, KeeperError> {
        let Caller(identity) = Caller::from_request_parts(parts, app).await?;
        Ok(Actor { identity, is_local: parts.extensions.get::<Local>().is_some() })
    }
}

/// The IP address of the caller; none for a request through the socket of the data folder.
pub(crate) struct PeerAddress(pub(crate) Option<IpAddr>);

impl FromRequestParts<App> for PeerAddress {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<PeerAddress, KeeperError> {
        let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(PeerAddress(info.map(|ConnectInfo(peer)| peer.ip().to_canonical())))
    }
}
