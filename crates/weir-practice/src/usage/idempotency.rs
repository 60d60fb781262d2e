//! The record of a request with an idempotency key. It is apart from the partition of a day, so a retry after midnight finds
//! it, and it has the outcome with which a retry is answered.

use weir_calendar::Day;
use weir_table::expr::attr;
use weir_table::{Item, Key, Name, Value, Write};

use super::request::{Outcome, UsageRequest};
use crate::bounds::IDEMPOTENCY_TTL_SECS;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::fields::Fields;
use crate::ids::{IdempotencyKey, UserId};
use crate::item::{Data, entity, is_expired, secs};
use crate::keys;
use crate::kinds::EntityType;
use crate::plans::PlanLimit;
use crate::table::TTL;

/// The key of the record, whatever the day of the request.
pub(super) fn key(user: &UserId, key: &IdempotencyKey, today: Day) -> Key {
    if faults::is(Fault::KeyLostAtMidnight)
        && let Ok(of_day) = IdempotencyKey::new(format!("{key} {today}"))
    {
        return keys::idempotency(user, &of_day);
    }
    keys::idempotency(user, key)
}

/// The write of the record, unless its key is taken. An expired record counts as absent.
pub(super) fn record(
    table: &Name,
    key: Key,
    request: &UsageRequest,
    outcome: Outcome,
    (now_ms, day_end_ms): (i64, i64),
) -> Write {
    let data = Data::new()
        .with("hash", request.hash())
        .with("act", outcome.action.as_str())
        .with("day", outcome.day.compact())
        .with("cnt", outcome.count)
        .with("lim", outcome.limit.to_number());
    let now_s = secs(now_ms);
    let item = entity(key, EntityType::Idempotency, data, now_s);
    // A clock that is behind counts on a later day, and the record must live as long as by the clock of others.
    let live_s = secs(now_ms.max(day_end_ms)).saturating_add(IDEMPOTENCY_TTL_SECS);
    Write::put(table.clone(), item.with(TTL, live_s))
        .when(attr("PK").absent().or(attr(TTL).le(now_s)))
}

/// The outcome of the first request with this key, if there was one.
///
/// # Errors
/// The first request was another one.
pub(super) fn replay(
    record: Option<&Item>,
    request: &UsageRequest,
    now_ms: i64,
) -> Result<Option<Outcome>> {
    let Some(record) = record.filter(|record| !is_expired(record, now_ms)) else {
        return Ok(None);
    };
    let fields = Fields::of(record)?;
    if fields.get("hash") != Some(&Value::B(request.hash())) {
        let problem = "idempotency_key: it was used for another request";
        return Err(Error::conflict(problem));
    }
    let limit = PlanLimit::from_number("lim", fields.number("lim")?);
    Ok(Some(Outcome {
        action: fields.parse("act")?,
        day: Day::from_compact(fields.text("day")?).ok_or_else(|| fields.wrong("day"))?,
        count: u64::try_from(fields.number("cnt")?).map_err(|_| fields.wrong("cnt"))?,
        limit: limit.map_err(|_| fields.wrong("lim"))?,
    }))
}
