//! The service, asked from outside.
use clap::Parser as _;
use serde_json::{Value, json};
use weir_framework::client::{ApiClient, Client};
use weir_framework::{Code, testing::TestApp};

use crate::command::{NotesArgs, run};

#[tokio::test]
async fn notes_are_kept_for_a_month() {
    let app = TestApp::start(vec![Box::new(crate::notes::Notes)]).await;
    let (mine, other) = (app.token("notes:mine").await, app.token("notes:other").await);
    let path = "/v1/namespaces/mine/notes";
    let add = |body: Value| app.post(path, &body).bearer(&mine).send();
    assert_eq!(add(json!({"id": "1", "text": "mind the gap"})).await.status, 201);
    add(json!({"id": "1", "text": "again"})).await.problem(Code::ALREADY_EXISTS);
    add(json!({"id": "2", "text": ""})).await.problem(Code::INVALID_REQUEST);
    app.get(path).bearer(&other).send().await.problem(Code::FORBIDDEN);

    let socket = Client::find(app.data().unwrap()).await.unwrap().unwrap();
    let api = weir::api::Api::new(ApiClient::Socket(socket));
    run(NotesArgs::parse_from(["notes", "mine", "add", "3", "hello"]), &api).await.unwrap();
    run(NotesArgs::parse_from(["notes", "mine", "list"]), &api).await.unwrap();

    app.clock.advance_ms(31 * 24 * 60 * 60 * 1000);
    let ran = app.post("/v1/jobs/notes-tidy/run", &json!({})).admin().send().await;
    assert_eq!(ran.json::<Value>()["items"], 2);
    assert_eq!(app.get(path).admin().send().await.json::<Value>()["items"], json!([]));
}
