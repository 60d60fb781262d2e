//! The two servers that are measured, each in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use axum::Router;
use axum::routing::get;
use weir_framework::auth::Secret;
use weir_framework::{Server, Settings, listen};
use weir_table::embedded::{Embedded, Options};
use weir_table::{AnyBackend, Store};

use super::counters::{self, Counters};
use crate::child::LISTENING;

/// Guards nothing: the servers live as long as a benchmark, on this machine, with made-up data.
pub(super) const ADMIN_KEY: &str = "an-admin-key-for-benchmarks-only";
const LISTEN: &str = "127.0.0.1:0";

/// Which server to be.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `bare` or `weir`.
    kind: String,
    /// The folder of the store.
    data: PathBuf,
}

/// Starts this program as one of the servers.
pub(super) fn command(kind: &str, data: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg("edge-server").arg(kind).arg(data);
    command
}

/// Serves until SIGTERM.
pub(crate) fn serve(args: Args) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
    runtime.block_on(async {
        match args.kind.as_str() {
            "bare" => bare().await,
            _ => weir(args.data).await,
        }
    });
}

/// The least that axum does.
async fn bare() {
    let routes = Router::new().route("/", get(|| async { "Hello, World!" }));
    let listener = tokio::net::TcpListener::bind(LISTEN).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    println!("{LISTENING}http://{address}");
    axum::serve(listener, routes).await.expect("served");
}

/// Weir's server with everything on that it has on by default.
async fn weir(data: PathBuf) {
    // As `weir serve` logs, but to nowhere: a terminal is no part of what is measured.
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
        .with_writer(std::io::sink)
        .init();
    let embedded = Embedded::open(Options::new(&data)).expect("the store opens");
    let cursors = embedded.cursor_key();
    let store = Store::new(AnyBackend::Embedded(embedded), cursors);
    counters::fill(&store).await;
    let mut settings = Settings { run_jobs: true, ..Settings::default() };
    settings.auth.admin_key = Some(Secret::new(ADMIN_KEY));
    let server = Server {
        store,
        services: vec![Box::new(Counters)],
        settings,
        listen: LISTEN.to_owned(),
        listen_settings: listen::Settings::default(),
        data: Some(data),
    };
    let ready = |started: weir_framework::Started| println!("{LISTENING}{}", started.origin);
    weir_framework::run(server, ready).await.expect("served");
}
