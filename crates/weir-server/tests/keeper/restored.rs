//! A backup under load and during a rotation of keys, restored elsewhere: the same service.

use serde_json::{Value, json};
use weir_table::embedded::{Passphrase, restore};

use crate::receiver::Receiver;
use crate::scene::{APP, Client, ORG, Scene, at, text, used};
use crate::targets::verified;

/// What a service gave out before its backup.
struct GivenOut {
    client: Client,
    operator: String,
    revoked: String,
    lease: String,
    cursor: String,
    webhook_secret: String,
}

impl Scene {
    async fn give_out(&self, client: Client, receiver: &Receiver) -> GivenOut {
        // Both may be of one millisecond, so only the list before the second one tells them apart.
        let operator = self.app.token("admin").await;
        let before: Value = self.get("/v1/tokens").await.json();
        let revoked = self.app.token("admin").await;
        let after: Value = self.get("/v1/tokens").await.json();
        let ids = |list: &Value| -> Vec<String> {
            list["items"].as_array().into_iter().flatten().map(|token| text(token, "id")).collect()
        };
        let old = ids(&before);
        let new: Vec<String> = ids(&after).into_iter().filter(|id| !old.contains(id)).collect();
        assert_eq!(new.len(), 1, "{before} {after}");
        let listed: Value = self.get("/v1/tokens?limit=1").await.json();
        assert_eq!(self.delete(&format!("/v1/tokens/{}", new.concat())).await.status, 200);
        let hook = json!({"url": receiver.url()});
        let hook: Value = self.put(&at(ORG, "/webhooks/ops"), &hook).await.json();
        GivenOut {
            client,
            operator,
            revoked,
            lease: self.lease().await,
            cursor: text(&listed, "next_cursor"),
            webhook_secret: text(&hook, "secret"),
        }
    }

    /// Takes a token of a limit; the lease.
    pub(crate) async fn lease(&self) -> String {
        let limit = json!({"name": "rpm", "capacity": 10, "refill_amount": 10, "refill_period_seconds": 60});
        let ask = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}, "limits": [limit]});
        let granted = self.post("/v1/namespaces/default/acquire", &ask).await;
        assert_eq!(granted.status, 200, "{}", granted.text());
        text(&granted.json(), "lease")
    }

    /// Whether the operator's token, the client's tokens, the lease and the cursor are accepted.
    async fn accepts(&self, given: &GivenOut) -> [bool; 5] {
        let lease = format!("/v1/namespaces/default/leases/{}/commit", given.lease);
        let cursor = format!("/v1/tokens?limit=1&cursor={}", given.cursor);
        [
            self.app.get("/v1/jobs").bearer(&given.operator).send().await.status == 200,
            self.is_let_in(&given.client).await,
            self.refresh(&given.client.refresh).await.status == 200,
            self.post(&lease, &json!({})).await.status == 200,
            self.get(&cursor).await.status == 200,
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_service_accepts_what_the_original_gave_out() {
    let (scene, client) = Scene::with_app().await;
    let receiver = Receiver::start().await;
    let given = scene.give_out(client, &receiver).await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let passphrase = || Passphrase::new("correct horse battery").unwrap();

    let load = async {
        for number in 0..30 {
            let submitted = scene.submit(&given.client, &used(number)).await;
            assert_eq!(submitted.status, 202, "{}", submitted.text());
        }
    };
    let nothing = json!({});
    let rotation = scene.post("/v1/signing-key/rotate", &nothing);
    let (to, store) = (path("backup"), scene.app.store.backend());
    let backup = store.backup(&to, Some(passphrase()), |_, _| {});
    let ((), rotated, backed_up) = tokio::join!(load, rotation, backup);
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    assert_eq!(backed_up.unwrap().keys.unwrap().count, 2, "of cursors and of tokens");

    let wrong = Passphrase::new("correct horse batterie").unwrap();
    let refused = restore(&to, &path("restored"), Some(&wrong), &|_, _| {}).unwrap_err();
    assert_eq!(refused.to_string(), "passphrase: is not the one of this backup");
    assert!(!path("restored").exists(), "nothing was written");

    restore(&to, &path("restored"), Some(&passphrase()), &|_, _| {}).unwrap();
    let restored = Scene::start_in(Some(path("restored")), |_| {}).await;
    assert_eq!(restored.accepts(&given).await, [true; 5]);
    let signed_in = restored.token(&given.client.id, &given.client.secret).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text());
    let revoked = restored.app.get("/v1/jobs").bearer(&given.revoked).send().await;
    assert_eq!(revoked.status, 401, "a revoked token stays revoked");
    restored.notify(1).await;
    restored.run("keeper-notices").await;
    let notices = receiver.take();
    assert!(!notices.is_empty());
    for notice in &notices {
        verified(notice, &given.webhook_secret);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_restored_without_keys_has_its_data_and_new_keys() {
    let (scene, client) = Scene::with_app().await;
    let receiver = Receiver::start().await;
    let given = scene.give_out(client, &receiver).await;
    let folder = tempfile::tempdir().unwrap();
    let (to, data) = (folder.path().join("backup"), folder.path().join("restored"));
    let report = scene.app.store.backend().backup(&to, None, |_, _| {}).await.unwrap();
    assert_eq!(report.keys, None);
    assert!(!to.join("keys.weir").exists());
    restore(&to, &data, None, &|_, _| {}).unwrap();
    let restored = Scene::start_in(Some(data), |_| {}).await;
    assert_eq!(restored.accepts(&given).await, [false; 5]);
    let signed_in = restored.token(&given.client.id, &given.client.secret).await;
    assert_eq!(signed_in.status, 200, "the secret of a client is data: {}", signed_in.text());
    assert_eq!(restored.get(&at(ORG, &format!("/apps/{APP}"))).await.status, 200);
}
