//! `weir serve`.

use clap::Args;
use weir_server::{Server, listen};

use crate::failure::Failure;
use crate::output;
use crate::place::{Place, StoreArgs};

const AFTER_HELP: &str = "\
Examples:
  weir serve                                          the embedded store in ./weir-data
  weir serve --data /var/lib/weir --listen 0.0.0.0:8080
  weir serve --store dynamodb --region eu-central-1 --table-prefix prod-

Once it takes requests it prints `listening on http://HOST:PORT`. GET /healthz tells that the
process lives, GET /readyz that its store answers and how fast. SIGTERM and Ctrl-C let requests
under way finish, then close the store.

With an embedded store, other `weir` commands reach the server through DIR/weir.sock, which only
the user that started it may use.";

/// Flags of `weir serve`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:8080",
        env = "WEIR_LISTEN",
        hide_env_values = true
    )]
    listen: String,
    #[command(flatten)]
    store: StoreArgs,
}

/// Serves until told to stop.
pub(crate) async fn run(args: ServeArgs) -> Result<(), Failure> {
    let place = args.store.place()?;
    let store = place.open_store().await?;
    let data = match place {
        Place::Embedded(data) => Some(data),
        Place::Dynamo(_) => None,
    };
    let server = Server {
        store,
        listen: args.listen,
        listen_settings: listen::Settings::default(),
        data,
    };
    // A closed stdout is no reason to end a server.
    let ready = |origin| {
        output::line(format!("listening on {origin}")).ok();
    };
    Ok(weir_server::run(server, ready).await?)
}
