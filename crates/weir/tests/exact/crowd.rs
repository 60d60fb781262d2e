//! All processes of clients of a run, and what they were answered.

use std::collections::BTreeMap;

use crate::client::{Counts, Plan};
use crate::ground::Ground;
use crate::process::Process;

const CHILD: &str = "client::the_process_of_clients";

/// Processes of clients.
pub(crate) struct Crowd {
    members: Vec<Member>,
}

struct Member {
    process: Process,
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
    /// Acquires that were sent and not answered: taken or not. Those under way when a process of clients was killed are
    /// among them.
    unanswered: i64,
    /// Acquires of which the server itself does not know, because its store did not answer.
    unknown: i64,
    /// The rest, of processes that were not killed.
    pub(crate) rest: Counts,
}

impl Answers {
    /// Requests that were granted.
    pub(crate) fn grants(&self) -> i64 {
        self.granted.values().sum()
    }

    /// Requests of which nobody knows whether they were granted.
    pub(crate) fn lost(&self) -> i64 {
        self.unanswered + self.unknown
    }

    /// Checks what must hold where nobody was killed: all were answered, and the embedded store answered all servers.
    pub(crate) fn check_unharmed(&self, ground: &Ground) {
        assert_eq!(self.unanswered, 0, "{self:?}");
        if !ground.is_sharded() {
            assert_eq!(self.unknown, 0, "{self:?}");
        }
    }

    fn read(&mut self, line: &str) -> bool {
        match line.split_once(' ') {
            Some(("granted", entity)) => *self.granted.entry(entity.to_owned()).or_default() += 1,
            Some(("lost", "unanswered")) => self.unanswered += 1,
            Some(("lost", "unknown")) => self.unknown += 1,
            Some(("settled", net)) => {
                self.leases += 1;
                self.net += net.parse::<i64>().unwrap();
            }
            Some(("end", counts)) => {
                self.rest.add(serde_json::from_str(counts).unwrap());
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
        let start = |plan: Plan| Member {
            process: Process::start(CHILD, &plan),
            tasks: plan.tasks,
            killed: false,
        };
        Crowd { members: plans.into_iter().map(start).collect() }
    }

    /// Kills a process.
    pub(crate) fn kill(&mut self, place: usize) {
        let member = &mut self.members[place];
        member.process.kill();
        member.killed = true;
    }

    /// Waits for all, and adds up what they say.
    pub(crate) fn end(self) -> Answers {
        let mut answers = Answers::default();
        for member in self.members {
            let mut ended = false;
            for line in member.process.end() {
                ended |= answers.read(&line);
            }
            assert!(ended || member.killed, "a process of clients failed");
            if !ended {
                answers.unanswered += i64::try_from(member.tasks).unwrap();
            }
        }
        answers
    }
}
