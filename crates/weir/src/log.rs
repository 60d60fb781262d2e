//! The server's log: to stderr, for people on a terminal and as JSON lines otherwise.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Log, LogFormat};
use crate::failure::Failure;

/// Starts logging.
pub(crate) fn start(log: &Log) -> Result<(), Failure> {
    let wrong = |error| Failure::usage(format!("log.level {:?} is wrong: {error}", log.level));
    let level: Targets = log.level.replace(' ', "").parse().map_err(wrong)?;
    let pretty = match log.format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let registry = tracing_subscriber::registry().with(level);
    let lines = fmt::layer().with_writer(io::stderr);
    let started = if pretty {
        let lines = lines.with_ansi(io::stderr().is_terminal()).with_target(false);
        registry.with(lines).try_init()
    } else {
        registry.with(lines.json().flatten_event(true)).try_init()
    };
    started.map_err(|error| Failure::fault("starting the log").because(error))
}
