//! `docs/metrics.md` against what a server exports after a tour of all commands, both ways.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/metrics.md");

/// Metrics that a server exports only after a failure, under load, after a checkpoint, or on DynamoDB; the tour need not
/// have any of that.
const RARE: [&str; 6] = [
    "weir_connections_refused_total",
    "weir_dynamodb_",
    "weir_http_requests_rejected_total",
    "weir_keeper_webhook_deliveries_total",
    "weir_practice_job_leases_expired",
    "weir_store_consumer_lag_commits",
];

/// Compares the names.
#[track_caller]
pub(crate) fn check(exported: &str) {
    let documented = documented();
    let exported = names(exported);
    let undocumented: Vec<_> = exported.difference(&documented).collect();
    assert!(undocumented.is_empty(), "docs/metrics.md lacks a row for {undocumented:?}");
    let is_rare = |name: &&String| RARE.iter().any(|rare| name.starts_with(rare));
    let absent: Vec<_> = documented.difference(&exported).filter(|name| !is_rare(name)).collect();
    assert!(
        absent.is_empty(),
        "docs/metrics.md has {absent:?}, which a server does not export after the tour: correct the row, visit what counts \
         it in tour.txt, or say in RARE why not"
    );
}

/// The names in the tables of the page.
pub(crate) fn documented() -> BTreeSet<String> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('`').next()).map(str::to_owned).collect()
}

/// The names in OpenMetrics text, with the suffixes that its samples have.
fn names(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let name = |line: &str| {
        let (name, kind) = line.split_once(' ').unwrap();
        match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        }
    };
    types.map(name).collect()
}

#[test]
fn names_have_the_suffix_of_their_samples() {
    let text = "# HELP a b\n# TYPE a counter\na_total 1\n# TYPE b info\n# TYPE c gauge\n# EOF\n";
    assert_eq!(names(text), ["a_total", "b_info", "c"].map(String::from).into());
}
