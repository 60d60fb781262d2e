//! Lists: `{items, next_cursor}`, requested with `limit` and `cursor`.

use axum::Json;
use weir_table::audit::EventRange;
use weir_table::retry::Listed;

use crate::error::ApiError;
use crate::time;

pub use weir_api::page::{LIMIT_DEFAULT, LIMIT_MAX, Page, PageParams, TimeRangeParams};

/// The number of items that a page may have.
pub trait PageLimit {
    /// The requested number of items, or the default.
    ///
    /// # Errors
    /// The caller requested none or more than [`LIMIT_MAX`], or sent an empty cursor.
    fn checked_limit(&self) -> Result<u32, ApiError>;
}

impl PageLimit for PageParams {
    fn checked_limit(&self) -> Result<u32, ApiError> {
        if self.cursor.as_deref() == Some("") {
            return Err(ApiError::invalid("cursor", "is empty; leave it out for the first page"));
        }
        match self.limit.unwrap_or(LIMIT_DEFAULT) {
            limit @ 1..=LIMIT_MAX => Ok(limit),
            _ => Err(ApiError::invalid("limit", format!("must be from 1 to {LIMIT_MAX}"))),
        }
    }
}

/// The bounds of a time range.
pub trait TimeRange {
    /// The bounds in milliseconds since 1970, each if it was sent.
    ///
    /// # Errors
    /// A bound is not an RFC 3339 time.
    fn parsed(&self) -> Result<(Option<i64>, Option<i64>), ApiError>;
}

impl TimeRange for TimeRangeParams {
    fn parsed(&self) -> Result<(Option<i64>, Option<i64>), ApiError> {
        let bound = |name: &str, text: &Option<String>| {
            let parse =
                |text: &String| time::parse(text).map_err(|why| ApiError::invalid(name, why));
            text.as_ref().map(parse).transpose()
        };
        Ok((bound("from", &self.from)?, bound("to", &self.to)?))
    }
}

/// The response with a page of what a domain lists.
pub fn page_response<T, U>(found: Listed<T>, convert: impl FnMut(T) -> U) -> Json<Page<U>> {
    let items = found.items.into_iter().map(convert).collect();
    Json(Page { items, next_cursor: found.cursor })
}

/// The audit events that a request asks for.
///
/// # Errors
/// As [`PageLimit::checked_limit`] and [`TimeRange::parsed`].
pub fn event_range(page: PageParams, range: &TimeRangeParams) -> Result<EventRange, ApiError> {
    let (from_ms, to_ms) = range.parsed()?;
    Ok(EventRange { from_ms, to_ms, limit: page.checked_limit()?, cursor: page.cursor })
}
