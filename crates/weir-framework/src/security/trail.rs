//! Records events of one request: an extractor that knows the caller, its address and the request's id.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::Action;
use super::store::{self, Event};
use crate::app::App;
use crate::authorize::{Authorized, Local};
use crate::edge::RequestContext;
use crate::request_id::RequestId;

/// Characters of a target or a detail, at most.
const SHOWN_MAX: usize = 200;

/// The security trail of a request.
#[derive(Debug, Clone)]
pub struct SecurityTrail {
    app: App,
    actor: Option<String>,
    client: Option<IpAddr>,
    request_id: RequestId,
}

impl SecurityTrail {
    pub(crate) fn of(app: &App, parts: &Parts) -> SecurityTrail {
        let context = parts.extensions.get::<RequestContext>();
        let subject =
            context.and_then(|context| context.authorized()).and_then(Authorized::subject);
        let local = parts.extensions.get::<Local>().map(Local::subject);
        let request_id = context.map(|context| context.id().clone());
        SecurityTrail {
            app: app.clone(),
            actor: subject.or(local).map(str::to_owned),
            client: context.and_then(RequestContext::client_address),
            request_id: request_id.unwrap_or_else(|| RequestId::of(&parts.headers)),
        }
    }

    /// The trail of a caller that the handler has authenticated itself.
    #[must_use]
    pub fn by(mut self, actor: impl Into<String>) -> SecurityTrail {
        self.actor = Some(actor.into());
        self
    }

    /// Records what happened to `target`, which is an id and no secret.
    pub async fn record(&self, action: Action, target: &str) {
        self.write(action, Some(target), None).await;
    }

    /// Like [`SecurityTrail::record`], with details.
    pub async fn record_with(&self, action: Action, target: &str, detail: &str) {
        self.write(action, Some(target), Some(detail)).await;
    }

    /// Records that credentials were refused. `target` is the client that they claim to be of, if there is one by that name.
    pub async fn sign_in_failed(&self, target: Option<&str>, reason: &str) {
        if self.app.security_log().failures.admit(self.app.now_ms()) {
            self.write(Action::SignInFailed, target, Some(reason)).await;
        }
    }

    async fn write(&self, action: Action, target: Option<&str>, detail: Option<&str>) {
        let (target, detail) = (target.map(shown), detail.map(shown));
        tracing::info!(
            target: "security",
            action = action.as_str(),
            actor = self.actor.as_deref().unwrap_or("-"),
            client = self.client.map(tracing::field::display),
            target_id = target.as_deref().unwrap_or("-"),
            detail = detail.as_deref().unwrap_or("-"),
            request_id = self.request_id.text(),
            "security event"
        );
        let at_ms = self.app.now_ms().cast_signed();
        let event = Event {
            id: self.app.security_log().ids.next(at_ms),
            at_ms,
            action,
            actor: self.actor.clone(),
            client_address: self.client.map(|address| address.to_string()),
            target,
            detail,
            request_id: self.request_id.text().to_owned(),
        };
        if let Err(error) = store::put(self.app.store(), &event).await {
            let action = action.as_str();
            tracing::warn!(target: "security", action, %error, "a security event could not be stored");
        }
    }
}

/// A text for people: bounded, on one line.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(SHOWN_MAX).collect()
}

impl FromRequestParts<App> for SecurityTrail {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<SecurityTrail, Infallible> {
        Ok(SecurityTrail::of(app, parts))
    }
}
