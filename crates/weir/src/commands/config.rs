//! `weir config`: the values in effect and their origins.

use clap::{Args, Subcommand};
use serde_json::Value;
use weir_api::console::ConfigEntry;

use crate::config::{self, ServeFlags, Source};
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir config                                  the values in effect and their origins
  weir config --listen 0.0.0.0:80 --json       the same with a flag of `weir serve`
  weir config default > weir.toml              a file with every key, its meaning and its default

Each layer overrides those before it: defaults, weir.toml (or the file given with --config or \
WEIR_CONFIG), WEIR_* variables, flags. Secrets are shown as dots.";

/// Flags of `weir config`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: ServeFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print a configuration file with every key, its meaning and its default
    Default,
}

/// Shows the configuration. An invalid one is shown too, before the command fails.
pub(crate) fn run(args: &ConfigArgs, source: &Source) -> Result<(), Failure> {
    if let Some(Verb::Default) = args.verb {
        return Ok(output::line(config::default_file().trim_end())?);
    }
    let (loaded, problems) = source.gather(&args.flags.given())?;
    let items = config::in_force(&loaded)
        .map_err(|error| Failure::fault("showing the configuration").because(error))?;
    if args.json {
        output::list(items)?;
    } else {
        let header = ["key", "value", "from"].map(str::to_owned);
        let rows = items.iter().map(|entry| vec![entry.key.clone(), shown(entry), from(entry)]);
        output::table(header.into(), rows, &[])?;
    }
    config::failure(&problems).map_or(Ok(()), Err)
}

/// The value as text.
fn shown(entry: &ConfigEntry) -> String {
    match &entry.value {
        Value::Null => String::new(),
        Value::String(text) if text == config::DOTS => format!("{text} (set)"),
        Value::String(text) => output::printable(text),
        other => other.to_string(),
    }
}

fn from(entry: &ConfigEntry) -> String {
    match (&entry.name, &entry.value) {
        (Some(name), _) => output::printable(name),
        (None, Value::Null) => "not set".to_owned(),
        (None, _) => "default".to_owned(),
    }
}
