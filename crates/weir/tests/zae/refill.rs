//! Refills: time that has passed counts once, whoever looks first.

use serde_json::json;

use crate::original::Original;
use crate::place::{both, slow};
use crate::side::{Level, Side};

const DAY_MS: i64 = 86_400_000;

/// Makes a bucket older by so many days, at a token a day.
fn age(original: &mut Original, days: i64) {
    let mut bucket = original.bucket("user", "model");
    bucket["rf"] = json!(bucket["rf"].as_i64().unwrap() - days * DAY_MS);
    original.replace_bucket("user", "model", &bucket);
}

#[test]
fn both_refill_a_bucket_alike() {
    let (mut original, mut weir) = both();
    // Of the entity, so that the bucket cannot expire while it grows old.
    original.set_limits(Level::Entity("user", "model"), &[slow("rpm", 100), slow("tpm", 1000)]);
    assert!(original.takes("user", "model", &[("rpm", 100), ("tpm", 1000)]));
    age(&mut original, 7);
    for side in [&mut original as &mut dyn Side, &mut weir] {
        assert_eq!(side.left("user", "model", "rpm"), 7);
        assert_eq!(side.left("user", "model", "tpm"), 7);
    }
    assert!(weir.takes("user", "model", &[("rpm", 5)]));
    assert!(!original.takes("user", "model", &[("rpm", 3)]));
    assert!(original.takes("user", "model", &[("rpm", 2)]));
    for side in [&mut original as &mut dyn Side, &mut weir] {
        assert_eq!(side.left("user", "model", "tpm"), 7, "counted once, and for every limit");
    }
    age(&mut original, 3);
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    assert!(weir.takes("user", "model", &[("rpm", 2)]));
    assert!(!weir.takes("user", "model", &[("rpm", 1)]));
    assert_eq!(weir.left("user", "model", "tpm"), 10);
}

#[test]
fn a_refill_stops_at_the_capacity_for_both() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::Entity("user", "model"), &[slow("rpm", 10)]);
    assert!(original.takes("user", "model", &[("rpm", 3)]));
    age(&mut original, 365);
    for side in [&mut original as &mut dyn Side, &mut weir] {
        assert_eq!(side.left("user", "model", "rpm"), 10);
    }
    assert!(weir.takes("user", "model", &[("rpm", 10)]));
    assert!(!original.takes("user", "model", &[("rpm", 1)]));
}
