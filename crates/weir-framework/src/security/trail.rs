//! Records events of one request: an extractor that knows the caller, its address and the request's id.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

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
/// How often the number of failed sign-ins that were left out is recorded.
const REPORT_EVERY: Duration = Duration::from_secs(60);

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
        let admission = self.app.security_log().failures.admit(self.client, self.app.now_ms());
        record_left_out(&self.app, admission.left_out_before).await;
        if admission.is_recorded {
            self.write(Action::SignInFailed, target, Some(reason)).await;
        }
    }

    async fn write(&self, action: Action, target: Option<&str>, detail: Option<&str>) {
        let at_ms = self.app.now_ms().cast_signed();
        let event = Event {
            id: self.app.security_log().ids.next(at_ms),
            at_ms,
            action,
            actor: self.actor.clone(),
            client_address: self.client.map(|address| address.to_string()),
            target: target.map(shown),
            detail: detail.map(shown),
            request_id: self.request_id.text().to_owned(),
        };
        record(&self.app, &event).await;
    }
}

/// Logs an event and stores it.
async fn record(app: &App, event: &Event) {
    let fields = [&event.actor, &event.client_address, &event.target, &event.detail];
    let [actor, client, target_id, detail] = fields.map(|field| field.as_deref().unwrap_or("-"));
    let (action, request_id) = (event.action.as_str(), event.request_id.as_str());
    tracing::info!(target: "security", action, actor, client, target_id, detail, request_id, "security event");
    if let Err(error) = store::put(app.store(), event).await {
        app.metrics().security_events_lost.inc();
        // All of it: the log may leave out the line before.
        tracing::warn!(
            target: "security", action, actor, client, target_id, detail, request_id, %error,
            "a security event could not be stored"
        );
    }
}

/// Records that `count` failed sign-ins were not recorded.
async fn record_left_out(app: &App, count: u64) {
    if count == 0 {
        return;
    }
    let at_ms = app.now_ms().cast_signed();
    let id = app.security_log().ids.next(at_ms);
    let event = Event {
        request_id: id.clone(),
        id,
        at_ms,
        action: Action::MoreSignInsFailed,
        actor: None,
        client_address: None,
        target: None,
        detail: Some(format!("{count} more failed within a minute; the access log has them")),
    };
    record(app, &event).await;
}

/// Records every minute how many failed sign-ins were left out, until the server stops.
pub(crate) async fn report_left_out(app: App) {
    let mut is_stopped = false;
    while !is_stopped {
        is_stopped = tokio::time::timeout(REPORT_EVERY, app.stopped()).await.is_ok();
        // A minute that has not ended counts when nothing comes after it.
        let now_ms = if is_stopped { u64::MAX } else { app.now_ms() };
        let left_out = app.security_log().failures.take_left_out(now_ms);
        record_left_out(&app, left_out).await;
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
