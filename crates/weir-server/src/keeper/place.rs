//! What the path of a request names, checked; and who asks.

use crate::keeper::error::KeeperError;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use weir_keeper::Keeper;
use weir_keeper::ids::{AppId, OrgId, Scope, WebhookId};
use weir_table::AnyBackend;

use weir_framework::app::App;
use weir_framework::auth::Identity;
use weir_framework::authorize::{Caller, Local};
use weir_framework::edge::express::Asked;
use weir_framework::{ApiError, Code};

/// The keeper that the server opened.
pub(crate) fn keeper(app: &App) -> Result<&Keeper<AnyBackend>, KeeperError> {
    let missing = || ApiError::new(Code::INTERNAL_ERROR, "the keeper is not open");
    Ok(app.kept().ok_or_else(missing)?)
}

/// What the path names.
struct Named {
    org: Option<OrgId>,
    app: Option<AppId>,
    id: Option<WebhookId>,
}

async fn named(parts: &mut Parts) -> Result<Named, KeeperError> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params = params.map_err(|_| ApiError::invalid("path", "is not UTF-8"))?;
    let mut found = Named { org: None, app: None, id: None };
    for (name, text) in &params {
        match name {
            "org" => found.org = Some(OrgId::new(text)?),
            "app" => found.app = Some(AppId::new(text)?),
            "id" => found.id = Some(WebhookId::new(text)?),
            _ => {}
        }
    }
    Ok(found)
}

fn missing() -> KeeperError {
    ApiError::not_found("such path").into()
}

/// The org `{org}`.
pub(crate) struct Org(pub(crate) OrgId);

impl FromRequestParts<App> for Org {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Org, KeeperError> {
        named(parts).await?.org.map(Org).ok_or_else(missing)
    }
}

/// The app `{app}` of the org `{org}`.
pub(crate) struct OrgApp(pub(crate) OrgId, pub(crate) AppId);

impl FromRequestParts<App> for OrgApp {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<OrgApp, KeeperError> {
        let named = named(parts).await?;
        named.org.zip(named.app).map(|(org, app)| OrgApp(org, app)).ok_or_else(missing)
    }
}

impl OrgApp {
    /// The same of a request on its short way.
    pub(super) fn of(asked: &Asked) -> Result<OrgApp, KeeperError> {
        let org = OrgId::new(asked.parameter("org").ok_or_else(missing)?)?;
        Ok(OrgApp(org, AppId::new(asked.parameter("app").ok_or_else(missing)?)?))
    }
}

/// The org, or the app where the path names one.
pub(crate) struct Whose(pub(crate) Scope);

impl FromRequestParts<App> for Whose {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Whose, KeeperError> {
        let named = named(parts).await?;
        let org = named.org.ok_or_else(missing)?;
        Ok(Whose(match named.app {
            Some(app) => Scope::App(org, app),
            None => Scope::Org(org),
        }))
    }
}

/// The webhook `{id}` of the org `{org}`.
pub(crate) struct OrgWebhook(pub(crate) OrgId, pub(crate) WebhookId);

impl FromRequestParts<App> for OrgWebhook {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<OrgWebhook, KeeperError> {
        let named = named(parts).await?;
        named.org.zip(named.id).map(|(org, id)| OrgWebhook(org, id)).ok_or_else(missing)
    }
}

/// Who asks.
pub(crate) struct Asker {
    identity: Arc<Identity>,
    is_local: bool,
}

impl Asker {
    /// The same of a request on its short way, which is none of the socket's.
    pub(super) fn of(asked: &Asked) -> Result<Asker, KeeperError> {
        let identity = asked.caller().ok_or_else(unknown)?;
        Ok(Asker { identity: Arc::clone(identity), is_local: false })
    }

    /// Their name: what audit tells and rates are counted by.
    pub(crate) fn name(&self) -> &str {
        &self.identity.subject
    }

    /// Whether a rate that is meant for clients holds for them: not for operators.
    pub(crate) fn is_client(&self) -> bool {
        !self.identity.grants.is_admin()
    }

    /// Whether they came through the socket of the data folder.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }
}

impl FromRequestParts<App> for Asker {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Asker, KeeperError> {
        let Caller(identity) = parts.extensions.get::<Caller>().ok_or_else(unknown)?;
        let is_local = parts.extensions.get::<Local>().is_some();
        Ok(Asker { identity: Arc::clone(identity), is_local })
    }
}

fn unknown() -> ApiError {
    ApiError::new(Code::UNAUTHORIZED, "nobody said who is asking")
}

/// The address that a request comes from; none through the socket of the data folder.
pub(crate) struct Peer(pub(crate) Option<IpAddr>);

impl FromRequestParts<App> for Peer {
    type Rejection = KeeperError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Peer, KeeperError> {
        let info = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        Ok(Peer(info.map(|ConnectInfo(peer)| peer.ip().to_canonical())))
    }
}
