//! A process of clients: these tests once more, with a plan and the name of the one that carries it out.
//!
//! A process prints every result at once as a line ([`print_line`]), so that it is known when the process is killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The environment variable that says what a process of clients is to do.
const PLAN_VAR: &str = "WEIR_EXACT_PLAN";

/// A running process.
pub(crate) struct Process {
    child: Child,
    lines: JoinHandle<Vec<String>>,
}

impl Process {
    /// Starts one that runs the test `name` and finds the plan there.
    pub(crate) fn start(name: &str, plan: &impl Serialize) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(PLAN_VAR, serde_json::to_string(plan).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines = std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            lines.filter_map(|line| line.strip_prefix('>').map(ToOwned::to_owned)).collect()
        });
        Process { child, lines }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for the end of the process; returns all its lines.
    pub(crate) fn end(mut self) -> Vec<String> {
        let lines = self.lines.join().unwrap();
        self.child.wait().unwrap();
        lines
    }
}

/// The plan that this process was started for.
pub(crate) fn plan<P: DeserializeOwned>() -> P {
    serde_json::from_str(&std::env::var(PLAN_VAR).unwrap()).unwrap()
}

/// One line in one write: a kill leaves it whole or not at all.
pub(crate) fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n>{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}
