//! Which findings a SARIF file means.

use serde_json::{Value, json};
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::sarif::{self, Excess, ModelFindings, ReadOptions, Skipped};
use weir_reviews::{Error, Result};

use crate::samples::model;

pub(crate) fn log(runs: &Value) -> Value {
    json!({ "version": "2.1.0", "runs": runs })
}

fn run(rules: &Value, results: &Value) -> Value {
    json!({ "tool": { "driver": { "name": "lint", "rules": rules } }, "results": results })
}

/// A result at a place, with these fields more.
pub(crate) fn result(fields: &Value) -> Value {
    let mut result = json!({
        "message": { "text": "a message" },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": "a.py" }, "region": { "startLine": 3 },
        } }],
    });
    for (field, value) in fields.as_object().unwrap() {
        result[field] = value.clone();
    }
    result
}

pub(crate) fn read(document: &Value, options: &ReadOptions) -> Result<Vec<ModelFindings>> {
    sarif::read(document.to_string().as_bytes(), options)
}

/// The only model of a file.
fn only(document: &Value) -> ModelFindings {
    let mut models = read(document, &ReadOptions::default()).unwrap();
    assert_eq!(models.len(), 1);
    models.remove(0)
}

/// The finding of a result of this rule.
fn finding(rule: &Value, fields: &Value) -> Finding {
    let mut model = only(&log(&json!([run(&json!([rule]), &json!([result(fields)]))])));
    assert_eq!(model.findings.len(), 1, "{:?}", model.skipped);
    model.findings.remove(0)
}

fn error(document: &Value) -> Error {
    read(document, &ReadOptions::default()).unwrap_err()
}

#[test]
fn a_severity_comes_from_the_result_or_else_from_its_rule() {
    let no_rule = json!({ "id": "other" });
    let scored = json!({ "id": "R", "properties": { "security-severity": "9.1" } });
    let noted = json!({ "id": "R", "defaultConfiguration": { "level": "note" } });
    for (rule, fields, expected) in [
        (&no_rule, json!({ "level": "error" }), Severity::High),
        (&no_rule, json!({ "level": "warning" }), Severity::Medium),
        (&no_rule, json!({ "level": "note" }), Severity::Low),
        (&no_rule, json!({ "level": "none" }), Severity::Info),
        (&no_rule, json!({ "level": null }), Severity::Medium),
        (&no_rule, json!({}), Severity::Medium),
        (&no_rule, json!({ "kind": "informational" }), Severity::Info),
        (&no_rule, json!({ "kind": "open" }), Severity::Info),
        (&no_rule, json!({ "rank": 95 }), Severity::Critical),
        (&no_rule, json!({ "rank": 70.5, "level": "note" }), Severity::High),
        (&no_rule, json!({ "rank": -1.0, "level": "note" }), Severity::Low),
        (&no_rule, json!({ "properties": { "security-severity": 7 } }), Severity::High),
        (&no_rule, json!({ "properties": { "security-severity": "6.9" } }), Severity::Medium),
        (&no_rule, json!({ "properties": { "security-severity": "x" } }), Severity::Medium),
        (&no_rule, json!({ "properties": { "severity": "HIGH" } }), Severity::High),
        (&no_rule, json!({ "properties": { "severity": "odd" } }), Severity::Medium),
        (&scored, json!({ "ruleId": "R", "level": "note" }), Severity::Critical),
        (&scored, json!({ "ruleIndex": 0 }), Severity::Critical),
        (&scored, json!({ "ruleId": "R/1" }), Severity::Critical),
        (&scored, json!({ "rule": { "id": "R" } }), Severity::Critical),
        (&scored, json!({ "rule": { "index": 0 } }), Severity::Critical),
        (&scored, json!({ "ruleIndex": 7 }), Severity::Medium),
        (&scored, json!({ "ruleIndex": -1 }), Severity::Medium),
        (&noted, json!({ "ruleId": "R" }), Severity::Low),
        (&noted, json!({ "ruleId": "R", "level": "error" }), Severity::High),
        (&noted, json!({ "ruleId": "R", "kind": "fail" }), Severity::Low),
    ] {
        assert_eq!(finding(rule, &fields).severity, expected, "{rule} {fields}");
    }
}

#[test]
fn a_category_is_named_or_a_known_tag() {
    let rule =
        json!({ "id": "R", "properties": { "tags": ["HIGH", 3, "external/cwe", "Security"] } });
    let category = |rule: &Value, fields: Value| {
        finding(rule, &fields).category.map(|category| category.to_string())
    };
    let none = json!({ "id": "R" });
    assert_eq!(category(&rule, json!({ "ruleId": "R" })).as_deref(), Some("security"));
    assert_eq!(category(&rule, json!({})), None);
    let named = json!({ "ruleId": "R", "properties": { "category": "style" } });
    assert_eq!(category(&rule, named).as_deref(), Some("style"));
    let unusable = json!({ "properties": { "category": "a b", "tags": "security" } });
    assert_eq!(category(&none, unusable), None);
    let tagged = json!({ "properties": { "tags": ["x", "performance"] } });
    assert_eq!(category(&none, tagged).as_deref(), Some("performance"));
}

#[test]
fn a_message_is_looked_up_and_filled() {
    let rule = json!({
        "id": "R",
        "shortDescription": { "text": "Unused import" },
        "messageStrings": { "default": { "text": "{0} is {{unused}} in {1}{9}" } },
    });
    let by_id = json!({
        "ruleId": "R", "message": { "id": "default", "arguments": ["`os`", "{0}"] },
    });
    let found = finding(&rule, &by_id);
    assert_eq!(found.description, "`os` is {unused} in {0}{9}");
    assert_eq!(found.title, "Unused import");
    assert_eq!(found.rule.as_deref(), Some("R"));
    let text = json!({ "message": { "text": "first {0}\nsecond" } });
    let found = finding(&rule, &text);
    assert_eq!((found.title.as_str(), found.rule), ("first {0}", None));
    assert_eq!(found.description, "first {0}\nsecond");
    let long = finding(&rule, &json!({ "message": { "text": "ä".repeat(1000) } }));
    assert_eq!(long.title.chars().count(), 201);
    assert_eq!(long.description.chars().count(), 1000);
    let markdown = finding(&rule, &json!({ "message": { "markdown": "**m**" } }));
    assert_eq!(markdown.description, "**m**");
}

#[test]
fn rules_of_extensions_are_found() {
    let document = log(&json!([{
        "results": [
            result(&json!({ "rule": { "index": 0, "toolComponent": { "index": 1 } } })),
            result(&json!({ "ruleId": "E0" })),
        ],
        "tool": {
            "driver": { "name": "CodeQL", "rules": [{ "id": "D" }] },
            "extensions": [
                { "name": "a", "rules": [{ "id": "E0", "properties": { "security-severity": "9" } }] },
                { "name": "b", "rules": [{ "id": "E1", "shortDescription": { "text": "short" } }] },
            ],
        },
    }]));
    let model = only(&document);
    assert_eq!(model.model.as_str(), "CodeQL");
    assert_eq!(model.findings[0].rule.as_deref(), Some("E1"));
    assert_eq!(model.findings[0].title, "short");
    assert_eq!(model.findings[1].severity, Severity::Critical);
}

#[test]
fn lines_and_files_have_defaults() {
    let place = |physical: Value| json!({ "locations": [{ "physicalLocation": physical }] });
    let rule = json!({ "id": "R" });
    let file = json!({ "uri": "a.py" });
    for (region, lines) in [
        (json!({ "startLine": 3, "endLine": 5 }), (3, 5)),
        (json!({ "startLine": 3 }), (3, 3)),
        (json!({ "startLine": 0 }), (1, 1)),
        (json!({ "charOffset": 17 }), (1, 1)),
        (Value::Null, (1, 1)),
    ] {
        let physical = json!({ "artifactLocation": file, "region": region });
        let found = finding(&rule, &place(physical));
        assert_eq!((found.line_start, found.line_end), lines, "{region}");
    }
    let document = log(&json!([{
        "tool": { "driver": { "name": "x" } },
        "results": [
            result(&place(json!({ "artifactLocation": { "index": 1 } }))),
            result(&place(json!({ "artifactLocation": { "uri": "b.py", "uriBaseId": "SRC" } }))),
            result(&place(json!({ "artifactLocation": { "uri": "file:///repo/x/c.py" } }))),
            result(&place(json!({ "artifactLocation": { "uri": "file:///work/d.py" } }))),
            result(&place(json!({ "artifactLocation": { "index": 9 } }))),
            result(&json!({ "locations": [] })),
        ],
        "artifacts": [{}, { "location": { "uri": "listed.py" } }],
        "originalUriBaseIds": { "SRC": { "uri": "src/", "uriBaseId": "R" }, "R": { "uri": "file:///repo/" } },
    }]));
    let options = ReadOptions { root: Some("/work".to_owned()), ..ReadOptions::default() };
    let models = read(&document, &options).unwrap();
    let paths: Vec<&str> =
        models[0].findings.iter().map(|found| found.file_path.as_str()).collect();
    assert_eq!(paths, ["listed.py", "src/b.py", "x/c.py", "d.py"]);
    assert_eq!(models[0].skipped, Skipped { without_file: 2, ..Skipped::default() });
}

#[test]
fn results_that_are_no_findings_are_counted() {
    let results = json!([
        result(&json!({ "suppressions": [{ "kind": "inSource" }] })),
        result(&json!({ "suppressions": [{ "kind": "external", "status": "accepted" }] })),
        result(&json!({ "suppressions": [{ "kind": "external", "status": "underReview" }] })),
        result(&json!({ "suppressions": [{ "status": "rejected" }, { "status": "accepted" }] })),
        result(&json!({ "suppressions": [] })),
        result(&json!({ "kind": "pass" })),
        result(&json!({ "kind": "notApplicable" })),
        result(&json!({ "kind": "review" })),
        result(&json!({ "baselineState": "absent" })),
        result(&json!({ "baselineState": "unchanged" })),
    ]);
    let model = only(&log(&json!([run(&json!([]), &results)])));
    assert_eq!(model.findings.len(), 5);
    let expected = Skipped { suppressed: 2, passed: 2, absent: 1, ..Skipped::default() };
    assert_eq!(model.skipped, expected);
}

#[test]
fn ids_are_the_tools_own_if_they_are_unique() {
    let print =
        |value: &str| json!({ "partialFingerprints": { "primaryLocationLineHash": value } });
    let results = [
        result(&json!({ "guid": "g-1", "fingerprints": { "a": "unused" } })),
        result(&json!({ "fingerprints": { "b": "not first", "a": "p-1" } })),
        result(&print("shared:1")),
        result(&print("shared:1")),
        result(&json!({ "guid": "has a blank" })),
        result(&json!({ "ruleId": "R" })),
    ];
    let ids = |results: &[Value]| -> Vec<String> {
        let model = only(&log(&json!([run(&json!([]), &json!(results))])));
        model.findings.iter().map(|found| found.id.to_string()).collect()
    };
    let found = ids(&results);
    assert_eq!(found[..2], ["g-1", "p-1"]);
    let mut distinct = found.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), results.len(), "{found:?}");
    // Equal results are numbered, so their order does not matter; others do not depend on it.
    let mut other_order = results.to_vec();
    other_order.reverse();
    let mut again = ids(&other_order);
    again.sort();
    assert_eq!(again, distinct);
}

#[test]
fn a_finding_that_is_reported_500_times_has_500_ids() {
    let results: Vec<Value> = (0..500).map(|_| result(&json!({ "ruleId": "R" }))).collect();
    let model = only(&log(&json!([run(&json!([]), &json!(results))])));
    let ids: std::collections::BTreeSet<_> = model.findings.iter().map(|found| &found.id).collect();
    assert_eq!(ids.len(), 500);
}

#[test]
fn runs_of_one_model_are_joined() {
    let named = |name: &str| json!({ "tool": { "driver": { "name": name } }, "results": [result(&json!({ "ruleId": "R" }))] });
    let document = log(&json!([named("My Lint #1"), named("b"), named("My Lint #1")]));
    let models = read(&document, &ReadOptions::default()).unwrap();
    let names: Vec<&str> = models.iter().map(|model| model.model.as_str()).collect();
    assert_eq!(names, ["My-Lint--1", "b"]);
    let ids: Vec<_> = models[0].findings.iter().map(|found| &found.id).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1]);
    let options = ReadOptions { model: Some(model("gpt-5")), ..ReadOptions::default() };
    let models = read(&document, &options).unwrap();
    assert_eq!((models.len(), models[0].findings.len()), (1, 3));
    assert!(models[0].findings.iter().all(|found| found.model.as_str() == "gpt-5"));
}

#[test]
fn the_worst_findings_are_kept_if_there_are_too_many() {
    let levels = ["note", "error", "warning", "note", "error", "none"];
    let results = |from: usize| -> Vec<Value> {
        let result = |(index, level): (usize, &&str)| {
            result(&json!({ "level": level, "guid": format!("g{}", from + index) }))
        };
        levels.iter().enumerate().map(result).collect()
    };
    let document = log(&json!([
        run(&json!([]), &json!(results(0))),
        { "tool": { "driver": { "name": "b" } }, "results": results(6) },
    ]));
    let options =
        ReadOptions { findings_max: 5, on_excess: Excess::KeepWorst, ..ReadOptions::default() };
    let models = read(&document, &options).unwrap();
    let ids = |model: &ModelFindings| -> Vec<String> {
        model.findings.iter().map(|found| found.id.to_string()).collect()
    };
    assert_eq!(ids(&models[0]), ["g1", "g2", "g4"]);
    assert_eq!(ids(&models[1]), ["g7", "g10"]);
    assert_eq!(models[0].skipped.over_bound + models[1].skipped.over_bound, 7);
    let refused = read(&document, &ReadOptions { findings_max: 5, ..ReadOptions::default() });
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
    assert_eq!(refused.to_string(), "runs[0].results: has more than 5 findings");
}

#[test]
fn a_byte_order_mark_is_no_matter() {
    let document = log(&json!([run(&json!([]), &json!([result(&json!({}))]))]));
    let bytes = [b"\xEF\xBB\xBF".as_slice(), document.to_string().as_bytes()].concat();
    let models = sarif::read(bytes.as_slice(), &ReadOptions::default()).unwrap();
    assert_eq!(models[0].findings.len(), 1);
}

#[test]
fn errors_name_the_place() {
    let at = |fields: Value| {
        log(&json!([run(&json!([]), &json!([result(&json!({})), result(&fields)]))]))
    };
    let region = |start: Value, end: Value| {
        at(json!({ "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": "a" }, "region": { "startLine": start, "endLine": end },
        } }] }))
    };
    let region_place = "runs[0].results[1].locations[0].physicalLocation.region";
    let many_models: Vec<Value> = (0..21)
        .map(|index| json!({ "tool": { "driver": { "name": format!("m{index}") } } }))
        .collect();
    for (document, start) in [
        (
            at(json!({ "level": "fatal" })),
            "runs[0].results[1].level: unknown variant `fatal`".to_owned(),
        ),
        (at(json!({ "level": 3 })), "runs[0].results[1].level: ".to_owned()),
        (at(json!({ "message": {} })), "runs[0].results[1].message: has no text".to_owned()),
        (
            at(json!({ "message": { "id": "x" } })),
            "runs[0].results[1].message: has no text".to_owned(),
        ),
        (at(json!({ "message": "text" })), "runs[0].results[1].message: invalid type".to_owned()),
        (at(json!({ "ruleId": "x".repeat(600) })), "runs[0].results[1].ruleId: has 600".to_owned()),
        (region(json!(5), json!(4)), format!("{region_place}.endLine: is not from startLine (5)")),
        (region(json!(-1), json!(4)), format!("{region_place}.startLine: invalid value")),
        (region(json!(1.5), json!(4)), format!("{region_place}.startLine: invalid type")),
        (region(json!(1), json!(u64::MAX)), format!("{region_place}.endLine: is not from 1")),
        (log(&json!([{}])), "runs[0].tool: is missing".to_owned()),
        (log(&json!([{ "tool": {} }])), "runs[0].tool.driver.name: is missing".to_owned()),
        (log(&json!({})), "runs: invalid type".to_owned()),
        (log(&json!(many_models)), "runs[20].tool.driver.name: is the name of model 21".to_owned()),
        (json!({ "version": "2.1.0" }), "runs: is missing".to_owned()),
        (json!({ "version": "1.0.0", "runs": [] }), "version: is \"1.0.0\"; only 2.1.0".to_owned()),
        (json!({ "runs": [] }), "version: is missing".to_owned()),
        (json!({}), "version: is missing".to_owned()),
        (json!([]), "sarif: invalid type: sequence, expected a SARIF log".to_owned()),
        (json!("x"), "sarif: invalid type".to_owned()),
    ] {
        let text = error(&document).to_string();
        assert!(text.starts_with(&start), "{text} is not {start}");
    }
    for (text, start) in [
        ("", "sarif: is not JSON: EOF"),
        ("<xml/>", "sarif: is not JSON: expected value"),
        ("{\"version\": \"2.1.0\", \"runs\": []} x", "sarif: is not JSON: trailing"),
        (
            "{\"version\": \"2.1.0\", \"runs\": [{\"results\": [{\"level\":",
            "runs[0].results[0].level: ",
        ),
    ] {
        let error = sarif::read(text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error} is not {start}");
    }
}

#[test]
fn a_run_without_results_is_a_model_without_findings() {
    for runs in [
        json!([{ "tool": { "driver": { "name": "x" } }, "results": null }]),
        json!([{ "tool": { "driver": { "name": "x" } } }]),
    ] {
        assert_eq!(only(&log(&runs)).findings, []);
    }
    assert_eq!(read(&log(&Value::Null), &ReadOptions::default()).unwrap(), []);
}
