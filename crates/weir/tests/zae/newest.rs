//! The newest release of zae-limiter: Weir does not share its tables, and does not guess what it writes into others.

use serde_json::{Value, json};

use crate::place::{Place, slow};
use crate::side::{Level, Side as _, Take, text};

#[test]
fn a_table_of_the_newest_release_is_refused_with_what_to_do() {
    let place = Place::new();
    let mut newest = place.newest();
    newest.ok("create_table", json!({}));
    newest.open("default");
    let said = place.refusal();
    for part in ["zae-limiter", "schema 0.10.0", "client:0.17", "weir limiter import-zae"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_table_that_needs_a_newer_client_is_refused() {
    let place = Place::new();
    let mut original = place.made();
    let version = json!({"name": "set_version_record", "schema_version": "0.9.0",
        "client_min_version": "0.15.0", "updated_by": "client:0.15.1"});
    original.ok("call", version);
    let said = place.refusal();
    for part in ["zae-limiter", "client_min_version 0.15.0", "weir limiter import-zae"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_the_newest_release_writes_into_a_shared_table_is_an_error() {
    let place = Place::new();
    let mut weir = place.weir();
    let mut newest = place.newest();
    newest.open("default");
    newest.set_limits(Level::System, &[slow("rpm", 10)]);
    assert!(weir.takes("user", "model", &[("rpm", 1)]));
    newest.ok("call", json!({"name": "disable_resource", "resource": "model"}));
    newest.set_limits(
        Level::Resource("daily"),
        &[json!({"name": "rpm", "capacity": 5, "cron": "0 0 * * *"})],
    );

    let ask = |method: &str, path: &str, body: &Value| {
        let (status, answer) = weir.ask(method, &format!("namespaces/default/{path}"), body);
        assert_eq!((status, text(&answer["error"])), (409, "UNKNOWN_ATTRIBUTE".to_owned()));
        text(&answer["detail"])
    };
    let limits = json!({"limits": [slow("rpm", 100)]});
    for (resource, attribute) in [("model", "disabled"), ("daily", "l_rpm_")] {
        let take = json!({"entity": "user", "resource": resource, "consume": {"rpm": 1}});
        let level = format!("limits/resources/{resource}");
        for said in [
            ask("POST", "acquire", &take),
            ask("PUT", &level, &limits),
            ask("DELETE", &level, &Value::Null),
            ask("GET", &level, &Value::Null),
        ] {
            let named = format!("the config of resource {resource}");
            assert!(said.contains(&named) && said.contains(attribute), "{said}");
        }
    }
    // The entity's bucket is marked too, also where its level does not say so.
    newest.ok("call", json!({"name": "disable_entity", "entity_id": "user", "resource": "other"}));
    newest.ok("call", json!({"name": "clear_resource_disabled", "resource": "model"}));
    let config = newest.ok("item", json!({"pk": "RESOURCE#daily", "sk": "#CONFIG"}));
    assert!(config.get("l_rpm_rsched").is_some(), "it stays as it was: {config}");
    let take = Take { entity: "somebody", resource: "model", consume: &[("rpm", 1)] };
    assert!(weir.hold(&take).is_some(), "other buckets work");
}
