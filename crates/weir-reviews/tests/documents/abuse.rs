//! Files that no tool writes: an error or the right findings, and never a crash.

use std::time::Duration;

use serde_json::{Value, json};
use weir_reviews::Error;
use weir_reviews::bounds::{SARIF_ARTIFACTS_MAX, SARIF_BYTES_MAX, SARIF_RULES_MAX, TEXT_MAX};
use weir_reviews::sarif::{self, Excess, ReadOptions};
use weir_testkit::cpu_time;

use crate::reading::{log, read, result};

fn one(fields: &Value) -> Value {
    log(&json!([{ "tool": { "driver": { "name": "x" } }, "results": [result(fields)] }]))
}

fn error(text: &str) -> Error {
    sarif::read(text.as_bytes(), &ReadOptions::default()).unwrap_err()
}

#[test]
fn deep_nesting_is_skipped_or_refused() {
    let depth = 200_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}0{}", open.repeat(depth), close.repeat(depth));
        // Fields that are not read may hold anything.
        let skipped = format!(r#"{{"version":"2.1.0","x":{deep},"runs":[]}}"#);
        assert_eq!(sarif::read(skipped.as_bytes(), &ReadOptions::default()).unwrap(), []);
        let inside = format!(
            r#"{{"version":"2.1.0","runs":[{{"results":[{{"properties":{{"tags":{deep}}}}}]}}]}}"#
        );
        let text = error(&inside).to_string();
        let is_list = open == "[";
        assert_eq!(text.contains("recursion limit exceeded"), is_list, "{text}");
        assert!(error(&deep).to_string().starts_with(if is_list {
            "sarif: "
        } else {
            "version: "
        }));
        assert!(error(&open.repeat(depth)).to_string().contains("EOF") || is_list);
    }
}

#[test]
fn any_value_of_a_wrong_type_is_an_error_or_ignored() {
    let good = one(&json!({
        "ruleId": "R", "ruleIndex": 0, "rule": { "id": "R", "index": 0, "toolComponent": { "index": 0 } },
        "level": "error", "kind": "fail", "baselineState": "new", "guid": "g", "rank": 1.0,
        "fingerprints": { "a": "b" }, "partialFingerprints": { "a": "b" },
        "suppressions": [{ "status": "rejected" }], "fixes": [{ "description": { "text": "x" } }],
        "properties": { "tags": ["a"], "category": "c", "security-severity": "1", "severity": "low",
            "title": "t", "suggestion": "s" },
    }));
    read(&good, &ReadOptions::default()).unwrap();
    let wrong = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!("x"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({ "x": [{}] }),
    ];
    let mut refused = 0;
    let mut places = vec![String::new()];
    pointers(&good, "", &mut places);
    for place in &places {
        for value in &wrong {
            let mut document = good.clone();
            *document.pointer_mut(place).unwrap() = value.clone();
            if let Err(error) = read(&document, &ReadOptions::default()) {
                refused += 1;
                assert!(matches!(error, Error::Invalid { .. }), "{place} {value}: {error}");
            }
        }
    }
    assert!(places.len() > 40 && refused > places.len(), "{} {refused}", places.len());
}

/// The places of all values in a document.
fn pointers(value: &Value, at: &str, places: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let place = format!("{at}/{key}");
        pointers(value, &place, places);
        places.push(place);
    }
}

#[test]
fn a_file_that_ends_anywhere_is_refused() {
    let document = one(&json!({ "ruleId": "R", "properties": { "tags": ["ä"] } })).to_string();
    for end in 0..document.len() {
        let start = &document.as_bytes()[..end];
        let error = sarif::read(start, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}

#[test]
fn a_huge_text_is_refused_by_its_place() {
    let huge = "x".repeat(5_000_000);
    let text = read(&one(&json!({ "message": { "text": huge } })), &ReadOptions::default());
    let text = text.unwrap_err().to_string();
    let expected = format!("has 5000000 bytes; at most {TEXT_MAX} are allowed");
    assert_eq!(text, format!("runs[0].results[0].message: {expected}"));
    for (field, place) in [("ruleId", "ruleId"), ("guid", "")] {
        let read = read(&one(&json!({ field: huge })), &ReadOptions::default());
        match read {
            Ok(models) => assert_eq!(models[0].findings[0].id.as_str().len(), 32, "{field}"),
            Err(error) => assert!(error.to_string().contains(place), "{error}"),
        }
    }
    let path =
        json!({ "locations": [{ "physicalLocation": { "artifactLocation": { "uri": huge } } }] });
    let error = read(&one(&path), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("artifactLocation.uri: has 5000000 bytes"), "{error}");
    // A list of arguments that each stand for many bytes.
    let bomb =
        json!({ "message": { "text": "{0}".repeat(10_000), "arguments": ["x".repeat(60_000)] } });
    let error = read(&one(&bomb), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("runs[0].results[0].message: "), "{error}");
}

#[test]
fn of_many_locations_the_first_counts() {
    let location = |line: u32| {
        json!({ "physicalLocation": { "artifactLocation": { "uri": format!("{line}.py") },
            "region": { "startLine": line } } })
    };
    let locations: Vec<Value> = (1..=10_000).map(location).collect();
    let models = read(&one(&json!({ "locations": locations })), &ReadOptions::default()).unwrap();
    assert_eq!(models[0].findings.len(), 1);
    assert_eq!(models[0].findings[0].file_path, "1.py");
}

#[test]
fn long_lists_are_refused_before_they_fill_the_memory() {
    let list = |element: &str, count: usize| vec![element; count].join(",");
    let rules = list("{}", SARIF_RULES_MAX + 1);
    let artifacts = list("{}", SARIF_ARTIFACTS_MAX + 1);
    let arguments = list("\"\"", 101);
    let bases: Vec<String> = (0..101).map(|index| format!("\"{index}\":{{}}")).collect();
    for (run, place) in [
        (format!(r#""tool":{{"driver":{{"rules":[{rules}]}}}}"#), "runs[0].tool.driver.rules"),
        (format!(r#""artifacts":[{artifacts}]"#), "runs[0].artifacts"),
        (
            format!(r#""results":[{{"message":{{"arguments":[{arguments}]}}}}]"#),
            "runs[0].results[0].message.arguments",
        ),
        (format!(r#""originalUriBaseIds":{{{}}}"#, bases.join(",")), "runs[0].originalUriBaseIds"),
    ] {
        let text = error(&format!(r#"{{"version":"2.1.0","runs":[{{{run}}}]}}"#)).to_string();
        assert!(text.starts_with(place) && text.contains("more than"), "{text}");
    }
}

#[test]
fn a_file_above_the_bound_is_refused() {
    let endless = std::io::Read::chain(b"{\"x\":\"".as_slice(), std::io::repeat(b'x'));
    let error = sarif::read(endless, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(error.to_string(), format!("sarif: has more than {SARIF_BYTES_MAX} bytes"));
}

#[test]
fn an_input_that_fails_is_an_error() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let input = std::io::Read::chain(b"{\"version\":\"2.1.0\",".as_slice(), Broken);
    let text = sarif::read(input, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        text.starts_with("sarif: cannot be read") && text.contains("the disk is gone"),
        "{text}"
    );
}

#[test]
fn bases_and_paths_that_repeat_end_soon() {
    let huge = "x/".repeat(1_000_000);
    let bases =
        json!({ "A": { "uri": huge, "uriBaseId": "B" }, "B": { "uri": huge, "uriBaseId": "A" } });
    for (uri, bases) in [("./".repeat(1_000_000), json!({})), ("a.py".to_owned(), bases)] {
        let location = json!({ "uri": uri, "uriBaseId": "A" });
        let result = result(
            &json!({ "locations": [{ "physicalLocation": { "artifactLocation": location } }] }),
        );
        let run = json!({ "tool": { "driver": { "name": "x" } }, "results": [result], "originalUriBaseIds": bases });
        let error = read(&log(&json!([run])), &ReadOptions::default()).unwrap_err().to_string();
        let place = "runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri: ";
        assert!(error.starts_with(place), "{error}");
    }
}

#[test]
fn many_results_of_many_rules_are_quick() {
    let rules: Vec<Value> =
        (0..SARIF_RULES_MAX).map(|index| json!({ "id": format!("R{index}") })).collect();
    let extensions = vec![json!({ "name": "e", "rules": rules }); 5];
    let results: Vec<Value> =
        (0..20_000).map(|index| result(&json!({ "ruleId": format!("unknown{index}") }))).collect();
    let tool = json!({ "driver": { "name": "x" }, "extensions": extensions });
    // The order of the text decides whether rules are known when results are read.
    let text =
        format!(r#"{{"version":"2.1.0","runs":[{{"tool":{tool},"results":{}}}]}}"#, json!(results));
    let options = ReadOptions { on_excess: Excess::KeepWorst, ..ReadOptions::default() };
    let start = cpu_time();
    let models = sarif::read(text.as_bytes(), &options).unwrap();
    // A comparison of each result with each rule would take minutes.
    let time = cpu_time().saturating_sub(start);
    assert!(time < Duration::from_secs(20), "{time:?}");
    assert_eq!(models[0].skipped.over_bound, 18_000);
}
