//! `docs/errors.md` against the codes there are: its table and its example are made here.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::settings::JobSettings;
use weir_framework::testing::TestApp;
use weir_server::{Settings, services};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");

#[tokio::test]
async fn the_page_about_errors_tells_every_code() {
    let kept = std::fs::read_to_string(PAGE).unwrap();
    let page = with_part(&kept, "example", &example().await);
    let page = with_part(&page, "codes", &table());
    if std::env::var_os("WEIR_TEST_BLESS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let kept = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        kept == page,
        "docs/errors.md is not what the server says; WEIR_TEST_BLESS=1 rewrites it"
    );
}

#[test]
fn codes_are_told_apart() {
    let mut names: Vec<&str> = codes().into_iter().map(Code::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), codes().len());
}

/// The codes of the framework and of every service.
fn codes() -> Vec<Code> {
    let services = services(Settings::default(), &JobSettings::default());
    let services = services.iter().map(|service| service.codes());
    [Code::ALL].into_iter().chain(services).flatten().copied().collect()
}

/// `page` with `text` between the marks of the part called `name`.
fn with_part(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}{text}{end}{after}")
}

fn table() -> String {
    let mut table =
        String::from("| code | status | what it means | what to do |\n|---|---|---|---|\n");
    for code in codes() {
        let (text, status) = (code.name(), code.status().as_u16());
        writeln!(table, "| `{text}` | {status} | {} | {} |", code.title(), code.advice()).unwrap();
    }
    table
}

/// A request that is wrong, and all of its answer's body.
async fn example() -> String {
    let app = TestApp::start(vec![]).await;
    let new = json!({"name": "nightly-report", "scope": "metrics", "expires_in": 0});
    let call = app.post("/v1/tokens", &new).admin();
    let response: Value = call.header("x-request-id", "nightly-1").send().await.json();
    format!("```json\n{}\n```\n", serde_json::to_string_pretty(&response).unwrap())
}
