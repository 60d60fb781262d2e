//! Workers at two instances that share one store.

use axum::http::Method;
use serde_json::{Value, json};

use crate::instances::instance;
use crate::samples::script_job;

const JOBS: &str = "jobs/script-generation";

#[tokio::test]
async fn of_workers_at_two_instances_one_claims_a_job_on_dynamodb_local() {
    let prefix = weir_testkit::unique_prefix("practice-queue");
    let (one, two) = (instance(&prefix).await, instance(&prefix).await);
    for round in 0..3 {
        let mut body = script_job();
        body["job_id"] = json!(format!("job-{round}"));
        one.make(JOBS, &body).await;
        let tail = format!("{JOBS}/job-{round}/claim");
        let mut sent = Vec::new();
        for (number, scene) in [&one, &two, &one, &two].into_iter().enumerate() {
            let claim = json!({"worker_id": format!("worker-{number}")});
            sent.push(tokio::spawn(scene.call(Method::POST, &tail).json(&claim).send()));
        }
        let mut claims = Vec::new();
        for reply in sent {
            let reply = reply.await.unwrap();
            assert!(matches!(reply.status, 200 | 409 | 503), "{}", reply.text());
            if reply.status == 200 {
                claims.push(reply.json::<Value>());
            }
        }
        assert_eq!(claims.len(), 1, "{claims:?}");
        let step = json!({"fence": claims[0]["fence"], "step": "parsing", "status": "started"});
        let step = two.make(&format!("{JOBS}/job-{round}/progress"), &step).await;
        let page = one.read(&format!("{JOBS}/job-{round}/progress")).await;
        assert_eq!(page["items"], json!([step]));
        let end = json!({"fence": claims[0]["fence"], "generator_code": "1"});
        one.make(&format!("{JOBS}/job-{round}/complete"), &end).await;
        let job = two.read(&format!("{JOBS}/job-{round}")).await;
        assert_eq!((&job["status"], &job["attempts"]), (&json!("COMPLETED"), &json!(1)));
    }
}
