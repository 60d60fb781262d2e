//! What users, workers and readers see of problems, runs and jobs.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::samples::{problem, run, script_job};
use crate::scene::{Scene, refused, texts};

const AT: &str = "problems/baekjoon/1000";
const GET: Method = Method::GET;
const POST: Method = Method::POST;

struct Cast {
    scene: Scene,
    ann: String,
    ben: String,
}

/// A server with two users, a published problem `1000`, a draft `1001` and a deleted problem `1002`.
async fn cast() -> Cast {
    let scene = Scene::start().await;
    for id in ["1000", "1001", "1002"] {
        let mut body = problem(id);
        body["is_completed"] = json!(id != "1001");
        scene.make("problems", &body).await;
    }
    assert_eq!(scene.delete("problems/baekjoon/1002").await.status, 200);
    let (ann, ben) = (scene.user("ann", 2).await, scene.user("ben", 1).await);
    Cast { scene, ann, ben }
}

impl Cast {
    async fn token(&self, user: &str) -> String {
        self.scene.app.token(&format!("practice:user:{user}")).await
    }

    async fn get(&self, token: &str, tail: &str) -> Value {
        let reply = self.scene.by(token, GET, tail, &Value::Null).await;
        assert_eq!(reply.status, 200, "{tail}: {}", reply.text());
        reply.json()
    }
}

#[tokio::test]
async fn a_user_sees_published_problems_with_samples_only() {
    let cast = cast().await;
    let ann = cast.token(&cast.ann).await;
    assert_eq!(texts(&cast.get(&ann, "problems").await["items"], "problem_id"), ["1000"]);
    for status in ["draft", "deleted"] {
        let page = cast.get(&ann, &format!("problems?status={status}")).await;
        assert_eq!(page["items"], json!([]));
    }
    let seen = cast.get(&ann, &format!("{AT}?include=testcases")).await;
    assert_eq!(texts(&seen["test_cases"], "output"), ["3"]);
    assert_eq!((seen.get("solution_code"), seen.get("registered_by")), (None, None));
    assert_eq!(seen["constraints"], problem("1000")["constraints"]);
    let listed = cast.get(&ann, &format!("{AT}/testcases")).await;
    assert_eq!(texts(&listed["items"], "output"), ["3"]);
    for id in ["1001", "1002", "9999"] {
        for tail in ["", "?include=testcases", "/testcases"] {
            let tail = format!("problems/baekjoon/{id}{tail}");
            let reply = cast.scene.by(&ann, GET, &tail, &Value::Null).await;
            let text = reply.problem(Code::NOT_FOUND).detail;
            assert_eq!(text, format!("problem \"baekjoon/{id}\" not found"), "{tail}");
        }
    }
}

#[tokio::test]
async fn the_plan_says_which_problems_a_user_sees_and_registers() {
    let cast = cast().await;
    let scene = &cast.scene;
    let plan = scene.narrow_plan(1).await;
    let eve = scene.user("eve", plan).await;
    let (ann, ben, eve) =
        (cast.token(&cast.ann).await, cast.token(&cast.ben).await, cast.token(&eve).await);
    // Free does not register, and the narrow plan shows no problem of others.
    let reply = scene.by(&ben, POST, "problems", &problem("2000")).await;
    refused(&reply, 403, "NOT_ALLOWED");
    assert_eq!(cast.get(&eve, "problems").await["items"], json!([]));
    scene.by(&eve, GET, AT, &Value::Null).await.problem(Code::NOT_FOUND);

    let mut published = problem("2000");
    published["is_completed"] = json!(true);
    refused(&scene.by(&eve, POST, "problems", &published).await, 403, "NOT_ALLOWED");
    let reply = scene.by(&eve, POST, "problems", &problem("2000")).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    assert_eq!(
        reply.json::<Value>()["registered_by"].as_str(),
        Some(cast_id(&cast, "eve").await.as_str())
    );
    let second = scene.by(&eve, POST, "problems", &problem("2001")).await;
    refused(&second, 403, "NOT_ALLOWED");
    assert_eq!(texts(&cast.get(&eve, "problems").await["items"], "problem_id"), ["2000"]);
    let own = cast.get(&eve, "problems/baekjoon/2000?include=testcases").await;
    assert_eq!(own["solution_code"], problem("2000")["solution_code"]);
    assert_eq!(texts(&own["test_cases"], "output"), ["3"], "hidden test cases stay hidden");
    // Another user does not see the draft, and who registered it only an administrator.
    scene.by(&ann, GET, "problems/baekjoon/2000", &Value::Null).await.problem(Code::NOT_FOUND);
    scene.make("problems/baekjoon/2000/publish", &Value::Null).await;
    let seen = cast.get(&ann, "problems/baekjoon/2000").await;
    assert_eq!((seen.get("solution_code"), seen.get("registered_by")), (None, None));
    assert!(scene.delete("problems/baekjoon/2000?hard=true").await.status == 204);
    let reply = scene.by(&eve, POST, "problems", &problem("2001")).await;
    assert_eq!(reply.status, 201, "a removed problem no longer counts: {}", reply.text());
}

/// The id of a user by name.
async fn cast_id(cast: &Cast, name: &str) -> String {
    let tail = format!("users?email={name}@example.com");
    let found = cast.scene.read(&tail).await;
    texts(&found["items"], "id").swap_remove(0)
}

#[tokio::test]
async fn an_inactive_user_is_refused() {
    let cast = cast().await;
    let scene = &cast.scene;
    let ann = cast.token(&cast.ann).await;
    let recorded = scene.by(&ann, POST, "history", &run()).await.json::<Value>();
    let own = format!("history/{}", recorded["id"].as_str().unwrap());
    scene.make(&format!("users/{}/deactivate", cast.ann), &Value::Null).await;
    for (method, tail, body) in [
        (GET, "problems".to_owned(), Value::Null),
        (GET, AT.to_owned(), Value::Null),
        (POST, "problems".to_owned(), problem("3000")),
        (POST, "history".to_owned(), run()),
        (Method::PATCH, own.clone(), json!({"is_code_public": true})),
        (POST, format!("{own}/hints"), json!({"hints": ["x"]})),
    ] {
        refused(&scene.by(&ann, method, &tail, &body).await, 403, "NOT_ALLOWED");
    }
}

#[tokio::test]
async fn a_user_has_only_the_own_runs_and_public_ones() {
    let cast = cast().await;
    let scene = &cast.scene;
    let (ann, ben) = (cast.token(&cast.ann).await, cast.token(&cast.ben).await);
    let mut body = run();
    let private = scene.by(&ben, POST, "history", &body).await.json::<Value>();
    assert_eq!(private["user_id"].as_str(), Some(cast.ben.as_str()), "the user of the token");
    body["is_code_public"] = json!(true);
    let public = scene.by(&ben, POST, "history", &body).await.json::<Value>();
    let tail = |run: &Value| format!("history/{}", run["id"].as_str().unwrap());

    // In the name of another, or with an id of one's own choice.
    body["user_id"] = json!(cast.ben);
    scene.by(&ann, POST, "history", &body).await.problem(Code::NOT_FOUND);
    body["user_id"] = json!(cast.ann);
    body["history_id"] = private["id"].clone();
    let chosen = scene.by(&ann, POST, "history", &body).await;
    assert_eq!(chosen.problem(Code::INVALID_REQUEST).details["field"], "history_id");

    // A private run of another is missing, like one that does not exist.
    for id in [tail(&private), "history/none".to_owned()] {
        for (method, tail, body) in [
            (GET, id.clone(), Value::Null),
            (Method::PATCH, id.clone(), json!({"is_code_public": true})),
            (POST, format!("{id}/hints"), json!({"hints": ["x"]})),
        ] {
            scene.by(&ann, method, &tail, &body).await.problem(Code::NOT_FOUND);
        }
    }
    // A public one is read, without its user, and not changed.
    let seen = cast.get(&ann, &tail(&public)).await;
    assert_eq!((&seen["user_id"], &seen["code"]), (&Value::Null, &body["code"]));
    for (method, tail, body) in [
        (Method::PATCH, tail(&public), json!({"is_code_public": false})),
        (POST, format!("{}/hints", tail(&public)), json!({"hints": ["x"]})),
    ] {
        scene.by(&ann, method, &tail, &body).await.problem(Code::NOT_FOUND);
    }
    let feed = cast.get(&ann, "feed").await;
    assert_eq!(texts(&feed["items"], "id"), [public["id"].as_str().unwrap()]);
    assert_eq!(feed["items"][0]["user_id"], Value::Null);
    assert_eq!(cast.get(&ben, "feed").await["items"][0]["user_id"], json!(cast.ben));

    // The own ones are listed and changed.
    let own = cast.get(&ben, &format!("users/{}/history", cast.ben)).await;
    assert_eq!(own["items"].as_array().unwrap().len(), 2);
    let others = format!("users/{}/history", cast.ben);
    scene.by(&ann, GET, &others, &Value::Null).await.problem(Code::NOT_FOUND);
    let shown = json!({"is_code_public": true});
    let reply = scene.by(&ben, Method::PATCH, &tail(&private), &shown).await;
    assert_eq!(reply.json::<Value>()["is_code_public"], true);
}

/// Requests that only administrators may send.
fn administrative() -> Vec<(Method, String, Value)> {
    let case = json!({"input": "1", "output": "1"});
    let post = |tail: &str, body: Value| (POST, tail.to_owned(), body);
    vec![
        (Method::PATCH, AT.to_owned(), json!({"title": "x"})),
        post(&format!("{AT}/publish"), Value::Null),
        post(&format!("{AT}/restore"), Value::Null),
        post(&format!("{AT}/review"), Value::Null),
        post(&format!("{AT}/verify"), Value::Null),
        (Method::PUT, format!("{AT}/testcases/1"), case),
        (Method::DELETE, format!("{AT}/testcases/1"), Value::Null),
        post("jobs/script-generation", script_job()),
        post("jobs/script-generation/1/retry", Value::Null),
        post("jobs/script-generation/1/cancel", Value::Null),
        (Method::DELETE, AT.to_owned(), Value::Null),
    ]
}

#[tokio::test]
async fn only_administrators_change_problems_and_submit_jobs() {
    let cast = cast().await;
    let ann = cast.token(&cast.ann).await;
    let worker = cast.scene.app.token("practice:worker").await;
    let reader = cast.scene.app.token("practice:read").await;
    for token in [&ann, &worker, &reader] {
        for (method, tail, body) in administrative() {
            cast.scene.by(token, method, &tail, &body).await.problem(Code::FORBIDDEN);
        }
    }
    let administrator = cast.scene.app.token("practice").await;
    for (method, tail, body) in administrative() {
        let reply = cast.scene.by(&administrator, method, &tail, &body).await;
        assert_ne!(reply.status, 403, "{tail}: {}", reply.text());
    }
}

#[tokio::test]
async fn a_worker_does_jobs_and_stores_what_they_found() {
    let cast = cast().await;
    let scene = &cast.scene;
    let worker = scene.app.token("practice:worker").await;
    let url = json!({"job_id": "1", "problem_url": "https://example.com/1"});
    scene.make("jobs/problem-extraction", &url).await;
    let listed = cast.get(&worker, "jobs/problem-extraction?status=PENDING").await;
    assert_eq!(texts(&listed["items"], "id"), ["1"]);
    let claim = json!({"worker_id": "w"});
    let post = async |tail: &str, body: &Value| {
        let reply = scene.by(&worker, POST, tail, body).await;
        assert!(matches!(reply.status, 200 | 201), "{tail}: {}", reply.text());
        reply.json::<Value>()
    };
    let fence = post("jobs/problem-extraction/claim-next", &claim).await["fence"].clone();
    let step = json!({"fence": fence, "step": "parsing", "status": "started"});
    post("jobs/problem-extraction/1/progress", &step).await;
    post("problems", &problem("5000")).await;
    let case = json!({"input": "7 7", "output": "14"});
    post("problems/baekjoon/5000/testcases", &case).await;
    post("problems/baekjoon/5000/testcases/bulk", &json!([case])).await;
    let whole = cast.get(&worker, "problems/baekjoon/5000?include=testcases").await;
    assert_eq!(whole["test_cases"].as_array().unwrap().len(), 4, "hidden ones too");
    let result = json!({"fence": fence,
        "problem": {"platform": "baekjoon", "problem_id": "5000"}});
    post("jobs/problem-extraction/1/complete", &result).await;

    let runs = format!("users/{}/history", cast.ann);
    for tail in ["problems", "feed", "history/1", runs.as_str()] {
        let reply = scene.by(&worker, GET, tail, &Value::Null).await;
        reply.problem(Code::FORBIDDEN);
    }
    scene.by(&worker, POST, "history", &run()).await.problem(Code::FORBIDDEN);
}

#[tokio::test]
async fn a_reader_reads_everything_and_users_reach_no_job() {
    let cast = cast().await;
    let scene = &cast.scene;
    scene.make("jobs/script-generation", &script_job()).await;
    let (reader, ann) = (scene.app.token("practice:read").await, cast.token(&cast.ann).await);
    let whole = cast.get(&reader, &format!("{AT}?include=testcases")).await;
    assert_eq!(whole["test_cases"].as_array().unwrap().len(), 2);
    assert_eq!(
        texts(&cast.get(&reader, "problems?status=deleted").await["items"], "problem_id"),
        ["1002"]
    );
    let jobs = cast.get(&reader, "jobs/script-generation").await;
    let id = jobs["items"][0]["id"].as_str().unwrap();
    for tail in ["".to_owned(), format!("/{id}"), format!("/{id}/progress")] {
        let tail = format!("jobs/script-generation{tail}");
        cast.get(&reader, &tail).await;
        scene.by(&ann, GET, &tail, &Value::Null).await.problem(Code::FORBIDDEN);
    }
    let claim = json!({"worker_id": "w"});
    for token in [&reader, &ann] {
        let reply = scene.by(token, POST, "jobs/script-generation/claim-next", &claim).await;
        reply.problem(Code::FORBIDDEN);
    }
}
