//! `weir tables` and `weir table`, with a server and without one.

use weir_table::{Item, TableSpec};

use crate::home::{Home, ORDERS, Run, Server};

/// Runs a test twice: on a store that commands open themselves, and on one that a server has open.
fn both_ways(test: impl Fn(&Home)) {
    test(&Home::with_orders());
    let home = Home::with_orders();
    let _server: Server = home.serve("weir-data");
    test(&home);
}

fn put(home: &Home, item: &str) {
    home.weir(&format!("table put orders --plain --item '{item}'")).ok();
}

fn keys(answer: &serde_json::Value) -> Vec<&str> {
    let items = answer["items"].as_array().unwrap();
    items.iter().map(|item| item["SK"].as_str().unwrap()).collect()
}

#[test]
fn tables_are_made_checked_listed_and_described() {
    both_ways(|home| {
        let create = home.weir("tables create --spec orders.json").ok();
        assert_eq!(create, "orders already exists, as declared\n");
        assert_eq!(home.weir("tables verify --spec orders.json").ok(), "orders is as declared\n");
        let list = home.weir("tables list").ok();
        let orders = list.lines().find(|line| line.contains("│ orders ")).unwrap();
        assert!(orders.contains("┆ PK S, SK S ┆ by-customer"), "{list}");
        let described = home.weir("tables describe orders --json").json();
        let spec: TableSpec = serde_json::from_value(described).unwrap();
        assert_eq!(spec, serde_json::from_str::<TableSpec>(ORDERS).unwrap());
    });
}

#[test]
fn every_difference_of_a_table_is_reported() {
    both_ways(|home| {
        let other = ORDERS.replace("\"expires\"", "\"until\"").replace("true", "false");
        std::fs::write(home.path("other.json"), other).unwrap();
        let says =
            ["orders: ttl: expected until, found expires", "orders: feed: expected off, found on"];
        home.weir("tables verify --spec other.json").fails(4, &says);
        home.weir("tables create --spec other.json").fails(4, &["ttl: expected"]);
        let missing = ORDERS.replace("\"orders\"", "\"missing\"");
        std::fs::write(home.path("missing.json"), missing).unwrap();
        home.weir("tables verify --spec missing.json").fails(4, &["missing: does not exist"]);
        assert!(!home.weir("tables list").ok().contains("missing"));
    });
}

#[test]
fn an_item_is_put_shown_and_deleted() {
    both_ways(|home| {
        let item = r#"{"PK":{"S":"ORG#1"},"SK":{"S":"A"},"b":{"B":"AAE="},"n":{"N":"1.50"},"ss":{"SS":["x"]}}"#;
        let line = format!("table put orders --item '{item}'");
        assert_eq!(home.weir(&line).ok(), "put ORG#1 | A\n");
        assert_eq!(home.weir(&line).ok(), "put ORG#1 | A, replacing the old item\n");
        home.weir(&format!("{line} --if-absent")).fails(3, &["item ORG#1 | A already exists"]);
        let shown = home.weir("table get orders --pk ORG#1 --sk A --json").json();
        let expected = item.replace("1.50", "1.5");
        assert_eq!(shown, serde_json::from_str::<serde_json::Value>(&expected).unwrap());
        let plain = home.weir("table get orders --pk ORG#1 --sk A --plain-json --attrs n,ss");
        assert_eq!(plain.json(), serde_json::json!({"n": 1.5, "ss": ["x"]}));
        assert!(
            home.weir("table get orders --pk ORG#1 --sk A")
                .ok()
                .contains("│ n         ┆ N    ┆ 1.5")
        );
        assert_eq!(home.weir("table delete orders --pk ORG#1 --sk A").ok(), "deleted ORG#1 | A\n");
        home.weir("table delete orders --pk ORG#1 --sk A").fails(3, &["no item ORG#1 | A"]);
        home.weir("table get orders --pk ORG#1 --sk A").fails(3, &["no item ORG#1 | A"]);
    });
}

#[test]
fn queries_narrow_reverse_filter_and_project() {
    both_ways(|home| {
        for (sk, total, state) in [("A#1", 5, "open"), ("A#2", 15, "open"), ("B#1", 25, "shut")] {
            put(
                home,
                &format!(
                    r#"{{"PK":"p","SK":"{sk}","customer":"ada","total":{total},"state":"{state}"}}"#
                ),
            );
        }
        let query = |flags: &str| {
            home.weir(&format!("table query orders --pk p --plain-json {flags}")).json()
        };
        assert_eq!(keys(&query("")), ["A#1", "A#2", "B#1"]);
        assert_eq!(keys(&query("--reverse --limit 2")), ["B#1", "A#2"]);
        assert_eq!(keys(&query("--begins-with A#")), ["A#1", "A#2"]);
        assert_eq!(keys(&query("--between A#2 B#1")), ["A#2", "B#1"]);
        assert_eq!(keys(&query("--eq A#2")), ["A#2"]);
        assert_eq!(keys(&query("--lt A#2")), ["A#1"]);
        assert_eq!(keys(&query("--le A#2")), ["A#1", "A#2"]);
        assert_eq!(keys(&query("--gt A#2")), ["B#1"]);
        assert_eq!(keys(&query("--ge A#2")), ["A#2", "B#1"]);
        assert_eq!(keys(&query("--where 'total > 5' --where 'state = open'")), ["A#2"]);
        assert_eq!(
            keys(&query("--where 'nothing absent' --where 'state contains pe'")),
            ["A#1", "A#2"]
        );
        let index = "table query orders --index by-customer --pk ada --between 10 30 --plain-json --attrs SK";
        assert_eq!(keys(&home.weir(index).json()), ["A#2", "B#1"]);
        let count = home.weir("table scan orders --where 'state = open' --count").ok();
        assert_eq!(count, "2 items of 3 read\n");
        let json = home.weir("table query orders --pk p --count --json").json();
        assert_eq!(json, serde_json::json!({"count": 3, "scanned": 3}));
    });
}

#[test]
fn the_printed_command_shows_the_next_page() {
    both_ways(|home| {
        for sk in ["1", "2", "3", "4", "5"] {
            put(home, &format!(r#"{{"PK":"p q","SK":"{sk}"}}"#));
        }
        let mut line = "table query orders --pk 'p q' --limit 2".to_owned();
        let mut shown = Vec::new();
        for _ in 0..3 {
            let out = home.weir(&line).ok();
            let rows = out.lines().filter(|line| line.starts_with("│ p q"));
            shown.extend(rows.map(|row| {
                row.split('┆').nth(1).unwrap().trim().trim_end_matches('│').trim().to_owned()
            }));
            match out.lines().find_map(|line| line.strip_prefix("more items: weir ")) {
                Some(next) => next.clone_into(&mut line),
                None => break,
            }
        }
        assert_eq!(shown, ["1", "2", "3", "4", "5"]);
        home.weir(&line.replace("'p q'", "other"))
            .fails(2, &["cursor: is not a cursor of this query"]);
    });
}

#[test]
fn a_limit_counts_what_is_shown_and_pages_lose_nothing() {
    let home = Home::new();
    let spec: TableSpec = serde_json::from_str(ORDERS).unwrap();
    let item = |n: i64| {
        let item = Item::new().with("PK", "p").with("SK", format!("{n:05}")).with("n", n);
        // Matches come in clumps, so that pages bring too many and too few.
        ("orders", if n % 700 < 20 { item.with("hit", true) } else { item })
    };
    let items: Vec<_> = (0..3000).map(item).collect();
    home.fill("weir-data", &[spec], &items);
    let expected: Vec<String> =
        (0..3000).filter(|n| n % 700 < 20).map(|n| format!("{n:05}")).collect();
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let line = format!(
            "table query orders --pk p --where 'hit = true' --limit 7 --plain-json {cursor}"
        );
        let page = home.weir(&line).json();
        assert!(keys(&page).len() <= 7);
        found.extend(keys(&page).into_iter().map(str::to_owned));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("--cursor {next}"),
            None => break,
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn keys_are_read_by_their_declared_kind() {
    let home = Home::new();
    let spec = r#"{"name":"kinds","attributes":{"n":"N","b":"B"},"partition":"n","sort":"b"}"#;
    std::fs::write(home.path("kinds.json"), spec).unwrap();
    home.weir("tables create --spec kinds.json").ok();
    home.weir(r#"table put kinds --item '{"n":{"N":"-1.5"},"b":{"B":"AP8="}}'"#).ok();
    home.weir("table get kinds --pk -1.50 --sk AP8=").ok();
    home.weir("table get kinds --pk x --sk AP8=")
        .fails(2, &["--pk: \"x\" is not a number", "declared N"]);
    home.weir("table get kinds --pk 1 --sk '!'")
        .fails(2, &["--sk: \"!\" is not base64", "declared B"]);
    assert_eq!(home.weir("table query kinds --pk -1.5 --ge AA== --count").ok(), "1 item\n");
}

#[test]
fn control_characters_of_an_item_do_not_reach_the_terminal() {
    let home = Home::with_orders();
    put(&home, r#"{"PK":"p","SK":"s","evil":"\u001b[2Jgone"}"#);
    let out = home.weir("table scan orders").ok();
    assert!(out.contains("\\u{1b}[2Jgone") && !out.contains('\u{1b}'), "{out}");
}

#[test]
fn long_values_are_cut_unless_asked_for() {
    let home = Home::with_orders();
    let long = "x".repeat(300);
    put(&home, &format!(r#"{{"PK":"p","SK":"s","long":"{long}"}}"#));
    let cut = format!("{}…", "x".repeat(39));
    assert!(home.weir("table scan orders").ok().contains(&cut));
    assert!(home.weir("table scan orders --full").ok().contains(&long));
    assert!(home.weir("table get orders --pk p --sk s --full").ok().contains(&long));
}

/// Wrong requests: what is run, the exit code, what is said.
const WRONG: &[(&str, i32, &[&str])] = &[
    ("table get nothing --pk a", 3, &["no table \"nothing\"", "weir tables list"]),
    ("table scan nothing", 3, &["no table \"nothing\""]),
    ("table scan 'no/such?table'", 3, &["no table"]),
    ("table put nothing --plain --item '{\"a\":1}'", 3, &["no table"]),
    ("table put orders --item '{\"PK\":'", 2, &["--item is not JSON", "line 1 column 6"]),
    (
        "table put orders --item '{\"PK\":\"x\"}'",
        2,
        &["PK: expected an object with one type", "--plain"],
    ),
    ("table put orders --plain --item '[]'", 2, &["an item is an object"]),
    ("table put orders --plain --item '{\"PK\":\"x\"}'", 2, &["SK: the key attribute is missing"]),
    (
        "table put orders --plain --item '{\"PK\":1,\"SK\":\"x\"}'",
        2,
        &["PK: the key is declared S, not N"],
    ),
    (
        "table put orders --plain --item '{\"PK\":\"\",\"SK\":\"x\"}'",
        2,
        &["PK: a key must not be empty"],
    ),
    (
        "table put orders --plain --item '{\"PK\":\"x\",\"SK\":\"x\",\"total\":\"1\"}'",
        2,
        &["total"],
    ),
    ("table put orders --item @missing.json", 2, &["cannot read missing.json"]),
    ("table get orders --pk a", 2, &["--sk is missing", "sort key SK"]),
    ("table delete orders --pk a", 2, &["--sk is missing"]),
    (
        "table query orders --pk a --index nothing",
        2,
        &["no index \"nothing\"", "weir tables describe orders"],
    ),
    ("table query orders --index by-customer --pk a --ge x", 2, &["--ge: \"x\" is not a number"]),
    ("table query orders --index by-customer --pk a --begins-with 1", 2, &["begins_with"]),
    ("table query orders --pk a --where 'total ~ 3'", 2, &["has no operator", "begins_with"]),
    ("table query orders --pk a --where 'SK = x'", 2, &["SK", "key attribute"]),
    ("table query orders --pk a --between b a", 2, &["greater than the upper one"]),
    ("table query orders --pk a --limit 0", 2, &["--limit"]),
    ("table query orders --pk a --cursor x", 2, &["not a cursor of this query"]),
    ("table scan orders --attrs a,a.b", 2, &["overlap"]),
    ("tables describe nothing", 3, &["no table \"nothing\""]),
    ("tables create --spec missing.json", 2, &["cannot read missing.json"]),
    ("tables create --spec bad-json.json", 2, &["bad-json.json", "line 1"]),
    ("tables create --spec bad-field.json", 2, &["unknown field `keys`", "weir tables --help"]),
    (
        "tables create --spec bad-index.json",
        2,
        &["indexes.by-x.partition: unknown attribute \"x\""],
    ),
    ("tables create --spec bad-second.json", 2, &["table \"second\"", "unknown attribute \"pk\""]),
    ("tables list --store dynamo", 2, &["invalid value 'dynamo'"]),
    ("tables list --region x", 2, &["--store dynamodb"]),
];

#[test]
fn wrong_requests_are_told_and_write_nothing() {
    let write_specs = |home: &Home| {
        let table = |name: &str, rest: &str| {
            format!(r#"{{"name":"{name}","attributes":{{"PK":"S"}},{rest}}}"#)
        };
        let index = r#""partition":"PK","indexes":[{"name":"by-x","partition":"x"}]"#;
        let good = table("first", r#""partition":"PK""#);
        let bad = table("second", r#""partition":"pk""#);
        for (name, text) in [
            ("bad-json.json", "{,}".to_owned()),
            ("bad-field.json", table("third", r#""keys":"PK""#)),
            ("bad-index.json", table("third", index)),
            ("bad-second.json", format!("[{good},{bad}]")),
        ] {
            std::fs::write(home.path(name), text).unwrap();
        }
    };
    both_ways(|home| {
        write_specs(home);
        put(home, r#"{"PK":"a","SK":"b"}"#);
        let everything = |home: &Home| -> (String, String) {
            let scan: Run = home.weir("table scan orders --json");
            (home.weir("tables list --json").ok(), scan.ok())
        };
        let before = everything(home);
        for (line, code, says) in WRONG {
            home.weir(line).fails(*code, says);
        }
        assert_eq!(everything(home), before);
    });
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_looking() {
    let home = Home::new();
    for line in ["tables list", "table scan orders", "backup b", "tables verify --spec orders.json"]
    {
        home.weir(line).fails(3, &["no store in ./weir-data", "--data"]);
    }
    assert!(!home.path("weir-data").exists());
}

#[test]
fn commands_wait_for_one_another() {
    let home = Home::with_orders();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let home = &home;
            scope.spawn(move || put(home, &format!(r#"{{"PK":"p","SK":"{n}"}}"#)));
        }
    });
    assert_eq!(home.weir("table scan orders --count").ok(), "4 items\n");
}

#[test]
fn tables_on_dynamodb_local_are_used_by_the_same_commands() {
    let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
    let prefix = weir_testkit::unique_prefix("cli");
    let home = Home::new();
    let store = format!("--store dynamodb --dynamodb-endpoint {endpoint} --table-prefix {prefix}");
    let weir = |line: &str| home.weir(&format!("{line} {store}"));
    assert_eq!(weir("tables create --spec orders.json").ok(), "orders created\n");
    assert_eq!(weir("tables verify --spec orders.json").ok(), "orders is as declared\n");
    for sk in ["1", "2", "3"] {
        weir(&format!(r#"table put orders --plain --item '{{"PK":"p","SK":"{sk}"}}'"#)).ok();
    }
    weir(r#"table put orders --if-absent --plain --item '{"PK":"p","SK":"1"}'"#)
        .fails(3, &["already"]);
    let first = weir("table query orders --pk p --limit 2 --plain-json").json();
    assert_eq!(keys(&first), ["1", "2"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second =
        weir(&format!("table query orders --pk p --limit 2 --plain-json --cursor {cursor}"));
    assert_eq!(keys(&second.json()), ["3"]);
    assert_eq!(weir("table delete orders --pk p --sk 2").ok(), "deleted p | 2\n");
    weir("table get orders --pk p --sk 2").fails(3, &["no item p | 2"]);
    weir("backup b --without-keys").fails(2, &["weir copy"]);
}
