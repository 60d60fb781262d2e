//! `weir backup` and `weir restore`.

use serde_json::json;

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

/// Records a review with a raw output, which a backup has too, and a second one after the backup.
fn backs_up_raw_outputs(home: &Home) {
    let record = |id: &str| {
        let response = json!({"model_id": "meta/llama-3", "status": "success", "input_tokens": 1, "output_tokens": 1,
            "latency_ms": 1, "cost_usd": "0.1", "raw": {"said": id}});
        let review = json!({"owner": "acme", "repo": "shop", "pr_number": 1, "pr_title": "t", "pr_url": "https://x",
            "responses": [response]});
        std::fs::write(home.path("review.json"), review.to_string()).unwrap();
        home.weir(&format!("reviews record review.json --id {id}")).ok();
    };
    record("r1");
    let said = home.weir("backup saved").ok();
    assert!(said.contains(", 1 file, "), "{said}");
    record("r2");
    assert!(home.weir("restore saved --data restored").ok().contains(", 1 file, "));
    std::fs::remove_dir_all(home.path("weir-data/reviews-raw")).unwrap();
    home.weir("reviews raw r1 meta/llama-3").fails(3, &["raw output"]);
    let raw = home.weir("reviews raw r1 meta/llama-3 --data restored").ok();
    assert_eq!(raw, "{\"said\":\"r1\"}\n");
    home.weir("reviews raw r2 meta/llama-3 --data restored").fails(3, &["r2"]);
}

#[test]
fn raw_outputs_in_the_data_folder_are_backed_up_and_restored() {
    backs_up_raw_outputs(&Home::with_orders());
}

#[test]
fn a_server_backs_up_raw_outputs_too() {
    let home = Home::with_orders();
    let server = home.serve("weir-data");
    backs_up_raw_outputs(&home);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_backup_names_the_raw_outputs_that_it_does_not_have() {
    let home = Home::with_orders();
    let elsewhere = format!("file://{}", home.path("elsewhere").display());
    home.configure(&format!("[reviews]\nraw = {elsewhere:?}\n[practice]\nobjects = {elsewhere:?}"));
    let said = home.weir("backup saved").ok();
    let absent = format!(
        "not in the backup: the raw outputs of reviews in {elsewhere}\n\
         not in the backup: large texts and archives of practice in {elsewhere}\n"
    );
    assert!(said.ends_with(&absent), "{said}");
}

#[test]
fn what_is_no_backup_is_not_restored() {
    let home = Home::with_orders();
    home.weir("restore missing --data new").fails(1, &[]);
    std::fs::create_dir(home.path("empty")).unwrap();
    home.weir("restore empty --data new").fails(1, &[]);
    home.weir("tables list --data new").fails(3, &["no store in new"]);
}
