//! Prices of models: imported, downloaded, and unknown.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_server::keeper::Labels;

use crate::scene::{APP, ORG, Scene, at, new_org, used, with};

const PREMIUM: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";
const PRICES: &str = "/api/v1/prices";

fn row(model: &str, micros: u64) -> Value {
    json!({"model_id": model, "input_price_usd_micros_per_1m": micros,
        "output_price_usd_micros_per_1m": micros})
}

impl Scene {
    /// What a model costs now, and where that is from.
    async fn price(&self, model: &str) -> Option<(u64, String)> {
        let response: Value = self.get(&format!("{PRICES}?model={model}")).await.json();
        let price = response["items"].as_array().unwrap().first()?;
        let micros = price["input_price_usd_micros_per_1m"].as_u64().unwrap();
        Some((micros, price["source"].as_str().unwrap().to_owned()))
    }
}

#[tokio::test]
async fn an_import_in_parts_takes_effect_with_its_last_part_and_can_be_removed() {
    let scene = Scene::start().await;
    let first = json!({"prices": [row(PREMIUM, 7)], "more": true});
    let begun: Value = scene.post(PRICES, &first).await.json();
    assert_eq!((&begun["open"], &begun["models"]), (&json!(true), &json!(1)), "{begun}");
    let book = Some((3_000_000, "PRICE_BOOK".to_owned()));
    assert_eq!(scene.price(PREMIUM).await, book);
    let id = begun["id"].as_str().unwrap();
    let last = json!({"prices": [row("acme.model", 9)], "import": id});
    let done: Value = scene.post(PRICES, &last).await.json();
    assert_eq!((&done["open"], &done["models"]), (&json!(false), &json!(2)), "{done}");
    assert_eq!(done["by"], "admin");
    assert_eq!(scene.price(PREMIUM).await, Some((7, "CACHED".to_owned())));
    assert_eq!(scene.price("acme.model").await, Some((9, "CACHED".to_owned())));
    let listed: Value = scene.get(&format!("{PRICES}/imports")).await.json();
    assert_eq!(listed["items"], json!([done]));

    scene.post(PRICES, &last).await.problem(Code::NOT_FOUND);
    let other = json!({"prices": [row(PREMIUM, 7)], "import": id, "from": "2026-01-15"});
    scene.post(PRICES, &other).await.problem(Code::INVALID_REQUEST);
    let path = format!("{PRICES}/imports/{id}");
    assert_eq!(scene.delete(&path).await.status, 204);
    scene.delete(&path).await.problem(Code::NOT_FOUND);
    assert_eq!((scene.price(PREMIUM).await, scene.price("acme.model").await), (book, None));
    scene.get(&format!("{PRICES}?region=us-east-1")).await.problem(Code::INVALID_REQUEST);
    let nobody = scene.call(Method::DELETE, &path).send().await;
    nobody.problem(Code::UNAUTHORIZED);
}

/// A configuration with one label, whose model has no price.
fn unpriced() -> Labels {
    let label = json!({"bedrock_model_id": "acme.model", "tier": "premium", "family": "acme",
        "description": "A model without a price"});
    serde_json::from_value(json!({"premium": label})).unwrap()
}

#[tokio::test]
async fn a_model_without_a_price_is_refused() {
    let scene = Scene::start_with(|settings| settings.labels = Some(unpriced())).await;
    let org = with(new_org(), json!({"model_ordering": ["premium"], "quotas": {"premium": 100}}));
    assert_eq!(scene.put(&at(ORG, ""), &org).await.status, 201);
    let client = scene.app(ORG, APP).await;
    let of = |number| with(used(number), json!({"bedrock_model_id": "acme.model"}));
    let response =
        scene.submit(&client, &of(1)).await.problem(weir_server::keeper::codes::UNKNOWN_PRICE);
    assert!(response.detail.contains("acme.model"), "{}", response.detail);
    // In a batch it is its own fault alone.
    let stated = with(of(2), json!({"cost_usd_micros": 5}));
    let batch = json!({"requests": [of(3), stated]});
    let path = at(ORG, "/apps/api/costs/batch");
    let response: Value = scene.app.post(&path, &batch).bearer(&client.access).send().await.json();
    assert_eq!((&response["accepted"], &response["failed"]), (&json!(1), &json!(1)), "{response}");
    assert!(response["results"][0].to_string().contains("UNKNOWN_PRICE"), "{response}");
    let zero = with(org, json!({"unpriced": "zero"}));
    assert_eq!(scene.put(&at(ORG, ""), &zero).await.status, 200);
    let response: Value = scene.submit(&client, &of(1)).await.json();
    assert_eq!(response["processing"]["cost_usd_micros"], 0, "the org said so: {response}");
}

#[tokio::test]
async fn prices_are_downloaded_and_a_bad_response_changes_nothing() {
    let answer = Arc::new(Mutex::new((StatusCode::OK, String::new())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/prices.json", listener.local_addr().unwrap());
    let shared = Arc::clone(&answer);
    let router: Router = Router::new().fallback(move || std::future::ready(shared.lock().clone()));
    tokio::spawn(crate::receiver::serve(listener, router));
    let scene = Scene::start_with(|settings| settings.prices = Some(url)).await;
    let file = |micros: u64| {
        let book = json!({"source": "s", "units": "micro-USD per one million tokens", "as_of": "x",
            "entries": [row(PREMIUM, micros)]});
        book.to_string()
    };
    *answer.lock() = (StatusCode::OK, file(5));
    assert_eq!(scene.run("keeper-prices").await, 1);
    assert_eq!(scene.price(PREMIUM).await, Some((5, "PRICING_API".to_owned())));
    let wrong = [
        (StatusCode::INTERNAL_SERVER_ERROR, file(6)),
        (StatusCode::FOUND, file(6)),
        (StatusCode::OK, "<html>".to_owned()),
        (StatusCode::OK, format!("{}{}", file(6), " ".repeat(5 << 20))),
    ];
    for (status, text) in wrong {
        *answer.lock() = (status, text);
        let ran: Value = scene.post("/v1/jobs/keeper-prices/run", &json!({})).await.json();
        assert_ne!(ran["outcome"], "done", "{ran}");
        assert_eq!(scene.price(PREMIUM).await, Some((5, "PRICING_API".to_owned())));
    }
}
