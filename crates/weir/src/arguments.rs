//! Parses the command line, and reports mistakes in it.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use crate::Cli;
use crate::failure::Failure;

/// The ids of the flags that print JSON.
const JSON_FLAGS: [&str; 2] = ["json", "plain_json"];
/// The flags that stand before the command.
const REMOTE_FLAGS: [&str; 4] = ["--url", "--token", "--token-file", "--ca-file"];

/// The command, and whether it prints JSON.
///
/// # Errors
/// The exit code of a mistake, or of a call for help; the message is printed.
pub(crate) fn parse() -> Result<(Cli, bool), ExitCode> {
    let parsed = Cli::command().try_get_matches().and_then(|matches| {
        let json = asks_for_json(&matches);
        Ok((Cli::from_arg_matches(&matches)?, json))
    });
    parsed.map_err(|error| report(&error))
}

/// Whether the command or one that it is part of has a flag for JSON.
fn asks_for_json(matches: &ArgMatches) -> bool {
    let is_set = |id: &&str| matches!(matches.try_get_one::<bool>(id), Ok(Some(true)));
    JSON_FLAGS.iter().any(is_set)
        || matches.subcommand().is_some_and(|(_, matches)| asks_for_json(matches))
}

fn report(error: &Error) -> ExitCode {
    let is_mistake =
        error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_mistake && std::env::args_os().any(|argument| argument == "--json") {
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let failure = Failure::usage(message);
        return match misplaced(error) {
            Some(help) => failure.help(help),
            None => failure,
        }
        .report(true);
    }
    // There is no other place to print to.
    error.print().ok();
    if let Some(help) = misplaced(error) {
        crate::output::note(format!("\n  tip: {help}"));
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What to do about a flag that stands after the command, where other flags have its name.
fn misplaced(error: &Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = flag.split([' ', '=']).next()?;
    let is_misplaced = error.kind() == ErrorKind::UnknownArgument && REMOTE_FLAGS.contains(&name);
    is_misplaced.then(|| format!("{name} stands before the command: weir {name} … COMMAND"))
}
