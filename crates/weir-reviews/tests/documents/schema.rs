//! What is written is SARIF 2.1.0, by the schema of the standard.

use std::io::Write as _;

use serde_json::{Value, json};
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::review::RecordedReview;
use weir_reviews::sarif;

use crate::samples::{consensus, finding, hostile, review, typical};
use crate::tools;

/// Prints each fault of the document that it gets as argument.
const VALIDATE: &str = r#"
import json, pathlib, sys
import jsonschema_rs, requests_cache, schemastore

cache = requests_cache.SQLiteCache(pathlib.Path(schemastore.__file__).with_name("cache"))
url = "https://json.schemastore.org/sarif-2.1.0.json"
text = next(r.text for r in cache.filter(valid=True, expired=True) if r.url == url)
# The pattern of languages has a bracket too many, which this validator refuses.
schema = json.loads(text.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$"))
assert schema["$id"].endswith("oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
validator = jsonschema_rs.validator_for(schema, validate_formats=True)
for error in validator.iter_errors(json.load(open(sys.argv[1]))):
    print(error.instance_path, error.message)
"#;

fn faults(document: &Value) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, "{document}").unwrap();
    let mut command = tools::program("python");
    let output = tools::output(command.args(["-c", VALIDATE]).arg(file.path()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn all_severities() -> RecordedReview {
    let severities = Severity::ALL.into_iter().enumerate();
    let (findings, agreed) = severities
        .map(|(index, severity)| {
            let file_path = ["a b.py", "C:/x.py", "/abs/ä.py", "./x#y?z.py", "https://x/y"][index];
            let one = Finding {
                file_path: file_path.to_owned(),
                description: String::new(),
                ..finding("m", &format!("f{index}"), severity)
            };
            let mut agreed = consensus(&format!("c{index}"), severity, &["m", "n"], 3);
            agreed.file_path = file_path.to_owned();
            (one, agreed)
        })
        .unzip();
    review(findings, agreed)
}

#[test]
fn reviews_are_valid_sarif() {
    for (name, review) in [
        ("typical", typical()),
        ("hostile", hostile()),
        ("empty", review(Vec::new(), Vec::new())),
        ("severities", all_severities()),
    ] {
        assert_eq!(faults(&sarif::write(&review)), "", "consensus of {name}");
        assert_eq!(faults(&sarif::write_findings(&review)), "", "findings of {name}");
    }
}

#[test]
fn the_schema_finds_faults() {
    let mut document = sarif::write(&typical());
    document["runs"][0]["results"][0]["level"] = json!("fatal");
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] =
        json!("a b");
    let faults = faults(&document);
    assert_eq!(faults.lines().count(), 2, "{faults}");
}

#[test]
fn a_consensus_says_who_agrees() {
    let document = sarif::write(&typical());
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "weir");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: Vec<&Value> = rules.iter().map(|rule| &rule["id"]).collect();
    assert_eq!(ids, ["security", "uncategorised"]);
    let result = &run["results"][1];
    assert_eq!(result["ruleId"], "security");
    assert_eq!(result["ruleIndex"], 0);
    assert_eq!(result["level"], "error");
    assert_eq!(result["properties"]["confidence"], "high");
    assert_eq!(result["properties"]["agreement_ratio"], 1.0);
    let models = json!(["claude-sonnet", "gpt-5", "meta/llama-3"]);
    assert_eq!(result["properties"]["agreeing_models"], models);
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/auth/login.py");
    assert_eq!(place["region"], json!({ "startLine": 45, "endLine": 52 }));
    let text = result["message"]["text"].as_str().unwrap();
    assert!(text.starts_with("SQL injection in the login query\n\nclaude-sonnet: "), "{text}");
}

#[test]
fn fingerprints_stay_when_lines_move_and_differ_within_a_review() {
    let prints = |review: &RecordedReview| -> Vec<Value> {
        let document = sarif::write(review);
        let results = document["runs"][0]["results"].as_array().unwrap().clone();
        results.into_iter().map(|result| result["partialFingerprints"].clone()).collect()
    };
    let mut moved = typical();
    for consensus in &mut moved.consensus {
        consensus.line_start += 10;
        consensus.line_end += 10;
    }
    assert_eq!(prints(&moved), prints(&typical()));
    let twice = |id| consensus(id, Severity::Low, &["a", "b"], 2);
    let equal = prints(&review(Vec::new(), vec![twice("c-1"), twice("c-2")]));
    assert_ne!(equal[0], equal[1]);
}
