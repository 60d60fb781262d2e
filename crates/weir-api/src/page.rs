//! Lists: `{items, next_cursor}`, requested with `limit` and `cursor`, and narrowed to a time range with `from` and `to`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Items on a page unless the caller requests another number.
pub const LIMIT_DEFAULT: u32 = 50;
/// The largest number of items on a page.
pub const LIMIT_MAX: u32 = 100;

/// One page of a list.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The items of this page, in order.
    pub items: Vec<T>,
    /// The cursor of the next page; `null` on the last page.
    #[schema(format = "cursor")]
    pub next_cursor: Option<String>,
}

/// Which page of a list to return.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Largest number of items on the page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before, unchanged.
    #[param(format = "cursor", min_length = 1)]
    pub cursor: Option<String>,
}

/// The time range of a list or a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimeRangeParams {
    /// Start of the time range, inclusive.
    #[param(format = DateTime)]
    pub from: Option<String>,
    /// End of the time range, exclusive.
    #[param(format = DateTime)]
    pub to: Option<String>,
}
