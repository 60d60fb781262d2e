//! What the usage snapshots say, once they have caught up.

use std::time::Duration;

use axum::http::Method;
use serde_json::Value;

use crate::ground::{Ground, RESOURCE};

/// How often is looked until usage has caught up. A server that was killed holds its jobs for half a minute.
const LOOKS_MAX: u32 = 900;
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks after usage was right: it stays so.
const LOOKS_AFTER: u32 = 20;

/// Waits until the hours, the days and the months of an entity each add up to these tokens, and checks that they
/// stay so.
pub(crate) fn check(ground: &Ground, entity: &str, limit: &str, tokens: i64) {
    let windows = ["hourly", "daily", "monthly"];
    let sums = || windows.map(|window| sum(ground, entity, limit, window));
    let mut response = sums();
    for _ in 0..LOOKS_MAX {
        if response == [tokens; 3] {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
        response = sums();
    }
    assert_eq!(response, [tokens; 3], "usage of {limit} by {entity}");
    for _ in 0..LOOKS_AFTER {
        std::thread::sleep(LOOK_EVERY);
    }
    assert_eq!(sums(), [tokens; 3], "usage of {limit} by {entity}, later");
}

fn sum(ground: &Ground, entity: &str, limit: &str, window: &str) -> i64 {
    let tail = format!("usage?entity={entity}&resource={RESOURCE}&window={window}&limit=100");
    let response = ground.ask(Method::GET, &tail, None);
    let items = response["items"].as_array().unwrap();
    items.iter().map(|one| one["used"][limit].as_i64().unwrap_or(0)).sum::<i64>()
        + i64::from(response["next_cursor"] != Value::Null) * i64::MAX / 2
}
