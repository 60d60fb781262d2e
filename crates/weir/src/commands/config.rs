//! `weir config`: the values in effect and their origins.

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;

use crate::config::{self, Key, Loaded, Origin, ServeFlags, Source};
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir config                                  the values in effect and their origins
  weir config --listen 0.0.0.0:80 --json       the same with a flag of `weir serve`
  weir config default > weir.toml              a file with every key, its meaning and its default

Each layer overrides those before it: defaults, weir.toml (or the file given with --config or
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
    let values = serde_json::to_value(&loaded.config)
        .map_err(|error| Failure::fault("showing the configuration").because(error))?;
    let keys = config::keys();
    let entries = keys.iter().map(|key| entry(key, &values, &loaded));
    if args.json {
        output::list(entries.collect())?;
    } else {
        let header = ["key", "value", "from"].map(str::to_owned);
        let rows = entries.map(|entry| vec![entry.key.clone(), entry.shown(), entry.from()]);
        output::table(header.into(), rows, &[])?;
    }
    config::failure(&problems).map_or(Ok(()), Err)
}

fn entry(key: &Key, values: &Value, loaded: &Loaded) -> Entry {
    let section = values.get(key.section);
    let value = section.and_then(|section| section.get(key.name));
    let path = key.path();
    let origin = loaded.origin(&path);
    Entry {
        value: value.cloned().unwrap_or_default(),
        layer: match origin {
            Origin::Default => "default",
            Origin::File(_) => "file",
            Origin::Variable(_) => "environment",
            Origin::Flag(_) => "flag",
        },
        name: Some(origin.to_string()).filter(|_| *origin != Origin::Default),
        key: path,
    }
}

/// One key with its value.
#[derive(Serialize)]
struct Entry {
    key: String,
    /// Null when it is not set, dots when it is a secret.
    value: Value,
    layer: &'static str,
    /// The file, the variable or the flag.
    name: Option<String>,
}

impl Entry {
    /// The value as text.
    fn shown(&self) -> String {
        match &self.value {
            Value::Null => String::new(),
            Value::String(text) if text == config::DOTS => format!("{text} (set)"),
            Value::String(text) => output::printable(text),
            other => other.to_string(),
        }
    }

    fn from(&self) -> String {
        match (&self.name, &self.value) {
            (Some(name), _) => output::printable(name),
            (None, Value::Null) => "not set".to_owned(),
            (None, _) => self.layer.to_owned(),
        }
    }
}
