//! Rate limits of the keeper's routes.
//!
//! The limiter enforces them ([`Allowance`]). Limits apply to a client by its id and to the operator by the key. Checking a
//! secret costs a quarter of a second of CPU time, so token requests are limited before that, too: by address, where only
//! failures count, and in total. A request whose secret has the id of the client's own secret is counted apart from those of
//! strangers, by address and client: guesses lock out nobody who has the secret, not even at the same address.

use std::net::IpAddr;

use weir_keeper::ids::OrgId;

use super::Settings;
use super::error::KeeperError;
use crate::allowance::{Allowance, Rate, site_entity};
use weir_framework::ApiError;
use weir_framework::actor::Actor;
use weir_framework::app::App;

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
/// The entity of all token requests whose secret may be right.
const CLIENTS: &str = "clients";
/// The entity of all token requests whose secret cannot be right.
const STRANGERS: &str = "strangers";

/// The rate limits as allowances of the limiter.
#[derive(Debug)]
pub(crate) struct Allowances {
    token_per_client: Option<Allowance>,
    token_failures: Option<Allowance>,
    token_in_all: Option<Allowance>,
    refresh: Option<Allowance>,
    aggregates: Option<Allowance>,
    selection: Option<Allowance>,
    writes: Option<Allowance>,
    rotations: Option<Allowance>,
    submissions: Option<Allowance>,
}

/// A token request.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    /// The client that the request claims to come from.
    pub(crate) client_id: &'a str,
    /// The address of the request; none through the socket.
    pub(crate) address: Option<IpAddr>,
    /// Whether the secret has the id of one of the client's secrets, which strangers do not know.
    pub(crate) may_be_right: bool,
}

impl Attempt<'_> {
    /// The entity whose failures are counted: the address, or the client at the address.
    fn entity(&self) -> Option<String> {
        let site = site_entity(self.address?);
        Some(if self.may_be_right { format!("{}@{site}", self.client_id) } else { site })
    }
}

impl Allowances {
    pub(crate) fn new(settings: &Settings) -> Allowances {
        let every = |name, quota: u64, period_secs| {
            (quota > 0).then(|| Allowance::new(Rate { name, quota, period_secs }))
        };
        Allowances {
            token_per_client: every("token", settings.token_rate, MINUTE),
            token_failures: every("token-address", settings.token_address_rate, MINUTE),
            token_in_all: every("token-all", settings.token_total_rate, MINUTE),
            refresh: every("refresh", settings.refresh_rate, MINUTE),
            aggregates: every("aggregates", settings.aggregates_rate, MINUTE),
            selection: every("selection", settings.selection_rate, MINUTE),
            writes: every("writes", settings.write_rate, HOUR),
            rotations: every("rotate", settings.rotate_rate, HOUR),
            submissions: every("submissions", settings.submission_rate, 1),
        }
    }

    /// A token request, whose secret may be right or is a guess. It counts as a failure until [`Allowances::signed_in`].
    pub(crate) async fn attempt(
        &self,
        app: &App,
        attempt: &Attempt<'_>,
    ) -> Result<(), KeeperError> {
        if let Some(entity) = attempt.entity() {
            spend(&self.token_failures, app, &entity, 1).await?;
        }
        let share = if attempt.may_be_right { CLIENTS } else { STRANGERS };
        let admitted = spend(&self.token_in_all, app, share, 1).await;
        // Its secret was not checked.
        admitted.inspect_err(|_| self.forget_failure(app, attempt))
    }

    /// A token request with the right secret.
    pub(crate) async fn signed_in(
        &self,
        app: &App,
        attempt: &Attempt<'_>,
    ) -> Result<(), KeeperError> {
        // A client beyond its own rate still costs a check, which counts as a failure.
        spend(&self.token_per_client, app, attempt.client_id, 1).await?;
        self.forget_failure(app, attempt);
        Ok(())
    }

    /// Takes back that a token request failed: its secret was right, or was not checked.
    pub(crate) fn forget_failure(&self, app: &App, attempt: &Attempt<'_>) {
        if let (Some(failures), Some(entity)) = (&self.token_failures, attempt.entity()) {
            failures.refund(app, &entity, 1);
        }
    }

    /// A request for another access token.
    pub(crate) async fn refresh(&self, app: &App, client_id: &str) -> Result<(), KeeperError> {
        spend(&self.refresh, app, client_id, 1).await
    }

    /// A request of totals.
    pub(crate) async fn aggregates(&self, app: &App, actor: &Actor) -> Result<(), KeeperError> {
        match actor.is_client() {
            true => spend(&self.aggregates, app, actor.name(), 1).await,
            false => Ok(()),
        }
    }

    /// A model selection.
    pub(crate) async fn selection(&self, app: &App, actor: &Actor) -> Result<(), KeeperError> {
        match actor.is_client() {
            true => spend(&self.selection, app, actor.name(), 1).await,
            false => Ok(()),
        }
    }

    /// A change of an org or an app.
    pub(crate) async fn write(&self, app: &App, actor: &Actor) -> Result<(), KeeperError> {
        match actor.is_local() {
            false => spend(&self.writes, app, actor.name(), 1).await,
            true => Ok(()),
        }
    }

    /// A rotation of a secret.
    pub(crate) async fn rotate(&self, app: &App, actor: &Actor) -> Result<(), KeeperError> {
        match actor.is_local() {
            false => spend(&self.rotations, app, actor.name(), 1).await,
            true => Ok(()),
        }
    }

    /// `count` submissions of an org, from any of its apps.
    pub(crate) async fn submissions(
        &self,
        app: &App,
        org: &OrgId,
        count: usize,
    ) -> Result<(), KeeperError> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        spend(&self.submissions, app, org.as_str(), count).await
    }
}

async fn spend(
    allowance: &Option<Allowance>,
    app: &App,
    entity: &str,
    count: u64,
) -> Result<(), KeeperError> {
    match allowance {
        Some(allowance) => Ok(allowance.spend(app, entity, count).await.map_err(ApiError::from)?),
        None => Ok(()),
    }
}

/// The allowances of the running server.
pub(crate) fn allowances(app: &App) -> Result<&Allowances, KeeperError> {
    Ok(app.kept_by("keeper")?)
}
