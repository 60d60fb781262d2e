//! A tour of every command that calls the API, as `tour.txt` has it. Tests take it in several ways: on a server elsewhere,
//! in a narrow terminal, with `--json`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::home::{Home, Run};

const TOUR: &str = include_str!("tour.txt");
const ORG: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// Writes the files that the tour reads.
pub(crate) fn pack(home: &Home) {
    let specs = [
        ("org.yaml", include_str!("../../../../docs/specs/org.yaml")),
        ("limits.yaml", include_str!("../../../../docs/specs/limits.yaml")),
        ("review.json", include_str!("../../../../docs/specs/review.json")),
        ("sum.py", "a, b = map(int, input().split())\nprint(a + b)\n"),
        ("cases.jsonl", "{\"input\": \"5 6\", \"output\": \"11\"}\n"),
        (
            "prices.json",
            r#"[{"model_id": "amazon.nova-lite-v1:0", "input_price_usd_micros_per_1m": 50000,
                "output_price_usd_micros_per_1m": 200000}]"#,
        ),
        (
            "response.json",
            r#"{"model_id": "gpt-5", "status": "success", "input_tokens": 900, "output_tokens": 40,
                "latency_ms": 2100, "cost_usd": "0.0021"}"#,
        ),
    ];
    for (name, text) in specs {
        std::fs::write(home.path(name), text).unwrap();
    }
    let app = format!("org_id: {ORG}\napp_id: customer-support-assistant\napp_name: Support\n");
    std::fs::write(home.path("app.yaml"), app).unwrap();
}

/// Takes the tour: `run` runs a command, and `look` looks at the outcome.
pub(crate) fn take(home: &Home, run: impl Fn(&str) -> Run, mut look: impl FnMut(&str, &Run)) {
    let mut kept = BTreeMap::from([("ORG".to_owned(), ORG.to_owned())]);
    for line in TOUR.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // Longer names first, so that none is taken for the beginning of another.
        let filled = kept
            .iter()
            .rev()
            .fold(line.to_owned(), |line, (name, text)| line.replace(&format!("${name}"), text));
        if let Some((file, text)) = filled.strip_prefix('>').and_then(|rest| rest.split_once(' ')) {
            std::fs::write(home.path(file), text).unwrap();
            continue;
        }
        let (exit_code, command) = match filled.strip_prefix('!') {
            Some(rest) => (rest[..1].parse().unwrap(), &rest[2..]),
            None => (0, filled.as_str()),
        };
        let (keep, command) = match command.split_once('=') {
            Some((name, command)) if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                (Some(name), command)
            }
            _ => (None, command),
        };
        let run = run(command);
        assert_eq!(run.code, Some(exit_code), "{command}\n{}{}", run.out, run.err);
        look(command, &run);
        if let Some(name) = keep {
            let (name, path) = name.split_once('.').unwrap_or((name, ""));
            kept.insert(name.to_owned(), field(&run.out, path));
        }
    }
}

/// A field of what a command printed, or all of it.
fn field(text: &str, path: &str) -> String {
    if path.is_empty() {
        return text.trim_end().to_owned();
    }
    let json: Value = serde_json::from_str(text).unwrap();
    let pointer = format!("/{}", path.replace('.', "/"));
    let found = json.pointer(&pointer).unwrap_or_else(|| panic!("{path} is not in {json}"));
    found.as_str().map_or_else(|| found.to_string(), str::to_owned)
}

/// Every command that has no further ones, by the help of the binary.
pub(crate) fn all_commands(home: &Home) -> Vec<String> {
    let mut found = Vec::new();
    let mut paths = vec![String::new()];
    while let Some(path) = paths.pop() {
        let help = home.weir(&format!("{path} --help")).ok();
        let listed = help.split_once("\nCommands:\n").map(|(_, rest)| rest);
        let listed = listed.and_then(|rest| rest.split("\n\n").next());
        let Some(listed) = listed else {
            found.push(path.trim_start().to_owned());
            continue;
        };
        let names = listed.lines().filter_map(|line| {
            let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?;
            name.split(' ').next().filter(|name| *name != "help")
        });
        paths.extend(names.map(|name| format!("{path} {name}")));
    }
    found
}

/// Commands that call no API: they work on a store, or on this machine.
const LOCAL: [&str; 14] = [
    "serve",
    "config",
    "doctor",
    "limiter import-zae",
    "practice migrate",
    "tables",
    "table",
    "backup",
    "restore",
    "verify",
    "repair",
    "copy",
    "completions",
    // They would end the credentials of the tour, and have tests of their own.
    "admin-key",
];

#[test]
fn the_tour_visits_every_command_that_calls_the_api() {
    let home = Home::new();
    let commands = all_commands(&home);
    assert!(commands.len() > 100, "{commands:?}");
    let is_local = |command: &str| {
        LOCAL.iter().any(|local| command == *local || command.starts_with(&format!("{local} ")))
    };
    for command in commands.iter().filter(|command| !is_local(command)) {
        let visited = TOUR.lines().any(|line| {
            // After an exit code or the name of a variable.
            let line = format!(" {} ", line.replacen('=', " ", 1));
            line.contains(&format!(" {command} "))
        });
        assert!(visited, "tour.txt does not run `weir {command}`");
    }
}
