//! What commands print: tables that fit a narrow terminal, states in colour there, and one form of lists in JSON.

use serde_json::{Value, json};

use crate::home::{Home, Run, items};
use crate::tour;

/// Commands that print a list.
const LISTS: [&str; 38] = [
    "token list",
    "signing-key list",
    "security-log",
    "jobs list",
    "limiter namespace list",
    "limiter entity list",
    "limiter entity children",
    "limiter limits resources",
    "limiter limits entities",
    "limiter limits plan",
    "limiter bucket list",
    "limiter usage --",
    "limiter audit",
    "keeper org list",
    "keeper app list",
    "keeper audit",
    "keeper prices list",
    "keeper prices imports",
    "keeper profiles list",
    "keeper webhooks list",
    "keeper webhooks deliveries",
    "reviews list",
    "reviews findings",
    "reviews consensus",
    "reviews costs",
    "practice plans list",
    "practice users list",
    "practice usage log",
    "practice problems list",
    "practice test-cases list",
    "practice history list",
    "practice feed",
    "practice jobs list",
    "practice jobs stalled",
    "practice audit",
    "tables list",
    "table query",
    "table scan",
];
/// Ids of the tour, and how they begin: whatever breaks an id leaves that on a line without the rest.
const IDS: [(&str, &str); 4] = [
    ("7c9e6679-", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ("0198c1f2-", "0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a1"),
    ("team-7f3c", "team-7f3c9a52-2b1e-4d67-9c58-0d0f4d5b7a11"),
    ("anthropic.claude-sonnet", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
];

/// Fails unless every line of the tables in a text has at most 80 columns and every id in one piece.
#[track_caller]
fn fits(command: &str, text: &str) {
    let is_table = |line: &&str| line.starts_with(['╭', '╞', '│', '╰']);
    for line in text.lines().filter(is_table) {
        // No character of the tour is wider than a column.
        let width = line.chars().count();
        assert!(width <= 80, "`weir {command}` prints a line of {width} columns:\n{text}");
        for (start, id) in IDS {
            let is_whole = line.matches(start).count() == line.matches(id).count();
            assert!(is_whole, "`weir {command}` breaks {id}:\n{text}");
        }
    }
}

#[test]
fn every_table_fits_80_columns() {
    let home = Home::new();
    tour::pack(&home);
    let server = home.serve("weir-data");
    let mut tables = 0;
    let run = |line: &str| home.weir_in(&[("COLUMNS", "80")], line);
    tour::take(&home, run, |command, run| {
        assert!(!run.out.contains('\u{1b}'), "`weir {command}` colours what is no terminal");
        tables += usize::from(run.out.contains('╭'));
        println!("$ weir {command}\n{}{}", run.out, run.err);
        fits(command, &run.out);
    });
    assert!(tables > 60, "only {tables} commands printed a table");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn tables_of_the_store_and_the_machine_fit_80_columns() {
    let home = Home::with_orders();
    let columns = [("COLUMNS", "80")];
    for number in 0..3 {
        let item = format!(
            "{{\"PK\": \"ORG#7c9e6679-7425-40de-944b-e07fc1f90ae7\", \"SK\": \"ORDER#{number}\", \"total\": 12.5, \
              \"customer\": \"0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11\", \"state\": \"waiting for the parcel service\"}}"
        );
        home.weir(&format!("table put orders --plain --item '{item}'")).ok();
    }
    for command in ["config", "tables list", "tables describe orders", "table scan orders"] {
        let shown = home.weir_in(&columns, command).ok();
        assert!(shown.contains('╭'), "{command}: {shown}");
        fits(command, &shown);
    }
    let copy = "copy --from embedded:weir-data --to embedded:second --tables orders";
    fits(copy, &home.weir_in(&columns, copy).out);
}

#[test]
fn every_list_is_one_form_of_json() {
    let home = Home::new();
    tour::pack(&home);
    let server = home.serve("weir-data");
    let mut seen = Vec::new();
    let list = |command: &str| LISTS.iter().find(|list| command.starts_with(*list)).copied();
    tour::take(
        &home,
        |line| home.weir(line),
        |command, _| {
            let Some(name) = list(command) else { return };
            let command = command.trim_end_matches(" --json");
            items(&home.weir(&format!("{command} --json")).json());
            seen.push(name);
        },
    );
    for name in LISTS.iter().filter(|name| !name.starts_with("table")) {
        assert!(seen.contains(name), "tour.txt has no {name}");
    }
    assert_eq!(server.stop(), Some(0));
    for command in tour::all_commands(&home) {
        let help = home.weir(&format!("{command} --help")).ok();
        let is_list = command.ends_with(" list") || help.contains("--limit <N>");
        assert!(!is_list || list(&command).is_some(), "`weir {command}` is a list: add it");
    }
}

#[test]
fn a_cursor_continues_a_list() {
    let home = Home::new();
    home.weir("tables create --spec orders.json").ok();
    for number in 0..5 {
        home.weir(&format!("limiter entity put user-{number}")).ok();
    }
    let audit = |flags: &str| home.weir(&format!("limiter audit --json {flags}")).json();
    let all = audit("");
    assert!(all["next_cursor"].is_null(), "{all}");
    let count = items(&all).as_array().unwrap().len();
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = audit(&format!("--limit 2 --from 2026-01-01 {cursor}"));
        found.extend(items(&page).as_array().unwrap().clone());
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("--cursor '{next}'");
    }
    assert_eq!((&found, pages), (items(&all).as_array().unwrap(), count.div_ceil(2)));
    let exactly = audit(&format!("--limit {count}"));
    assert!(exactly["next_cursor"].is_null(), "nothing is left: {exactly}");
}

/// What a command shows on a terminal of 80 columns.
fn on_terminal(home: &Home, variables: &str, line: &str) -> String {
    let weir = env!("CARGO_BIN_EXE_weir");
    let mut script = std::process::Command::new("script");
    crate::home::clean(&mut script, &home.path(""));
    let line = format!("stty cols 80; {variables} {weir} {line}");
    let output = script.args(["-qec", &line, "/dev/null"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_terminal_shows_states_in_colour_and_whole_ids() {
    let home = Home::new();
    tour::pack(&home);
    home.weir("tables create --spec orders.json").ok();
    let recorded: Run =
        home.weir("reviews record review.json --id 0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11");
    recorded.ok();
    let shown = on_terminal(&home, "", "reviews list");
    assert!(shown.contains("\u{1b}[32mcompleted\u{1b}[0m"), "{shown:?}");
    let plain = on_terminal(&home, "NO_COLOR=1", "reviews list");
    assert!(!plain.contains('\u{1b}') && plain.contains(" completed "), "{plain:?}");
    fits("reviews list", &plain);
    assert!(plain.contains("0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11 ┆"), "{plain}");
    assert!(plain.contains("findings: 3"), "the rest is below the row: {plain}");
    let wide = home.weir("reviews list").ok();
    assert!(wide.contains("┆ findings ┆"), "a pipe gets every column beside the others: {wide}");
}

#[test]
fn created_and_verified_tables_are_lists_of_json() {
    let home = Home::new();
    for is_created in [true, false] {
        let created = home.weir("tables create --spec orders.json --json").items();
        assert_eq!(created, json!([{"name": "orders", "created": is_created}]));
    }
    let verified = home.weir("tables verify --spec orders.json --json").items();
    assert_eq!(verified, json!([{"name": "orders", "problems": []}]));
    let other =
        std::fs::read_to_string(home.path("orders.json")).unwrap().replace("orders", "others");
    std::fs::write(home.path("others.json"), other).unwrap();
    let run = home.weir("tables verify --spec others.json --json");
    assert_eq!(run.code, Some(4), "{run:?}");
    let verified: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(items(&verified), &json!([{"name": "others", "problems": ["does not exist"]}]));
    assert!(run.err.contains("others: does not exist"), "{run:?}");
}
