//! Jobs of workers.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::samples::script_job;
use crate::scene::{Scene, refused};

const JOBS: &str = "jobs/script-generation";

fn named(id: &str) -> Value {
    let mut body = script_job();
    body["job_id"] = json!(id);
    body
}

fn worker(id: &str) -> Value {
    json!({"worker_id": id})
}

/// A server with a job that a worker holds; its fencing number.
async fn claimed() -> (Scene, u64) {
    let scene = Scene::start().await;
    scene.make(JOBS, &named("1")).await;
    let claimed = scene.make(&format!("{JOBS}/1/claim"), &worker("celery@a")).await;
    let fence = claimed["fence"].as_u64().unwrap();
    (scene, fence)
}

#[tokio::test]
async fn a_job_is_submitted_once() {
    let scene = Scene::start().await;
    let mut body = script_job();
    body["idempotency_key"] = json!("job-1");
    let reply = scene.post(JOBS, &body).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let job: Value = reply.json();
    assert_eq!((&job["type"], &job["status"]), (&json!("script-generation"), &json!("PENDING")));
    let again = scene.post(JOBS, &body).await;
    assert_eq!((again.status, again.json::<Value>()["id"].clone()), (200, job["id"].clone()));
    let found = scene.read(&format!("{JOBS}/{}", job["id"].as_str().unwrap())).await;
    for (field, sent) in script_job().as_object().unwrap() {
        assert_eq!(&found[field], sent, "{field}");
    }
    body["title"] = json!("Other");
    scene.post(JOBS, &body).await.problem(Code::STATE_CONFLICT);
    scene.get(&format!("{JOBS}/none")).await.problem(Code::NOT_FOUND);
    let wrong = scene.get("jobs/sweeping").await.problem(Code::INVALID_REQUEST);
    assert_eq!(wrong.details["field"], "type");
}

#[tokio::test]
async fn a_worker_takes_a_job_from_claim_to_completion() {
    let (scene, fence) = claimed().await;
    let job = scene.read(&format!("{JOBS}/1")).await;
    assert_eq!(
        (&job["status"], &job["lease"]["worker_id"], &job["attempts"]),
        (&json!("PROCESSING"), &json!("celery@a"), &json!(1))
    );
    scene.app.clock.advance_ms(1_000);
    let beat = json!({"fence": fence, "lease_ms": 5_000});
    let lease = scene.make(&format!("{JOBS}/1/heartbeat"), &beat).await;
    assert_eq!(lease["expires_at"], "2026-01-15T12:00:06.000Z");
    let step = json!({"fence": fence, "step": "parsing", "status": "started"});
    let reply = scene.post(&format!("{JOBS}/1/progress"), &step).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let listed = scene.read(&format!("{JOBS}/1/progress")).await;
    assert_eq!(listed["items"], json!([reply.json::<Value>()]));
    let result = json!({"fence": fence, "generator_code": "print(1)"});
    for _ in 0..2 {
        let done = scene.make(&format!("{JOBS}/1/complete"), &result).await;
        assert_eq!(
            (&done["status"], &done["generator_code"], &done["lease"]),
            (&json!("COMPLETED"), &json!("print(1)"), &Value::Null)
        );
    }
    assert_eq!(scene.listed(&format!("{JOBS}?status=COMPLETED"), "id").await, ["1"]);
    assert_eq!(scene.listed(&format!("{JOBS}?status=PENDING"), "id").await, [""; 0]);
}

#[tokio::test]
async fn an_extraction_names_its_problem() {
    let scene = Scene::start().await;
    let jobs = "jobs/problem-extraction";
    let url = json!({"job_id": "1", "problem_url": "https://example.com/1"});
    scene.make(jobs, &url).await;
    let claimed = scene.make(&format!("{jobs}/claim-next"), &worker("w")).await;
    let mut result = json!({"fence": claimed["fence"],
        "problem": {"platform": "#", "problem_id": "1000"}});
    let wrong = scene.post(&format!("{jobs}/1/complete"), &result).await;
    assert_eq!(wrong.problem(Code::INVALID_REQUEST).details["field"], "problem.platform");
    result["problem"]["platform"] = json!("baekjoon");
    let done = scene.make(&format!("{jobs}/1/complete"), &result).await;
    assert_eq!((&done["platform"], &done["problem_id"]), (&json!("baekjoon"), &json!("1000")));
}

#[tokio::test]
async fn the_next_job_is_the_oldest_and_without_one_there_is_no_content() {
    let scene = Scene::start().await;
    for id in ["1", "2"] {
        scene.make(JOBS, &named(id)).await;
        scene.app.clock.advance_ms(1_000);
    }
    let next = format!("{JOBS}/claim-next");
    for id in ["1", "2"] {
        assert_eq!(scene.make(&next, &worker("w")).await["job"]["id"], id);
    }
    let none = scene.post(&next, &worker("w")).await;
    assert_eq!((none.status, none.header("retry-after")), (204, "1"));
    let reserved = scene.post(JOBS, &named("claim-next")).await;
    assert_eq!(reserved.problem(Code::INVALID_REQUEST).details["field"], "job_id");
}

/// Every write of a worker.
fn writes(fence: u64) -> [(&'static str, Value); 4] {
    [
        ("heartbeat", json!({"fence": fence})),
        ("progress", json!({"fence": fence, "step": "parsing", "status": "started"})),
        ("complete", json!({"fence": fence, "generator_code": "1"})),
        ("fail", json!({"fence": fence, "error_message": "no page"})),
    ]
}

async fn report(scene: &Scene, verb: &str, body: &Value) -> Reply {
    scene.post(&format!("{JOBS}/1/{verb}"), body).await
}

#[tokio::test]
async fn a_write_without_the_fence_or_with_an_old_one_is_refused() {
    let (scene, fence) = claimed().await;
    for (verb, body) in writes(fence + 1).iter().chain(&writes(fence - 1)) {
        refused(&report(&scene, verb, body).await, 409, "LEASE_LOST");
    }
    for (verb, mut body) in writes(fence) {
        body.as_object_mut().unwrap().remove("fence");
        let reply = report(&scene, verb, &body).await;
        assert_eq!(reply.problem(Code::INVALID_REQUEST).details["field"], "fence", "{verb}");
    }
    let other = scene.post(&format!("{JOBS}/1/claim"), &worker("celery@b")).await;
    other.problem(Code::STATE_CONFLICT);
    let cancelled = scene.make(&format!("{JOBS}/1/cancel"), &Value::Null).await;
    assert_eq!(cancelled["status"], "CANCELLED");
    for (verb, body) in writes(fence) {
        refused(&report(&scene, verb, &body).await, 409, "LEASE_LOST");
    }
    let ended = scene.post(&format!("{JOBS}/1/retry"), &Value::Null).await;
    ended.problem(Code::STATE_CONFLICT);
}

#[tokio::test]
async fn a_failed_job_is_retried() {
    let (scene, fence) = claimed().await;
    let failed = report(&scene, "fail", &json!({"fence": fence, "error_message": "no page"})).await;
    let job: Value = failed.json();
    assert_eq!((&job["status"], &job["error_message"]), (&json!("FAILED"), &json!("no page")));
    let retried = scene.make(&format!("{JOBS}/1/retry"), &Value::Null).await;
    assert_eq!((&retried["status"], &retried["error_message"]), (&json!("PENDING"), &Value::Null));
    let again = scene.make(&format!("{JOBS}/claim-next"), &worker("celery@b")).await;
    assert!(again["fence"].as_u64().unwrap() > fence);
    let late = report(&scene, "complete", &writes(fence)[2].1).await;
    refused(&late, 409, "LEASE_LOST");
}

#[tokio::test]
async fn stalled_jobs_are_listed() {
    let (scene, _) = claimed().await;
    let stalled = format!("{JOBS}?stalled=true");
    assert_eq!(scene.listed(&stalled, "id").await, [""; 0]);
    scene.app.clock.advance_ms(61_000);
    assert_eq!(scene.listed(&stalled, "id").await, ["1"]);
    let both = scene.get(&format!("{stalled}&status=PENDING")).await;
    assert_eq!(both.problem(Code::INVALID_REQUEST).details["field"], "status");
}

#[tokio::test]
async fn a_job_has_a_hundred_steps_in_a_second() {
    let (scene, fence) = claimed().await;
    let step = &writes(fence)[1].1;
    for _ in 0..100 {
        assert_eq!(report(&scene, "progress", step).await.status, 201);
    }
    let refused = report(&scene, "progress", step).await;
    refused.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(refused.header("retry-after"), "1");
    scene.app.clock.advance_ms(1_000);
    assert_eq!(report(&scene, "progress", step).await.status, 201);
}

#[tokio::test]
async fn what_is_invalid_is_refused_by_name_and_not_written() {
    let (scene, fence) = claimed().await;
    let before = scene.stored().await;
    let with = |field: &str, value: Value| {
        let mut body = script_job();
        body[field] = value;
        body
    };
    let long = json!("x".repeat(1024 * 1024 + 1));
    for (body, code, field) in [
        (json!({"title": "x"}), Code::INVALID_REQUEST, "platform"),
        (with("problem_url", json!("x")), Code::INVALID_REQUEST, "problem_url"),
        (with("problem_identifier", json!("x")), Code::INVALID_REQUEST, "problem_identifier"),
        (with("celery_task_id", json!("a/b")), Code::INVALID_REQUEST, "celery_task_id"),
        (with("tags", json!(["#"])), Code::INVALID_REQUEST, "tags[0]"),
        (with("x", json!(1)), Code::INVALID_REQUEST, "x"),
        (with("solution_code", long.clone()), Code::PAYLOAD_TOO_LARGE, "solution_code"),
    ] {
        let reply = scene.post(JOBS, &body).await;
        assert_eq!(reply.problem(code).details["field"], field, "{}", reply.text());
    }
    for (verb, body, code, field) in [
        ("claim", json!({"worker_id": "a b"}), Code::INVALID_REQUEST, "worker_id"),
        ("claim", json!({"worker_id": "a", "lease_ms": 1}), Code::INVALID_REQUEST, "lease_ms"),
        ("heartbeat", json!({"fence": fence, "lease_ms": 1}), Code::INVALID_REQUEST, "lease_ms"),
        ("complete", json!({"fence": fence}), Code::INVALID_REQUEST, "generator_code"),
        (
            "complete",
            json!({"fence": fence, "generator_code": long}),
            Code::PAYLOAD_TOO_LARGE,
            "generator_code",
        ),
        (
            "fail",
            json!({"fence": fence, "error_message": " "}),
            Code::INVALID_REQUEST,
            "error_message",
        ),
        (
            "progress",
            json!({"fence": fence, "step": "", "status": "started"}),
            Code::INVALID_REQUEST,
            "step",
        ),
    ] {
        let reply = report(&scene, verb, &body).await;
        assert_eq!(reply.problem(code).details["field"], field, "{verb}: {}", reply.text());
    }
    assert_eq!(scene.stored().await, before);
    let body = vec![b' '; 10 * 1024 * 1024 + 1];
    let call = scene.call(Method::POST, JOBS).header("content-type", "application/json");
    call.body(body).send().await.problem(Code::PAYLOAD_TOO_LARGE);
}
