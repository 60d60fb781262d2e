//! All processes of clients of a run, and what they were answered.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::client::{PLAN_VAR, Plan, Tally};

const CHILD: &str = "client::the_process_of_clients";

/// Processes of clients.
pub(crate) struct Crowd {
    processes: Vec<Process>,
}

struct Process {
    child: Child,
    lines: JoinHandle<Vec<String>>,
    tasks: usize,
    killed: bool,
}

/// What all clients were answered.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Requests that were granted, of each entity.
    pub(crate) granted: BTreeMap<String, i64>,
    /// Leases that were settled, and what all of them hold together.
    pub(crate) leases: u64,
    pub(crate) net: i64,
    /// Acquires that were sent and not answered, or of which the server itself does not know: taken or not. Those under way
    /// when a process of clients was killed are among them.
    lost: i64,
    /// The rest, of processes that were not killed.
    pub(crate) rest: Tally,
}

impl Answers {
    /// Requests that were granted.
    pub(crate) fn grants(&self) -> i64 {
        self.granted.values().sum()
    }

    /// Requests of which nobody knows whether they were granted.
    pub(crate) fn lost(&self) -> i64 {
        self.lost
    }

    fn read(&mut self, line: &str) -> bool {
        match line.split_once(' ') {
            Some(("granted", entity)) => *self.granted.entry(entity.to_owned()).or_default() += 1,
            Some(("lost", _)) => self.lost += 1,
            Some(("settled", net)) => {
                self.leases += 1;
                self.net += net.parse::<i64>().unwrap();
            }
            Some(("end", tally)) => {
                self.rest.add(serde_json::from_str(tally).unwrap());
                return true;
            }
            _ => panic!("a process of clients said {line:?}"),
        }
        false
    }
}

impl Crowd {
    /// Starts a process for each plan.
    pub(crate) fn start(plans: impl IntoIterator<Item = Plan>) -> Crowd {
        Crowd { processes: plans.into_iter().map(|plan| Process::start(&plan)).collect() }
    }

    /// Kills a process.
    pub(crate) fn kill(&mut self, place: usize) {
        let process = &mut self.processes[place];
        process.child.kill().unwrap();
        process.killed = true;
    }

    /// Waits for all, and adds up what they say.
    pub(crate) fn end(self) -> Answers {
        let mut answers = Answers::default();
        for mut process in self.processes {
            let lines = process.lines.join().unwrap();
            process.child.wait().unwrap();
            let mut ended = false;
            for line in &lines {
                ended |= answers.read(line);
            }
            assert!(ended || process.killed, "a process of clients failed");
            if !ended {
                answers.lost += i64::try_from(process.tasks).unwrap();
            }
        }
        answers
    }
}

impl Process {
    fn start(plan: &Plan) -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([CHILD, "--exact", "--nocapture", "--test-threads=1"])
            .env(PLAN_VAR, serde_json::to_string(plan).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines = std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            lines.filter_map(|line| line.strip_prefix('>').map(ToOwned::to_owned)).collect()
        });
        Process { child, lines, tasks: plan.tasks, killed: false }
    }
}
