//! Power loss over every file of a store: its log, the base store below it and everything else in the folder.
//!
//! 1. A process writes under load while `recorder.c` records every change of its files, every sync, and every response.
//! 2. The trace is replayed into a `disk_model` up to a random moment.
//! 3. There the power is cut: any subset of the pages and names that were not synced is dropped, torn or zeroed.
//! 4. The store is opened from what is left. Every synced response must be in it, and indexes and feed must agree with it.
//!
//! What is left of one power cut is where the next process continues, so recoveries lose power too.

mod disk_model;
mod file;
mod trace;

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use weir_table::embedded::Options;

use self::disk_model::{DiskModel, Losses};
use self::trace::Event;
use crate::check::Model;
use crate::folder::{self, Folder};
use crate::preload::Library;
use crate::seed::{self, Random};
use crate::workload::{self, Ack, Progress, Run};

/// Processes that one store goes through, and power cuts of each.
const PROCESSES: u64 = 2;
const CUTS_OF_A_PROCESS: usize = 12;
/// Stores of a run, and of a full-length run.
const STORES: (u64, u64) = (9, 120);
const ROUNDS_MIN: u64 = 200;

const CHILD: &str = "power_loss::the_process_that_is_recorded";
const ROOT_VAR: &str = "WEIR_RECORD_ROOT";
const TRACE_VAR: &str = "WEIR_RECORD_TRACE";
const SEED_VAR: &str = "WEIR_CRASH_SEED";
const ROUND_VAR: &str = "WEIR_CRASH_ROUND";
const DONE_VAR: &str = "WEIR_CRASH_DONE";
const DATA: &str = "data";
const ACKS: &str = "acks";

/// The recorder, compiled once.
static RECORDER: LazyLock<Library> = LazyLock::new(|| Library::compile("power_loss/recorder.c"));

fn options(data: &Path, random: &mut Random) -> Options {
    let mut options = workload::options(data, random);
    options.checkpoint_interval = Duration::from_millis(random.one_of(&[2, 10, 50]));
    // Small enough that tables are written and compacted all the time.
    options.memtable_bytes = random.one_of(&[None, Some(16 * 1024), Some(64 * 1024)]);
    options
}

#[test]
#[ignore = "not a test of its own: `a_power_cut_at_any_moment_takes_nothing_that_was_synced` starts it as a process"]
fn the_process_that_is_recorded() {
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (seed, round) = (number(SEED_VAR), number(ROUND_VAR));
    let root = PathBuf::from(std::env::var(ROOT_VAR).unwrap());
    let done = Progress::from_text(&std::env::var(DONE_VAR).unwrap());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(write(&root, seed, round, done));
}

async fn write(root: &Path, seed: u64, round: u64, done: Progress) {
    let mut random = Random::of(&[seed, round, 11]);
    let acks = Arc::new(std::fs::File::create(root.join(ACKS)).unwrap());
    let store = workload::open(options(&root.join(DATA), &mut random)).unwrap();
    workload::prepare(&store).await.unwrap();
    if random.below(4) == 0 {
        // Persists and trims while the tasks write.
        let store = store.clone();
        tokio::spawn(async move {
            while store.backend().checkpoint().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
        });
    }
    let steps_max = random.one_of(&[20, 40, 80]);
    let run = Run { steps_max, ..Run::new(seed, done) };
    let failures = run
        .go(&store, move |ack| {
            let line = format!("{}\n", ack.to_text());
            acks.as_ref().write_all(line.as_bytes()).unwrap();
        })
        .await;
    assert!(failures.is_empty(), "{failures:?}");
    if random.coin() {
        store.backend().close().await.unwrap();
    }
}

/// Runs the process and returns what it did to its files.
fn record(root: &Path, seed: u64, round: u64, done: &Progress) -> Vec<Event> {
    let trace = root.with_extension("trace");
    let status = RECORDER
        .process(CHILD)
        .env(ROOT_VAR, root)
        .env(TRACE_VAR, &trace)
        .env(SEED_VAR, seed.to_string())
        .env(ROUND_VAR, round.to_string())
        .env(DONE_VAR, done.to_text())
        .stdout(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success(), "the recorded process failed");
    trace::read(&trace)
}

/// Moments at which the power is cut: any, and more often those just before a sync of a file with much to lose.
fn moments(events: &[Event], random: &mut Random) -> Vec<usize> {
    let mut at_risk: HashMap<u64, usize> = HashMap::new();
    let mut syncs: Vec<(usize, usize)> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        match event {
            Event::Write { inode, bytes, .. } => *at_risk.entry(*inode).or_default() += bytes.len(),
            Event::Sync { inode } => syncs.push((at_risk.remove(inode).unwrap_or(0), number)),
            _ => {}
        }
    }
    syncs.sort_unstable();
    let risky = &syncs[syncs.len() - syncs.len().div_ceil(10)..];
    let mut moments: Vec<usize> = (0..CUTS_OF_A_PROCESS)
        .map(|number| match number % 3 {
            0 => usize::try_from(random.below(events.len() as u64)).unwrap(),
            _ => random.one_of(risky).1,
        })
        .collect();
    moments.sort_unstable();
    moments
}

/// What all rounds did.
#[derive(Debug, Default)]
struct Totals {
    rounds: u64,
    /// Synced responses that were asked for again, and responses in all.
    synced: u64,
    answered: u64,
    losses: Losses,
}

/// One recorded process, and the power cuts in it. Returns the store that the last one left.
async fn cut_a_process(
    folder: &Folder,
    (root, round): (&Path, u64),
    model: &mut Model,
    totals: &mut Totals,
) -> PathBuf {
    let mut random = Random::of(&[model.seed, round, 12]);
    let mut disk = DiskModel::load(root);
    let events = record(root, model.seed, round, &model.done());
    let acks_inode = std::os::unix::fs::MetadataExt::ino(&root.join(ACKS).metadata().unwrap());
    let (mut acks, mut moments) =
        (Vec::new(), moments(&events, &mut random).into_iter().peekable());
    let mut last = None;
    for (number, event) in (0..).zip(&events) {
        while moments.next_if_eq(&number).is_some() {
            let name = format!("cut-{round}-{number}-{}", totals.rounds);
            let data = folder.path().join(&name);
            totals.losses += disk.crash(DATA, &data, &mut random);
            let mut after = model.clone();
            check(&data, &acks, &mut after, &mut random).await;
            totals.rounds += 1;
            totals.answered += acks.len() as u64;
            totals.synced += acks.iter().filter(|ack: &&Ack| ack.synced).count() as u64;
            if let Some((old, _)) = last.replace((data, after)) {
                std::fs::remove_dir_all::<PathBuf>(old).unwrap();
            }
        }
        if let Event::Write { inode, bytes, .. } = event
            && *inode == acks_inode
        {
            acks.push(Ack::from_text(std::str::from_utf8(bytes).unwrap().trim_end()).unwrap());
        }
        disk.apply(event);
    }
    disk.assert_complete();
    let (data, after) = last.unwrap();
    *model = after;
    data
}

/// Opens what a power cut left, and compares it with the responses before.
async fn check(data: &Path, acks: &[Ack], model: &mut Model, random: &mut Random) {
    let mut options = options(data, random);
    // Nothing may change while the views are compared.
    options.sweep_interval = None;
    let store = workload::open(options)
        .unwrap_or_else(|error| panic!("{} does not open: {error:?}", data.display()));
    workload::prepare(&store).await.unwrap();
    let kept: Vec<Ack> = acks.iter().filter(|ack| ack.synced).copied().collect();
    model.note(acks.iter().copied());
    model.check_with(&store, &kept).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_at_any_moment_takes_nothing_that_was_synced() {
    let mut totals = Totals::default();
    for seed in seed::seeds(STORES.0, STORES.1) {
        eprintln!("power loss: WEIR_TEST_SEED={seed}");
        let folder = Folder::in_memory();
        let mut model = Model::new(seed);
        let mut left: Option<PathBuf> = None;
        for round in 0..PROCESSES {
            let root = folder.path().join(format!("root-{round}"));
            std::fs::create_dir(&root).unwrap();
            if let Some(left) = left.take() {
                folder::copy(&left, &root.join(DATA));
            }
            left = Some(cut_a_process(&folder, (&root, round), &mut model, &mut totals).await);
        }
    }
    eprintln!("{totals:?}");
    if seed::wanted().is_none() {
        assert!(totals.rounds >= ROUNDS_MIN, "{totals:?}");
        assert!(totals.synced > 10 * totals.rounds, "{totals:?}");
        let Losses { dropped, torn, zeroed, names, base_rounds } = totals.losses;
        // How much is unsynced at a cut depends on what else the machine does.
        let least = [dropped, torn, zeroed, names, base_rounds].into_iter().min().unwrap();
        assert!(least > totals.rounds / 4, "{totals:?}");
    }
}
