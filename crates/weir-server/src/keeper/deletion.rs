//! Routes that delete and restore orgs and apps, and the job that removes what was deleted for good.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use weir_api::keeper::{AppParam, DeletionResponse, EffectiveConfig, OrgParam};
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::jobs::{Done, PeriodicJob, Result, RunContext};
use weir_keeper::Keeper;
use weir_table::AnyBackend;

use super::client_tokens::ClientTokens;
use super::convert;
use super::error::Reply;
use super::path::{TargetPath, keeper};
use super::rates::allowances;
use super::twin::twin_routes;

/// Interval between two searches for deletions that can no longer be undone.
const PURGE_EVERY: Duration = Duration::from_secs(3600);
/// Orgs and apps that one round removes.
const PURGED_MAX: u32 = 20;

twin_routes! {
    delete() => delete(actor: Actor) -> Reply<DeletionResponse>,
    described by (tag = "deletion", responses((status = 200, body = DeletionResponse)));
    /// Deletes an org with its apps
    ///
    /// Secrets and tokens of the org and its apps stop working, and requests of the apps are refused. Totals stay readable. The org
    /// can be restored for 30 days.
    delete_org = "/api/v1/orgs/{org}";
    /// Deletes an app
    ///
    /// The secret and tokens of the app stop working, and its requests are refused. Totals stay readable. The app can be restored for 30 days.
    delete_app = "/api/v1/orgs/{org}/apps/{app}";

    post() => restore(actor: Actor) -> Reply<EffectiveConfig>,
    described by (tag = "deletion", responses((status = 200, body = EffectiveConfig)));
    /// Restores a deleted org with its apps
    ///
    /// Apps that were deleted before the org stay deleted. Secrets work again; tokens issued before the deletion do not.
    restore_org = "/api/v1/orgs/{org}/restore";
    /// Restores a deleted app
    ///
    /// The secret of the app works again; tokens issued before the deletion do not.
    restore_app = "/api/v1/orgs/{org}/apps/{app}/restore";
}

async fn delete(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
) -> Reply<DeletionResponse> {
    allowances(&app)?.write(&app, &actor).await?;
    let deleted = keeper(&app)?.delete(&scope, actor.name(), &ClientTokens(&app)).await?;
    Ok(Json(convert::deletion(&scope, deleted)))
}

async fn restore(
    State(app): State<App>,
    TargetPath(scope): TargetPath,
    actor: Actor,
) -> Reply<EffectiveConfig> {
    allowances(&app)?.write(&app, &actor).await?;
    let restored = keeper(&app)?.restore(&scope, actor.name(), &ClientTokens(&app)).await?;
    Ok(Json(convert::effective_config(&restored)))
}

/// Removes orgs and apps whose deletion can no longer be undone.
pub(super) struct Purge {
    pub(super) app: App,
    pub(super) keeper: Keeper<AnyBackend>,
}

impl PeriodicJob for Purge {
    fn name(&self) -> &str {
        "keeper-purge"
    }

    fn every(&self) -> Duration {
        PURGE_EVERY
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let report = self.keeper.purge_deleted(PURGED_MAX, &ClientTokens(&self.app)).await?;
        Ok(Done { more: report.more, ..Done::all(report.purged) })
    }
}
