//! `weir doctor`: checks the configuration, the store and the machine, and suggests what to do next.
//!
//! Each check is a function that returns a [`Finding`]; none changes anything.

mod folder;
mod machine;
mod tables;
mod tls;
mod usage_clock;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use weir_table::clock::Clock;

use crate::config::{self, Config, Kind, Loaded, ServeFlags, Source};
use crate::failure::Failure;
use crate::output;
use crate::store_location::{Missing, StoreLocation};

const AFTER_HELP: &str = "\
Examples:
  weir doctor                                  the configuration and store that `weir serve` would use
  weir doctor --data /var/lib/weir --json

Every check prints one line: ✓ passed, ! warning, ✗ problem. The exit code is 4 if there is a \
problem. A running server is not disturbed.";

/// Maximum response time of the store.
const STORE_WITHIN: Duration = Duration::from_secs(10);
/// Permission bits of users other than the owner.
const OTHERS: u32 = 0o077;

/// Flags of `weir doctor`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: ServeFlags,
}

/// The result of a check.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    detail: String,
    /// Suggested next step.
    next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    Warning,
    Wrong,
}

impl Finding {
    fn new(check: &'static str, state: State, detail: impl Into<String>) -> Finding {
        Finding { check, state, detail: detail.into(), next: None }
    }

    fn good(check: &'static str, detail: impl Into<String>) -> Finding {
        Finding::new(check, State::Good, detail)
    }

    fn warning(check: &'static str, detail: impl Into<String>) -> Finding {
        Finding::new(check, State::Warning, detail)
    }

    fn wrong(check: &'static str, detail: impl Into<String>) -> Finding {
        Finding::new(check, State::Wrong, detail)
    }

    fn failed(check: &'static str, failure: &Failure) -> Finding {
        let finding = Finding::wrong(check, failure.text());
        match failure.next() {
            Some(next) => finding.next(next),
            None => finding,
        }
    }

    fn next(mut self, next: impl Into<String>) -> Finding {
        self.next = Some(next.into());
        self
    }
}

/// Runs all checks and shows the results.
pub(crate) async fn run(args: DoctorArgs, source: &Source) -> Result<(), Failure> {
    let findings = match source.load(&args.flags.given()) {
        Ok(loaded) => examine(&loaded).await,
        // The other checks need a valid configuration.
        Err(failure) => vec![Finding::failed("configuration", &failure)],
    };
    show(&findings, args.json)?;
    let wrong = findings.iter().filter(|finding| finding.state == State::Wrong);
    match wrong.count() as u64 {
        0 => Ok(()),
        wrong => Err(Failure::differs(format!(
            "{} found something wrong",
            output::counted(wrong, "check")
        ))),
    }
}

async fn examine(loaded: &Loaded) -> Vec<Finding> {
    let config = &loaded.config;
    let now_ms = Clock::System.now_ms();
    let location = StoreLocation::of(&config.store);
    let mut findings = vec![configuration(loaded), keys(config)];
    match &location {
        StoreLocation::Embedded(folder) => {
            let data = &folder.path;
            findings.extend(folder::examine(data).await);
            if folder::is_used(data) {
                findings.push(store(&location).await);
                findings.extend(tables::examine(&location, config).await);
            }
            findings.push(machine::clock(now_ms, Some(data)));
            findings.extend(usage_clock::examine(data).await);
        }
        StoreLocation::Dynamo(_) => {
            let responds = store(&location).await;
            let has_store = responds.state == State::Good;
            findings.push(responds);
            if has_store {
                findings.extend(tables::examine(&location, config).await);
            }
            findings.push(machine::clock(now_ms, None));
        }
    }
    findings.push(machine::open_files(config.server.connections_max as u64));
    findings.extend(tls::examine(&config.server, now_ms));
    findings
}

fn configuration(loaded: &Loaded) -> Finding {
    let Some(file) = &loaded.file else {
        return Finding::good("configuration", "no file; defaults, variables and flags apply");
    };
    let name = file.display();
    if loaded.has_secret_from_file() && is_open_to_others(file) {
        return Finding::warning(
            "configuration",
            format!("{name} contains a secret, and other users can read it"),
        )
        .next(format!("chmod 600 {name}"));
    }
    Finding::good("configuration", format!("{name} is read"))
}

/// Whether users other than the owner have access to a file.
fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.mode() & OTHERS != 0)
}

fn keys(config: &Config) -> Finding {
    let missing = config::missing_shared_keys(config);
    if missing.is_empty() && config.store.kind == Kind::Embedded {
        return Finding::good(
            "keys",
            "an embedded store generates the keys that are not configured",
        );
    }
    if missing.is_empty() {
        return Finding::good("keys", "all keys that instances share are configured");
    }
    Finding::wrong("keys", format!("not configured: {}", missing.join("; ")))
        .next("`openssl rand -base64 32` generates one; give every instance the same")
}

/// Checks whether the store responds, and how fast.
async fn store(location: &StoreLocation) -> Finding {
    let asked = location.with(Missing::Refuse, async |tables| {
        let started = Instant::now();
        let names = tables.names().await?;
        Ok((names.len() as u64, started.elapsed()))
    });
    match tokio::time::timeout(STORE_WITHIN, asked).await {
        Ok(Ok((tables, took))) => Finding::good(
            "store",
            format!(
                "{location} has {} and responded in {:.1} ms",
                output::counted(tables, "table"),
                took.as_secs_f64() * 1e3
            ),
        ),
        Ok(Err(failure)) => Finding::failed("store", &failure),
        Err(_) => {
            let detail = format!("{location} did not respond within {} s", STORE_WITHIN.as_secs());
            Finding::wrong("store", detail).next("check the endpoint, the region and the network")
        }
    }
}

fn show(findings: &[Finding], json: bool) -> std::io::Result<()> {
    if json {
        return output::list(findings.iter().collect());
    }
    for finding in findings {
        let next = finding.next.as_ref().map(|next| format!(" → {next}"));
        let text = format!("{}: {}{}", finding.check, finding.detail, next.unwrap_or_default());
        match finding.state {
            State::Good => output::good(&text)?,
            State::Warning => output::warning(&text)?,
            State::Wrong => output::wrong(&text)?,
        }
    }
    Ok(())
}
