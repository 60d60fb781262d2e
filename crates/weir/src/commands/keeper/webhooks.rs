//! `weir keeper webhooks`: targets of signed notices.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::Page;
use weir_api::keeper::{Webhook, WebhookConfig};

use super::target::OrgArgs;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::output;

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
}

#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The org's id
    org: String,
    /// Id of the webhook
    id: String,
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
            context.print(&found.items, |all| table(all))
        }
        Verb::Remove(hook) => {
            context.api.delete::<()>(&path(context, &hook)).await?;
            let result = json!({"id": hook.id, "removed": true});
            context.print(&result, |_| {
                output::line(format!("{} was removed", output::printable(&hook.id)))
            })
        }
    }
}

/// Only a new secret goes to stdout, so that a script can store it.
async fn set(context: &ApiContext<'_>, args: SetArgs) -> Result<(), Failure> {
    let config = WebhookConfig {
        url: args.url,
        thresholds_pct: (!args.threshold.is_empty()).then_some(args.threshold),
        flips: args.no_flips.then_some(false),
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
            hook.updated_at.clone(),
        ]
    });
    output::table(header(["id", "url", "thresholds", "fallbacks", "changed"]), rows, &[])
}
