//! `weir backup` and `weir restore`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::home::{Home, Run};

const PASSPHRASE: (&str, &str) = ("WEIR_BACKUP_PASSPHRASE", "correct horse battery");

fn backup(home: &Home) -> Run {
    home.weir_in(&[PASSPHRASE], "backup saved")
}

fn restore(home: &Home) -> Run {
    home.weir_in(&[PASSPHRASE], "restore saved --data restored")
}

fn backs_up_and_restores(home: &Home) {
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"b"}'"#).ok();
    assert!(backup(home).ok().starts_with("backed up to saved: "));
    home.weir(r#"table put orders --plain --item '{"PK":"a","SK":"later"}'"#).ok();
    backup(home).fails(3, &["is not empty", "help: "]);
    assert!(restore(home).ok().starts_with("restored to restored: "));
    assert_eq!(home.weir("table scan orders --count --data restored").ok(), "1 item\n");
    restore(home).fails(3, &["is not empty", "help: "]);
    assert_eq!(home.weir("table scan orders --count").ok(), "2 items\n");
}

#[test]
fn backups_are_described_in_json() {
    let home = Home::with_orders();
    let backed_up = home.weir_in(&[PASSPHRASE], "backup saved --json").json();
    assert_eq!((&backed_up["folder"], &backed_up["left_out"]), (&json!("saved"), &json!([])));
    assert!(backed_up["entries"].as_u64() > Some(0) && backed_up["keys"]["count"].is_u64());
    let restored = home.weir_in(&[PASSPHRASE], "restore saved --data restored --json").json();
    assert_eq!(
        (&restored["folder"], &restored["has_new_keys"]),
        (&json!("restored"), &json!(false))
    );
    assert_eq!(restored["entries"], backed_up["entries"]);
    let without = home.weir("backup bare --without-keys --json").json();
    assert_eq!((without["left_out"].as_array().unwrap().len(), without.get("keys")), (1, None));
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
    let said = backup(home).ok();
    assert!(said.contains(", 1 file, "), "{said}");
    record("r2");
    assert!(restore(home).ok().contains(", 1 file, "));
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
    let said = backup(&home).ok();
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

#[test]
fn keys_need_a_passphrase_or_are_left_out() {
    let home = Home::with_orders();
    home.weir("backup saved").fails(2, &["--passphrase-file", "--without-keys"]);
    let weir = |variables: &[(&str, &str)], line: &str| home.weir_in(variables, line);
    weir(&[("WEIR_BACKUP_PASSPHRASE", "short")], "backup saved").fails(2, &["12 characters"]);
    let file = ("WEIR_BACKUP_PASSPHRASE_FILE", "passphrase.txt");
    weir(&[file], "backup saved").fails(2, &[file.0, "cannot be read"]);
    std::fs::write(home.path("passphrase.txt"), "correct horse battery\n").unwrap();
    weir(&[file, PASSPHRASE], "backup saved").fails(2, &[file.0, PASSPHRASE.0, "both set"]);
    assert!(!home.path("saved").exists(), "nothing was written");

    // Without a server no token was signed, so there is only the key of cursors.
    let said = weir(&[file], "backup saved").ok();
    assert!(said.contains(", 1 key, "), "{said}");
    let key = std::fs::read(home.path("weir-data/cursor.key")).unwrap();
    home.weir("restore saved --data restored").fails(2, &["passphrase"]);
    let wrong = [(PASSPHRASE.0, "correct horse batterie")];
    let refused = weir(&wrong, "restore saved --data restored");
    refused.fails(2, &["passphrase: is not the one of this backup"]);
    assert!(!home.path("restored").exists(), "nothing was written");
    home.weir("restore saved --data restored --passphrase-file passphrase.txt").ok();
    assert_eq!(std::fs::read(home.path("restored/cursor.key")).unwrap(), key);

    let said = home.weir("backup bare --without-keys").ok();
    assert!(said.contains("not in the backup: keys"), "{said}");
    let restored = home.weir("restore bare --data new");
    assert!(restored.err.contains("has new keys"), "{restored:?}");
    home.weir("tables list --data new").ok();
    assert_ne!(std::fs::read(home.path("new/cursor.key")).unwrap(), key);
}

#[test]
fn a_backup_names_the_keys_that_the_configuration_sets() {
    let home = Home::with_orders();
    home.configure("[auth]\nadmin_key = \"configured-key-of-the-tests\"");
    let said = backup(&home).ok();
    assert!(said.contains("not in the backup: auth.admin_key, which"), "{said}");
}

/// The files and folders below a folder that others than their owner may use.
fn open_to_others(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.chain([folder.clone()]) {
            let about = std::fs::symlink_metadata(&path).unwrap();
            if about.permissions().mode() & 0o077 != 0 {
                found.push(path.clone());
            }
            if about.is_dir() && path != folder {
                folders.push(path);
            }
        }
    }
    found
}

#[test]
fn everything_that_weir_makes_is_for_its_user_only() {
    let home = Home::new();
    let script = "umask 0; mkdir work && cd work || exit 1\n\
        \"$0\" serve --listen 127.0.0.1:0 > out.txt & server=$!\n\
        while ! grep -q listening out.txt; do sleep 0.05; done\n\
        \"$0\" token issue one --scope admin > token.txt && \"$0\" signing-key rotate > /dev/null\n\
        \"$0\" admin-key rotate > /dev/null\n\
        \"$0\" reviews record ../review.json --id r1 > /dev/null || exit 1\n\
        \"$0\" backup deep/saved > /dev/null || exit 1\n\
        kill $server; wait $server\n\
        \"$0\" restore deep/saved --data also/restored > /dev/null || exit 1\n\
        \"$0\" copy --from embedded:weir-data --to embedded:copied > /dev/null || exit 1\n\
        rm out.txt token.txt; chmod 700 .";
    let response = json!({"model_id": "m/1", "status": "success", "input_tokens": 1, "output_tokens": 1,
        "latency_ms": 1, "cost_usd": "0.1", "raw": {"said": "x"}});
    let review = json!({"owner": "acme", "repo": "shop", "pr_number": 1, "pr_title": "t", "pr_url": "https://x",
        "responses": [response]});
    std::fs::write(home.path("review.json"), review.to_string()).unwrap();
    let mut shell = Command::new("bash");
    crate::home::clean(&mut shell, &home.path("."));
    let ran =
        shell.env(PASSPHRASE.0, PASSPHRASE.1).args(["-c", script, env!("CARGO_BIN_EXE_weir")]);
    let ran = ran.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for made in ["weir-data/signing.key", "deep/saved/keys.weir", "also/restored/store", "copied"] {
        assert!(home.path("work").join(made).exists(), "{made}");
    }
    assert_eq!(open_to_others(&home.path("work")), Vec::<PathBuf>::new());
}
