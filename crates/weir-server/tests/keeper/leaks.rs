//! Secrets, hashes and one-time tokens are in no log, no error and no other answer: a whole life of a client with everything
//! written down, then searched.

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;
use weir_framework::testing::{ADMIN_KEY, Reply};
use weir_table::Query;

use crate::scene::{APP, ORG, Scene, at, new_org, text, used};

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

/// What was said, and what nobody may have heard.
#[derive(Default)]
struct Ears {
    bodies: Vec<String>,
    secrets: Vec<String>,
    /// Secrets that the store may not have in clear either.
    unstored: Vec<String>,
}

impl Ears {
    /// Keeps an answer that may hold no secret.
    fn hear(&mut self, reply: &Reply) {
        self.bodies.push(format!("{:?} {}", reply.headers, reply.text()));
    }

    fn secret(&mut self, secret: String) -> String {
        assert!(secret.len() >= 16, "{secret} may stand anywhere");
        self.secrets.push(secret.clone());
        secret
    }

    fn unstored(&mut self, secret: String) -> String {
        self.unstored.push(secret.clone());
        self.secret(secret)
    }
}

/// Fetches the secret of a client that was made or rotated, and gets tokens for it.
async fn redeem(scene: &Scene, ears: &mut Ears, response: &Value, id: &str) {
    let url = text(&response["secret_retrieval"], "url");
    let token = ears.unstored(text(&response["secret_retrieval"], "token"));
    let fetched: Value = scene.call(Method::GET, &url).send().await.json();
    let secret = ears.unstored(text(&fetched, "client_secret"));
    let path = url.split('?').next().unwrap();
    ears.hear(&scene.call(Method::GET, path).bearer(&token).send().await);
    for body in
        [json!({"token": token}), json!({"token": token, "x": 1}), json!({"token": [token]})]
    {
        ears.hear(&scene.app.post(path, &body).send().await);
    }
    // Again, and wrongly.
    ears.hear(&scene.call(Method::GET, &url).send().await);
    ears.hear(&scene.call(Method::GET, &format!("{url}&other=1")).send().await);
    ears.hear(&scene.call(Method::HEAD, &url).send().await);
    let tokens: Value = scene.token(id, &secret).await.json();
    let refresh = ears.unstored(text(&tokens, "refresh_token"));
    let access = ears.unstored(text(&tokens, "access_token"));
    let refreshed =
        scene.app.post("/auth/refresh", &json!({"refresh_token": refresh})).send().await;
    ears.secret(text(&refreshed.json(), "access_token"));
    for wrong in [
        json!({"client_id": id, "client_secret": format!("{secret}x"), "grant_type": "client_credentials"}),
        json!({"client_id": id, "client_secret": secret, "grant_type": "other"}),
        json!({"client_id": id, "client_secret": secret, "grant_type": "client_credentials", "x": 1}),
        json!({"client_id": secret, "client_secret": id, "grant_type": "client_credentials"}),
    ] {
        ears.hear(&scene.app.post("/auth/token", &wrong).send().await);
    }
    for body in [format!("client_secret={secret}"), secret.clone(), format!("{{\"{secret}")] {
        for kind in ["application/json", "application/x-www-form-urlencoded"] {
            let call = scene.call(Method::POST, "/auth/token").body(body.clone());
            ears.hear(&call.header("content-type", kind).send().await);
        }
    }
    ears.hear(&scene.app.post("/auth/refresh", &json!({"refresh_token": access})).send().await);
    ears.hear(&scene.app.post("/auth/revoke", &json!({"token": refresh})).send().await);
    let path = at(ORG, "/apps/api/model-selection");
    ears.hear(&scene.call(Method::GET, &path).bearer(&access).send().await);
    ears.hear(&scene.call(Method::GET, &path).header("x-api-key", &secret).send().await);
}

/// Settles a lease: rightly, twice, in another namespace, without credentials, and at a path that does not exist.
async fn settle(scene: &Scene, ears: &mut Ears) {
    let lease = scene.lease().await;
    let lease = ears.secret(lease);
    let path = format!("/v1/namespaces/default/leases/{lease}");
    for tail in ["commit", "commit", "rollback", "nothing", ""] {
        ears.hear(&scene.post(&format!("{path}/{tail}"), &json!({})).await);
    }
    ears.hear(&scene.app.post(&format!("{path}/commit"), &json!({})).send().await);
    let other = format!("/v1/namespaces/other/leases/{lease}/commit");
    ears.hear(&scene.post(&other, &json!({})).await);
    ears.hear(&scene.get(&format!("/{lease}")).await);
}

/// Issues a token, replaces and ends the signing key, and guesses the admin key.
async fn rotate_keys(scene: &Scene, ears: &mut Ears) {
    let token = scene.app.token("admin").await;
    let token = ears.unstored(token);
    ears.secret(ADMIN_KEY.to_owned());
    ears.hear(&scene.call(Method::GET, "/v1/jobs").bearer(&token).send().await);
    ears.hear(&scene.post("/v1/signing-key/rotate", &json!({"end_previous": true})).await);
    ears.hear(&scene.call(Method::GET, "/v1/jobs").bearer(&token).send().await);
    ears.hear(&scene.call(Method::GET, "/v1/jobs").header("x-api-key", &token).send().await);
    ears.hear(&scene.post("/v1/admin-key/rotate", &json!({})).await);
    ears.hear(&scene.get("/v1/security-log").await);
    let keys = std::fs::read_to_string(scene.app.data().unwrap().join("signing.key")).unwrap();
    let keys: Value = serde_json::from_str(&keys).unwrap();
    ears.secret(text(&keys, "current"));
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            // A socket cannot be read.
            false => found.extend(std::fs::read(&path).map(|it| (path.display().to_string(), it))),
        }
    }
    found
}

#[tokio::test]
async fn no_secret_is_logged_or_returned_again() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let scene = Scene::start_with(|settings| settings.token_rate = 0).await;
    let mut ears = Ears::default();
    let made: Value = scene.put(&at(ORG, ""), &new_org()).await.json();
    redeem(&scene, &mut ears, &made["credentials"], &format!("org-{ORG}")).await;
    let made: Value = scene.put(&at(ORG, "/apps/api"), &json!({"app_name": "API"})).await.json();
    let id = format!("org-{ORG}-app-{APP}");
    redeem(&scene, &mut ears, &made["credentials"], &id).await;
    let rotated = scene.post(&at(ORG, "/apps/api/credentials/rotate"), &json!({})).await;
    redeem(&scene, &mut ears, &rotated.json(), &id).await;
    let hook = json!({"url": "http://127.0.0.1:9/x"});
    let hook: Value = scene.put(&at(ORG, "/webhooks/ops"), &hook).await.json();
    ears.secret(text(&hook, "secret"));

    settle(&scene, &mut ears).await;
    rotate_keys(&scene, &mut ears).await;
    assert_eq!(scene.post(&at(ORG, "/apps/api/costs"), &used(1)).await.status, 202);
    for job in ["keeper-aggregate", "keeper-catch-up", "keeper-notices"] {
        scene.run(job).await;
    }
    for path in ["/api/v1/orgs", "/v1/jobs", "/metrics", "/openapi.json"] {
        ears.hear(&scene.get(path).await);
    }
    for tail in ["", "/apps", "/apps/api", "/webhooks", "/webhooks/ops", "/aggregates/today"] {
        ears.hear(&scene.get(&at(ORG, tail)).await);
    }
    let data = scene.app.data().unwrap();
    for (name, bytes) in files(data) {
        let text = String::from_utf8_lossy(&bytes);
        for secret in &ears.unstored {
            assert!(!text.contains(secret.as_str()), "a secret is in clear in {name}");
        }
    }
    let stored = scene.app.store.query(&Query::scan("weir-keeper-config")).await.unwrap();
    for item in &stored.items {
        for (name, value) in item.attrs() {
            if name.ends_with("_hash") {
                ears.secret(value.as_s().unwrap().to_owned());
            }
        }
    }
    assert!(ears.secrets.iter().any(|secret| secret.starts_with("$2")), "no hash was stored");
    // A client id that is somebody's secret is told to nobody either, the limiter's table included.
    ears.hear(&scene.token_from("192.0.2.77", "nobody", "wrong").await);
    let mut heard = ears.bodies.join("\n");
    heard.push_str(&String::from_utf8_lossy(&log.0.lock()));
    assert!(heard.contains("weir_framework"), "the log was not taken");
    assert!(heard.contains("192.0.2.77"), "the access log has the address of the client");
    for secret in &ears.secrets {
        let Some(place) = heard.find(secret.as_str()) else { continue };
        let around = heard.get(place.saturating_sub(300)..place).unwrap_or_default();
        panic!("a secret was heard after: {around}");
    }
}
