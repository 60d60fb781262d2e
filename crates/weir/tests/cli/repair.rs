//! `weir verify` and `weir repair`.

use std::fs;
use std::path::PathBuf;

use crate::home::Home;

/// A store with some orders, all of them in the log.
fn with_items() -> Home {
    let home = Home::with_orders();
    for n in 0..5 {
        let item = format!(r#"{{"PK":"ORG#1","SK":"ORDER#{n}","customer":"c","total":{n}}}"#);
        home.weir(&format!("table put orders --plain --item '{item}'")).ok();
    }
    home
}

/// The last segment of the log.
fn segment(home: &Home) -> PathBuf {
    let files = fs::read_dir(home.path("weir-data/log")).unwrap();
    files.map(|file| file.unwrap().path()).max().unwrap()
}

fn flip(path: &PathBuf, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_sound_store_is_verified() {
    let home = with_items();
    let said = home.weir("verify").ok();
    assert!(said.contains("tables: 1 table with 5 items, 5 index entries"), "{said}");
    assert!(said.ends_with("✓ ./weir-data is sound\n"), "{said}");
    let report = home.weir("verify --json").json();
    assert_eq!((&report["items"], &report["damages"]), (&5.into(), &serde_json::json!([])));
}

#[test]
fn damage_is_named_with_its_effect() {
    let home = with_items();
    flip(&segment(&home), 60);
    let run = home.weir("verify");
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.out.contains("log/00000000000000000001.log"), "{run:?}");
    assert!(run.out.contains("the feed lacks changes"), "{run:?}");
    assert!(run.err.contains("weir repair --dry-run"), "{run:?}");
    let run = home.weir("verify --json");
    assert_eq!(run.code, Some(4), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["damages"][0]["effect"], "feed_only", "{report}");
    // The commit is folded, so the store works all the same.
    assert_eq!(home.weir("table scan orders --count").code, Some(0));
}

#[test]
fn a_store_that_does_not_open_is_repaired() {
    let home = with_items();
    fs::remove_file(home.path("weir-data/store/keyspaces/2/current")).unwrap();
    let run = home.weir("table scan orders --count");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("weir repair"), "{run:?}");
    let said = home.weir("repair --dry-run").ok();
    assert!(said.starts_with("a repair would keep 1 table with 5 items"), "{said}");
    assert!(!home.path("weir-data/damaged").exists());
    let said = home.weir("repair").ok();
    assert!(said.contains("the old files are in ./weir-data/damaged/repair-1"), "{said}");
    assert_eq!(home.weir("table scan orders --count").ok(), "5 items\n");
    assert!(home.weir("verify").ok().ends_with("is sound\n"));
}

#[test]
fn a_loss_is_reported() {
    let home = with_items();
    // The base store is unreadable, and so is the first commit of the log.
    fs::write(home.path("weir-data/store/keyspaces/0/current"), b"?").unwrap();
    flip(&segment(&home), 60);
    let run = home.weir("repair --json");
    assert_eq!(run.code, Some(4), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert!(report["losses"].as_array().unwrap().len() >= 2, "{report}");
    assert!(run.err.contains("could not be read"), "{run:?}");
}

#[test]
fn a_served_store_is_refused() {
    let home = with_items();
    let server = home.serve("weir-data");
    home.weir("verify").fails(3, &["is in use", "stop the server"]);
    home.weir("repair").fails(3, &["is in use", "stop the server"]);
    assert_eq!(server.stop(), Some(0));
    home.weir("verify --data nothing").fails(3, &["no store in nothing"]);
    assert!(!home.path("nothing").exists());
}
