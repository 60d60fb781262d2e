//! What only one of the two writes or knows: it is in nobody's way, and where both have a word for it both read it.

use serde_json::{Value, json};

use crate::place::{Place, both, slow};
use crate::side::{Level, Side as _, text};

#[test]
fn what_only_weir_writes_is_in_nobodys_way() {
    let (mut original, mut weir) = both();
    weir.set_limits(Level::System, &[slow("rpm", 10)]);
    weir.create_entity("user", None);
    // A lease that is an item from the beginning, settled; a bucket that an operator gave tokens.
    let held = json!({"entity": "user", "resource": "model", "consume": {"rpm": 4},
        "on_expiry": "rollback"});
    let lease = text(&weir.ok("POST", "acquire", &held)["lease"]);
    weir.settle(&lease, &[("rpm", -1)]);
    let more = json!({"amounts": {"rpm": 1}});
    weir.ok("POST", "entities/user/buckets/model/top-up", &more);

    assert_eq!(original.left("user", "model", "rpm"), 8);
    assert_eq!(original.capacity("model", "rpm"), 8);
    let audit = original.audit("user");
    assert_eq!(audit, ["entity_created", "bucket_topped_up"]);
    original.ok("buckets", json!({ "entity": "user" }));
    original.ok("usage", json!({ "entity": "user", "window": "hourly" }));
    assert!(original.takes("user", "model", &[("rpm", 8)]));
    assert!(!original.takes("user", "model", &[("rpm", 1)]));
    original.delete_entity("user");
    assert_eq!(weir.entity("user"), None);
}

#[test]
fn what_only_the_original_writes_is_in_nobodys_way() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::Entity("user", "model"), &[slow("rpm", 10)]);
    original.create_entity("user", None);
    assert!(original.takes("user", "model", &[("rpm", 2)]));
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    original.ok("aggregate", json!({}));

    assert_eq!(weir.left("user", "model", "rpm"), 7);
    assert_eq!(weir.capacity("model", "rpm"), 7);
    for path in [
        "entities",
        "entities/user/buckets",
        "limits/entities/user/model",
        "usage?entity=user&window=hourly",
        "usage/summary?resource=model&window=daily",
        "audit?entity=user",
    ] {
        weir.get(path);
    }
    assert!(weir.takes("user", "model", &[("rpm", 7)]));
    assert!(!weir.takes("user", "model", &[("rpm", 1)]));
    weir.delete_entity("user");
    assert_eq!(original.entity("user"), None);
}

#[test]
fn a_bucket_that_weir_fills_up_serves_the_original() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::System, &[slow("rpm", 5)]);
    assert!(original.takes("user", "model", &[("rpm", 5)]));
    weir.ok("POST", "entities/user/buckets/model/reset", &Value::Null);
    assert!(original.takes("user", "model", &[("rpm", 4)]));
    assert!(weir.takes("user", "model", &[("rpm", 1)]));
    assert!(!original.takes("user", "model", &[("rpm", 1)]));
}

#[test]
fn what_one_says_of_a_store_that_is_gone_the_other_reads() {
    let (mut original, weir) = both();
    let limits = json!([slow("rpm", 5)]);
    original.ok("set_limits", json!({ "limits": limits, "on_unavailable": "allow" }));
    let response = weir.get("limits/resolve?entity=user&resource=model");
    assert_eq!(response["on_unavailable"], "allow");
    assert_eq!(response["on_unavailable_from"], "system");
    weir.ok("PUT", "limits/system", &json!({ "limits": limits, "on_unavailable": "block" }));
    assert_eq!(original.ok("on_unavailable", json!({})), "block");
}

#[test]
fn weir_counts_no_usage_where_the_original_may() {
    let place = Place::new();
    let mut original = place.made();
    let mut weir = place.weir();
    original.set_limits(Level::System, &[slow("rpm", 10)]);
    assert!(weir.takes("user", "model", &[("rpm", 2)]));
    // Its job reads the feed all the same, for what else it does with it.
    let (status, answer) = weir.ask("POST", "jobs/limiter-usage/run", &Value::Null);
    assert!(matches!(status, 200 | 404), "{status} {answer}");
    for window in ["hourly", "daily"] {
        let found = original.ok("usage", json!({ "entity": "user", "window": window }));
        assert_eq!(found, json!([]), "{window}");
        assert_eq!(weir.get(&format!("usage?entity=user&window={window}"))["items"], json!([]));
    }
    assert!(original.takes("user", "model", &[("rpm", 3)]));
    original.ok("aggregate", json!({}));
    let found = weir.get("usage?entity=user&window=hourly");
    assert_ne!(found["items"], json!([]), "it reads what the original counts");
}
