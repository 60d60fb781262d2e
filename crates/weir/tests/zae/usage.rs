//! Usage: what either counts, both can read.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::original::Original;
use crate::place::{Place, slow};
use crate::side::{Level, Side as _, text};
use crate::weir::Weir;

/// Looks at what a job has counted, and the pause between two of them.
const LOOKS_MAX: usize = 200;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What was used of `rpm` by when each window began.
type Used = BTreeMap<String, i64>;

fn read_by_original(original: &mut Original, window: &str) -> Used {
    let found = original.ok("usage", json!({ "entity": "user", "window": window }));
    let used = |s: &Value| (text(&s["window_start"]), s["counters"]["rpm"].as_i64().unwrap());
    found.as_array().unwrap().iter().map(used).collect()
}

fn read_by_weir(weir: &Weir, window: &str) -> Used {
    let found = weir.get(&format!("usage?entity=user&window={window}"));
    let second = |time: String| time.replace(".000Z", "Z");
    let used = |s: &Value| (second(text(&s["start"])), s["used"]["rpm"].as_i64().unwrap());
    found["items"].as_array().unwrap().iter().map(used).collect()
}

#[test]
fn the_original_reads_what_weir_counted() {
    let place = Place::new();
    let mut original = place.made();
    let mut weir = place.counting_weir();
    original.set_limits(Level::System, &[slow("rpm", 10)]);
    assert!(original.takes("user", "model", &[("rpm", 2)]));
    assert!(weir.takes("user", "model", &[("rpm", 3)]));
    let counted = |original: &mut Original| {
        let hours = read_by_original(original, "hourly");
        // Two, if the hour ended in between.
        (hours.values().sum::<i64>() == 5).then_some(hours)
    };
    let looks = (0..LOOKS_MAX).find_map(|_| {
        std::thread::sleep(LOOK_EVERY);
        counted(&mut original)
    });
    let hours = looks.expect("usage is not counted");
    assert_eq!(read_by_weir(&weir, "hourly"), hours);
    for window in ["daily", "monthly"] {
        let read = read_by_original(&mut original, window);
        assert_eq!(read.values().sum::<i64>(), 5, "{window}");
        assert_eq!(read_by_weir(&weir, window), read);
    }
}

#[test]
fn weir_reads_what_the_original_counted() {
    let place = Place::new();
    let mut original = place.made();
    let mut weir = place.weir();
    original.set_limits(Level::System, &[slow("rpm", 10)]);
    assert!(original.takes("user", "model", &[("rpm", 1)]), "this one it does not count");
    assert!(original.takes("user", "model", &[("rpm", 2)]));
    assert!(weir.takes("user", "model", &[("rpm", 3)]));
    original.ok("aggregate", json!({}));
    // In the hour after midnight its hour and its day are one item, so what it reads is the measure.
    let hours = read_by_original(&mut original, "hourly");
    assert!(hours.values().sum::<i64>() >= 5, "{hours:?}");
    assert_eq!(read_by_weir(&weir, "hourly"), hours);
    assert_eq!(read_by_weir(&weir, "daily"), read_by_original(&mut original, "daily"));
}
