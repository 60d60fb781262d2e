//! The CPUs that servers and load generators run on.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

const SERVER_CPU: &str = "0";
const CLIENT_CPU: &str = "1";
/// Threads of a load generator that is not pinned.
const UNPINNED_THREADS: usize = 2;

/// Whether the server and the load generator have a CPU each. Without that, the scheduler and the
/// thread that a connection lands on decide the result as much as the server does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pinning {
    Pinned,
    Unpinned,
}

impl Pinning {
    /// A command that starts `program` on the CPU of the servers.
    pub(crate) fn server(self, program: impl AsRef<OsStr>) -> Command {
        self.command(SERVER_CPU, program.as_ref())
    }

    /// A command that starts `program` on the CPU of the load generators.
    pub(crate) fn client(self, program: impl AsRef<OsStr>) -> Command {
        self.command(CLIENT_CPU, program.as_ref())
    }

    /// Moves this process to the CPU of the load generators.
    pub(crate) fn move_this_process(self) {
        if self == Pinning::Pinned {
            let process = std::process::id().to_string();
            let mut taskset = Command::new("taskset");
            taskset.args(["--all-tasks", "--pid", "--cpu-list", CLIENT_CPU, &process]);
            let moved = taskset.stdout(Stdio::null()).status().expect("taskset");
            assert!(moved.success(), "taskset cannot move this process to CPU {CLIENT_CPU}");
        }
    }

    /// The number of threads that a load generator should use.
    pub(crate) fn client_threads(self) -> usize {
        match self {
            Pinning::Pinned => 1,
            Pinning::Unpinned => UNPINNED_THREADS,
        }
    }

    /// `taskset` replaces itself by the program, so the process id is the program's own.
    fn command(self, cpu: &str, program: &OsStr) -> Command {
        match self {
            Pinning::Pinned => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", cpu]).arg(program);
                command
            }
            Pinning::Unpinned => Command::new(program),
        }
    }
}
