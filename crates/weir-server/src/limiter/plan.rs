//! Plans changes of limits.

use axum::Json;
use weir_api::limiter::{PlanLimitsRequest, PlanLimitsResponse};

use super::convert::{planned_change, planned_level};
use super::path::NamespacePath;
use crate::limiter::error::{LimiterError, Reply};
use weir_framework::ApiError;
use weir_framework::extract::Body;

/// Levels of a plan.
const LEVELS_MAX: usize = 100;

/// Plans changes of limits
///
/// Returns what each change would do on its own: the level before and after, and the number of entities whose limits would
/// change, unless `count` is false. Nothing is written.
#[utoipa::path(post, path = "/v1/namespaces/{ns}/limits/plan", tag = "limits",
    params(NamespacePath), request_body = PlanLimitsRequest,
    responses((status = 200, body = PlanLimitsResponse)))]
pub(crate) async fn plan(
    NamespacePath(ns): NamespacePath,
    Body(request): Body<PlanLimitsRequest>,
) -> Reply<PlanLimitsResponse> {
    if !(1..=LEVELS_MAX).contains(&request.levels.len()) {
        let problem = format!("must have 1 to {LEVELS_MAX} entries");
        return Err(ApiError::invalid("levels", problem).into());
    }
    let levels = request.levels.into_iter().map(planned_level);
    let levels = levels.collect::<Result<Vec<_>, LimiterError>>()?;
    let planned = ns.plan_limits(levels, request.count).await?;
    Ok(Json(PlanLimitsResponse { changes: planned.into_iter().map(planned_change).collect() }))
}
