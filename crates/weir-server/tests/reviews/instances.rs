//! Instances that share one store.

use serde_json::{Value, json};
use weir_framework::auth::signing::KeySource;
use weir_framework::testing::TestApp;
use weir_server::reviews::ReviewsService;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::{AnyBackend, Store};

use crate::scene::{Scene, review};

async fn instance(prefix: &str) -> Scene {
    let dynamo = weir_testkit::stage::dynamodb(prefix).await;
    let store = Store::new(AnyBackend::Dynamo(dynamo), CursorKey::new([7; 32]));
    let app = TestApp::builder(vec![Box::new(ReviewsService::default())]).settings(|settings| {
        let secret = b"a signing key that all instances know of".to_vec().into();
        settings.auth.signing = Some(KeySource::Hs256(secret));
        settings.clock = Clock::manual(Clock::System.now_ms());
        settings.run_jobs = false;
    });
    Scene { app: app.store(store).start().await }
}

fn now(id: &str) -> Value {
    let mut body = review(id);
    body.as_object_mut().unwrap().remove("created_at");
    body
}

#[tokio::test]
async fn of_two_instances_that_record_one_id_one_wins_on_dynamodb_local() {
    let prefix = weir_testkit::unique_prefix("reviews");
    let (one, two) = (instance(&prefix).await, instance(&prefix).await);
    for round in 0..5 {
        let same = now(&format!("same-{round}"));
        let (first, second) = tokio::join!(one.post("", &same), two.post("", &same));
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert!(matches!(statuses, [200, 201] | [201, 409]), "{statuses:?}");

        let id = format!("other-{round}");
        let (this, mut that) = (now(&id), now(&id));
        that["pr_title"] = json!("Another title");
        let (first, second) = tokio::join!(one.post("", &this), two.post("", &that));
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409], "{} {}", first.text(), second.text());
        let winner = if first.status == 201 { "Add a thing" } else { "Another title" };
        assert_eq!(one.read(&id).await["pr_title"], winner);
        assert_eq!(two.read(&id).await["pr_title"], winner);
    }
}

#[tokio::test]
async fn without_an_object_store_raw_outputs_are_refused_on_dynamodb_local() {
    let scene = instance(&weir_testkit::unique_prefix("reviews-raw")).await;
    let mut body = now("r-1");
    body["responses"][1]["raw"] = json!({});
    let problem = scene.post("", &body).await.problem(weir_framework::Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "responses[1].raw");
    scene.record(&now("r-1")).await;
}
