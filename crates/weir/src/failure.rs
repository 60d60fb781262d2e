//! How a command ends badly: what happened, why, what to do next, and the exit code.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use weir_table::Error;

use crate::output;

/// Why a command failed. The numbers are documented in `weir --help`, so they stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// The reader of our output has gone; that is no failure.
    Quiet = 0,
    /// The store, the disk or the network failed.
    Fault = 1,
    /// The request is wrong.
    Usage = 2,
    /// Not there, or not allowed as things are.
    Refused = 3,
    /// A check found differences.
    Differs = 4,
}

/// The end of a command that did not do what was asked.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    help: Option<String>,
    missing: Option<String>,
}

impl Failure {
    fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure { exit, message: message.into(), causes: Vec::new(), help: None, missing: None }
    }

    /// The store, the disk or the network failed.
    pub fn fault(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Fault, message)
    }

    /// The request is wrong.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// What was asked for is not there, or not allowed as things are.
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

    /// Says what to do next.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// Names the kind of resource that was not found, like `org`, so that a command can say how to list them.
    pub fn missing(mut self, kind: impl Into<String>) -> Failure {
        self.missing = Some(kind.into());
        self
    }

    /// The kind of resource that was not found.
    pub fn missing_kind(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// What happened and why, on one line.
    pub fn text(&self) -> String {
        match self.causes.as_slice() {
            [] => self.message.clone(),
            causes => format!("{}: {}", self.message, causes.join("; ")),
        }
    }

    /// What to do next.
    pub fn next(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Prints the failure and gives the code to exit with.
    pub fn report(&self) -> ExitCode {
        if self.exit != Exit::Quiet {
            output::failure(&self.message, &self.causes, self.help.as_deref());
        }
        ExitCode::from(self.exit as u8)
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
                .help("`weir tables list` shows what there is"),
            Error::SpecMismatch { table, differences } => {
                let message = format!("table {table:?} is not as the spec declares it");
                differences.iter().fold(Failure::differs(message), Failure::because)
            }
            Error::InUse { path } => Failure::refused(format!("{} is in use", path.display()))
                .help(
                    "another process has it open and answers on no socket: \
                 wait until it has ended, or stop it",
                ),
            Error::Unavailable(what) => Failure::fault("the store did not answer")
                .because(what)
                .help("check the endpoint, the region and the network, then try again"),
            Error::Invalid { field, problem } if field == "folder" => Failure::refused(problem)
                .help("nothing is written over; name a folder that is empty or not there yet"),
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
