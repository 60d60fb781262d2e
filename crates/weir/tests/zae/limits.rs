//! Limits: what one sets at any level binds the other.

use std::collections::BTreeMap;

use serde_json::json;

use crate::place::{both, in_all_directions, slow};
use crate::side::{Level, Someone};

const LEVELS: [(Level<'_>, &str); 4] = [
    (Level::System, "system"),
    (Level::Resource("openai/gpt-4"), "resource"),
    (Level::EntityDefault("user"), "entity_default"),
    (Level::Entity("user", "openai/gpt-4"), "entity"),
];

#[test]
fn limits_of_one_bind_the_other_at_every_level() {
    in_all_directions(|one, other| {
        for (capacity, (level, name)) in (1..).zip(LEVELS) {
            one.set_limits(level, &[slow("rpm", capacity), slow("tpm", 100)]);
            for side in [&mut *one, &mut *other] {
                assert_eq!(resolved(side), (capacity, name.to_owned()));
            }
        }
        assert!(other.takes("user", "openai/gpt-4", &[("rpm", 3)]));
        assert!(!other.takes("user", "openai/gpt-4", &[("rpm", 2)]));
        assert!(one.takes("user", "openai/gpt-4", &[("rpm", 1)]));
        for (capacity, (level, name)) in (1..).zip(LEVELS).collect::<Vec<_>>().into_iter().rev() {
            assert_eq!(resolved(one), (capacity, name.to_owned()));
            other.delete_limits(level);
        }
        assert_eq!(one.resolve("user", "openai/gpt-4"), (BTreeMap::new(), String::new()));
    });
}

/// The capacity of `rpm` that `user` has on `openai/gpt-4`, and where it comes from.
fn resolved(side: &mut Someone) -> (u64, String) {
    let (limits, source) = side.resolve("user", "openai/gpt-4");
    assert_eq!(limits.len(), 2, "{limits:?}");
    (limits["rpm"], source)
}

#[test]
fn both_list_who_has_limits_of_their_own() {
    in_all_directions(|one, other| {
        one.set_limits(Level::Resource("model"), &[slow("rpm", 5)]);
        other.set_limits(Level::Resource("other"), &[slow("rpm", 5)]);
        one.set_limits(Level::Entity("user-1", "model"), &[slow("rpm", 5)]);
        other.set_limits(Level::Entity("user-2", "model"), &[slow("rpm", 5)]);
        other.set_limits(Level::Entity("user-1", "model"), &[slow("rpm", 6)]);
        for side in [&mut *one, &mut *other] {
            assert_eq!(side.resources(), ["model", "other"]);
            assert_eq!(side.custom_entities("model"), ["user-1", "user-2"]);
            assert_eq!(side.custom_resources(), ["model"]);
        }
        one.delete_limits(Level::Resource("other"));
        other.delete_limits(Level::Entity("user-1", "model"));
        for side in [one, other] {
            assert_eq!(side.resources(), ["model"]);
            assert_eq!(side.custom_entities("model"), ["user-2"]);
            assert_eq!(side.custom_resources(), ["model"]);
        }
    });
}

#[test]
fn new_limits_of_an_entity_reach_its_live_bucket() {
    in_all_directions(|one, other| {
        one.set_limits(Level::Entity("user", "model"), &[slow("rpm", 10)]);
        assert!(one.takes("user", "model", &[("rpm", 2)]));
        other.set_limits(Level::Entity("user", "model"), &[slow("rpm", 20)]);
        for side in [&mut *one, &mut *other] {
            assert!(!side.takes("user", "model", &[("rpm", 9)]), "a raise hands out nothing");
        }
        assert!(one.takes("user", "model", &[("rpm", 8)]), "and takes nothing away");
    });
}

#[test]
fn each_reads_what_the_other_wrote_down() {
    in_all_directions(|one, other| {
        one.create_entity("user", None);
        other.set_limits(Level::Entity("user", "model"), &[slow("rpm", 10)]);
        one.set_limits(Level::System, &[slow("rpm", 10)]);
        other.set_limits(Level::Resource("model"), &[slow("rpm", 10)]);
        other.delete_limits(Level::Entity("user", "model"));
        one.delete_entity("user");
        for side in [one, other] {
            let user = ["entity_created", "limits_set", "limits_deleted", "entity_deleted"];
            assert_eq!(side.audit("user"), user);
            assert_eq!(side.audit("$SYSTEM"), ["limits_set"]);
            assert_eq!(side.audit("$RESOURCE:model"), ["limits_set"]);
        }
    });
}

#[test]
fn weir_sets_no_limits_that_the_original_cannot_use() {
    let weir = both().1;
    let level = |name: &str| json!({ "limits": [slow(name, 10)] });
    for (path, body) in [
        ("limits/system", level("tokens-in")),
        ("limits/system", level("tokens.in")),
        ("limits/resources/provider:model", level("rpm")),
        ("limits/entities/user/provider:model", level("rpm")),
    ] {
        let (status, answer) = weir.ask("PUT", &format!("namespaces/default/{path}"), &body);
        assert_eq!(status, 400, "{path} {answer}");
        assert!(answer["detail"].as_str().unwrap().contains("zae-limiter"), "{answer}");
    }
    weir.ok("PUT", "limits/system", &level("rpm"));
    let take = json!({ "entity": "user", "resource": "provider:model", "consume": { "rpm": 1 } });
    let (status, answer) = weir.ask("POST", "namespaces/default/acquire", &take);
    assert_eq!(status, 400, "{answer}");
}
