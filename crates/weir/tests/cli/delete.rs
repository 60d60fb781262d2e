//! `weir tables delete`: nothing goes without somebody's word.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::home::{Home, wait};

#[test]
fn a_table_is_deleted_with_its_items() {
    let home = Home::with_orders();
    let server = home.serve("weir-data");
    home.weir("tables delete orders").fails(3, &["was not confirmed", "--yes"]);
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"b"}'"#).ok();
    let deleted = home.weir("tables delete orders --yes").ok();
    assert_eq!(deleted, "orders deleted, with all its items\n");
    assert_eq!(server.stop(), Some(0));
    home.weir("tables delete orders --yes").fails(3, &["no table \"orders\""]);
    home.weir("tables create --spec orders.json").ok();
    assert_eq!(home.weir("table scan orders --count").ok(), "0 items\n");
}

/// Runs the command on a terminal and answers its question; what was shown, and how it ended.
fn answered(home: &Home, reply: &str) -> (String, Option<i32>) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = || std::fs::File::options().read(true).write(true).open(&name).unwrap();
    let mut child = home
        .command()
        .args(["tables", "delete", "orders"])
        .stdin(terminal())
        .stderr(terminal())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut master = std::fs::File::from(master);
    let mut shown = Vec::new();
    // The question comes first, so that the reply is one.
    while !shown.ends_with(b"[y/N] ") {
        let mut some = [0; 256];
        let read = master.read(&mut some).unwrap();
        shown.extend(&some[..read]);
    }
    master.write_all(reply.as_bytes()).unwrap();
    let code = wait(&mut child);
    (String::from_utf8(shown).unwrap(), code)
}

#[test]
fn a_terminal_is_asked() {
    let home = Home::with_orders();
    let (shown, code) = answered(&home, "\n");
    assert!(shown.contains("Delete table \"orders\" with all its items?"), "{shown}");
    assert_eq!(code, Some(3));
    assert_eq!(answered(&home, "nonsense\n").1, Some(3));
    home.weir("tables describe orders").ok();
    assert_eq!(answered(&home, "yes\n").1, Some(0));
    home.weir("tables describe orders").fails(3, &["no table"]);
}
