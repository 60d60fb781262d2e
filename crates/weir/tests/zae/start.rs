//! Who comes first, and what a table says about itself.

use serde_json::json;

use crate::place::{Place, slow};
use crate::side::{Level, Side as _};

#[test]
fn weir_starts_on_a_table_of_the_original() {
    let place = Place::new();
    let mut original = place.made();
    original.set_limits(Level::System, &[slow("rpm", 3)]);
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    let before = original.ok("version", json!({}));
    let mut weir = place.weir();
    assert!(weir.takes("user", "model", &[("rpm", 2)]));
    assert!(!original.takes("user", "model", &[("rpm", 1)]));
    assert_eq!(original.ok("version", json!({})), before, "the record is the original's");
}

#[test]
fn the_original_starts_on_a_table_of_weir() {
    let place = Place::new();
    let mut weir = place.weir();
    weir.set_limits(Level::System, &[slow("rpm", 3)]);
    assert!(weir.takes("user", "model", &[("rpm", 1)]));
    // With its updates on, it would deploy a Lambda if it did not like what it finds.
    let mut original = place.original();
    original.ok("open", json!({ "auto_update": true }));
    original.ok("open", json!({ "auto_update": false }));
    let version = original.ok("version", json!({}));
    assert_eq!(version["schema_version"], "0.9.0");
    assert_eq!(version["lambda_version"], json!(null));
    assert!(original.takes("user", "model", &[("rpm", 2)]));
    assert!(!weir.takes("user", "model", &[("rpm", 1)]));
}

#[test]
fn a_table_whose_expiry_was_never_switched_on_gets_it() {
    let place = Place::new();
    let mut original = place.original();
    original.ok("create_table", json!({ "expires": false }));
    original.open("default");
    assert_eq!(original.ok("expiry", json!({})), json!(null));
    let _weir = place.weir();
    assert_eq!(original.ok("expiry", json!({})), "ttl");
}
