//! A server keeps a PostgreSQL database equal while an application moves.

use axum::http::Method;
use serde_json::json;
use weir_server::practice::Settings;
use weir_testkit::{Database, eventually, postgres_database};

use crate::scene::Scene;

const JOB: &str = "practice-dual-write";
const SCHEMA: &str = include_str!("../../../weir-practice/schema.sql");

/// A server whose job moves changes between it and the database.
async fn start(database: &Database, folder: &std::path::Path) -> Scene {
    let file = folder.join("postgres-url");
    std::fs::write(&file, format!("{}\n", database.url())).unwrap();
    Scene::with(Settings { dual_write_from_file: Some(file), ..Settings::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_move_in_both_directions_while_the_server_runs() {
    let (database, folder) = (postgres_database("server").unwrap(), tempfile::tempdir().unwrap());
    database.run(SCHEMA).unwrap();
    let scene = start(&database, folder.path()).await;
    // The first run installs the queue and its triggers.
    scene.run_job(JOB).await;
    let ann = scene.user("ann", 2).await;
    assert_eq!(scene.take(&ann, "hint").await.status, 200);
    database.run("INSERT INTO users (email, name) VALUES ('ben@example.com', 'Ben')").unwrap();
    eventually(async || {
        scene.run_job(JOB).await;
        let logged = "SELECT count(*) FROM usage_logs l JOIN users u ON u.id = l.user_id \
                      WHERE u.email = 'ann@example.com' AND l.action = 'hint'";
        (database.run(logged).unwrap() == "1").then_some(())
    })
    .await;
    let ben = scene.read("users?email=ben@example.com").await;
    assert_eq!(ben["items"][0]["name"], "Ben", "{ben}");
    // Changed there, it is changed here.
    let rename = "UPDATE users SET name = 'Anna', updated_at = now() + interval '100 years' \
                  WHERE email = 'ann@example.com'";
    database.run(rename).unwrap();
    scene.run_job(JOB).await;
    assert_eq!(scene.read(&format!("users/{ann}")).await["name"], "Anna");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_job_reports_a_database_that_is_down_and_goes_on_when_it_is_back() {
    let mut server = weir_testkit::Postgres::start().unwrap();
    let database = Database::create(server.url(), "server").unwrap();
    database.run(SCHEMA).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let scene = start(&database, folder.path()).await;
    scene.run_job(JOB).await;
    server.stop();
    scene.user("ann", 1).await;
    let path = format!("/v1/jobs/{JOB}/run");
    assert_eq!(scene.app.post(&path, &json!({})).admin().send().await.status, 500);
    let jobs = scene.app.request(Method::GET, "/v1/jobs").admin().send().await;
    assert!(jobs.text().contains("PostgreSQL did not respond"), "{}", jobs.text());
    server.start_again().unwrap();
    eventually(async || {
        scene.run_job(JOB).await;
        let found = database.run("SELECT count(*) FROM users WHERE email = 'ann@example.com'");
        (found.unwrap() == "1").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_job_unless_a_database_is_configured() {
    let scene = Scene::start().await;
    let path = format!("/v1/jobs/{JOB}");
    assert_eq!(scene.app.request(Method::GET, &path).admin().send().await.status, 404);
}
