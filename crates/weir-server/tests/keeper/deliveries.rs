//! The last notices to a webhook: in order, listed, and sent again.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use weir_framework::Code;
use weir_keeper::ids::{OrgId, WebhookId};
use weir_keeper::webhooks::{AddressPolicy, PutWebhook};
use weir_keeper::{Keeper, Settings};

use crate::receiver::Receiver;
use crate::scene::{ORG, Scene, at, text};
use crate::targets::verified;

const DELIVERIES: &str = "/webhooks/ops/deliveries";

impl Scene {
    /// Sets the model of the org by hand, which is notified each time.
    pub(crate) async fn notify(&self, times: usize) {
        for number in 0..times {
            let model = ["premium", "standard"][number % 2];
            let set = self.put(&at(ORG, "/sticky"), &json!({"model_label": model})).await;
            assert_eq!(set.status, 200, "{}", set.text());
        }
    }

    /// The fields of the last notices, newest first.
    async fn deliveries(&self) -> Vec<Value> {
        let list: Value = self.get(&at(ORG, DELIVERIES)).await.json();
        list["items"].as_array().unwrap().clone()
    }

    async fn replay(&self, sequence: u64) -> Value {
        let path = at(ORG, &format!("{DELIVERIES}/{sequence}/replay"));
        let replayed = self.post(&path, &json!({})).await;
        assert_eq!(replayed.status, 200, "{}", replayed.text());
        replayed.json()
    }
}

/// A server with a webhook, and its signing secret.
async fn with_receiver() -> (Scene, Receiver, String) {
    let scene = Scene::start().await;
    scene.org(ORG).await;
    let receiver = Receiver::start().await;
    let made = scene.put(&at(ORG, "/webhooks/ops"), &json!({"url": receiver.url()})).await;
    let secret = text(&made.json(), "secret");
    (scene, receiver, secret)
}

fn sequences(receiver: &Receiver) -> Vec<String> {
    let notices = receiver.take();
    let number = |notice: &crate::receiver::Notice| {
        notice.headers["weir-notice-sequence"].to_str().unwrap().to_owned()
    };
    notices.iter().map(number).collect()
}

#[tokio::test]
async fn notices_arrive_in_order_although_the_webhook_fails() {
    let (scene, receiver, _) = with_receiver().await;
    receiver.answer(StatusCode::SERVICE_UNAVAILABLE);
    scene.notify(2).await;
    scene.run("keeper-notices").await;
    assert_eq!(sequences(&receiver), ["1"]);
    receiver.answer(StatusCode::OK);
    scene.notify(1).await;
    scene.run("keeper-notices").await;
    assert_eq!(sequences(&receiver), Vec::<String>::new(), "a later notice overtakes none");
    scene.app.clock.advance_ms(10_000);
    scene.run("keeper-notices").await;
    assert_eq!(sequences(&receiver), ["1", "2", "3"]);
}

#[tokio::test]
async fn deliveries_are_listed_and_sent_again() {
    let (scene, receiver, secret) = with_receiver().await;
    scene.notify(2).await;
    scene.run("keeper-notices").await;
    let first = receiver.take();
    let list = scene.deliveries().await;
    assert_eq!((&list[0]["sequence"], &list[1]["sequence"]), (&json!(2), &json!(1)));
    assert_eq!(list[1]["status"], "delivered");
    assert_eq!((&list[1]["attempts"], &list[1]["http_status"]), (&json!(1), &json!(200)));
    assert_eq!(list[1]["type"], "model.fallback");
    assert_eq!(list[1]["delivered_at"], list[1]["last_attempt_at"]);
    let page: Value = scene.get(&at(ORG, &format!("{DELIVERIES}?limit=1"))).await.json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert!(page["next_cursor"].is_string(), "{page}");

    scene.app.clock.advance_ms(60_000);
    assert_eq!(scene.replay(1).await["attempts"], 2);
    let again = receiver.take();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].body, first[0].body);
    assert_eq!(verified(&again[0], &secret)["sequence"], 1);
    assert_eq!(again[0].headers["weir-notice-replay"], "true");
    assert_eq!(again[0].headers["weir-notice-id"], first[0].headers["weir-notice-id"]);
    assert_ne!(again[0].headers["weir-signature"], first[0].headers["weir-signature"]);
    assert!(first[0].headers.get("weir-notice-replay").is_none());
    receiver.answer(StatusCode::IM_A_TEAPOT);
    let failed = scene.replay(1).await;
    assert_eq!((&failed["status"], &failed["http_status"]), (&json!("delivered"), &json!(418)));
    assert_eq!(failed["last_error"], "the response was 418 I'm a teapot");
    let events: Value = scene.get(&at(ORG, "/audit?limit=1")).await.json();
    assert_eq!(events["items"][0]["action"], "delivery_replayed", "{events}");
    assert_eq!(events["items"][0]["detail"], "ops: 1");
}

#[tokio::test]
async fn deliveries_are_for_the_operator() {
    let (scene, _, _) = with_receiver().await;
    let client = scene.app(ORG, "api").await;
    let replay = at(ORG, &format!("{DELIVERIES}/1/replay"));
    for (method, path) in [(Method::GET, at(ORG, DELIVERIES)), (Method::POST, replay.clone())] {
        let call = scene.call(method, &path).bearer(&client.access);
        call.send().await.problem(Code::FORBIDDEN);
    }
    scene.post(&replay, &json!({})).await.problem(Code::NOT_FOUND);
    scene.get(&at(ORG, "/webhooks/none/deliveries")).await.problem(Code::NOT_FOUND);
    for wrong in ["x", "-1", "18446744073709551616"] {
        let path = at(ORG, &format!("{DELIVERIES}/{wrong}/replay"));
        let problem = scene.post(&path, &json!({})).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], "sequence");
    }
}

#[tokio::test]
async fn an_address_that_is_no_longer_allowed_gets_no_notice() {
    let strict = |settings: &mut weir_server::keeper::Settings| {
        settings.webhook_allowed_networks = Default::default();
    };
    let scene = Scene::start_with(strict).await;
    scene.org(ORG).await;
    let receiver = Receiver::start().await;
    let hook = json!({"url": receiver.url()});
    scene.put(&at(ORG, "/webhooks/ops"), &hook).await.problem(Code::INVALID_REQUEST);
    // Another instance allowed it.
    let webhook_addresses = AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let settings = Settings { webhook_addresses, ..Settings::default() };
    let store = scene.app.store.clone();
    let lenient = Keeper::open(store, scene.app.clock.clone(), settings).await.unwrap();
    let put = PutWebhook { url: receiver.url(), ..PutWebhook::default() };
    let (org, id) = (OrgId::new(ORG).unwrap(), WebhookId::new("ops").unwrap());
    lenient.put_webhook(&org, &id, &put, "test").await.unwrap();
    scene.notify(1).await;
    scene.run("keeper-notices").await;
    assert_eq!(receiver.take().len(), 0);
    let [failed] = &scene.deliveries().await[..] else { panic!("one notice") };
    assert_eq!((&failed["status"], &failed["attempts"]), (&json!("queued"), &json!(1)));
    let error = text(failed, "last_error");
    assert!(error.starts_with("the host is in a network that webhooks may not reach"), "{error}");
    assert_eq!(failed.get("http_status"), None);
    assert!(text(&scene.replay(1).await, "last_error").contains("may not reach"));
    assert_eq!(receiver.take().len(), 0);
}
