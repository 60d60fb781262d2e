//! `weir backup` and `weir restore`.

use crate::home::Home;

fn backs_up_and_restores(home: &Home) {
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"b"}'"#).ok();
    assert!(home.weir("backup saved").ok().starts_with("backed up to saved: "));
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"later"}'"#).ok();
    home.weir("backup saved").fails(3, &["is not empty", "help: "]);
    assert!(home.weir("restore saved --data restored").ok().starts_with("restored to restored: "));
    assert_eq!(home.weir("table scan orders --count --data restored").ok(), "1 item\n");
    home.weir("restore saved --data restored").fails(3, &["is not empty", "help: "]);
    assert_eq!(home.weir("table scan orders --count").ok(), "2 items\n");
}

#[test]
fn a_store_is_backed_up_and_restored() {
    backs_up_and_restores(&Home::with_orders());
}

#[test]
fn a_served_store_is_backed_up_while_it_serves() {
    let home = Home::with_orders();
    let server = home.serve("weir-data");
    backs_up_and_restores(&home);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn what_is_no_backup_is_not_restored() {
    let home = Home::with_orders();
    home.weir("restore missing --data new").fails(1, &[]);
    std::fs::create_dir(home.path("empty")).unwrap();
    home.weir("restore empty --data new").fails(1, &[]);
    home.weir("tables list --data new").fails(3, &["no store in new"]);
}
