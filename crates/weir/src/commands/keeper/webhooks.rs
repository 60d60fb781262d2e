//! `weir keeper webhooks`: targets of signed notices, and the last notices to them.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::Page;
use weir_api::keeper::{Webhook, WebhookConfig, WebhookDelivery};

use super::target::OrgArgs;
use crate::commands::api_context::{ApiContext, LimitArgs, below, header};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create or change a webhook; prints its signing secret when it is created
    Set(SetArgs),
    /// Show a webhook
    Show(HookArgs),
    /// List the webhooks of an org
    List(OrgArgs),
    /// Remove a webhook
    Remove(HookArgs),
    /// List the last notices to a webhook, newest first
    Deliveries(DeliveriesArgs),
    /// Send a notice again, with the same body and sequence
    Replay(ReplayArgs),
}

#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The org's id
    org: String,
    /// Id of the webhook
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct DeliveriesArgs {
    #[command(flatten)]
    hook: HookArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    hook: HookArgs,
    /// Sequence of the notice
    sequence: u64,
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    hook: HookArgs,
    /// URL that notices are posted to: https://… or http://…
    #[arg(long)]
    url: String,
    /// Send a notice at this percentage of a quota: 50, 80, 95 or 100; may be given several times [default: all]
    #[arg(long, value_name = "PCT")]
    threshold: Vec<u8>,
    /// Send no notices for fallbacks
    #[arg(long)]
    no_flips: bool,
    /// Send no notices when all quotas are exceeded
    #[arg(long)]
    no_all_exceeded: bool,
    /// Create a new signing secret; the old one becomes invalid at once
    #[arg(long)]
    rotate_secret: bool,
}

fn path(context: &ApiContext<'_>, hook: &HookArgs) -> String {
    context.path(&["orgs", &hook.org, "webhooks", &hook.id])
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Set(args) => set(context, args).await,
        Verb::Show(hook) => {
            let found: Webhook = context.api.get(&path(context, &hook)).await?;
            context.print(&found, |found| table(std::slice::from_ref(found)))
        }
        Verb::List(args) => {
            let found: Page<Webhook> =
                context.api.get(&context.path(&["orgs", &args.org, "webhooks"])).await?;
            context.print_all(found.items, table)
        }
        Verb::Remove(hook) => {
            context.api.delete::<()>(&path(context, &hook)).await?;
            let result = json!({"id": hook.id, "removed": true});
            context.print(&result, |_| {
                output::line(format!("{} was removed", output::printable(&hook.id)))
            })
        }
        Verb::Deliveries(args) => deliveries(context, args).await,
        Verb::Replay(args) => replay(context, args).await,
    }
}

/// Only a new secret goes to stdout, so that a script can store it.
async fn set(context: &ApiContext<'_>, args: SetArgs) -> Result<(), Failure> {
    let config = WebhookConfig {
        url: args.url,
        thresholds_pct: (!args.threshold.is_empty()).then_some(args.threshold),
        flips: args.no_flips.then_some(false),
        all_exceeded: args.no_all_exceeded.then_some(false),
        rotate_secret: args.rotate_secret,
    };
    let set: Webhook = context.api.put(&path(context, &args.hook), &config).await?;
    context.print(&set, |set| match &set.secret {
        Some(secret) => {
            output::note("notices are signed with this secret; it is shown once: save it now");
            output::line(secret)
        }
        None => table(std::slice::from_ref(set)),
    })
}

fn table(hooks: &[Webhook]) -> std::io::Result<()> {
    let rows = hooks.iter().map(|hook| {
        let thresholds: Vec<_> = hook.thresholds_pct.iter().map(|pct| format!("{pct} %")).collect();
        vec![
            hook.id.clone(),
            output::printable(&hook.url),
            thresholds.join(" "),
            if hook.flips { "yes" } else { "no" }.to_owned(),
            if hook.all_exceeded { "yes" } else { "no" }.to_owned(),
            time::relative(&hook.updated_at),
        ]
    });
    output::table(
        header(["id", "url", "thresholds", "fallbacks", "all exceeded", "changed"]),
        rows,
        &[],
    )
}

async fn deliveries(context: &ApiContext<'_>, args: DeliveriesArgs) -> Result<(), Failure> {
    let path = below(&path(context, &args.hook), &["deliveries"]);
    context.list::<WebhookDelivery>(&path, &args.limit, delivery_table).await
}

/// Fails when the webhook did not accept the notice, so that a script sees it.
async fn replay(context: &ApiContext<'_>, args: ReplayArgs) -> Result<(), Failure> {
    let sequence = args.sequence.to_string();
    let path = below(&path(context, &args.hook), &["deliveries", &sequence, "replay"]);
    let sent: WebhookDelivery = context.api.post(&path, &json!({})).await?;
    context.print(&sent, |sent| delivery_table(std::slice::from_ref(sent)))?;
    match sent.last_error {
        Some(error) => {
            Err(Failure::refused("the webhook did not accept the notice").because(error))
        }
        None => Ok(()),
    }
}

fn delivery_table(deliveries: &[WebhookDelivery]) -> std::io::Result<()> {
    let when = |at: &Option<String>| at.as_deref().map(time::relative).unwrap_or_default();
    let table = deliveries.iter().map(|one| {
        vec![
            one.sequence.to_string(),
            output::printable(&one.kind),
            one.status.as_str().to_owned(),
            one.attempts.to_string(),
            one.http_status.map(|status| status.to_string()).unwrap_or_default(),
            time::relative(&one.created_at),
            when(&one.last_attempt_at),
            when(&one.next_attempt_at),
            output::printable(one.last_error.as_deref().unwrap_or_default()),
        ]
    });
    let names = [
        "sequence",
        "type",
        "status",
        "attempts",
        "http",
        "queued",
        "last attempt",
        "next attempt",
        "error",
    ];
    output::table(header(names), table, &[0, 3])
}
