//! Days that flags name, in the time zone of practice, which only the server knows.

use weir_api::practice::UsageStats;

use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::time::{GivenTime, now_ms};

/// A day as the API takes it. The server is asked for today only where the day depends on it.
pub(super) async fn of(
    context: &ApiContext<'_>,
    given: Option<&GivenTime>,
) -> Result<Option<String>, Failure> {
    let today = match given {
        None => return Ok(None),
        Some(GivenTime::Date(date)) => return Ok(Some(date.to_string())),
        Some(_) => context.api.get::<UsageStats>(&context.path(&["stats"])).await?.to,
    };
    let now_ms = now_ms();
    let day_of = |at_ms| match at_ms == now_ms {
        true => Ok(today.clone()),
        false => Err(Failure::usage("the day of a time is not known in the time zone of practice")
            .help("write the day: 2026-01-31, 7d, today or yesterday")),
    };
    given.map(|given| given.day(now_ms, day_of)).transpose()
}
