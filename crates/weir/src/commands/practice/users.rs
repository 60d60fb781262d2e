//! `weir practice users`: who signs in, and on which plan.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::practice::{MoveUserRequest, NewUser, User, UserListParams, UserPatch};

use super::counters;
use crate::commands::api_context::{ApiContext, LimitArgs, rows, with_params};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create a user, and print the id
    Create(CreateArgs),
    /// List users, newest first
    List(ListArgs),
    /// Show a user
    Show(UserArgs),
    /// Change fields of a user
    Update(UpdateArgs),
    /// Refuse all requests of a user until it is reactivated
    Deactivate(DeactivateArgs),
    /// Activate a user again
    Reactivate(ReactivateArgs),
    /// Move a user to another plan
    Move(MoveArgs),
    /// Delete a user with all personal data; counts stay
    Erase(EraseArgs),
    /// Count the problems that a user has registered again, and report a counter that differs
    Recount(RecountArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users recount 42
  weir practice users recount 42 --repair

It reads the whole table. Exit code 4 says that the counter differs and was not corrected.")]
pub(super) struct RecountArgs {
    /// Id of the user
    user: String,
    /// Correct the counter if it differs
    #[arg(long)]
    repair: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ID=$(weir practice users create ann@example.com --name 'Ann Lee')
  weir practice users create bob@example.com --name Bob --plan 2 --google-id 104721934502938475610
  weir practice users create root@example.com --name Root --staff

Of several commands with one email address, in any case, one succeeds.")]
pub(super) struct CreateArgs {
    /// Email address of the user
    email: String,
    /// Name of the user
    #[arg(long, value_name = "TEXT")]
    name: String,
    /// Id of the plan [default: the plan Free]
    #[arg(long, value_name = "ID")]
    plan: Option<u64>,
    /// Google account id of the user
    #[arg(long, value_name = "ID")]
    google_id: Option<String>,
    /// URL of a picture of the user
    #[arg(long, value_name = "URL")]
    picture: Option<String>,
    /// Make the user one of the staff, whom no plan limits
    #[arg(long)]
    staff: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users list
  weir practice users list --plan 2 --limit 200
  weir practice users list --email Ann@Example.com")]
pub(super) struct ListArgs {
    /// Email address of the user to find, in any case
    #[arg(long, value_name = "EMAIL", conflicts_with_all = ["google_id", "plan"])]
    email: Option<String>,
    /// Google account id of the user to find
    #[arg(long, value_name = "ID", conflicts_with = "plan")]
    google_id: Option<String>,
    /// Id of the plan whose users to list
    #[arg(long, value_name = "ID")]
    plan: Option<u64>,
    #[command(flatten)]
    limit: LimitArgs,
}

/// A user by its id.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users show 42
  weir practice users show 42 --json")]
pub(super) struct UserArgs {
    /// Id of the user
    user: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users update 42 --email ann@example.org
  weir practice users update 42 --name 'Ann Kim' --no-picture
  weir practice users update 42 --staff true")]
pub(super) struct UpdateArgs {
    /// Id of the user
    user: String,
    /// New email address
    #[arg(long, value_name = "EMAIL")]
    email: Option<String>,
    /// New name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// New URL of a picture
    #[arg(long, value_name = "URL")]
    picture: Option<String>,
    /// Remove the picture
    #[arg(long, conflicts_with = "picture")]
    no_picture: bool,
    /// New Google account id
    #[arg(long, value_name = "ID")]
    google_id: Option<String>,
    /// Remove the Google account id
    #[arg(long, conflicts_with = "google_id")]
    no_google_id: bool,
    /// Whether the user is of the staff, whom no plan limits
    #[arg(long, value_name = "true|false")]
    staff: Option<bool>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users deactivate 42
  weir practice users reactivate 42")]
pub(super) struct DeactivateArgs {
    /// Id of the user
    user: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users reactivate 42")]
pub(super) struct ReactivateArgs {
    /// Id of the user
    user: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users move 42 2

Once the command has ended, no request passes by the limits of the old plan. What the user did today stays counted.")]
pub(super) struct MoveArgs {
    /// Id of the user
    user: String,
    /// Id of the new plan
    plan: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice users erase 42
  weir practice users erase 42 --yes

Personal data goes at once, and runs and the details of the usage log within minutes. Counts stay, and the id is never given
to another user.")]
pub(super) struct EraseArgs {
    /// Id of the user
    user: String,
    /// Erase without asking for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |user: &str, parts: &[&str]| context.path(&[&["users", user], parts].concat());
    let user: User = match verb {
        Verb::Create(args) => return create(context, args).await,
        Verb::List(args) => return list(context, args).await,
        Verb::Erase(args) => return erase(context, args).await,
        Verb::Recount(args) => {
            let path = path(&args.user, &["recount"]);
            return counters::recount(context, &path, args.repair).await;
        }
        Verb::Show(args) => context.api.get(&path(&args.user, &[])).await?,
        Verb::Update(args) => {
            let path = path(&args.user, &[]);
            context.api.patch(&path, &patch(args)?).await?
        }
        Verb::Deactivate(args) => {
            context.api.post(&path(&args.user, &["deactivate"]), &json!({})).await?
        }
        Verb::Reactivate(args) => {
            context.api.post(&path(&args.user, &["reactivate"]), &json!({})).await?
        }
        Verb::Move(args) => {
            let request = MoveUserRequest { plan_id: args.plan };
            context.api.put(&path(&args.user, &["plan"]), &request).await?
        }
    };
    context.print(&user, |user| table(std::slice::from_ref(user)))
}

/// Prints the id alone, so that a script can store it.
async fn create(context: &ApiContext<'_>, args: CreateArgs) -> Result<(), Failure> {
    let new = NewUser {
        email: args.email,
        name: args.name,
        picture_url: args.picture,
        google_id: args.google_id,
        plan_id: args.plan,
        is_staff: args.staff,
    };
    let user: User = context.api.post(&context.path(&["users"]), &new).await?;
    context.print(&user, |user| output::line(&user.id))
}

async fn list(context: &ApiContext<'_>, args: ListArgs) -> Result<(), Failure> {
    let by = UserListParams { email: args.email, google_id: args.google_id, plan: args.plan };
    let path = with_params(&context.path(&["users"]), &by)?;
    context.list::<User>(&path, &args.limit, table).await
}

fn patch(args: UpdateArgs) -> Result<UserPatch, Failure> {
    let removable = |value: Option<String>, remove: bool| match value {
        Some(value) => Some(Some(value)),
        None => remove.then_some(None),
    };
    let patch = UserPatch {
        email: args.email,
        name: args.name,
        picture_url: removable(args.picture, args.no_picture),
        google_id: removable(args.google_id, args.no_google_id),
        is_staff: args.staff,
    };
    if patch == UserPatch::default() {
        return Err(Failure::usage("nothing to change").help("name a field, for example --name"));
    }
    Ok(patch)
}

async fn erase(context: &ApiContext<'_>, args: EraseArgs) -> Result<(), Failure> {
    let question = format!("erase user {} with all personal data and runs?", args.user);
    ApiContext::confirm(args.yes, &question)?;
    context.api.delete::<()>(&context.path(&["users", &args.user])).await?;
    let erased = json!({"id": args.user, "erased": true});
    context.print(&erased, |_| {
        output::line(format!("user {} was erased; counts stay", output::printable(&args.user)))
    })
}

fn table(users: &[User]) -> std::io::Result<()> {
    rows(
        users,
        &[
            ("id", |user| user.id.clone()),
            ("email", |user| output::printable(&user.email)),
            ("name", |user| output::printable(&user.name)),
            ("google id", |user| user.google_id.clone().unwrap_or_default()),
            ("plan", |user| user.plan_id.to_string()),
            ("active", |user| output::yes_or_no(user.is_active)),
            ("staff", |user| output::yes_or_no(user.is_staff)),
            ("created", |user| time::relative(&user.created_at)),
        ],
    )
}
