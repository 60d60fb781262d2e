//! `weir practice plans`: what users may do each day.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::practice::{Plan, PlanRequest};

use super::texts::Texts;
use super::{counters, limit};
use crate::commands::api_context::{ApiContext, rows};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create a plan, and print its id
    Create(CreateArgs),
    /// List plans, newest first
    List(ListArgs),
    /// Show a plan with the number of its users
    Show(PlanArgs),
    /// Replace a plan: all of its fields
    Put(PutArgs),
    /// Delete a plan without users
    Delete(DeleteArgs),
    /// Count plans and their users again, and report counters that differ
    Recount(RecountArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice plans create Team --hints 20 --executions unlimited
  weir practice plans create Trial --hints 1 --executions 10 --own-problems-only --description @trial.txt")]
pub(super) struct CreateArgs {
    #[command(flatten)]
    fields: FieldArgs,
}

#[derive(Debug, Args)]
struct FieldArgs {
    /// Name of the plan
    name: String,
    /// Hints that a user gets on a day: a number, or unlimited
    #[arg(long, value_name = "N", value_parser = limit::parse, allow_negative_numbers = true)]
    hints: i64,
    /// Executions that a user gets on a day: a number, or unlimited
    #[arg(long, value_name = "N", value_parser = limit::parse, allow_negative_numbers = true)]
    executions: i64,
    /// Problems that a user may have registered: a number, or unlimited
    #[arg(long, value_name = "N", value_parser = limit::parse, allow_negative_numbers = true, default_value = "unlimited")]
    max_problems: i64,
    /// Description of the plan; @FILE or - for standard input
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Let users register problems
    #[arg(long)]
    register_problems: bool,
    /// Show users only the problems that they registered
    #[arg(long)]
    own_problems_only: bool,
    /// Put no further users on the plan
    #[arg(long)]
    inactive: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice plans list
  weir practice plans list --json")]
pub(super) struct ListArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice plans show 1")]
pub(super) struct PlanArgs {
    /// Id of the plan
    plan: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice plans put 4 Team --hints 30 --executions unlimited

Fields that are not given get their defaults. Requests that begin after the command has ended are decided by the new limits.")]
pub(super) struct PutArgs {
    /// Id of the plan
    plan: u64,
    #[command(flatten)]
    fields: FieldArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice plans delete 4 --yes

A plan with users is not deleted: move them first, with `weir practice users move`.")]
pub(super) struct DeleteArgs {
    /// Id of the plan
    plan: u64,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice plans recount
  weir practice plans recount --repair

It reads the whole table. Exit code 4 says that a counter differs and was not corrected.")]
pub(super) struct RecountArgs {
    /// Correct counters that differ
    #[arg(long)]
    repair: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |id: u64| context.path(&["plans", &id.to_string()]);
    match verb {
        Verb::Create(args) => {
            let new = request(args.fields)?;
            let plan: Plan = context.api.post(&context.path(&["plans"]), &new).await?;
            context.print(&plan, |plan| output::line(plan.id.to_string()))
        }
        Verb::List(ListArgs) => {
            let plans: Vec<Plan> = context.all(&context.path(&["plans"])).await?;
            context.print_all(plans, table)
        }
        Verb::Show(args) => {
            let plan: Plan = context.api.get(&path(args.plan)).await?;
            context.print(&plan, show)
        }
        Verb::Put(args) => {
            let fields = request(args.fields)?;
            let plan: Plan = context.api.put(&path(args.plan), &fields).await?;
            context.print(&plan, show)
        }
        Verb::Delete(args) => {
            ApiContext::confirm(args.yes, &format!("delete plan {}?", args.plan))?;
            context.api.delete::<()>(&path(args.plan)).await?;
            let deleted = json!({"id": args.plan, "deleted": true});
            context.print(&deleted, |_| output::line(format!("plan {} was deleted", args.plan)))
        }
        Verb::Recount(args) => {
            counters::recount(context, &context.path(&["plans", "recount"]), args.repair).await
        }
    }
}

fn request(args: FieldArgs) -> Result<PlanRequest, Failure> {
    let description = Texts::default().text("--description", args.description.as_deref())?;
    Ok(PlanRequest {
        name: args.name,
        description,
        max_hints_per_day: args.hints,
        max_executions_per_day: args.executions,
        max_problems: args.max_problems,
        can_view_all_problems: !args.own_problems_only,
        can_register_problems: args.register_problems,
        is_active: !args.inactive,
    })
}

/// A plan, and the number of its users.
fn show(plan: &Plan) -> std::io::Result<()> {
    table(std::slice::from_ref(plan))?;
    if let Some(text) = plan.description.as_deref().filter(|text| !text.is_empty()) {
        output::line(output::printable(text))?;
    }
    output::line(output::counted(plan.users.unwrap_or_default(), "user"))
}

fn table(plans: &[Plan]) -> std::io::Result<()> {
    rows(
        plans,
        &[
            ("id", |plan| plan.id.to_string()),
            ("name", |plan| output::printable(&plan.name)),
            ("hints a day", |plan| limit::shown(plan.max_hints_per_day)),
            ("executions a day", |plan| limit::shown(plan.max_executions_per_day)),
            ("problems", |plan| limit::shown(plan.max_problems)),
            ("sees all", |plan| output::yes_or_no(plan.can_view_all_problems)),
            ("registers", |plan| output::yes_or_no(plan.can_register_problems)),
            ("active", |plan| output::yes_or_no(plan.is_active)),
        ],
    )
}
