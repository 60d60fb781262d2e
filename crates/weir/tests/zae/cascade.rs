//! Entities, their parents, and takes from both.

use crate::place::{in_all_directions, slow};
use crate::side::{Level, Take};

#[test]
fn entities_of_one_are_known_to_the_other() {
    in_all_directions(|one, other| {
        one.create_entity("project", None);
        one.create_entity("key-1", Some("project"));
        other.create_entity("key-2", Some("project"));
        for side in [&mut *one, &mut *other] {
            assert_eq!(side.entity("project"), Some((None, false)));
            assert_eq!(side.entity("key-1"), Some((Some("project".to_owned()), true)));
            assert_eq!(side.children("project"), ["key-1", "key-2"]);
        }
        other.delete_entity("key-1");
        assert_eq!(one.entity("key-1"), None);
        assert_eq!(one.children("project"), ["key-2"]);
    });
}

#[test]
fn both_take_from_the_parent_or_from_neither() {
    in_all_directions(|one, other| {
        one.create_entity("project", None);
        one.create_entity("key-1", Some("project"));
        one.create_entity("key-2", Some("project"));
        one.set_limits(Level::System, &[slow("rpm", 10)]);
        one.set_limits(Level::Entity("project", "model"), &[slow("rpm", 12)]);
        // Twice each: the first take makes the buckets, the second finds them.
        for amount in [1, 2] {
            assert!(one.takes("key-1", "model", &[("rpm", amount)]));
            assert!(other.takes("key-2", "model", &[("rpm", amount)]));
        }
        assert_eq!(one.left("project", "model", "rpm"), 6);
        assert!(!other.takes("key-1", "model", &[("rpm", 7)]));
        assert!(!one.takes("key-2", "model", &[("rpm", 7)]));
        for side in [&mut *one, &mut *other] {
            assert_eq!(side.left("key-1", "model", "rpm"), 7);
            assert_eq!(side.left("key-2", "model", "rpm"), 7);
            assert_eq!(side.left("project", "model", "rpm"), 6);
        }
        assert!(other.takes("key-1", "model", &[("rpm", 6)]));
        assert!(!one.takes("project", "model", &[("rpm", 1)]));
    });
}

#[test]
fn a_lease_settles_the_parent_too() {
    in_all_directions(|one, other| {
        one.create_entity("project", None);
        one.create_entity("key", Some("project"));
        one.set_limits(Level::System, &[slow("rpm", 10)]);
        let take = Take { entity: "key", resource: "model", consume: &[("rpm", 4)] };
        let lease = one.hold(&take).unwrap();
        one.settle(&lease, &[("rpm", -1)]);
        assert_eq!(other.left("project", "model", "rpm"), 7);
        let lease = other.hold(&take).unwrap();
        other.rollback(&lease);
        assert_eq!(one.left("key", "model", "rpm"), 7);
        assert_eq!(one.left("project", "model", "rpm"), 7);
    });
}

#[test]
fn a_limit_that_the_parent_lacks_is_taken_from_the_child_alone() {
    in_all_directions(|one, other| {
        one.create_entity("project", None);
        one.create_entity("key", Some("project"));
        one.set_limits(Level::System, &[slow("rpm", 10), slow("tpm", 100)]);
        one.set_limits(Level::Entity("project", "model"), &[slow("rpm", 10)]);
        assert!(one.takes("key", "model", &[("rpm", 1), ("tpm", 10)]));
        assert!(other.takes("key", "model", &[("rpm", 1), ("tpm", 10)]));
        assert_eq!(one.left("key", "model", "tpm"), 80);
        assert_eq!(one.left("project", "model", "rpm"), 8);
    });
}
