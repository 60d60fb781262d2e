//! `weir keeper webhooks`: targets of the signed notices.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_server::keeper::webhooks::{NewWebhook, Webhook};

use super::whose::OrgArgs;
use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Set a target; the secret that notices are signed with is printed when it is made
    Set(SetArgs),
    /// Show a target
    Show(HookArgs),
    /// List the targets of an org
    List(OrgArgs),
    /// Remove a target
    Remove(HookArgs),
}

#[derive(Debug, Args)]
pub(super) struct HookArgs {
    /// The org's id, a UUID
    org: String,
    /// The target's id
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    #[command(flatten)]
    hook: HookArgs,
    /// Where to post: https://… or http://…
    #[arg(long)]
    url: String,
    /// Tell of this percentage of a quota: 50, 80, 95 or 100; may be given several times [default: all]
    #[arg(long, value_name = "PCT")]
    threshold: Vec<u8>,
    /// Do not tell of fallbacks
    #[arg(long)]
    no_flips: bool,
    /// Make a new secret; the old one signs nothing any more
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
            let found: weir_framework::page::Page<Webhook> =
                context.api.get(&context.path(&["orgs", &args.org, "webhooks"])).await?;
            context.print(&found.items, |all| table(all))
        }
        Verb::Remove(hook) => {
            context.api.delete::<()>(&path(context, &hook)).await?;
            let told = json!({"id": hook.id, "removed": true});
            context.print(&told, |_| {
                output::line(format!("{} is removed", output::printable(&hook.id)))
            })
        }
    }
}

/// A secret that was made alone goes to stdout, so that a script can keep it.
async fn set(context: &ApiContext<'_>, args: SetArgs) -> Result<(), Failure> {
    let new = NewWebhook {
        url: args.url,
        thresholds_pct: (!args.threshold.is_empty()).then_some(args.threshold),
        flips: args.no_flips.then_some(false),
        rotate_secret: args.rotate_secret,
    };
    let set: Webhook = context.api.put(&path(context, &args.hook), &new).await?;
    context.print(&set, |set| match &set.secret {
        Some(secret) => {
            output::note("notices are signed with this secret; it is shown once: put it away now");
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
