//! Projects when a quota will be reached at the rate of the day so far.

use weir_calendar::DaySpan;

use crate::money::MicroUsd;

/// When `quota` is reached at the rate of the day so far; `None` when not today, or before anything was spent.
pub(super) fn exhausted_at(
    spend: MicroUsd,
    quota: MicroUsd,
    today: DaySpan,
    now_ms: i64,
) -> Option<i64> {
    let elapsed = u128::try_from(now_ms.checked_sub(today.start_ms)?).ok()?;
    // Reaching `spend` took `elapsed`; reaching `quota` takes proportionally longer.
    let whole = elapsed.checked_mul(u128::from(quota.0))?;
    let takes = i64::try_from(whole.div_ceil(u128::from(spend.0).max(1))).ok()?;
    let at = today.start_ms.checked_add(takes)?;
    (elapsed > 0 && spend > MicroUsd::ZERO && at < today.end_ms).then_some(at)
}
