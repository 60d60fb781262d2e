//! `weir serve --demo`: the folder of the demo, and its first load.
//!
//! | in the folder | is |
//! |---|---|
//! | nothing, or no folder | a demo to create |
//! | `demo.lock` | a demo whose load has begun |
//! | `demo.lock` and `demo.json` | a complete demo |
//! | anything else | somebody's folder, which is left alone |

use std::fs::{self, File, TryLockError};
use std::path::Path;

use weir_framework::settings::JobSettings;
use weir_framework::{App, Settings};
use weir_server::demo;
use weir_table::clock::Clock;
use weir_table::embedded::Options;

use crate::config::{Config, Kind};
use crate::failure::Failure;
use crate::store_location::open_for_server;
use crate::{output, progress, settings};

/// The folder of the demo, unless another is given.
pub(crate) const FOLDER: &str = "./weir-demo";
/// Locked while the demo is loaded; it stays.
const LOCK_FILE: &str = "demo.lock";
/// Written when the demo is complete.
const COMPLETE_FILE: &str = "demo.json";
/// Longer than the history, so that the change feed waits for the jobs although the clock leaps.
const FEED_SECS: u64 = 366 * 24 * 3600;
/// Longer than the load takes, so that jobs run when they are asked to.
const JOBS_SECS: u64 = 3600;

/// Checks that the configured store can be that of a demo.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    match config.store.kind {
        Kind::Embedded => Ok(()),
        Kind::Dynamo => Err(Failure::usage("a demo has an embedded store, not DynamoDB")
            .help("start it without --store, or with --store embedded")),
    }
}

/// Makes the demo's folder complete: creates it, or loads again what was interrupted. `config` gets the settings of a demo.
pub(crate) async fn prepare(config: &mut Config, days: u64) -> Result<(), Failure> {
    // Settings of an installation may lack what the demo uses, such as the labels of models.
    config.limiter = weir_server::limiter::Settings::default();
    config.keeper = weir_server::keeper::Settings::default();
    config.reviews = weir_server::reviews::Settings::default();
    config.practice = weir_server::practice::Settings::default();
    let data = config.store.data.clone();
    if !is_demo_or_empty(&data)? {
        let message = format!("{} exists and is not a folder of a demo", data.display());
        return Err(Failure::refused(message)
            .help("name a new folder with --data; a demo never writes into another folder"));
    }
    if data.join(COMPLETE_FILE).exists() {
        let folder = data.display();
        output::note(format!("demo data from {folder}; delete that folder to begin anew"));
        return Ok(());
    }
    create(&data, config, days).await
}

fn is_demo_or_empty(data: &Path) -> Result<bool, Failure> {
    if data.join(LOCK_FILE).exists() {
        return Ok(true);
    }
    match fs::read_dir(data) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(io("reading", data, error)),
    }
}

fn io(doing: &str, path: &Path, error: std::io::Error) -> Failure {
    Failure::fault(format!("{doing} {}", path.display())).because(error)
}

/// Loads the demo into its folder, which is empty or has an incomplete one.
async fn create(data: &Path, config: &Config, days: u64) -> Result<(), Failure> {
    fs::create_dir_all(data).map_err(|error| io("creating", data, error))?;
    let lock = data.join(LOCK_FILE);
    let lock = File::create(&lock).map_err(|error| io("creating", &lock, error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let message = format!("another process loads the demo in {}", data.display());
            return Err(Failure::refused(message).help("wait until it listens"));
        }
        Err(TryLockError::Error(error)) => return Err(io("locking", data, error)),
    }
    clear(data)?;
    load(data, config, days).await?;
    let text = serde_json::json!({
        "about": "demo data of weir serve --demo; delete the folder to begin anew",
        "version": env!("CARGO_PKG_VERSION"),
    });
    let (complete, unfinished) = (data.join(COMPLETE_FILE), data.join("demo.json.new"));
    fs::write(&unfinished, format!("{text:#}\n"))
        .and_then(|()| fs::rename(&unfinished, &complete))
        .map_err(|error| io("writing", &complete, error))
}

/// Removes what an interrupted load has left.
fn clear(data: &Path) -> Result<(), Failure> {
    let failed = |error| io("clearing", data, error);
    let mut cleared = false;
    for entry in fs::read_dir(data).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name() == LOCK_FILE {
            continue;
        }
        match entry.file_type().map_err(failed)?.is_dir() {
            true => fs::remove_dir_all(entry.path()),
            false => fs::remove_file(entry.path()),
        }
        .map_err(failed)?;
        cleared = true;
    }
    if cleared {
        output::note("an earlier start was interrupted while it wrote the demo data");
    }
    Ok(())
}

/// Writes the history, on a store whose clock is that of the history.
async fn load(data: &Path, config: &Config, days: u64) -> Result<(), Failure> {
    let now_ms = Clock::System.now_ms();
    let clock = demo::clock(now_ms, days);
    let long = std::time::Duration::from_secs(FEED_SECS);
    let options = Options {
        clock: clock.clone(),
        feed_age_max: long,
        feed_idle_max: long,
        sweep_interval: None,
        ..config.store.bounds().options(data)
    };
    let store = open_for_server(data, options, settings::cursor_key(&config.auth)?).await?;
    let jobs = JobSettings { aggregate_interval_secs: JOBS_SECS, enabled: true };
    let services = weir_server::services(weir_server::Settings::default(), &jobs);
    let settings = Settings { clock: clock.clone(), run_jobs: true, ..settings::server(config)? };
    let app = App::open(store.clone(), settings, Some(data.to_owned()), &services).await?;
    output::note(format!("writing {days} days of demo data into {}", data.display()));
    let bar = progress::hours(days * demo::DAY_HOURS);
    let loaded = demo::load(&app, &clock, days, || bar.inc(1)).await;
    bar.finish_and_clear();
    if let Some(jobs) = app.jobs() {
        jobs.drain(std::time::Duration::from_secs(30)).await;
    }
    drop(app);
    let closed = store.backend().close().await;
    loaded.map_err(|failure| {
        Failure::fault("the demo data could not be written").because(failure.text())
    })?;
    Ok(closed?)
}
