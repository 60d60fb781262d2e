//! Uploads of many test cases.

use std::io::Write as _;

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;
use zip::write::SimpleFileOptions;

use crate::samples::problem;
use crate::scene::Scene;

const CASES: &str = "problems/baekjoon/1000/testcases";

async fn with_problem() -> Scene {
    let scene = Scene::start().await;
    let mut body = problem("1000");
    body["test_cases"] = json!([]);
    scene.make("problems", &body).await;
    scene
}

async fn upload(scene: &Scene, query: &str, kind: &str, body: impl Into<Vec<u8>>) -> Reply {
    let call = scene.call(Method::POST, &format!("{CASES}/bulk{query}"));
    call.header("content-type", kind).body(body.into()).send().await
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[tokio::test]
async fn json_json_lines_and_zip_are_stored_once() {
    let lines = "{\"input\": \"0\", \"output\": \"0\", \"sample\": true}\n{\"input\": \"2\", \"output\": \"4\"}\n";
    let array = format!("[{}]", lines.trim().replace('\n', ","));
    let zip = archive(&[
        ("samples/1.in", b"0"),
        ("samples/1.out", b"0"),
        ("2.in", b"2"),
        ("2.out", b"4"),
    ]);
    for (kind, body) in [
        ("application/json", array.into_bytes()),
        ("application/x-ndjson", lines.as_bytes().to_vec()),
        ("application/zip", zip),
    ] {
        let scene = with_problem().await;
        let reply = upload(&scene, "", kind, body.clone()).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        assert_eq!(reply.json::<Value>(), json!({"added": 2, "unchanged": 0}));
        let found = scene.read(CASES).await["items"].clone();
        assert_eq!(
            (&found[0]["output"], &found[0]["sample"], &found[1]["output"], &found[1]["sample"]),
            (&json!("0"), &json!(true), &json!("4"), &json!(false)),
            "{kind}"
        );
        let again = upload(&scene, "", kind, body.clone()).await;
        assert_eq!((again.status, again.json()), (200, json!({"added": 0, "unchanged": 2})));
        let other = upload(&scene, "?idempotency_key=second", kind, body).await;
        assert_eq!(other.status, 201);
        assert_eq!(scene.read(CASES).await["items"].as_array().unwrap().len(), 4);
    }
}

#[tokio::test]
async fn an_invalid_upload_is_refused_by_name_and_stores_nothing() {
    let scene = with_problem().await;
    let before = scene.stored().await;
    let bomb = archive(&[("1.in", &vec![b'0'; 1024 * 1024]), ("1.out", b"")]);
    for (kind, body, code, field) in [
        (
            "application/json",
            b"[{\"input\": \"1\", \"output\": \"1\"}, {\"input\": 1}]".to_vec(),
            Code::INVALID_REQUEST,
            "test_cases[1]",
        ),
        ("application/x-ndjson", b"{}\n".to_vec(), Code::INVALID_REQUEST, "line 1"),
        ("application/zip", b"PK".to_vec(), Code::INVALID_REQUEST, "upload"),
        ("application/zip", archive(&[("1.in", b"1")]), Code::INVALID_REQUEST, "entry \"1.in\""),
        ("application/zip", bomb, Code::PAYLOAD_TOO_LARGE, "entry \"1.in\""),
    ] {
        let reply = upload(&scene, "", kind, body).await;
        assert_eq!(reply.problem(code).details["field"], field, "{}", reply.text());
    }
    let reply = upload(&scene, "", "text/plain", "1").await;
    reply.problem(Code::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(scene.stored().await, before);
    let reply = scene.call(Method::POST, "problems/baekjoon/1/testcases/bulk");
    let reply = reply.header("content-type", "application/json").body("[]").send().await;
    reply.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn an_upload_may_have_64_mebibytes() {
    const MAX: usize = 64 * 1024 * 1024;
    let scene = with_problem().await;
    let mut body = br#"[{"input": "1", "output": "1"}]"#.to_vec();
    body.resize(MAX, b' ');
    let reply = upload(&scene, "", "application/json", body.clone()).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    body.push(b' ');
    let refused = upload(&scene, "", "application/json", body).await;
    assert_eq!(refused.problem(Code::PAYLOAD_TOO_LARGE).details["field"], "upload");
}

#[tokio::test]
async fn ten_thousand_test_cases_are_uploaded() {
    let scene = with_problem().await;
    let lines: String =
        (0..10_000).map(|n| format!("{{\"input\": \"{n}\", \"output\": \"{n}\"}}\n")).collect();
    let reply = upload(&scene, "", "application/x-ndjson", lines).await;
    assert_eq!(reply.json::<Value>(), json!({"added": 10_000, "unchanged": 0}));
    let one_more = scene.post(CASES, &json!({"input": "1", "output": "1"})).await;
    one_more.problem(Code::PAYLOAD_TOO_LARGE);
}
