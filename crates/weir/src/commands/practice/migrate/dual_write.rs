//! `weir practice migrate dual-write`: moves changes in both directions until it is stopped.

use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use weir_practice::migrate::Migration;
use weir_practice::migrate::dual_write::{DualWrite, DualWriteReport};
use weir_table::AnyBackend;
use weir_table::clock::Clock;

use super::{failure, show};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct DualWriteArgs {
    /// Move what waits, and end
    #[arg(long, conflicts_with = "stop")]
    once: bool,
    /// Turn dual-write off: remove the queue and its triggers from PostgreSQL
    #[arg(long)]
    stop: bool,
    /// Milliseconds between two looks at the queues
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(10..))]
    interval: u64,
}

pub(super) async fn run(
    migration: &Migration<AnyBackend>,
    args: &DualWriteArgs,
    json: bool,
) -> Result<(), Failure> {
    if args.stop {
        DualWrite::stop(migration).await.map_err(failure)?;
        output::note("dual-write is off");
        return Ok(());
    }
    let owner = format!("migrate-{}", std::process::id());
    let started = DualWrite::start(migration.clone(), &owner, Clock::System).await;
    let mut dual_write = started.map_err(failure)?;
    let moved = if args.once {
        drain(&mut dual_write).await
    } else {
        follow(&mut dual_write, Duration::from_millis(args.interval)).await
    };
    dual_write.release().await.ok();
    Ok(show::dual_write(&moved?, json)?)
}

/// Moves what waits. A run has a bound, so it may take several.
async fn drain(dual_write: &mut DualWrite<AnyBackend>) -> Result<DualWriteReport, Failure> {
    let mut total = DualWriteReport::default();
    loop {
        let moved = dual_write.run_once().await.map_err(failure)?;
        let has_more = moved.has_more;
        add(&mut total, moved);
        if !has_more {
            return Ok(total);
        }
    }
}

/// Moves changes until Ctrl-C or SIGTERM. A side that is down is tried again: what it misses waits in its queue.
async fn follow(
    dual_write: &mut DualWrite<AnyBackend>,
    interval: Duration,
) -> Result<DualWriteReport, Failure> {
    let mut total = DualWriteReport::default();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut is_down = false;
    output::note("dual-write is on; Ctrl-C ends it, and changes wait until it runs again");
    loop {
        match dual_write.run_once().await {
            Ok(moved) => {
                if std::mem::take(&mut is_down) {
                    output::note("both sides respond again");
                }
                show::moved(&moved);
                add(&mut total, moved);
            }
            Err(error) if error.is_unavailable() => {
                if !std::mem::replace(&mut is_down, true) {
                    output::note(format!("{error}; changes wait until it responds"));
                }
            }
            Err(error) => return Err(failure(error)),
        }
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            _ = tokio::signal::ctrl_c() => return Ok(total),
            _ = terminate.recv() => return Ok(total),
        }
    }
}

fn add(total: &mut DualWriteReport, moved: DualWriteReport) {
    total.replayed += moved.replayed;
    total.refused_by_table += moved.refused_by_table;
    total.applied += moved.applied;
    total.refused_by_postgres.extend(moved.refused_by_postgres);
    total.had_full_pass |= moved.had_full_pass;
}
