use std::path::Path;

use serde_json::Value;
use weir_framework::settings::JobSettings;
use weir_framework::testing::TestApp;
use weir_server::{Settings, services};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

#[tokio::test]
async fn the_description_is_the_one_checked_in() {
    let app = TestApp::start(services(Settings::default(), &JobSettings::default())).await;
    let reply = app.get("/openapi.json").send().await;
    assert_eq!(reply.header("content-type"), "application/json");
    let description: Value = reply.json();
    assert_eq!(description["openapi"], "3.1.0");
    let text = format!("{}\n", serde_json::to_string_pretty(&description).unwrap());
    if std::env::var_os("WEIR_TEST_BLESS").is_some() {
        std::fs::write(SNAPSHOT, &text).unwrap();
    }
    let kept = std::fs::read_to_string(Path::new(SNAPSHOT)).unwrap();
    assert!(
        kept == text,
        "docs/openapi.json is not what the handlers say; WEIR_TEST_BLESS=1 rewrites it"
    );
}

#[tokio::test]
async fn every_operation_says_what_it_needs_and_how_it_fails() {
    let app = TestApp::start(services(Settings::default(), &JobSettings::default())).await;
    let description: Value = app.get("/openapi.json").send().await.json();
    let mut ids = std::collections::BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let at = format!("{method} {path}");
            let scope =
                operation["x-weir-scope"].as_str().unwrap_or_else(|| panic!("{at} names no scope"));
            let open = operation["security"].as_array().unwrap().is_empty();
            assert_eq!(open, scope == "none", "{at}");
            let failure = &operation["responses"]["default"]["$ref"];
            assert_eq!(failure, "#/components/responses/Error", "{at}");
            for (status, answer) in operation["responses"].as_object().unwrap() {
                let is_described = answer["$ref"].is_string() || answer["description"].is_string();
                assert!(is_described, "{at} says nothing about {status}");
            }
            assert!(operation["summary"].is_string(), "{at} has no summary");
            assert!(
                ids.insert(operation["operationId"].clone().to_string()),
                "{at} has another's id"
            );
        }
    }
    assert!(ids.len() >= 14, "{ids:?}");
}

#[tokio::test]
async fn what_was_made_is_linked_with_what_can_be_done_to_it() {
    let app = TestApp::start(vec![Box::new(crate::sample::Sample)]).await;
    let description: Value = app.get("/openapi.json").send().await.json();
    let made = &description["paths"]["/s/namespaces/{ns}/limits"]["post"]["responses"]["201"];
    for operation in ["sample_read_limit", "sample_remove_limit"] {
        let link = &made["links"][operation];
        assert_eq!(link["operationId"], operation);
        assert_eq!(link["parameters"]["id"], "$response.body#/id");
        assert_eq!(link["parameters"]["ns"], "$request.path.ns");
    }
}

#[tokio::test]
async fn every_link_names_a_field_of_its_response() {
    let app = TestApp::start(services(Settings::default(), &JobSettings::default())).await;
    let description: Value = app.get("/openapi.json").send().await.json();
    let mut links = 0;
    for (path, item) in description["paths"].as_object().unwrap() {
        let made = &item["post"]["responses"]["201"];
        let schema = &made["content"]["application/json"]["schema"]["$ref"];
        let schema = schema.as_str().and_then(|name| description.pointer(&name[1..]));
        for (id, link) in made["links"].as_object().into_iter().flatten() {
            let field = link["parameters"]["id"].as_str().unwrap();
            let field = field.strip_prefix("$response.body#/").unwrap();
            assert!(schema.unwrap()["properties"][field].is_object(), "{path}: {id} reads {field}");
            links += 1;
        }
    }
    assert!(links >= 4, "{links} links");
}

#[tokio::test]
async fn the_page_for_people_asks_nobody_else() {
    let app = TestApp::start(vec![]).await;
    assert_eq!(app.get("/docs").send().await.status, 308);
    let page = app.get("/docs/").send().await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.header("content-security-policy").starts_with("default-src 'self'"));
    for file in ["swagger-ui-bundle.js", "swagger-ui.css", "swagger-initializer.js"] {
        let reply = app.get(&format!("/docs/{file}")).send().await;
        assert_eq!(reply.status, 200, "{file}");
        assert!(page.text().contains(file), "{file}");
    }
    let start = app.get("/docs/swagger-initializer.js").send().await.text();
    assert!(start.contains("/openapi.json"), "{start}");
    assert!(!page.text().contains("https://"), "{}", page.text());
    app.get("/docs/../../etc/passwd").send().await.any_problem();
    app.get("/docs/nothing.js").send().await.problem(weir_framework::Code::NOT_FOUND);
}
