//! Many at once: together they get what the bucket holds, and not one token more.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::place::{Place, slow};
use crate::side::{Level, Side, Someone, Take};

const TOKENS: u64 = 60;

#[test]
fn together_they_get_what_the_bucket_holds() {
    let place = Place::new();
    let mut first = place.made();
    first.create_entity("project", None);
    first.create_entity("key", Some("project"));
    first.set_limits(Level::System, &[slow("rpm", 10 * TOKENS)]);
    first.set_limits(Level::Entity("project", "model"), &[slow("rpm", TOKENS)]);
    let mut second = place.opened();
    let weir = place.weir();
    let (mut third, mut fourth) = (weir.again(), weir.again());
    let taken = AtomicU64::new(0);
    let crowd: [&mut (dyn Side + Send); 4] = [&mut first, &mut second, &mut third, &mut fourth];
    std::thread::scope(|threads| {
        for side in crowd {
            threads.spawn(|| taken.fetch_add(drain(side), Ordering::Relaxed));
        }
    });
    assert_eq!(taken.into_inner(), TOKENS);
    for side in [&mut second as &mut Someone, &mut third] {
        assert_eq!(side.left("project", "model", "rpm"), 0);
        assert_eq!(side.left("key", "model", "rpm"), i64::try_from(9 * TOKENS).unwrap());
    }
}

/// More than the thousand writes of a bucket, after which the original splits it.
const MANY: u64 = 1_050;

#[test]
fn a_bucket_stays_exact_over_more_than_a_thousand_takes() {
    let place = Place::new();
    let mut first = place.made();
    first.set_limits(Level::System, &[slow("rpm", MANY)]);
    let mut second = place.opened();
    let weir = place.weir();
    let (mut third, mut fourth) = (weir.again(), weir.again());
    let taken = AtomicU64::new(0);
    let crowd: [&mut (dyn Side + Send); 4] = [&mut first, &mut second, &mut third, &mut fourth];
    std::thread::scope(|threads| {
        for side in crowd {
            threads.spawn(|| {
                let take = Take { entity: "user", resource: "model", consume: &[("rpm", 1)] };
                let held = (0..=MANY).take_while(|_| side.hold(&take).is_some()).count() as u64;
                taken.fetch_add(held, Ordering::Relaxed)
            });
        }
    });
    assert_eq!(taken.into_inner(), MANY);
    assert_eq!(second.left("user", "model", "rpm"), 0);
}

/// Takes tokens one by one until there are none; how many it got.
fn drain(side: &mut Someone) -> u64 {
    (0..=TOKENS).take_while(|_| side.takes("key", "model", &[("rpm", 1)])).count() as u64
}
