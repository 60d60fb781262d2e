//! Runs seeds of the simulation: `make sim SEED=7 STEPS=10000`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints what it finds")]

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use weir_sim::{CASES, Check, Checks, Domain, run};

/// Simulates instances over one store, and checks them against a model.
#[derive(Debug, Parser)]
struct Arguments {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seeds to run, one after the other.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Steps of each seed.
    #[arg(long, default_value_t = 10_000)]
    steps: u64,
    /// Only this domain.
    #[arg(long)]
    domain: Option<Domain>,
    /// Also the checks that the present code is known to fail.
    #[arg(long)]
    all_checks: bool,
    /// Lines of a failure to show.
    #[arg(long, default_value_t = 40)]
    show: usize,
    /// Leaves these checks out.
    #[arg(long, value_delimiter = ',')]
    without: Vec<Check>,
    /// Injects each known fault, and prints which seed and step finds it.
    #[arg(long)]
    faults: bool,
    /// Goes on after a failing seed, and prints one line for each.
    #[arg(long)]
    keep_going: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    weir_sim::trace::show(arguments.show);
    let checks = if arguments.all_checks { Checks::all() } else { Checks::expected() };
    let checks = arguments.without.iter().fold(checks, |checks, check| checks.without(*check));
    let domains = match arguments.domain {
        Some(domain) => vec![domain],
        None => Domain::ALL.to_vec(),
    };
    if arguments.faults {
        return find_faults(&arguments);
    }
    let mut exit = ExitCode::SUCCESS;
    for domain in domains {
        let (began, mut steps) = (Instant::now(), 0);
        for seed in arguments.seed..arguments.seed + arguments.seeds {
            match run(domain, seed, arguments.steps, &checks) {
                Ok(passed) => steps += passed.steps,
                Err(failure) if arguments.keep_going => {
                    steps += failure.step;
                    let (seed, step, check) = (failure.seed, failure.step, failure.violation.check);
                    println!("{domain:?} seed {seed} step {step}: {check}");
                    exit = ExitCode::FAILURE;
                }
                Err(failure) => {
                    eprintln!("{failure}");
                    return ExitCode::FAILURE;
                }
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
        let rate = steps as f64 / seconds;
        println!("{domain:?}: {} seeds, {steps} steps, {rate:.0} steps/s", arguments.seeds);
    }
    exit
}

fn find_faults(arguments: &Arguments) -> ExitCode {
    let mut exit = ExitCode::SUCCESS;
    println!("{:<62} {:<14} {:>6} {:>6}", "fault", "check", "seed", "step");
    for case in CASES {
        let seeds = arguments.seed..arguments.seed + arguments.seeds;
        match case.find(seeds, arguments.steps) {
            Some(failure) => {
                let (seed, step, check) = (failure.seed, failure.step, case.check);
                println!("{:<62} {check:<14} {seed:>6} {step:>6}", case.name);
            }
            None => {
                println!("{:<62} {:<14} not found", case.name, case.check);
                exit = ExitCode::FAILURE;
            }
        }
    }
    exit
}
