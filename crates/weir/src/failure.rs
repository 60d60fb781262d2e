//! The failure of a command: message, causes, suggestion and exit code.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use serde_json::{Map, Value};
use weir_framework::problem::Problem;
use weir_table::Error;

use crate::output;

/// The kind of a failure. `weir --help` documents the exit codes, so they must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// The reader of the output was closed, which is not a failure.
    Quiet = 0,
    /// The store, the disk or the network failed.
    Fault = 1,
    /// The input is invalid.
    Usage = 2,
    /// Not found, or refused in the current state.
    Refused = 3,
    /// A check found differences.
    Differs = 4,
}

/// The failure of a command.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    help: Option<String>,
    missing: Option<String>,
    problem: Option<Box<Problem>>,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure { exit, message, causes: Vec::new(), help: None, missing: None, problem: None }
    }

    /// The store, the disk or the network failed.
    pub fn fault(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Fault, message)
    }

    /// The input is invalid.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// Not found, or refused in the current state.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Refused, message)
    }

    /// A check found differences.
    pub fn differs(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Differs, message)
    }

    /// Adds a cause.
    pub fn because(mut self, cause: impl ToString) -> Failure {
        self.causes.push(cause.to_string());
        self
    }

    /// Adds a suggestion what to do next.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// Keeps the error as the API returned it, for `--json`.
    pub(crate) fn with_problem(mut self, problem: Box<Problem>) -> Failure {
        self.problem = Some(problem);
        self
    }

    /// Sets the kind of resource that was not found, like `org`, so that a command can suggest how to list them.
    pub fn missing(mut self, kind: impl Into<String>) -> Failure {
        self.missing = Some(kind.into());
        self
    }

    /// The kind of resource that was not found.
    pub fn missing_kind(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Whether the store, the disk or the network failed.
    pub fn is_fault(&self) -> bool {
        self.exit == Exit::Fault
    }

    /// Whether the input is invalid.
    pub fn is_usage(&self) -> bool {
        self.exit == Exit::Usage
    }

    /// Message and causes, on one line.
    pub fn text(&self) -> String {
        match self.causes.as_slice() {
            [] => self.message.clone(),
            causes => format!("{}: {}", self.message, causes.join("; ")),
        }
    }

    /// The suggestion what to do next.
    pub fn next(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Prints the failure, as problem+json for `--json`. Returns the exit code.
    pub fn report(&self, json: bool) -> ExitCode {
        match (self.exit, json) {
            (Exit::Quiet, _) => {}
            (_, false) => output::failure(&self.message, &self.causes, self.help.as_deref()),
            (_, true) => output::problem(&self.to_problem()),
        }
        ExitCode::from(self.exit as u8)
    }

    /// The failure as problem+json: as the API returned it, with exit code, causes and suggestion.
    fn to_problem(&self) -> Value {
        let problem = self.problem.as_ref().and_then(|problem| serde_json::to_value(problem).ok());
        let mut members = match problem {
            Some(Value::Object(members)) => members,
            _ => self.own_members(),
        };
        members.insert("exit_code".to_owned(), (self.exit as u8).into());
        if !self.causes.is_empty() {
            members.insert("causes".to_owned(), self.causes.clone().into());
        }
        if let Some(help) = &self.help {
            members.insert("help".to_owned(), help.as_str().into());
        }
        Value::Object(members)
    }

    /// The members of a failure that is not the API's.
    fn own_members(&self) -> Map<String, Value> {
        let (code, title) = self.exit.code();
        let kind = format!("urn:weir:problem:{}", code.to_lowercase().replace('_', "-"));
        let members = [("type", kind.as_str()), ("title", title), ("error", code)];
        let members = members.into_iter().chain([("detail", self.message.as_str())]);
        members.map(|(name, text)| (name.to_owned(), text.into())).collect()
    }
}

impl Exit {
    /// Code and title of a failure that is not the API's.
    fn code(self) -> (&'static str, &'static str) {
        match self {
            Exit::Quiet | Exit::Fault => {
                ("COMMAND_FAILED", "The store, the disk or the network failed")
            }
            Exit::Usage => ("INVALID_COMMAND", "The command is not valid"),
            Exit::Refused => ("COMMAND_REFUSED", "Not found, or refused in the current state"),
            Exit::Differs => ("CHECK_FAILED", "A check found differences"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(Exit::Quiet, "");
        }
        Failure::fault("writing the output").because(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::NoSuchTable(table) => Failure::refused(format!("no table {table:?}"))
                .help("`weir tables list` shows all tables"),
            Error::SpecMismatch { table, differences } => {
                let message = format!("table {table:?} is not as the spec declares it");
                differences.iter().fold(Failure::differs(message), Failure::because)
            }
            Error::InUse { path } => Failure::refused(format!("{} is in use", path.display()))
                .help(
                    "another process has it open and answers on no socket: \
                 wait until it has ended, or stop it",
                ),
            Error::Unavailable(what) => Failure::fault("the store did not respond")
                .because(what)
                .help("check the endpoint, the region and the network, then try again"),
            Error::Invalid { field, problem } if field == "folder" => Failure::refused(problem)
                .help("existing data is never overwritten; use a folder that is empty or does not exist"),
            Error::Invalid { .. } => Failure::usage(error.to_string()),
            other => {
                let mut failure = Failure::fault(other.to_string());
                let mut cause = other.source();
                while let Some(error) = cause {
                    failure = failure.because(error);
                    cause = error.source();
                }
                failure
            }
        }
    }
}
