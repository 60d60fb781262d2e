//! A process that writes under load is killed at a random moment; another opens what it left.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_table::Error;

use crate::check::Model;
use crate::folder::Folder;
use crate::seed::{self, Random};
use crate::workload::{self, Ack, Progress, Run};

/// Rounds that one folder goes through before the next begins with another.
const ROUNDS_OF_A_FOLDER: u64 = 10;
/// Kills of a run at least, however slow the machine is: usually, and at full length.
const KILLS_MIN: (u64, u64) = (30, 300);
/// Answered writes of each kill at least, on average. Usually there are hundreds.
const ANSWERED_MIN: u64 = 20;
const CHILD: &str = "kill::the_process_that_is_killed";
const FOLDER_VAR: &str = "WEIR_CRASH_FOLDER";
const SEED_VAR: &str = "WEIR_CRASH_SEED";
const ROUND_VAR: &str = "WEIR_CRASH_ROUND";
const DONE_VAR: &str = "WEIR_CRASH_DONE";

#[test]
#[ignore = "not a test of its own: `no_acknowledged_write_is_lost_when_the_process_is_killed` starts it as a process"]
fn the_process_that_is_killed() {
    let folder = std::env::var(FOLDER_VAR).unwrap();
    let number = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (seed, round) = (number(SEED_VAR), number(ROUND_VAR));
    let done = Progress::from_text(&std::env::var(DONE_VAR).unwrap());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let failures = runtime.block_on(write_until_killed(Path::new(&folder), seed, round, done));
    print_line(&format!("! {failures:?}"));
}

async fn write_until_killed(folder: &Path, seed: u64, round: u64, done: Progress) -> Vec<Error> {
    let mut random = Random::of(&[seed, round, 1]);
    let store = workload::open(workload::options(folder, &mut random)).unwrap();
    workload::prepare(&store).await.unwrap();
    if random.coin() {
        // Folds, persists and trims while the tasks write.
        let store = store.clone();
        tokio::spawn(async move {
            while store.backend().checkpoint().await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    }
    let run = Run::new(seed, done);
    run.go(&store, |ack| print_line(&ack.to_text())).await
}

/// One line in one write: a kill leaves it whole or not at all.
fn print_line(line: &str) {
    let line = format!("\n>{line}\n");
    std::io::stdout()
        .lock()
        .write_all(line.as_bytes())
        .and_then(|()| std::io::stdout().flush())
        .unwrap();
}

fn start(folder: &Path, seed: u64, round: u64, done: &Progress) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER_VAR, folder)
        .env(SEED_VAR, seed.to_string())
        .env(ROUND_VAR, round.to_string())
        .env(DONE_VAR, done.to_text())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Runs the process for a while, kills it, and returns what it was answered.
fn write_and_kill(folder: &Path, round: u64, model: &Model) -> Vec<Ack> {
    let mut random = Random::of(&[model.seed, round, 2]);
    let mut child = start(folder, model.seed, round, &model.done());
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        let lines_printed: Vec<String> =
            lines.filter_map(|line| line.strip_prefix('>').map(ToOwned::to_owned)).collect();
        lines_printed
    });
    // Now and then while it is still opening what the last one left.
    let life_ms = match random.below(6) {
        0 => random.below(40),
        _ => 100 + random.below(500),
    };
    std::thread::sleep(Duration::from_millis(life_ms));
    child.kill().unwrap();
    child.wait().unwrap();
    let lines_printed = reader.join().unwrap();
    let acks = lines_printed
        .iter()
        .map(|line| Ack::from_text(line).unwrap_or_else(|| panic!("the process failed: {line}")));
    acks.collect()
}

async fn check(folder: &Path, round: u64, model: &mut Model) {
    let mut random = Random::of(&[model.seed, round, 3]);
    let mut options = workload::options(folder, &mut random);
    // Nothing may change while the views are compared.
    options.sweep_interval = None;
    let store = workload::open(options).unwrap();
    workload::prepare(&store).await.unwrap();
    model.check(&store).await;
    model.retry_tokens(&store).await;
    if round == ROUNDS_OF_A_FOLDER - 1 {
        model.check(&store).await;
        model.check_feed_from_the_start(&store).await;
    }
    if random.coin() {
        store.backend().close().await.unwrap();
    }
}

#[test]
fn no_acknowledged_write_is_lost_when_the_process_is_killed() {
    let (rounds, kills_min, budget) = if seed::all() {
        (1000, KILLS_MIN.1, Duration::from_secs(3600))
    } else {
        (50, KILLS_MIN.0, Duration::from_secs(150))
    };
    let began = Instant::now();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut kills, mut checked, mut changes) = (0, 0, 0);
    let folders = rounds / ROUNDS_OF_A_FOLDER;
    for seed in seed::seeds(folders, folders) {
        let folder = Folder::new();
        let mut model = Model::new(seed);
        for round in 0..ROUNDS_OF_A_FOLDER {
            eprintln!("kill round: WEIR_TEST_SEED={seed}, round {round}");
            let acks = write_and_kill(&folder.data(), round, &model);
            kills += 1;
            model.note(acks);
            runtime.block_on(check(&folder.data(), round, &mut model));
        }
        checked += model.checked;
        changes += model.changes;
        if began.elapsed() > budget && kills >= kills_min {
            eprintln!("stopped at the time budget");
            break;
        }
    }
    eprintln!(
        "{kills} kills, {checked} answered writes and {changes} changes of the feed checked in {:?}",
        began.elapsed()
    );
    if seed::wanted().is_none() {
        assert!(kills >= kills_min, "only {kills} kills");
    }
    let answered_min = ANSWERED_MIN * kills;
    assert!(
        checked > answered_min && changes > answered_min,
        "{kills} kills, {checked} answered writes, {changes} changes"
    );
}
