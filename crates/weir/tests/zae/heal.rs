//! States that the original leaves behind and then cannot work with: Weir puts them right.

use serde_json::json;

use crate::original::Answer;
use crate::place::{both, slow};
use crate::side::{Level, Side as _, Take};

#[test]
fn a_give_back_to_a_bucket_that_is_gone_does_not_stay_in_the_way() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::System, &[slow("rpm", 10)]);
    let take = Take { entity: "user", resource: "model", consume: &[("rpm", 4)] };
    let lease = original.hold(&take).unwrap();
    original.replace_bucket("user", "model", &json!({}));
    original.settle(&lease, &[("rpm", -1)]);
    let stuck = original
        .ask("acquire", json!({ "entity": "user", "resource": "model", "consume": { "rpm": 1 } }));
    assert!(matches!(&stuck, Answer::Error(text) if text.contains("Unavailable")), "{stuck:?}");
    assert!(weir.takes("user", "model", &[("rpm", 4)]));
    assert!(original.takes("user", "model", &[("rpm", 6)]));
    assert!(!original.takes("user", "model", &[("rpm", 1)]));
}

#[test]
fn a_limit_that_is_added_reaches_live_buckets() {
    for level in [Level::Entity("user", "model"), Level::Resource("model")] {
        let (mut original, mut weir) = both();
        original.set_limits(level, &[slow("rpm", 10)]);
        assert!(original.takes("user", "model", &[("rpm", 1)]));
        original.set_limits(level, &[slow("rpm", 10), slow("tpm", 100)]);
        assert!(!original.takes("user", "model", &[("tpm", 10)]), "the original alone is stuck");
        assert!(weir.takes("user", "model", &[("rpm", 1), ("tpm", 10)]));
        assert!(original.takes("user", "model", &[("rpm", 1), ("tpm", 10)]));
        assert_eq!(weir.left("user", "model", "tpm"), 80);
        assert_eq!(weir.left("user", "model", "rpm"), 7);
    }
}

#[test]
fn writes_that_are_used_up_do_not_split_the_bucket() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::System, &[slow("rpm", 10)]);
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    // As after a thousand takes: nothing of the original's but its Lambda ever refills this.
    let mut bucket = original.bucket("user", "model");
    bucket["b_wcu_tk"] = json!(0);
    original.replace_bucket("user", "model", &bucket);
    assert!(weir.takes("user", "model", &[("rpm", 1)]));
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    assert_eq!(original.bucket("user", "model")["shard_count"], 1);
    assert_eq!(weir.left("user", "model", "rpm"), 7);
}

#[test]
fn shards_that_were_counted_and_never_made_hold_nothing() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::System, &[slow("rpm", 30)]);
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    let mut bucket = original.bucket("user", "model");
    bucket["b_wcu_tk"] = json!(0);
    original.replace_bucket("user", "model", &bucket);
    assert!(original.takes("user", "model", &[("rpm", 1)]));
    let count = &original.bucket("user", "model")["shard_count"];
    assert!(count.as_u64() > Some(1), "the original has split the bucket: {count}");
    assert_eq!(weir.left("user", "model", "rpm"), 28);
    assert_eq!(weir.capacity("model", "rpm"), 28);
    let mut taken = 2;
    for _ in 0..30 {
        taken += u64::from(original.takes("user", "model", &[("rpm", 1)]));
        taken += u64::from(weir.takes("user", "model", &[("rpm", 1)]));
    }
    assert_eq!(taken, 30);
    assert_eq!(original.bucket("user", "model")["shard_count"], 1, "it is whole again");
}

#[test]
fn a_give_back_above_the_capacity_is_not_handed_out() {
    let (mut original, mut weir) = both();
    original.set_limits(Level::Entity("user", "model"), &[slow("rpm", 10)]);
    let take = Take { entity: "user", resource: "model", consume: &[("rpm", 4)] };
    let lease = original.hold(&take).unwrap();
    original.settle(&lease, &[("rpm", -9)]);
    assert_eq!(original.bucket("user", "model")["b_rpm_tk"], 15_000);
    assert_eq!(weir.left("user", "model", "rpm"), 10);
}
