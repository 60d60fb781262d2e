//! Mistakes in the configuration: each is told with the key and the layer it stands in.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::home::Home;

/// Base64 of 32 bytes.
const KEY: &str = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IDMyYi4=";

/// What the file says, and what is said about it.
const IN_THE_FILE: &[(&str, &str)] = &[
    ("[store]\ndta = \"x\"", "store.dta is unknown; did you mean store.data?"),
    ("[sevrer]\nlisten = \"x\"", "sevrer is not a section; did you mean [server]?"),
    (
        "[store]\nkind = \"postgres\"",
        "store.kind has the unknown value `postgres`, expected `embedded` or `dynamodb`",
    ),
    ("[store]\ndata = \"\"", "store.data is empty"),
    ("[server]\nlisten = \"localhost\"", "server.listen \"localhost\" has no port"),
    ("[server]\nlisten = \"localhost:70000\"", "server.listen \"70000\" is not a port"),
    (
        "[store]\nfree_bytes_min = 100000000",
        "store.free_bytes_min is less than store.dirty_bytes_max, 150994944",
    ),
    ("[server]\ntls_cert = \"a.pem\"", "server.tls_cert is set without server.tls_key"),
    ("[server]\ntls_key = \"a.pem\"", "server.tls_key is set without server.tls_cert"),
    (
        "[server]\nheader_timeout_secs = 0",
        "server.header_timeout_secs is 0; it must be from 1 to 3600",
    ),
    ("[server]\nrequest_timeout_secs = 0", "server.request_timeout_secs is 0"),
    ("[server]\ndrain_timeout_secs = 3601", "server.drain_timeout_secs is 3601"),
    ("[server]\nbody_bytes_max = 0", "server.body_bytes_max is 0"),
    ("[server]\nconnections_max = -1", "server.connections_max must not be negative"),
    ("[server]\nrequests_max = \"7\"", "server.requests_max takes a whole number"),
    ("[server]\ncompression = \"yes\"", "server.compression takes true or false"),
    ("[limiter]\ncompat = \"other\"", "limiter.compat has the unknown value `other`"),
    ("[limiter]\nconfig_ttl_secs = 3601", "limiter.config_ttl_secs is 3601"),
    ("[limiter]\naudit_retention_days = 0", "limiter.audit_retention_days is 0"),
    ("[limiter]\naudit_archive = \"bucket\"", "limiter.audit_archive \"bucket\" is not s3://"),
    ("[limiter]\ntable = \"a/b/c\"", "limiter.table \"a/b/c\" is not a table name"),
    (
        "[limiter]\ntable = \"weir.limiter\"\ncompat = \"zae\"",
        "limiter.table \"weir.limiter\" is not a table name of zae-limiter",
    ),
    ("[auth]\nadmin_key = \"short\"", "auth.admin_key has fewer than 16 characters"),
    ("[auth]\nadmin_key = 1", "auth.admin_key takes text"),
    ("[auth]\nsigning_key = \"c2hvcnQ=\"", "auth.signing_key has 5 bytes and needs at least 32"),
    ("[auth]\nsigning_key = \"***\"", "auth.signing_key is not base64"),
    ("[auth]\nprevious_signing_key = \"c2hvcnQ=\"", "auth.previous_signing_key has 5 bytes"),
    ("[auth]\ncursor_key = \"c2hvcnQ=\"", "auth.cursor_key is not base64 of 32 bytes"),
    ("[auth]\naccess_token_secs = 1", "auth.access_token_secs is 1"),
    (
        "[auth]\nrefresh_token_secs = 3000",
        "auth.refresh_token_secs is less than auth.access_token_secs",
    ),
    ("[auth]\nrevocation_cache_secs = 0", "auth.revocation_cache_secs is 0"),
    ("[jobs]\naggregate_interval_secs = 0", "jobs.aggregate_interval_secs is 0"),
    ("[log]\nlevel = \"loud\"", "log.level \"loud\" is not a log level"),
    ("[log]\nformat = \"xml\"", "log.format has the unknown value `xml`"),
    ("[log]\nlevel =", "weir.toml, line 2: "),
];

#[test]
fn mistakes_in_the_file_name_the_key_and_the_file() {
    let home = Home::new();
    for (text, says) in IN_THE_FILE {
        home.configure(text);
        home.weir("tables list").fails(2, &[says, "weir.toml", "help: "]);
    }
    let both = format!("[auth]\nsigning_key = \"{KEY}\"\nsigning_key_file = \"a.pem\"");
    home.configure(&both);
    home.weir("tables list").fails(2, &["auth.signing_key and auth.signing_key_file are both set"]);
    let old = both.replace("signing_key", "previous_signing_key");
    home.configure(&old);
    home.weir("tables list").fails(2, &["auth.previous_signing_key_file are both set"]);
    home.configure("[auth]\nprevious_signing_key_file = \"a.pem\"");
    home.weir("tables list")
        .fails(2, &["auth.previous_signing_key_file is set without auth.signing_key"]);
    home.configure(&format!("[auth]\nissuer = \"{}\"", "x".repeat(513)));
    home.weir("tables list").fails(2, &["auth.issuer is longer than 512 bytes"]);
}

#[test]
fn mistakes_in_variables_and_flags_name_them() {
    let home = Home::new();
    for (name, text, says) in [
        ("WEIR_DTA", "x", "the variable WEIR_DTA is unknown; did you mean WEIR_DATA?"),
        ("WEIR_LOG_LEVEL", "x", "did you mean WEIR_LOG?"),
        ("WEIR_STORE", "redis", "store.kind has the unknown value `redis`"),
        (
            "WEIR_REQUESTS_MAX",
            "many",
            "server.requests_max \"many\" is no whole number (from WEIR_REQUESTS_MAX)",
        ),
        ("WEIR_COMPRESSION", "maybe", "server.compression \"maybe\" is neither true nor false"),
        ("WEIR_HEADER_TIMEOUT_SECS", "0", "(from WEIR_HEADER_TIMEOUT_SECS)"),
        ("WEIR_TLS_KEY", "x", "server.tls_key is set without server.tls_cert"),
        ("WEIR_REGION", "eu-central-1", "store.region is set by WEIR_REGION"),
    ] {
        home.weir_in(&[(name, text)], "tables list").fails(2, &[says]);
    }
    home.weir("serve --listen nowhere").fails(2, &["server.listen", "(from --listen)"]);
    home.weir("serve --aggregate-interval 0")
        .fails(2, &["jobs.aggregate_interval_secs is 0", "(from --aggregate-interval)"]);
    home.weir("serve --aggregate-interval soon").fails(2, &["\"soon\" is no whole number"]);
    home.weir("tables list --dynamodb-endpoint localhost:8000 --store dynamodb")
        .fails(2, &["store.dynamodb_endpoint \"localhost:8000\" is not an endpoint"]);
    home.weir("tables list --table-prefix x --region y").fails(
        2,
        &[
            "--dynamodb-endpoint, --region and --table-prefix are for DynamoDB, and the store is embedded",
            "store.region is set by --region",
            "store.table_prefix is set by --table-prefix",
        ],
    );
    home.weir_in(&[("WEIR_TEST_ALL", "1"), ("WEIR_DATA", "x")], "tables list")
        .fails(3, &["no store in x"]);
}

#[test]
fn all_mistakes_are_told_at_once_and_what_could_be_read_is_shown() {
    let home = Home::new();
    home.configure("[store]\ndta = 1\n[log]\nlevel = 7\n[jobs]\naggregate_interval_secs = 0");
    let run = home.weir("config --data x");
    assert_eq!(run.code, Some(2));
    assert!(run.out.contains("│ store.data "), "{run:?}");
    for says in [
        "4 mistakes",
        "jobs.aggregate_interval_secs is 0",
        "store.dta",
        "log.level takes text",
        "WEIR_QQQ",
    ] {
        let run = home.weir_in(&[("WEIR_QQQ", "1")], "tables list");
        run.fails(2, &[says]);
    }
}

#[test]
fn an_argument_that_is_no_text_is_a_mistake() {
    let home = Home::with_orders();
    let not_text = OsStr::from_bytes(b"orders\xff");
    for json in [None, Some("--json")] {
        let output =
            home.command().args(["table", "scan"]).arg(not_text).args(json).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("invalid UTF-8"), "{said}");
    }
    for sort in ["b", "c"] {
        let item = format!("{{\"PK\":\"a\",\"SK\":\"{sort}\"}}");
        home.weir(&format!("table put orders --plain --item '{item}'")).ok();
    }
    let config = OsStr::from_bytes(b"weir\xff.toml");
    std::fs::write(home.path("").join(config), "").unwrap();
    let scan = ["table", "scan", "orders", "--limit", "1"];
    let output = home.command().arg("--config").arg(config).args(scan).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("the same command with --cursor "), "{said}");
}
