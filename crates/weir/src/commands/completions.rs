//! `weir completions`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir completions bash > /etc/bash_completion.d/weir
  weir completions zsh > \"${fpath[1]}/_weir\"
  weir completions fish > ~/.config/fish/completions/weir.fish";

/// Flags of `weir completions`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints a script that completes the flags and verbs of `command`.
pub(crate) fn run(args: &CompletionsArgs, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "weir", &mut script);
    Ok(output::line(String::from_utf8_lossy(&script).trim_end())?)
}
