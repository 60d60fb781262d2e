//! Rules of the workspace that no lint knows: sizes, layers, and where keys are built.
//!
//! Each rule with exceptions has a list of them that may only shrink: an entry that is no longer needed fails the test too.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap like the tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a source file, without its tests.
const LINES_MAX: usize = 500;

/// Files that are longer, with their length.
const LONG_FILES: &[(&str, usize)] = &[("crates/weir-table/src/embedded/codec.rs", 523)];

/// Files beside `keys.rs` with text of keys, and why.
const KEY_TEXT: &[(&str, &str)] = &[
    ("crates/weir/src/lib.rs", "an example in the documentation"),
    ("crates/weir/src/commands/table/mod.rs", "examples in the help"),
];

/// The crates of this workspace that each of them may use. The binary and the benchmarks may use all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("weir-calendar", &[]),
    ("weir-table", &[]),
    ("weir-api", &[]),
    ("weir-framework", &["weir-api", "weir-table"]),
    ("weir-limiter", &["weir-table"]),
    ("weir-keeper", &["weir-calendar", "weir-table"]),
    ("weir-practice", &["weir-calendar", "weir-table"]),
    ("weir-reviews", &["weir-calendar", "weir-table"]),
    (
        "weir-server",
        &[
            "weir-api",
            "weir-calendar",
            "weir-framework",
            "weir-keeper",
            "weir-limiter",
            "weir-practice",
            "weir-reviews",
            "weir-table",
        ],
    ),
    ("weir-testkit", &["weir-table"]),
    (
        "weir-sim",
        &[
            "weir-calendar",
            "weir-keeper",
            "weir-limiter",
            "weir-practice",
            "weir-reviews",
            "weir-table",
        ],
    ),
];

/// Dependencies that only some crates may have.
const DEPENDENCY_OF: &[(&str, &[&str])] = &[
    ("axum", &["weir-framework", "weir-server", "weir", "weir-bench"]),
    ("aws-sdk-dynamodb", &["weir-table"]),
    ("aws-sdk-dynamodbstreams", &["weir-table"]),
    ("fjall", &["weir-table"]),
    ("tokio-postgres", &["weir-practice"]),
];

/// Words of other crates, and the only place where they may stand.
const ONLY_IN: &[(&str, &str)] = &[
    ("aws_sdk_dynamodb", "crates/weir-table/src/dynamodb/"),
    ("aws_sdk_dynamodbstreams", "crates/weir-table/src/dynamodb/"),
    ("fjall", "crates/weir-table/src/embedded/base"),
    ("tokio_postgres", "crates/weir-practice/src/migrate/"),
];

/// Words for which there is an ordinary one. The glossary in `docs/ARCHITECTURE.md` has the words of this project.
const ORDINARY_WORDS: &[(&str, &str)] = &[
    ("told", "returned, reported"),
    ("telling", "returning, reporting"),
    ("stretch", "window"),
    ("stretches", "windows"),
    ("seat", "plan"),
    ("seats", "plans"),
    ("errand", "propagation task"),
    ("tend", "maintain"),
    ("Tally", "Accumulator"),
    ("door", "listener, permit"),
    ("doors", "listeners, permits"),
    ("desk", "mailbox"),
    ("desks", "mailboxes"),
    ("bell", "waker"),
    ("bells", "wakers"),
    ("board", "status cell"),
    ("boards", "status cells"),
    ("hub", "context"),
    ("hubs", "contexts"),
];

/// Phrases for which there is an ordinary word.
const ORDINARY_PHRASES: &[(&str, &str)] = &[("who asks", "caller"), ("no such thing", "not found")];

/// Lines of a decision record.
const ADR_LINES_MAX: usize = 100;

/// Files with such a word, and why.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("crates/weir-limiter/src/aggregate/propagation_task.rs", "the key text of a stored item"),
    ("crates/weir-limiter/src/keys.rs", "the key text of a stored item"),
    ("crates/weir-reviews/src/consensus/concepts.rs", "a thesaurus has the words of others"),
    ("crates/weir-server/src/demo/setup.rs", "the name of an app"),
];

#[test]
fn ordinary_words_are_used() {
    let exceptions: BTreeSet<&str> = OTHER_WORDS.iter().map(|(path, _)| *path).collect();
    let mut needed = BTreeSet::new();
    for source in sources() {
        for word in words(&source.code) {
            let found = ORDINARY_WORDS.iter().find(|(other, _)| {
                word.eq_ignore_ascii_case(other) || word.split('_').any(|part| part == *other)
            });
            let Some((other, ordinary)) = found else { continue };
            if exceptions.contains(source.path.as_str()) {
                needed.insert(source.path.clone());
                continue;
            }
            panic!("{} says {other:?}; say {ordinary}", source.path);
        }
    }
    no_longer_needed(OTHER_WORDS.iter().map(|(path, _)| *path), &needed);
}

#[test]
fn ordinary_phrases_are_used() {
    for source in sources() {
        let text = source.code.to_lowercase();
        for (phrase, ordinary) in ORDINARY_PHRASES {
            assert!(!text.contains(phrase), "{} says {phrase:?}; say {ordinary}", source.path);
        }
    }
}

#[test]
fn decision_records_are_short() {
    let mut records = 0;
    for entry in fs::read_dir(root().join("docs/adr")).unwrap() {
        let path = entry.unwrap().path();
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        let max = ADR_LINES_MAX;
        assert!(lines <= max, "{} has {lines} lines; {max} are allowed", path.display());
        records += 1;
    }
    assert!(records > 10, "only {records} decision records are found");
}

#[test]
fn files_are_short() {
    let long: BTreeMap<&str, usize> = LONG_FILES.iter().copied().collect();
    let mut needed = BTreeSet::new();
    for source in sources() {
        let lines = source.code.lines().count();
        let max = long.get(source.path.as_str()).copied().unwrap_or(LINES_MAX);
        assert!(lines <= max, "{} has {lines} lines; {max} are allowed", source.path);
        if lines > LINES_MAX {
            needed.insert(source.path);
        }
    }
    no_longer_needed(LONG_FILES.iter().map(|(path, _)| *path), &needed);
}

#[test]
fn keys_are_built_in_one_file_of_each_domain() {
    let mut needed = BTreeSet::new();
    for source in sources() {
        // Benchmarks write items of other programs too.
        if source.path.ends_with("/keys.rs") || source.path.starts_with("bench/") {
            continue;
        }
        if let Some(text) = texts(&source.code).into_iter().find(|text| is_key_text(text)) {
            let is_known = KEY_TEXT.iter().any(|(path, _)| *path == source.path);
            assert!(is_known, "{} builds a key: {text:?}", source.path);
            needed.insert(source.path);
        }
    }
    no_longer_needed(KEY_TEXT.iter().map(|(path, _)| *path), &needed);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for (name, manifest) in manifests() {
        let takes = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(takes.and_then(toml::Value::as_bool), Some(true), "{name}");
    }
}

#[test]
fn crates_use_only_those_below_them() {
    let manifests = manifests();
    let names: BTreeSet<&str> = manifests.keys().map(String::as_str).collect();
    for (name, manifest) in &manifests {
        let used = dependencies(manifest, &["dependencies", "build-dependencies"]);
        let in_tests = dependencies(manifest, &["dev-dependencies"]);
        if let Some((_, allowed)) = MAY_USE.iter().find(|(may_use, _)| may_use == name) {
            for used in used.iter().filter(|used| names.contains(used.as_str())) {
                assert!(allowed.contains(&used.as_str()), "{name} may not use {used}");
            }
            // Tests may use what the crate may, the crate itself with other features, and the kit.
            for used in in_tests.iter().filter(|used| names.contains(used.as_str())) {
                let is_fine =
                    allowed.contains(&used.as_str()) || used == name || used == "weir-testkit";
                assert!(is_fine, "tests of {name} may not use {used}");
            }
        } else {
            assert!(["weir", "weir-bench"].contains(&name.as_str()), "which layer is {name} in?");
        }
        for (dependency, of) in DEPENDENCY_OF {
            let is_fine = !used.contains(*dependency) || of.contains(&name.as_str());
            assert!(is_fine, "{name} may not use {dependency}");
        }
    }
}

#[test]
fn what_stands_behind_a_store_stays_there() {
    for source in sources() {
        for (word, place) in ONLY_IN {
            let is_fine =
                source.path.starts_with(place) || !words(&source.code).any(|w| w == *word);
            assert!(is_fine, "{} uses {word}, which belongs into {place}", source.path);
        }
    }
}

/// A source file.
struct Source {
    /// From the root of the repository.
    path: String,
    /// Its text up to its tests.
    code: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folders of all crates.
fn crates() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let folders = folders
        .map(|entry| entry.unwrap().path())
        .chain(["bench", "sim"].map(|folder| root().join(folder)));
    folders.filter(|folder| folder.join("Cargo.toml").exists()).collect()
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let read = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let name = manifest.get("package").and_then(|package| package.get("name"));
        (name.and_then(toml::Value::as_str).unwrap().to_owned(), manifest)
    };
    crates().into_iter().map(read).collect()
}

/// The dependencies in these tables of a manifest.
fn dependencies(manifest: &toml::Table, tables: &[&str]) -> BTreeSet<String> {
    let tables = tables.iter().filter_map(|table| manifest.get(*table)?.as_table());
    tables.flatten().map(|(name, _)| name.clone()).collect()
}

/// All sources of all crates, without files that hold only tests.
fn sources() -> Vec<Source> {
    let mut folders: Vec<PathBuf> = crates().into_iter().map(|folder| folder.join("src")).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") && !is_test(&path) {
                let code = without_tests(&fs::read_to_string(&path).unwrap());
                let path = path.strip_prefix(root()).unwrap().display().to_string();
                found.push(Source { path, code });
            }
        }
    }
    assert!(found.len() > 100, "only {} sources are found", found.len());
    found
}

fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

/// The text up to the module of tests in it.
fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_attribute = line == "#[cfg(test)]";
        if is_attribute
            && lines.peek().is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
        {
            break;
        }
        code.push_str(line);
        code.push('\n');
    }
    code
}

/// Identifiers and words of comments.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The texts between quotes, of one line each, without those in comments.
fn texts(code: &str) -> Vec<&str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
}

/// Whether a text has a `#` beside a word in capitals, as in `ORG#7` and `#CONFIG`.
fn is_key_text(text: &str) -> bool {
    let is_capital = |c: char| c.is_ascii_uppercase();
    text.match_indices('#').any(|(at, _)| {
        let before = text[..at].chars().rev().take(2).filter(|c| is_capital(*c)).count();
        let after = text[at + 1..].chars().take(2).filter(|c| is_capital(*c)).count();
        before == 2 || after == 2
    })
}

/// Fails when an exception is no longer needed.
fn no_longer_needed<'a>(exceptions: impl Iterator<Item = &'a str>, needed: &BTreeSet<String>) {
    for exception in exceptions {
        assert!(needed.contains(exception), "{exception} needs no exception any more");
    }
}

#[test]
fn the_checks_see_what_they_look_for() {
    assert!(is_key_text("ORG#{org}") && is_key_text("#CONFIG") && !is_key_text("# EOF"));
    assert!(!is_key_text("#/components/schemas/Problem"));
    assert_eq!(texts("let x = \"a\"; // \"b\"\n// \"c\"\n"), ["a", "b"]);
    assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\nb\n}\n"), "a\n");
    assert_eq!(words("fn take_all(of: &str)").collect::<Vec<_>>(), ["fn", "take_all", "of", "str"]);
}
