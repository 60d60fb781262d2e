//! Namespaces: their records are read and changed by both.

use serde_json::{Value, json};

use crate::place::{both, slow};
use crate::side::{Level, Side as _, texts};

#[test]
fn a_namespace_of_one_opens_for_the_other() {
    let (mut original, weir) = both();
    let (status, made) = weir.ask("PUT", "namespaces/of-weir", &json!({}));
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["id"], original.open("of-weir"));
    let id = original.open("of-the-original");
    let (status, found) = weir.ask("GET", "namespaces/of-the-original", &Value::Null);
    assert_eq!((status, found["id"].as_str()), (200, Some(id.as_str())), "{found}");
    let names = ["default", "of-the-original", "of-weir"];
    assert_eq!(texts(&original.ok("namespaces", json!({})), Some("name")), names);
    let (_, list) = weir.ask("GET", "namespaces", &Value::Null);
    let mut listed = texts(&list["items"], Some("name"));
    listed.sort();
    assert_eq!(listed, names);
}

#[test]
fn what_is_in_one_namespace_is_in_no_other() {
    let (mut original, mut weir) = both();
    original.open("first");
    original.set_limits(Level::System, &[slow("rpm", 1)]);
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    weir.ask("PUT", "namespaces/second", &json!({}));
    weir.open("second");
    weir.set_limits(Level::System, &[slow("rpm", 1)]);
    assert!(weir.takes("user", "model", &[("rpm", 1)]));
    weir.open("first");
    assert!(!weir.takes("user", "model", &[("rpm", 1)]));
}

#[test]
fn one_deletes_and_the_other_recovers() {
    let (mut original, weir) = both();
    let id = original.open("tenant");
    original.create_entity("user", None);
    assert_eq!(weir.ask("DELETE", "namespaces/tenant", &Value::Null).0 / 100, 2);
    assert_eq!(texts(&original.ok("namespaces", json!({})), Some("name")), ["default"]);
    let orphans = original.ok("orphans", json!({}));
    assert_eq!(texts(&orphans, Some("namespace_id")), [id.as_str()]);
    assert_eq!(original.ok("recover_namespace", json!({ "id": id })), "tenant");
    original.ok("delete_namespace", json!({ "name": "tenant" }));
    let (status, answer) = weir.ask("POST", "namespaces/tenant/recover", &Value::Null);
    assert_eq!(status / 100, 2, "{answer}");
    assert_eq!(original.open("tenant"), id);
    assert!(original.entity("user").is_some());
}

#[test]
fn the_original_purges_everything_that_weir_wrote() {
    let (mut original, mut weir) = both();
    weir.ask("PUT", "namespaces/tenant", &json!({}));
    weir.open("tenant");
    weir.create_entity("project", None);
    weir.create_entity("key", Some("project"));
    for level in [Level::System, Level::Resource("model"), Level::Entity("key", "model")] {
        weir.set_limits(level, &[slow("rpm", 10)]);
    }
    assert!(weir.takes("key", "model", &[("rpm", 1)]), "this leaves a settled lease too");
    let id = original.open("tenant");
    original.ok("delete_namespace", json!({ "name": "tenant" }));
    original.ok("purge_namespace", json!({ "id": id }));
    let mut left = texts(&original.ok("keys_of", json!({ "id": id })), None);
    // Notes that a job made of these very changes, and takes away again.
    left.retain(|key| !key.contains("/ERRAND#"));
    assert_eq!(left, [""; 0]);
}
