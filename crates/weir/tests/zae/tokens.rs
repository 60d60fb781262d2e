//! Tokens: what one takes or gives back, the other sees.

use crate::place::{in_all_directions, slow};
use crate::side::{Level, Take};

const TAKE_4: Take<'_> = Take { entity: "user", resource: "openai/gpt-4", consume: &[("rpm", 4)] };

#[test]
fn what_one_takes_is_gone_for_the_other() {
    in_all_directions(|one, other| {
        one.set_limits(Level::System, &[slow("rpm", 10), slow("tpm", 1000)]);
        assert!(one.takes("user", "openai/gpt-4", &[("rpm", 6), ("tpm", 100)]));
        assert!(!other.takes("user", "openai/gpt-4", &[("rpm", 5)]));
        assert!(!other.takes("user", "openai/gpt-4", &[("rpm", 1), ("tpm", 901)]));
        assert!(other.takes("user", "openai/gpt-4", &[("rpm", 4), ("tpm", 900)]));
        assert!(!one.takes("user", "openai/gpt-4", &[("rpm", 1)]));
        for side in [one, other] {
            assert_eq!(side.left("user", "openai/gpt-4", "rpm"), 0);
            assert_eq!(side.left("user", "openai/gpt-4", "tpm"), 0);
            assert_eq!(side.capacity("openai/gpt-4", "rpm"), 0);
        }
    });
}

#[test]
fn what_one_gives_back_the_other_can_take() {
    in_all_directions(|one, other| {
        one.set_limits(Level::System, &[slow("rpm", 10)]);
        let released = one.hold(&TAKE_4).unwrap();
        let rolled_back = one.hold(&TAKE_4).unwrap();
        one.settle(&released, &[("rpm", -3)]);
        assert_eq!(other.left("user", "openai/gpt-4", "rpm"), 5);
        one.rollback(&rolled_back);
        assert_eq!(other.left("user", "openai/gpt-4", "rpm"), 9);
        assert!(other.takes("user", "openai/gpt-4", &[("rpm", 9)]));
    });
}

#[test]
fn debt_of_one_refuses_the_other() {
    in_all_directions(|one, other| {
        one.set_limits(Level::System, &[slow("rpm", 10)]);
        let lease = one.hold(&TAKE_4).unwrap();
        one.settle(&lease, &[("rpm", 11)]);
        assert_eq!(one.left("user", "openai/gpt-4", "rpm"), -5);
        assert_eq!(other.left("user", "openai/gpt-4", "rpm"), -5);
        assert!(!other.takes("user", "openai/gpt-4", &[("rpm", 1)]));
    });
}
