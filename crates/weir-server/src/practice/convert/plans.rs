//! Plans.

use weir_api::practice as api;
use weir_framework::time::time;
use weir_practice::Result;
use weir_practice::counters::CounterCheck;
use weir_practice::plans::{Plan, PlanFields, PlanLimit};

use super::ms;

/// The name and the limits of a plan.
pub(in crate::practice) fn plan_fields(request: api::PlanRequest) -> Result<PlanFields> {
    let limit = PlanLimit::from_number;
    Ok(PlanFields {
        name: request.name,
        description: request.description,
        max_hints_per_day: limit("max_hints_per_day", request.max_hints_per_day)?,
        max_executions_per_day: limit("max_executions_per_day", request.max_executions_per_day)?,
        max_problems: limit("max_problems", request.max_problems)?,
        can_view_all_problems: request.can_view_all_problems,
        can_register_problems: request.can_register_problems,
        is_active: request.is_active,
    })
}

/// A plan, with the number of its users if that was read.
pub(in crate::practice) fn plan(plan: Plan, users: Option<u64>) -> api::Plan {
    let fields = plan.fields;
    api::Plan {
        id: plan.id.get(),
        name: fields.name,
        description: fields.description,
        max_hints_per_day: fields.max_hints_per_day.to_number(),
        max_executions_per_day: fields.max_executions_per_day.to_number(),
        max_problems: fields.max_problems.to_number(),
        can_view_all_problems: fields.can_view_all_problems,
        can_register_problems: fields.can_register_problems,
        is_active: fields.is_active,
        users,
        created_at: time(ms(plan.created_s)),
        updated_at: time(ms(plan.updated_s)),
    }
}

/// The result of a recount of plans.
pub(in crate::practice) fn recounted_counters(
    checks: Vec<CounterCheck>,
) -> api::RecountCountersResponse {
    let counter = |check: CounterCheck| api::CounterRecount {
        counter: check.counter.to_string(),
        counted: check.counted,
        found: check.found,
        uncounted: check.uncounted,
        is_repaired: check.repaired,
    };
    api::RecountCountersResponse { counters: checks.into_iter().map(counter).collect() }
}
