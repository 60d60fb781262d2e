//! Lists: `{items, next_cursor}`, asked for with `limit` and `cursor`.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::ApiError;

/// Things in a list, unless the caller asks for another number.
pub const LIMIT_DEFAULT: u32 = 50;
/// Things in a list at most.
pub const LIMIT_MAX: u32 = 100;

/// A part of a list.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    /// The things, in order.
    pub items: Vec<T>,
    /// Where to go on; `null` at the end.
    #[schema(format = "cursor")]
    pub next_cursor: Option<String>,
}

/// Which part of a list is asked for.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// How many things at most.
    #[param(minimum = 1, maximum = 100, default = 50)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the part before, as it is; another text is refused.
    #[param(format = "cursor", min_length = 1)]
    pub cursor: Option<String>,
}

impl PageParams {
    /// How many things at most.
    ///
    /// # Errors
    /// More than [`LIMIT_MAX`] or none are asked for.
    pub fn limit(&self) -> Result<u32, ApiError> {
        match self.limit.unwrap_or(LIMIT_DEFAULT) {
            limit @ 1..=LIMIT_MAX => Ok(limit),
            _ => Err(ApiError::invalid("limit", format!("must be from 1 to {LIMIT_MAX}"))),
        }
    }
}
