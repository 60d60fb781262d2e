//! `weir wait`: waits until a server is ready, for scripts that start one.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use weir_api::server::Readiness;
use weir_framework::Client;

use crate::api::{Api, ApiFlags};
use crate::config::{Loaded, Source};
use crate::failure::Failure;
use crate::output;
use crate::store_location::StoreLocation;

const AFTER_HELP: &str = "\
Examples:
  weir serve --listen 127.0.0.1:0 > server.log 2>&1 &
  WEIR=$(weir wait)                          its address
  weir --url https://weir.example.com wait --timeout 60

Prints the address of the server once it is ready: it accepts requests, and its store responds.";

/// Time between two attempts.
const STEP: Duration = Duration::from_millis(50);

/// Flags of `weir wait`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct WaitArgs {
    /// Longest wait in seconds
    #[arg(long, value_name = "SECS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3_600))]
    timeout: u64,
    #[command(flatten)]
    api: ApiFlags,
}

/// Waits, and prints the address.
pub(crate) async fn run(args: WaitArgs, source: &Source) -> Result<(), Failure> {
    let loaded = args.api.load(source)?;
    let started = Instant::now();
    let url = loop {
        match look(&loaded).await {
            Ok(url) => break url,
            Err(failure) if failure.is_usage() => return Err(failure),
            Err(failure) if started.elapsed() >= Duration::from_secs(args.timeout) => {
                let message = format!("no server is ready after {} s", args.timeout);
                return Err(Failure::fault(message)
                    .because(failure.text())
                    .help("`weir serve` starts one; if it has ended, it printed why"));
            }
            Err(_) => tokio::time::sleep(STEP).await,
        }
    };
    let printed = match args.api.json {
        true => output::json(&json!({ "url": url })),
        false => output::line(url),
    };
    Ok(printed?)
}

/// The address of the server, if it is ready.
async fn look(loaded: &Loaded) -> Result<String, Failure> {
    let url = match &loaded.remote {
        Some(remote) => remote.url.clone(),
        None => local_url(loaded).await?,
    };
    Api::with(loaded, async |api| api.get::<Readiness>("/readyz").await).await?;
    Ok(url)
}

/// The address of the server that has the store open.
async fn local_url(loaded: &Loaded) -> Result<String, Failure> {
    let location = StoreLocation::of(&loaded.config.store);
    let Some(data) = location.folder() else {
        return Err(Failure::usage("a server on DynamoDB has no folder here")
            .help("name the server with --url or WEIR_URL"));
    };
    let none = || Failure::refused(format!("no server has {} open", data.display()));
    let client = Client::find(data).await?.ok_or_else(none)?;
    client.about().await?.url.ok_or_else(none)
}
