//! Configuration: layers, where values come from, mistakes, and secrets that stay unseen.

use std::path::Path;

use serde_json::Value;

use crate::home::{Home, Run};

/// Base64 of 32 bytes.
const KEY: &str = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IDMyYi4=";
const ADMIN_KEY: &str = "hunter2-hunter2-hunter2";

/// One key of `weir config --json`: its value, its layer, and the name there.
fn entry(answer: &Value, key: &str) -> (Value, String, Option<String>) {
    let items = answer["items"].as_array().unwrap();
    let entry = items.iter().find(|item| item["key"] == key).unwrap();
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    (entry["value"].clone(), text("layer").unwrap(), text("name"))
}

#[track_caller]
fn holds(run: Run, key: &str, value: impl Into<Value>, layer: &str, name: Option<&str>) {
    let expected = (value.into(), layer.to_owned(), name.map(str::to_owned));
    assert_eq!(entry(&run.json(), key), expected);
}

#[test]
fn each_layer_stands_over_those_before_it() {
    let home = Home::new();
    let key = "server.listen";
    let shown = |variables: &[(&str, &str)], flags: &str| {
        home.weir_in(variables, &format!("config --json {flags}"))
    };
    holds(shown(&[], ""), key, "127.0.0.1:8080", "default", None);
    home.configure("[server]\nlisten = \"127.0.0.1:1\"");
    holds(shown(&[], ""), key, "127.0.0.1:1", "file", Some("weir.toml"));
    let variable = [("WEIR_LISTEN", "127.0.0.1:2")];
    holds(shown(&variable, ""), key, "127.0.0.1:2", "environment", Some("WEIR_LISTEN"));
    let flag = "--listen 127.0.0.1:3";
    holds(shown(&variable, flag), key, "127.0.0.1:3", "flag", Some("--listen"));
    let empty = [("WEIR_LISTEN", "")];
    holds(shown(&empty, ""), key, "127.0.0.1:1", "file", Some("weir.toml"));
}

#[test]
fn values_keep_their_kind_whatever_layer_they_come_from() {
    let home = Home::new();
    let variables = [("WEIR_COMPRESSION", "no"), ("WEIR_REQUESTS_MAX", "7")];
    let shown = || home.weir_in(&variables, "config --json --aggregate-interval 3");
    holds(shown(), "server.compression", false, "environment", Some("WEIR_COMPRESSION"));
    holds(shown(), "server.requests_max", 7, "environment", Some("WEIR_REQUESTS_MAX"));
    holds(shown(), "jobs.aggregate_interval_secs", 3, "flag", Some("--aggregate-interval"));
    holds(shown(), "store.region", Value::Null, "default", None);
}

#[test]
fn the_file_can_be_named() {
    let home = Home::new();
    home.configure("[log]\nlevel = \"warn\"");
    std::fs::write(home.path("other.toml"), "[log]\nlevel = \"debug\"").unwrap();
    let variable = [("WEIR_CONFIG", "other.toml")];
    let other = Some("other.toml");
    holds(home.weir("config --json --config other.toml"), "log.level", "debug", "file", other);
    holds(home.weir("--config other.toml config --json"), "log.level", "debug", "file", other);
    holds(home.weir_in(&variable, "config --json"), "log.level", "debug", "file", other);
    let run = home.weir_in(&variable, "config --json --config weir.toml");
    holds(run, "log.level", "warn", "file", Some("weir.toml"));
    for command in ["config", "tables list", "table scan x", "serve", "backup x", "restore x"] {
        home.weir(&format!("{command} --config missing.toml"))
            .fails(2, &["missing.toml cannot be read", "No such file"]);
    }
    home.weir_in(&[("WEIR_CONFIG", "missing.toml")], "tables list")
        .fails(2, &["missing.toml cannot be read"]);
}

#[test]
fn commands_work_where_the_configuration_says() {
    let home = Home::new();
    home.configure("[store]\ndata = \"elsewhere\"");
    home.weir("tables create --spec orders.json").ok();
    assert!(home.path("elsewhere/FORMAT").exists());
    home.weir("backup saved --without-keys").ok();
    let restored = home.weir_in(&[("WEIR_DATA", "third")], "restore saved").out;
    assert!(restored.starts_with("restored to third"), "{restored}");
    home.weir("tables list --data fourth").fails(3, &["no store in fourth"]);
}

#[test]
fn the_table_for_people_says_where_values_come_from() {
    let home = Home::new();
    home.configure("[log]\nformat = \"json\"");
    let shown = home.weir_in(&[("WEIR_REQUESTS_MAX", "7")], "config --data x").ok();
    for (key, value, from) in [
        ("store.kind", "embedded", "default"),
        ("store.region", "", "not set"),
        ("store.data", "x", "--data"),
        ("server.requests_max", "7", "WEIR_REQUESTS_MAX"),
        ("log.format", "json", "weir.toml"),
    ] {
        let cells =
            |line: &str| line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect();
        let rows: Vec<Vec<String>> = shown.lines().map(cells).collect();
        let row = rows.iter().find(|row| row.get(1).is_some_and(|cell| cell == key)).unwrap();
        assert_eq!((row[2].as_str(), row[3].as_str()), (value, from), "{key}");
    }
}

#[test]
fn secrets_are_seen_nowhere() {
    let home = Home::new();
    let file = format!(
        "[auth]\nadmin_key = \"{ADMIN_KEY}\"\nsigning_key = \"{KEY}\"\nprevious_signing_key = \"{KEY}\""
    );
    home.configure(&file);
    let cursor = [("WEIR_CURSOR_KEY", KEY)];
    let shown = home.weir_in(&cursor, "config").ok();
    assert_eq!(shown.matches("••• (set)").count(), 4, "{shown}");
    assert!(shown.contains("WEIR_CURSOR_KEY"), "{shown}");
    holds(home.weir("config --json"), "auth.admin_key", "•••", "file", Some("weir.toml"));
    let unseen = |run: Run| {
        for secret in [ADMIN_KEY, KEY, "hunter2", "c2VjcmV0"] {
            assert!(!run.out.contains(secret) && !run.err.contains(secret), "{run:?}");
        }
    };
    for line in
        ["config", "config --json", "doctor", "doctor --json", "tables list", "config default"]
    {
        unseen(home.weir_in(&cursor, line));
    }
    // Nor when something is wrong with them, or with the line or the variable they stand in.
    for wrong in [
        "[auth]\nadmin_key = \"hunter2\"",
        "[auth]\nadmin_key = hunter2",
        "[auth]\nadmin_kee = \"hunter2\"",
        "[auth]\nsigning_key = \"hunter2\"",
        "[auth]\ncursor_key = \"c2VjcmV0\"",
        "[auth]\ncursor_key = [\"hunter2\"]",
        "[auth]\nprevious_signing_key = { hunter = \"hunter2\" }",
        "[auth\nadmin_key = \"hunter2\"",
    ] {
        home.configure(wrong);
        for line in ["config", "doctor", "serve"] {
            let run = home.weir(line);
            assert_ne!(run.code, Some(0), "{wrong}");
            unseen(run);
        }
    }
    std::fs::remove_file(home.path("weir.toml")).unwrap();
    for name in ["WEIR_ADMIN_KEY", "WEIR_SIGNING_KEY", "WEIR_CURSOR_KEY", "WEIR_ADMIN_KY"] {
        let run = home.weir_in(&[(name, "hunter2")], "config");
        assert_eq!(run.code, Some(2), "{run:?}");
        unseen(run);
    }
}

#[test]
fn every_secret_can_come_from_a_file() {
    let home = Home::new();
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    for (name, secret) in [
        ("WEIR_ADMIN_KEY", "an admin key of sixteen characters"),
        ("WEIR_SIGNING_KEY", key),
        ("WEIR_CURSOR_KEY", key),
    ] {
        let (file, variable) = (home.path("secret"), format!("{name}_FILE"));
        let path = file.display().to_string();
        let serve = |path: &str| home.weir_in(&[(variable.as_str(), path)], "token list --data a");
        home.weir("tables create --spec orders.json --data a");
        let key = format!("auth.{}", variable.trim_start_matches("WEIR_").to_lowercase());
        serve("missing").fails(2, &[&key, "cannot be read", "missing"]);
        std::fs::write(&file, "\n").unwrap();
        serve(&path).fails(2, &[&key, "is empty"]);
        std::fs::write(&file, "hunter2\n").unwrap();
        let short = serve(&path);
        assert!(!short.err.contains("hunter2"), "{short:?}");
        short.fails(2, &[&key]);
        std::fs::write(&file, format!("{secret}\n")).unwrap();
        serve(&path).ok();
        let both = [(variable.as_str(), path.as_str()), (name, secret)];
        home.weir_in(&both, "tables list --data a").fails(2, &["both set", name, &variable]);
        let shown = home.weir_in(&[(variable.as_str(), &path)], "config").ok();
        assert!(shown.contains(&path) && shown.contains(&variable), "{shown}");
        assert!(!shown.contains(secret), "{shown}");
    }
    let admin = home.path("admin");
    std::fs::write(&admin, "an admin key of sixteen characters\r\n").unwrap();
    let variable = [("WEIR_ADMIN_KEY_FILE", admin.to_str().unwrap())];
    let server = home.serve_in(&variable, &["--data", "a"]);
    assert_eq!(server.get_with("/v1/jobs", "an admin key of sixteen characters").0, 200);
}

#[test]
fn the_default_file_is_as_documented_and_loads() {
    let home = Home::new();
    let text = home.weir("config default").ok();
    let documented = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/weir.default.toml");
    if std::env::var_os("WEIR_TEST_BLESS").is_some() {
        std::fs::write(&documented, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(documented).unwrap());
    let defaults = home.weir("config --json").json();
    home.configure(&text);
    assert_eq!(home.weir("config --json").json(), defaults, "all lines are comments");
    // Taken out of their comments, the defaults are still the defaults.
    let is_default =
        |line: &&str| line.starts_with('[') || line.starts_with('#') && !line.starts_with("# ");
    let lines = text.lines().filter(is_default).filter(|line| !line.ends_with('='));
    let lines: Vec<_> = lines.map(|line| line.trim_start_matches('#')).collect();
    home.configure(&lines.join("\n"));
    let taken = home.weir("config --json").json();
    for item in defaults["items"].as_array().unwrap() {
        let key = item["key"].as_str().unwrap();
        let (value, layer, _) = entry(&taken, key);
        assert_eq!(value, item["value"], "{key}");
        assert_eq!(layer, if value.is_null() { "default" } else { "file" }, "{key}");
    }
}

#[test]
fn every_shell_is_completed() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.weir(&format!("completions {shell}")).ok();
        for word in ["serve", "doctor", "aggregate-interval"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
    home.weir("completions tcsh").fails(2, &["tcsh"]);
}

#[test]
fn a_command_without_a_server_keeps_the_configured_bounds_of_the_store() {
    let home = Home::with_orders();
    let put = r#"table put orders --plain --item '{"PK":"a","SK":"b"}'"#;
    let copy = "copy --from embedded:weir-data --to embedded:other";
    home.weir(put).ok();
    // More than any disk has.
    home.configure("[store]\nfree_bytes_min = 1125899906842624");
    home.weir(put).fails(1, &["disk"]);
    home.weir(copy).fails(1, &["disk"]);
    home.configure("[store]\nfree_bytes_min = 0");
    home.weir(put).ok();
    home.weir(copy);
    assert_eq!(home.weir("table scan orders --count --data other").ok(), "1 item\n");
}
