//! The clock that decides on which day usage counts, as the running server reads it.

use std::path::Path;

use weir_api::practice::ClockResponse;
use weir_framework::client::{ApiClient, Client};
use weir_practice::bounds::CLOCK_AHEAD_MAX_MS;

use super::Finding;
use crate::time;

const CHECK: &str = "usage clock";

/// Compares the clock of the running server with the newest usage item that it has seen; `None` without a server.
pub(super) async fn examine(data: &Path) -> Option<Finding> {
    let client = Client::find(data).await.ok().flatten()?;
    let path = "/v1/practice/clock";
    let body = ApiClient::Socket(client).body(path).await.ok()?;
    serde_json::from_slice(&body).ok().map(|clock| finding(&clock))
}

fn finding(clock: &ClockResponse) -> Finding {
    let Some(newest) = &clock.newest_item_at else {
        return Finding::good(CHECK, "the server has seen no usage yet");
    };
    let ahead = time::length(clock.ahead_ms.max(0).unsigned_abs());
    if clock.ahead_ms <= CLOCK_AHEAD_MAX_MS {
        let detail = format!("{ahead} ahead of the newest usage, which is of {newest}");
        return Finding::good(CHECK, detail);
    }
    let detail = format!(
        "{ahead} ahead of the newest usage, which is of {newest}; requests that found it ahead: {}",
        clock.requests_ahead
    );
    let next = "if users were active since then, compare the clock with those of other instances";
    Finding::warning(CHECK, detail).next(next)
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_of_the_newest_usage_is_a_warning() {
        let clock = |newest: Option<&str>, ahead_ms| ClockResponse {
            now: "2026-01-15T12:00:00.000Z".to_owned(),
            newest_item_at: newest.map(str::to_owned),
            ahead_ms,
            requests_ahead: 3,
        };
        let newest = Some("2026-01-15T11:58:59.000Z");
        assert_eq!(finding(&clock(None, 0)).state, State::Good);
        assert_eq!(finding(&clock(newest, 60_000)).state, State::Good);
        let ahead = finding(&clock(newest, 61_000));
        assert_eq!(ahead.state, State::Warning);
        assert!(ahead.detail.starts_with("61 s ahead of the newest usage"), "{}", ahead.detail);
    }
}
