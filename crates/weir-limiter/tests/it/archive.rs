//! Audit events past retention move to object storage, none is lost.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use weir_limiter::audit::archive::Archive;
use weir_limiter::keys;
use weir_table::{Get, Item, Query, Write};

use crate::scene::{Scene, eventually};
use crate::watched::Strike;

scenes!(
    old_events_move_to_a_folder_by_day,
    a_fault_at_any_call_loses_no_event_and_repeats_none,
    two_archivers_at_once_lose_nothing,
    old_events_move_to_s3,
);

const DAY_MS: i64 = 86_400_000;
/// Retention of a scene, in days.
const RETENTION: i64 = 90;

/// Writes an event of so many days ago. Returns its id.
async fn event(scene: &Scene, subject: &str, days_ago: i64, n: i64) -> String {
    let midnight = scene.now_ms() / DAY_MS * DAY_MS;
    let at_ms = u64::try_from(midnight - days_ago * DAY_MS + n).unwrap();
    let id = ulid::Ulid::from_parts(at_ms, u128::try_from(n).unwrap()).to_string();
    let ns = scene.ns.id().as_str();
    let key = keys::audit(ns, subject, &id);
    let item = Item::new()
        .with("PK", key.partition.to_value())
        .with("SK", key.sort.unwrap().to_value())
        .with("event_id", id.as_str())
        .with("entity_id", subject)
        .with("action", "limits_set")
        .with("GSI4PK", ns)
        .with("GSI4SK", keys::audit_partition(ns, subject));
    let table = scene.limiter.settings().table.clone();
    scene.store.write(Write::put(table, item)).await.unwrap();
    id
}

async fn is_stored(scene: &Scene, subject: &str, id: &str) -> bool {
    let key = keys::audit(scene.ns.id().as_str(), subject, id);
    let table = scene.limiter.settings().table.clone();
    scene.store.get(&Get::new(table, key)).await.unwrap().is_some()
}

fn unpacked(bytes: &[u8]) -> Vec<String> {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    let id = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["event_id"].as_str().unwrap().to_owned()
    };
    text.lines().map(id).collect()
}

/// The ids in each object below a folder.
fn objects(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, unpacked(&std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn at(folder: &tempfile::TempDir) -> Archive {
    let objects = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    Archive::new(Arc::new(objects), "")
}

/// A bucket of the S3 at this address.
fn in_s3(endpoint: &str, bucket: &str, prefix: &str) -> Archive {
    rustls::crypto::ring::default_provider().install_default().ok();
    let objects = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_access_key_id("local")
        .with_secret_access_key("local")
        .build();
    Archive::new(Arc::new(objects.unwrap()), prefix)
}

/// Waits until the index shows so many events. Events past retention are old; only a test archives what it just wrote.
async fn indexed(scene: &Scene, events: u64) {
    let ns = scene.ns.id().as_str();
    let table = scene.limiter.settings().table.clone();
    let query = Query::partition(table, ns).index("GSI4");
    let query = query.begins_with(keys::audit_partition(ns, "")).count_only();
    eventually(async || (scene.store.query(&query).await.unwrap().count == events).then_some(()))
        .await;
}

/// Archives until nothing is left, or nothing happens.
async fn archive_all(scene: &Scene, archive: &Archive, expected: u64) {
    let mut moved = 0;
    eventually(async || {
        moved += scene.limiter.archive_audit(archive, 1_000).await.unwrap().0;
        (moved >= expected).then_some(())
    })
    .await;
    assert_eq!(moved, expected);
}

async fn old_events_move_to_a_folder_by_day(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    let mut first_day = Vec::new();
    for n in 0..60 {
        let subject = ["user-1", "$SYSTEM", "$RESOURCE:openai/gpt-4"][n as usize % 3];
        first_day.push(event(scene, subject, RETENTION + 2, n).await);
    }
    let second = event(scene, "user-1", RETENTION + 1, 0).await;
    let young = event(scene, "user-1", RETENTION, 0).await;
    indexed(scene, 62).await;
    archive_all(scene, &at(&folder), 61).await;
    let ns = scene.ns.id();
    let objects = objects(folder.path());
    let expected = BTreeMap::from([
        (format!("{ns}/2036/10/15/{}.jsonl.gz", first_day[0]), first_day[..50].to_vec()),
        (format!("{ns}/2036/10/15/{}.jsonl.gz", first_day[50]), first_day[50..].to_vec()),
        (format!("{ns}/2036/10/16/{second}.jsonl.gz"), vec![second.clone()]),
    ]);
    assert_eq!(objects, expected);
    assert!(!is_stored(scene, "user-1", &second).await);
    assert!(is_stored(scene, "user-1", &young).await, "its day is not past retention");
    assert_eq!(scene.limiter.archive_audit(&at(&folder), 1_000).await.unwrap(), (0, false));
}

async fn a_fault_at_any_call_loses_no_event_and_repeats_none(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..6 {
            for n in 0..3 {
                let days = RETENTION + 1 + i64::try_from(ids.len() / 3).unwrap();
                ids.push(event(scene, "user-1", days, n).await);
            }
            let archive = at(&folder);
            scene.watch.fail_once(skip, strike);
            eventually(async || {
                scene.limiter.archive_audit(&archive, 1_000).await.ok();
                (!scene.watch.is_planned()).then_some(())
            })
            .await;
        }
    }
    let archive = at(&folder);
    eventually(async || {
        scene.limiter.archive_audit(&archive, 1_000).await.unwrap();
        let archived: usize = objects(folder.path()).values().map(Vec::len).sum();
        (archived >= ids.len()).then_some(())
    })
    .await;
    let mut archived: Vec<String> = objects(folder.path()).into_values().flatten().collect();
    archived.sort();
    ids.sort();
    assert_eq!(archived, ids, "each once");
}

async fn two_archivers_at_once_lose_nothing(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    let mut ids = Vec::new();
    for n in 0..120 {
        ids.push(event(scene, &format!("user-{}", n % 7), RETENTION + 1, n).await);
    }
    indexed(scene, 120).await;
    let (one, two) = (at(&folder), at(&folder));
    let other = scene.another().await;
    eventually(async || {
        let (left, right) = tokio::join!(
            scene.limiter.archive_audit(&one, 1_000),
            other.archive_audit(&two, 1_000)
        );
        left.unwrap();
        right.unwrap();
        let mut left = 0;
        for (n, id) in ids.iter().enumerate() {
            left += u32::from(is_stored(scene, &format!("user-{}", n % 7), id).await);
        }
        (left == 0).then_some(())
    })
    .await;
    let mut archived: Vec<String> = objects(folder.path()).into_values().flatten().collect();
    archived.sort();
    ids.sort();
    assert_eq!(archived, ids);
}

/// An authorization header; moto does not check the signature.
const AUTHORIZATION: &str = "Authorization: AWS4-HMAC-SHA256 Credential=local/20260115/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// Sends a request to S3.
fn ask(method: &str, endpoint: &str, path: &str) -> Vec<u8> {
    let host = endpoint.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: {host}\r\n{AUTHORIZATION}\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let status = String::from_utf8_lossy(&answer[..end]).lines().next().unwrap().to_owned();
    assert!(status.contains(" 200 "), "{method} {path}: {status}");
    answer[end + 4..].to_vec()
}

async fn old_events_move_to_s3(scene: &Scene) {
    let endpoint = weir_testkit::moto_endpoint().unwrap();
    let bucket = format!("archive-{:x}", fastrand::u64(..));
    ask("PUT", endpoint, &format!("/{bucket}"));
    let id = event(scene, "user-1", RETENTION + 1, 5).await;
    let archive = in_s3(endpoint, &bucket, "audit/old");
    archive_all(scene, &archive, 1).await;
    let name = format!("/{bucket}/audit/old/{}/2036/10/16/{id}.jsonl.gz", scene.ns.id());
    assert_eq!(unpacked(&ask("GET", endpoint, &name)), std::slice::from_ref(&id));
    assert!(!is_stored(scene, "user-1", &id).await);
    // A place that is not there leaves events where they are.
    let kept = event(scene, "user-1", RETENTION + 1, 6).await;
    let nowhere = in_s3(endpoint, "there-is-none", "x");
    eventually(async || scene.limiter.archive_audit(&nowhere, 10).await.err()).await;
    assert!(is_stored(scene, "user-1", &kept).await);
}
