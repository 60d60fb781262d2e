//! `weir serve`.

use clap::Args;
use sd_notify::NotifyState;
use weir_framework::app::AdminKeyAtStart;
use weir_framework::{Server, Started};

use crate::config::{ServeFlags, Source, check_shared_keys};
use crate::failure::Failure;
use crate::store_location::StoreLocation;
use crate::{demo, log, output, settings};

const AFTER_HELP: &str = "\
Examples:
  weir serve                                          the embedded store in ./weir-data
  weir serve --demo                                   30 days of demo data in every service, in ./weir-demo
  weir serve --data /var/lib/weir --listen 0.0.0.0:8080
  weir serve --store dynamodb --region eu-central-1 --table-prefix prod-
  weir serve --config /etc/weir.toml

The server prints `listening on http://HOST:PORT` when it accepts requests. GET /healthz shows \
that the process is running; GET /readyz shows whether its store responds, and how fast. After \
SIGTERM or Ctrl-C the server finishes the requests in progress and closes the store. SIGHUP \
reads the TLS certificate again.

With an embedded store, other `weir` commands reach the server through DIR/weir.sock, which only \
the server's user may use.

Flags override WEIR_* variables, which override weir.toml, which overrides the defaults; `weir \
config` shows the result. On DynamoDB auth.signing_key and auth.cursor_key are required, because \
all instances share them.";

/// Flags of `weir serve`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ServeArgs {
    /// Serve demo data: 30 days of history and a little traffic in every service. They are in a folder of their own,
    /// ./weir-demo unless --data names another, which must be new, empty or that of a demo
    #[arg(long)]
    demo: bool,
    /// Days of history that a new demo gets
    #[arg(long, value_name = "DAYS", requires = "demo", default_value_t = weir_server::demo::DAYS_MAX,
        value_parser = clap::value_parser!(u64).range(1..=weir_server::demo::DAYS_MAX))]
    demo_days: u64,
    #[command(flatten)]
    flags: ServeFlags,
}

/// Serves until SIGTERM or SIGINT.
pub(crate) async fn run(args: ServeArgs, source: &Source) -> Result<(), Failure> {
    // First, because opening a large store takes a while.
    weir_framework::run::survive_hangup()?;
    let given = args.flags.given();
    let mut loaded = source.load(&if args.demo { given.or_data(demo::FOLDER) } else { given })?;
    if args.demo {
        demo::check(&loaded.config)?;
    }
    check_shared_keys(&loaded)?;
    log::start(&loaded.config.log)?;
    if args.demo {
        demo::prepare(&mut loaded.config, args.demo_days).await?;
    }
    let mut services = crate::services(&loaded);
    let config = loaded.config;
    let location = StoreLocation::of(&config.store);
    let store = location.open_store(settings::cursor_key(&config.auth)?).await?;
    let data = location.folder().map(Into::into);
    if args.demo {
        services.push(Box::new(weir_server::demo::DemoService));
    }
    let server = Server {
        store,
        services,
        settings: weir_framework::Settings { demo: args.demo, ..settings::server(&config)? },
        listen: config.server.listen.clone(),
        listen_settings: (&config.server).into(),
        data,
    };
    Ok(weir_framework::run(server, report_start).await?)
}

/// Prints the server's address, and reports to systemd that the server is ready. A closed stdout does not stop the server.
fn report_start(started: Started) {
    match &started.admin_key {
        AdminKeyAtStart::There => {}
        AdminKeyAtStart::Saved(file) => output::note(format!(
            "the admin key was generated and saved in {} (send it as X-API-Key)",
            file.display()
        )),
        AdminKeyAtStart::Missing => output::note(
            "there is no admin key yet; `weir admin-key rotate --store dynamodb` makes one and shows it once",
        ),
    }
    let origin = started.origin;
    output::line(format!("listening on {origin}")).ok();
    output::note(format!("the console is at {origin}, and the API is described at {origin}/docs"));
    let status = format!("listening on {origin}");
    if let Err(error) = sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(&status)]) {
        output::note(format!("systemd did not get the message that the server is ready: {error}"));
    }
}
