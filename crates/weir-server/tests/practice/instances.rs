//! Instances that share one store.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::auth::signing::KeySource;
use weir_framework::testing::TestApp;
use weir_server::practice::PracticeService;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::{AnyBackend, Store};

use crate::scene::Scene;

pub(crate) async fn instance(prefix: &str) -> Scene {
    let dynamo = weir_testkit::stage::dynamodb(prefix).await;
    let store = Store::new(AnyBackend::Dynamo(dynamo), CursorKey::new([7; 32]));
    let app = TestApp::builder(vec![Box::new(PracticeService::default())]).settings(|settings| {
        let secret = b"a signing key that all instances know of".to_vec().into();
        settings.auth.signing = Some(KeySource::Hs256(secret));
        settings.clock = Clock::manual(Clock::System.now_ms());
        settings.run_jobs = false;
    });
    Scene { app: app.store(store).start().await }
}

#[tokio::test]
async fn two_instances_allow_as_many_as_the_limit_on_dynamodb_local() {
    let prefix = weir_testkit::unique_prefix("practice");
    let (one, two) = (instance(&prefix).await, instance(&prefix).await);
    let ann = one.user("ann", 1).await;
    let tail = format!("users/{ann}/usage");
    let mut sent = Vec::new();
    for _ in 0..8 {
        for scene in [&one, &two] {
            let call = scene.call(Method::POST, &tail).json(&json!({"action": "hint"}));
            sent.push(tokio::spawn(call.send()));
        }
    }
    let mut allowed = 0;
    for reply in sent {
        let reply = reply.await.unwrap();
        assert!(matches!(reply.status, 200 | 429), "{}", reply.text());
        allowed += u32::from(reply.status == 200);
    }
    assert_eq!(allowed, 5);
    assert_eq!(two.read(&tail).await["actions"][0]["count"], 5);
    let log = two.read(&format!("{tail}/log")).await;
    assert_eq!(log["items"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn instances_share_users_plans_and_tokens_on_dynamodb_local() {
    let prefix = weir_testkit::unique_prefix("practice-users");
    let (one, two) = (instance(&prefix).await, instance(&prefix).await);
    let body = json!({"email": "ann@example.com", "name": "Ann"});
    let (first, second) = tokio::join!(one.post("users", &body), two.post("users", &body));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409], "{} {}", first.text(), second.text());
    let found = two.read("users?email=ANN@example.com").await;
    let ann = found["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(two.read("plans").await["items"].as_array().unwrap().len(), 3);
    let ben = two.user("ben", 2).await;
    let token = one.app.token(&format!("practice:user:{ann}")).await;
    let usage =
        |id: &str| two.app.get(&format!("/v1/practice/users/{id}/usage")).bearer(&token).send();
    assert_eq!(usage(&ann).await.status, 200);
    usage(&ben).await.problem(Code::NOT_FOUND);
    one.done(Method::PUT, "tasks/t", &json!({"status": "SUCCESS", "result": {"n": 1}})).await;
    assert_eq!(two.read("tasks/t").await["result"], json!({"n": 1}));
    let gone = two.send(Method::DELETE, &format!("users/{ann}"), &Value::Null).await;
    assert_eq!(gone.status, 204, "{}", gone.text());
    one.get(&format!("users/{ann}")).await.problem(Code::NOT_FOUND);
}
