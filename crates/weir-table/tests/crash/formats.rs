//! Data folders of other versions: those of released formats open, those of newer ones do not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{add, attr};
use weir_table::feed::Position;
use weir_table::{Error, Get, Item, Key, Kind, Query, Store, TableSpec, Transaction, Value, Write};

use crate::check;
use crate::folder::Folder;
use crate::workload::{self, ACCOUNT_TABLE, MAIN};

const NOW_MS: u64 = 1_770_000_000_000;

fn options(data: &Path) -> Options {
    let mut options = Options::new(data);
    options.clock = Clock::manual(NOW_MS);
    options.sweep_interval = None;
    options
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-1/data.tar.gz")
}

/// An item with a value of every kind.
fn everything() -> Item {
    let text = |text: &str| Value::S(text.into());
    Item::new()
        .with("PK", "kinds")
        .with("SK", "all")
        .with("b", vec![0u8, 1, 255])
        .with("bool", true)
        .with("null", Value::Null)
        .with("n", Value::N("-12345678901234567890.123456789".parse().unwrap()))
        .with("list", Value::L(vec![text("a"), Value::Bool(false)]))
        .with("map", Value::M([("k".into(), text("v"))].into()))
        .with("ss", Value::Ss(["a".into(), "b".into()].into()))
        .with("ttl", 1_800_000_000)
}

fn item(n: u64) -> Item {
    Item::new()
        .with("PK", "p")
        .with("SK", format!("{n:04}"))
        .with("v", n)
        .with("G1", if n.is_multiple_of(2) { "even" } else { "odd" })
        .with("G1S", n)
        .with("G2", "x")
        .with("G3", "y")
        .with("G3S", format!("{n:04}"))
}

fn transfer() -> Transaction {
    let account = |n| Key::partition(workload::account(n));
    Transaction::new([
        Write::update(ACCOUNT_TABLE, account(0), add("bal", -7)).when(attr("bal").ge(7)),
        Write::update(ACCOUNT_TABLE, account(1), add("bal", 7)),
    ])
    .token("format-1")
}

/// A store with something of every kind, partly folded and partly in the log only.
async fn fill(store: &Store<Embedded>) {
    workload::prepare(store).await.unwrap();
    let doomed = TableSpec::new("doomed", "PK", Kind::S);
    store.create_table(&doomed).await.unwrap();
    for n in 0..20 {
        store.write(Write::put(MAIN, item(n))).await.unwrap();
    }
    store.backend().checkpoint().await.unwrap();
    store.delete_table("doomed").await.unwrap();
    store.write(Write::put(MAIN, everything())).await.unwrap();
    for n in 15..30 {
        store.write(Write::put(MAIN, item(n).with("late", true))).await.unwrap();
    }
    let gone = Key::new("p", "0003");
    store.write(Write::delete(MAIN, gone)).await.unwrap();
    assert!(store.transact(transfer()).await.unwrap().is_applied());
}

async fn check_filled(store: &Store<Embedded>) {
    assert_eq!(store.table_names().await.unwrap(), [ACCOUNT_TABLE, MAIN, "weir-feeds"]);
    for spec in workload::specs() {
        store.verify_table(&spec).await.unwrap();
    }
    let items = check::scan(store, Query::partition(MAIN, "p")).await;
    let expected: Vec<Item> = (0..30)
        .filter(|n| *n != 3)
        .map(|n| match n {
            15.. => item(n).with("late", true),
            _ => item(n),
        })
        .collect();
    assert_eq!(items, expected);
    let get = Get::new(MAIN, Key::new("kinds", "all"));
    assert_eq!(store.get(&get).await.unwrap(), Some(everything()));
    let odd = check::scan(store, Query::partition(MAIN, "odd").index("all")).await;
    assert_eq!(odd.len(), 14);
    let page = store.feed_read(MAIN, "log", &Position::Oldest, 1000).await;
    assert_eq!(page.unwrap().changes.len(), 20 + 1 + 15 + 1);
    // The token is remembered.
    let before = store.backend().stats().last_seq;
    assert!(store.transact(transfer()).await.unwrap().is_applied());
    assert_eq!(store.backend().stats().last_seq, before);
    let get = Get::new(ACCOUNT_TABLE, Key::partition(workload::account(1)));
    assert_eq!(store.get(&get).await.unwrap().unwrap().i64("bal"), Some(1007));
    let sound = store.backend().verify().await.unwrap();
    assert!(sound.is_sound(), "{sound:?}");
}

fn tar(arguments: &[&str], dir: &Path) {
    let mut command = Command::new("tar");
    command.args(arguments).arg("-C").arg(dir);
    if arguments[0].contains('c') {
        command.arg("data");
    }
    assert!(command.status().unwrap().success());
}

/// Makes the fixture anew: `WEIR_TEST_MAKE_FIXTURE=1`. A released format's fixture is never made
/// anew; a new format gets one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn the_fixture_of_this_format_is_made_on_request() {
    let folder = Folder::new();
    let store = workload::open(options(&folder.data())).unwrap();
    fill(&store).await;
    check_filled(&store).await;
    drop(store);
    if std::env::var_os("WEIR_TEST_MAKE_FIXTURE").is_none() {
        return;
    }
    // Once more, without what the check has folded.
    let folder = Folder::new();
    let store = workload::open(options(&folder.data())).unwrap();
    fill(&store).await;
    drop(store);
    let fixture = fixture();
    fs::create_dir_all(fixture.parent().unwrap()).unwrap();
    tar(&["-Sczf", fixture.to_str().unwrap()], folder.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_format_1_opens() {
    let folder = Folder::new();
    tar(&["-Sxzf", fixture().to_str().unwrap()], folder.path());
    assert_eq!(fs::read_to_string(folder.data().join("FORMAT")).unwrap(), "1\n");
    let store = workload::open(options(&folder.data())).unwrap();
    assert!(store.backend().stats().replayed > 0);
    check_filled(&store).await;
    store.write(Write::put(MAIN, item(100))).await.unwrap();
    store.backend().close().await.unwrap();
    drop(store);
    let store = workload::open(options(&folder.data())).unwrap();
    let get = Get::new(MAIN, Key::new("p", "0100"));
    assert_eq!(store.get(&get).await.unwrap(), Some(item(100)));
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(names(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn a_folder_of_a_newer_format_is_refused_and_left_alone() {
    let folder = Folder::new();
    drop(workload::open(options(&folder.data())).unwrap());
    fs::write(folder.data().join("FORMAT"), "2\n").unwrap();
    fs::remove_file(folder.data().join("LOCK")).unwrap();
    let before = names(&folder.data());
    let refused = Embedded::open(options(&folder.data())).unwrap_err();
    assert!(matches!(refused, Error::NewerFormat { found: 2, known: 1, .. }));
    let text = refused.to_string();
    assert!(text.contains("data format 2") && text.contains("use a newer weir"));
    assert_eq!(names(&folder.data()), before);
    // Also when nothing else is in the folder yet.
    let empty = Folder::new();
    fs::create_dir_all(empty.data()).unwrap();
    fs::write(empty.data().join("FORMAT"), "77\n").unwrap();
    assert!(Embedded::open(options(&empty.data())).is_err());
    assert_eq!(names(&empty.data()).len(), 1);
}

#[test]
fn a_format_that_is_no_number_is_reported() {
    let folder = Folder::new();
    drop(workload::open(options(&folder.data())).unwrap());
    fs::write(folder.data().join("FORMAT"), "one\n").unwrap();
    let refused = Embedded::open(options(&folder.data())).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused:?}");
}
