//! What happened in a run, in words.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::hash::Hasher as _;

use crate::check::Violation;

thread_local! {
    /// Lines that a failure shows.
    static SHOWN: Cell<usize> = const { Cell::new(40) };
}

/// Lets failures show so many lines from now on.
pub fn show(lines: usize) {
    SHOWN.set(lines);
}

/// The last steps of a run, and a hash of all.
#[derive(Debug, Default)]
pub struct Trace {
    last: VecDeque<String>,
    #[expect(
        deprecated,
        reason = "the same on every machine and in every version, unlike its successor"
    )]
    hash: std::hash::SipHasher,
    step: u64,
}

impl Trace {
    /// Begins a step.
    pub fn next_step(&mut self) {
        self.step += 1;
    }

    /// The number of the present step, from 1.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Adds what happened.
    pub fn say(&mut self, what: fmt::Arguments<'_>) {
        let line = format!("{:>6}  {what}", self.step);
        self.hash.write(line.as_bytes());
        if self.last.len() >= SHOWN.get() {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// The outcome of a run with this trace.
    ///
    /// # Errors
    /// A rule was broken.
    pub fn outcome(
        &self,
        domain: Domain,
        seed: u64,
        done: Result<(), Violation>,
    ) -> Result<Passed, Box<Failure>> {
        let step = self.step;
        match done {
            Ok(()) => Ok(Passed { hash: self.hash.finish(), steps: step }),
            Err(violation) => {
                let last = self.last.iter().cloned().collect();
                Err(Box::new(Failure { domain, seed, step, violation, last }))
            }
        }
    }
}

/// The domain that a run simulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Domain {
    /// Rate limits.
    Limiter,
    /// Budgets.
    Keeper,
    /// Reviews of pull requests.
    Reviews,
    /// Coding practice: users, limits, runs and jobs.
    Practice,
}

impl Domain {
    /// All domains.
    pub const ALL: [Domain; 4] =
        [Domain::Limiter, Domain::Keeper, Domain::Reviews, Domain::Practice];
}

/// A run that was stopped by a broken rule.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The domain.
    pub domain: Domain,
    /// The seed.
    pub seed: u64,
    /// The step.
    pub step: u64,
    /// The broken rule.
    pub violation: Violation,
    /// The last steps, in words.
    pub last: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { domain, seed, step, violation, last } = self;
        for line in last {
            writeln!(f, "{line}")?;
        }
        writeln!(
            f,
            "{domain:?} seed {seed}, step {step}: {}: {}",
            violation.check, violation.found
        )?;
        write!(f, "replay it with `make sim SEED={seed} STEPS={step}`")
    }
}

/// A run that broke no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// The hash of the run's trace.
    pub hash: u64,
    /// Steps done.
    pub steps: u64,
}
