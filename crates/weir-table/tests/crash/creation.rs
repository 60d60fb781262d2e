//! The first open of a folder: interrupted at any point, the next open creates the store. A complete store that lost a file
//! is refused, never created again.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use weir_table::embedded::{Embedded, Options};
use weir_table::{Error, Get, Item, Key, Write};

use crate::folder::{self, Folder};
use crate::seed::{self, Random};
use crate::workload::{self, MAIN};

const CHILD: &str = "creation::the_process_that_creates_a_store";
const FOLDER_VAR: &str = "WEIR_CRASH_FOLDER";
/// Creations that a run must interrupt at least.
const INTERRUPTED_MIN: u64 = 3;

fn options(data: &Path) -> Options {
    let mut options = Options::new(data);
    options.sweep_interval = None;
    options
}

fn item() -> Item {
    Item::new().with("PK", "p").with("SK", "s")
}

fn create(data: &Path) {
    drop(Embedded::open(options(data)).unwrap());
}

/// Opens the folder as a new store, writes an item and finds it after another open.
async fn assert_usable(data: &Path, context: &str) {
    let store =
        workload::open(options(data)).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    assert_eq!(store.backend().stats().last_seq, 0, "{context}");
    workload::prepare(&store).await.unwrap();
    store.write(Write::put(MAIN, item())).await.unwrap();
    drop(store);
    assert!(!data.join("CREATING").exists(), "{context}");
    assert_has_item(data, context).await;
}

async fn assert_has_item(data: &Path, context: &str) {
    let store =
        workload::open(options(data)).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    let found = store.get(&Get::new(MAIN, Key::new("p", "s"))).await.unwrap();
    assert_eq!(found, Some(item()), "{context}");
}

/// Every file and folder below `dir`, a folder after its contents.
fn paths(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(paths(&path));
        }
        found.push(path);
    }
    found.sort_by(|a, b| b.cmp(a));
    found
}

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else if path.exists() {
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_lost_any_of_its_files_is_done_again() {
    for seed in seed::seeds(25, 1000) {
        let mut random = Random::of(&[seed, 20]);
        let folder = Folder::new();
        let data = folder.data();
        create(&data);
        fs::rename(data.join("FORMAT"), data.join("CREATING")).unwrap();
        let keep_percent = random.below(101);
        for path in paths(&data) {
            let is_marker = path.ends_with("CREATING");
            if is_marker || random.below(100) < keep_percent {
                continue;
            }
            if path.is_file() && random.coin() && !path.ends_with("cursor.key") {
                let bytes = fs::read(&path).unwrap();
                let len = random.below(bytes.len().min(4096) as u64 + 1);
                fs::write(&path, &bytes[..usize::try_from(len).unwrap()]).unwrap();
            } else {
                remove(&path);
            }
        }
        assert_usable(&data, &format!("WEIR_TEST_SEED={seed}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_nothing_but_a_draft_or_empty_folders_is_new() {
    for names in [&["LOCK"][..], &["CREATING.new"], &["LOCK", "cursor.key.new"]] {
        let folder = Folder::new();
        let data = folder.data();
        fs::create_dir_all(data.join("store")).unwrap();
        fs::create_dir_all(data.join("log")).unwrap();
        for name in names {
            fs::write(data.join(name), "1").unwrap();
        }
        assert_usable(&data, &format!("{names:?}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_store_that_lost_a_file_is_refused() {
    for folded in [false, true] {
        let folder = Folder::new();
        let whole = folder.path().join("whole");
        let store = workload::open(options(&whole)).unwrap();
        workload::prepare(&store).await.unwrap();
        store.write(Write::put(MAIN, item())).await.unwrap();
        if folded {
            store.backend().close().await.unwrap();
        }
        drop(store);
        let keyspaces = (0..5)
            .flat_map(|n| [format!("store/keyspaces/{n}"), format!("store/keyspaces/{n}/current")]);
        let names = ["FORMAT", "store", "store/version", "store/keyspaces", "log"];
        for name in names.map(ToOwned::to_owned).into_iter().chain(keyspaces) {
            let data = folder.data();
            folder::copy(&whole, &data);
            remove(&data.join(&name));
            let refused = Embedded::open(options(&data));
            assert!(matches!(refused, Err(Error::Corrupt { .. })), "without {name}: {refused:?}");
            // The refusal has deleted nothing: with the file back, the data is there.
            folder::copy(&whole.join(&name), &data.join(&name));
            assert_has_item(&data, &name).await;
            remove(&data);
        }
    }
}

#[test]
#[ignore = "not a test of its own: `a_creation_that_is_killed_is_done_again` starts it as a process"]
fn the_process_that_creates_a_store() {
    let data = PathBuf::from(std::env::var(FOLDER_VAR).unwrap());
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("\n>{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
    };
    say("begins");
    create(&data);
    say("ends");
}

/// Creates a store in another process and kills it `life` after it begins, or lets it end. Returns the time it had.
fn create_and_kill(data: &Path, life: Option<Duration>) -> Duration {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FOLDER_VAR, data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == ">begins"));
    let began = Instant::now();
    match life {
        Some(life) => std::thread::sleep(life),
        None => assert!(lines.any(|line| line == ">ends")),
    }
    let took = began.elapsed();
    child.kill().unwrap();
    child.wait().unwrap();
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_that_is_killed_is_done_again() {
    let usual = create_and_kill(&Folder::new().data(), None);
    let usual_us = u64::try_from(usual.as_micros()).unwrap();
    let mut interrupted = 0;
    for seed in seed::seeds(40, 2000) {
        let mut random = Random::of(&[seed, 21]);
        let folder = Folder::new();
        let data = folder.data();
        // Some creations are interrupted more than once.
        for _ in 0..=random.below(3) {
            let life = Duration::from_micros(random.below(usual_us + 1));
            create_and_kill(&data, Some(life));
            interrupted += u64::from(data.join("CREATING").exists());
        }
        assert_usable(&data, &format!("WEIR_TEST_SEED={seed}")).await;
    }
    eprintln!("{interrupted} creations were interrupted; one takes {usual:?}");
    if seed::wanted().is_none() {
        assert!(interrupted >= INTERRUPTED_MIN, "only {interrupted} creations were interrupted");
    }
}
