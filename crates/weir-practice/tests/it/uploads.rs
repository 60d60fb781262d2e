//! Uploads of many test cases.

use std::io::Write as _;

use weir_practice::Error;
use weir_practice::bounds::{BULK_BYTES_MAX, ZIP_ENTRIES_MAX};
use weir_practice::ids::IdempotencyKey;
use weir_practice::test_cases::bulk::{BulkFormat, BulkUpload, CheckedUpload};
use weir_practice::test_cases::{NewTestCase, TestCaseAccess, Uploaded};
use weir_testkit::watched::Strike;
use zip::write::SimpleFileOptions;

use crate::problem_samples::{at, noise, problem};
use crate::scene::Scene;

scenes!(
    every_format_is_stored,
    a_small_upload_is_one_transaction,
    a_large_upload_can_be_repeated,
    two_equal_uploads_at_once_store_each_test_case_once,
    an_upload_beyond_the_bound_stores_nothing,
);

fn checked(format: BulkFormat, bytes: &[u8]) -> Result<CheckedUpload, Error> {
    let mut upload = BulkUpload::new(format);
    // Parts as a body has them.
    for part in bytes.chunks(1000) {
        upload.push(part)?;
    }
    upload.check()
}

fn json(count: usize) -> String {
    let one =
        |n: usize| format!(r#"{{"input": "{n}", "output": "{}", "sample": {}}}"#, n * n, n < 2);
    format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(","))
}

pub(crate) fn upload(count: usize) -> CheckedUpload {
    checked(BulkFormat::Json, json(count).as_bytes()).unwrap()
}

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

async fn stored(scene: &Scene) -> Vec<(String, String, bool)> {
    let all = scene.practice.problem_with_test_cases(&at("1"), TestCaseAccess::All).await.unwrap();
    let texts =
        |case: weir_practice::test_cases::TestCase| (case.input, case.output, case.is_sample);
    all.test_cases.into_iter().map(texts).collect()
}

async fn every_format_is_stored(scene: &Scene) {
    let practice = &scene.practice;
    let zip = archive(&[
        ("samples/1.in", b"0"),
        ("samples/1.out", b"0"),
        ("2.in", b"2"),
        ("2.out", b"4"),
        ("__MACOSX/._2.in", b"\x00\xff"),
    ]);
    let lines = "{\"input\": \"0\", \"output\": \"0\", \"sample\": true}\n{\"input\": \"2\", \"output\": \"4\"}\n";
    let array = format!("[{}]", lines.trim().replace('\n', ","));
    for (format, bytes) in [
        (BulkFormat::Json, array.as_bytes()),
        (BulkFormat::JsonLines, lines.as_bytes()),
        (BulkFormat::Zip, zip.as_slice()),
    ] {
        practice.create_problem(problem("1"), None, "ann").await.unwrap();
        let checked = checked(format, bytes).unwrap();
        let done = practice.upload_test_cases(&at("1"), checked, None, "ann").await.unwrap();
        assert_eq!(done, Uploaded { added: 2, unchanged: 0 });
        let text = |text: &str| text.to_owned();
        let expected = [(text("0"), text("0"), true), (text("2"), text("4"), false)];
        assert_eq!(stored(scene).await, expected, "{format:?}");
        practice.purge_problem(&at("1"), "ann").await.unwrap();
    }
    let missing = practice.upload_test_cases(&at("1"), upload(1), None, "ann").await;
    assert!(missing.unwrap_err().is_not_found());
    scene.assert_empty().await;
}

async fn a_small_upload_is_one_transaction(scene: &Scene) {
    let practice = &scene.practice;
    practice.create_problem(problem("1"), None, "ann").await.unwrap();
    scene.watch.reset();
    practice.upload_test_cases(&at("1"), upload(90), None, "ann").await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.transactions, calls.writes, calls.gets, calls.queries), (1, 0, 2, 1));
    assert_eq!((scene.counted().await, scene.case_count().await), (90, 90));
    let again = practice.upload_test_cases(&at("1"), upload(90), None, "ann").await.unwrap();
    assert_eq!(again, Uploaded { added: 0, unchanged: 90 });
    // A key is of one content.
    let key = IdempotencyKey::new("once").unwrap();
    for added in [3, 0] {
        let done = practice.upload_test_cases(&at("1"), upload(3), Some(&key), "ann").await;
        assert_eq!(done.unwrap().added, added);
    }
    for count in [2, 4] {
        let other = practice.upload_test_cases(&at("1"), upload(count), Some(&key), "ann").await;
        assert!(other.as_ref().is_err_and(Error::is_conflict), "{other:?}");
    }
    assert_eq!((scene.counted().await, scene.case_count().await), (93, 93));
}

/// Several batches, one of them with an object.
fn large() -> CheckedUpload {
    let mut lines = String::new();
    for number in 0..210 {
        let input = if number == 100 { noise(500 * 1024, 1) } else { number.to_string() };
        let case = serde_json::json!({"input": input, "output": "x"});
        lines.push_str(&format!("{case}\n"));
    }
    checked(BulkFormat::JsonLines, lines.as_bytes()).unwrap()
}

async fn a_large_upload_can_be_repeated(scene: &Scene) {
    let practice = &scene.practice;
    // DynamoDB Local needs seconds for a round.
    let stride = if scene.is_dynamodb { 6 } else { 1 };
    for strike in [Strike::Before, Strike::After] {
        for skip in (0..30_u64).step_by(stride) {
            practice.create_problem(problem("1"), None, "ann").await.unwrap();
            scene.watch.fail(skip, u64::MAX, strike);
            let killed = practice.upload_test_cases(&at("1"), large(), None, "ann").await;
            scene.watch.cancel();
            assert_eq!(scene.counted().await, scene.case_count().await);
            practice.upload_test_cases(&at("1"), large(), None, "ann").await.unwrap();
            let cases = stored(scene).await;
            assert_eq!((cases.len(), scene.counted().await), (210, 210));
            assert_eq!(cases[100].0, noise(500 * 1024, 1));
            practice.purge_problem(&at("1"), "ann").await.unwrap();
            scene.clock.advance_ms(2 * 60 * 60 * 1000);
            practice.sweep_objects(practice.now_ms(), 100).await.unwrap();
            scene.assert_empty().await;
            if killed.is_ok() {
                break;
            }
            assert!(skip < 24);
        }
    }
}

async fn two_equal_uploads_at_once_store_each_test_case_once(scene: &Scene) {
    scene.practice.create_problem(problem("1"), None, "ann").await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let practice = scene.practice.clone();
        writers.spawn(async move {
            practice.upload_test_cases(&at("1"), large(), None, "ann").await.unwrap().added
        });
    }
    let added: usize = writers.join_all().await.into_iter().sum();
    assert_eq!((added, scene.counted().await, scene.case_count().await), (210, 210, 210));
    assert_eq!(scene.object_names().await.len(), 1);
}

async fn an_upload_beyond_the_bound_stores_nothing(scene: &Scene) {
    let practice = &scene.practice;
    practice.create_problem(problem("1"), None, "ann").await.unwrap();
    practice.upload_test_cases(&at("1"), upload(2), None, "ann").await.unwrap();
    let error = practice.upload_test_cases(&at("1"), upload(9_999), None, "ann").await.unwrap_err();
    let expected = "test_cases: the problem baekjoon/1 has 2, and 9999 more are too many";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert_eq!((scene.counted().await, scene.case_count().await), (2, 2));
}

/// What is wrong with an archive.
fn refusal(bytes: &[u8]) -> String {
    checked(BulkFormat::Zip, bytes).unwrap_err().to_string()
}

#[test]
fn hostile_archives_are_refused() {
    let bomb = archive(&[("1.in", &vec![b'0'; 1024 * 1024 + 1]), ("1.out", b"")]);
    assert!(bomb.len() < 10_000);
    assert_eq!(refusal(&bomb), "entry \"1.in\": has more than 1048576 decompressed bytes");
    let dense = archive(&[("1.in", &vec![b'0'; 1024 * 1024]), ("1.out", b"")]);
    assert_eq!(refusal(&dense), "entry \"1.in\": is compressed by more than a factor of 200");
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for number in 0..=ZIP_ENTRIES_MAX {
        writer.start_file(format!("{number}.in"), SimpleFileOptions::default()).unwrap();
    }
    let many = writer.finish().unwrap().into_inner();
    assert_eq!(refusal(&many), "upload: has more than 20100 entries");
    // A header that claims less than there is.
    let mut liar = archive(&[("1.in", &vec![b'0'; 2 * 1024 * 1024]), ("1.out", b"")]);
    let size = (2 * 1024 * 1024_u32).to_le_bytes();
    let claims: Vec<usize> = (0..liar.len() - 4).filter(|at| liar[*at..*at + 4] == size).collect();
    for at in claims {
        liar[at..at + 4].copy_from_slice(&10_u32.to_le_bytes());
    }
    checked(BulkFormat::Zip, &liar).unwrap_err();
}

#[test]
fn invalid_archives_name_the_entry() {
    for (entries, expected) in [
        (vec![("1.in", &b"1"[..])], "entry \"1.in\": has no output of the same name"),
        (vec![("1.out", &b"1"[..])], "entry \"1.out\": has no input of the same name"),
        (vec![("a.txt", &b"1"[..])], "entry \"a.txt\": is neither an input .in nor an output .out"),
        (vec![("1.in", &b"\xff"[..]), ("1.out", &b""[..])], "entry \"1.in\": is not UTF-8"),
    ] {
        assert_eq!(refusal(&archive(&entries)), expected);
    }
    let error = refusal(b"not an archive");
    assert!(error.starts_with("upload: cannot be read as a zip archive"), "{error}");
    let mut cut = archive(&[("1.in", &noise(10_000, 1).into_bytes()), ("1.out", b"")]);
    cut[200] ^= 0xff;
    let error = refusal(&cut);
    assert!(error.starts_with("entry \"1.in\": "), "{error}");
}

#[test]
fn an_upload_is_bounded_while_it_arrives() {
    let mut upload = BulkUpload::new(BulkFormat::Zip);
    let part = vec![0; 1024 * 1024];
    for _ in 0..BULK_BYTES_MAX / part.len() as u64 {
        upload.push(&part).unwrap();
    }
    let error = upload.push(&[0]).unwrap_err();
    assert_eq!(error.to_string(), "upload: is larger than 67108864 bytes");
}

#[test]
fn a_test_case_is_read_as_it_was_sent() {
    let mut upload = upload(3);
    let expected = NewTestCase { input: "2".into(), output: "4".into(), is_sample: false };
    assert_eq!((upload.count(), upload.read(2).unwrap()), (3, expected));
    assert!(upload.read(3).is_err());
}
