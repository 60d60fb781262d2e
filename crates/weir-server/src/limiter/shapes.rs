//! What requests and answers of the limiter are made of.
//!
//! Tokens are whole: what is available is rounded down, what is missing is rounded up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{IntoParams, ToSchema};
use weir_limiter::acquire::LimitStatus;
use weir_limiter::bounds::{LIMITS_MAX, TOKENS_MAX};
pub use weir_limiter::bucket::Limit;
use weir_limiter::bucket::MILLI;
pub use weir_limiter::ids::{EntityId, LimitName, Resource};

use weir_api::described::text;
use weir_api::texts;
pub(super) use weir_framework::time::{When, time};

texts! {
    /// The name of a namespace, in descriptions.
    NamespaceText = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", 64, "default";
    /// An entity, in descriptions.
    EntityText = r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,255}$", 256, "user-1";
    /// A resource, in descriptions.
    ResourceText = r"^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$", 128, "gpt-4";
    /// A resource or `_default_`, in descriptions.
    ResourceOrAllText = r"^(_default_|[A-Za-z][A-Za-z0-9_.:/-]{0,127})$", 128, "_default_";
    /// The name of a limit, in descriptions.
    LimitText = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$", 64, "rpm";
    /// Who or what an audit event is about, in descriptions.
    SubjectText = r"^(\$SYSTEM|\$RESOURCE:[A-Za-z][A-Za-z0-9_.:/-]{0,127}|[A-Za-z0-9][A-Za-z0-9_.:@-]{0,255})$",
        256, "user-1";
    /// Amounts of limits in a query, in descriptions.
    AmountsText = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}:[1-9][0-9]{0,11}$", 2048, "rpm:1";
    /// A key of a call that counts once, in descriptions.
    IdempotencyText = r"^[!-~]{1,64}$", 64, "settle-42";
}

/// How amounts by limit are described: at least `min` each.
fn amounts(min: i64, least: usize) -> Schema {
    let most = i64::try_from(TOKENS_MAX).unwrap_or(i64::MAX);
    let amount = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(min))
        .maximum(Some(most));
    ObjectBuilder::new()
        .property_names(Some(text(r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$", 64, "rpm")))
        .additional_properties(Some(amount))
        .min_properties(Some(least))
        .max_properties(Some(LIMITS_MAX))
        .into()
}

pub(super) fn positive_amounts() -> Schema {
    amounts(1, 1)
}

pub(super) fn positive_amounts_or_none() -> Schema {
    amounts(1, 0)
}

pub(super) fn signed_amounts() -> Schema {
    amounts(-i64::try_from(TOKENS_MAX).unwrap_or(i64::MAX), 1)
}

/// Amounts of tokens by limit.
pub type Amounts = BTreeMap<LimitName, i64>;

/// The namespace in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct NsAt {
    /// The namespace, by name.
    #[param(value_type = NamespaceText, inline)]
    ns: String,
}

/// The entity in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct EntityAt {
    /// The entity.
    #[param(value_type = EntityText, inline)]
    id: String,
}

/// The resource in a path.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct ResourceAt {
    /// The resource; a `/` in it is written `%2F`.
    #[param(value_type = ResourceText, inline)]
    r: String,
}

/// The resource in a path, or all.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct ResourceOrAllAt {
    /// The resource, or `_default_` for all that have no limits of their own.
    #[param(value_type = ResourceOrAllText, inline)]
    r: String,
}

/// The key of a call that counts once.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "described here, read by `place`")]
pub(super) struct IdempotencyKey {
    /// A call with a key that was used for the same call changes nothing and is answered the same.
    #[param(rename = "Idempotency-Key", value_type = IdempotencyText, inline, required = false)]
    key: Option<String>,
}

/// A limit, in descriptions: at most `capacity` at once, `refill_amount` more every `refill_period_seconds`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RateLimit)]
#[serde(deny_unknown_fields)]
pub struct LimitShape {
    /// Its name.
    #[schema(value_type = LimitText)]
    pub name: LimitName,
    /// The most there can be, in tokens; also called burst.
    #[schema(minimum = 1, maximum = 1_000_000_000_000u64)]
    pub capacity: u64,
    /// Tokens that come back in a period.
    #[schema(minimum = 1, maximum = 1_000_000_000_000u64)]
    pub refill_amount: u64,
    /// The period.
    #[schema(minimum = 1, maximum = 315_360_000)]
    pub refill_period_seconds: u64,
}

/// A limit as a request finds it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LimitState {
    /// Whose limit: the entity's, or its parent's.
    #[schema(value_type = String)]
    pub entity: EntityId,
    /// The limit.
    #[schema(value_type = String)]
    pub name: LimitName,
    /// The most there can be, in tokens.
    pub capacity: u64,
    /// Tokens that come back in a period.
    pub refill_amount: u64,
    /// The period.
    pub refill_period_seconds: u64,
    /// Tokens that are there; below zero is a debt.
    pub available: i64,
    /// Tokens asked for.
    pub asked: i64,
    /// Tokens that are missing.
    pub deficit: i64,
    /// When they will be there, in milliseconds from now.
    pub retry_after_ms: i64,
}

impl From<LimitStatus> for LimitState {
    fn from(status: LimitStatus) -> LimitState {
        LimitState {
            entity: status.entity,
            name: status.limit.name,
            capacity: status.limit.capacity,
            refill_amount: status.limit.refill_amount,
            refill_period_seconds: status.limit.refill_period_seconds,
            available: whole(status.available_milli),
            asked: status.requested,
            deficit: whole_up(status.deficit_milli),
            retry_after_ms: status.retry_after_ms,
        }
    }
}

/// Whole tokens, rounded down.
pub(super) fn whole(milli: i64) -> i64 {
    milli.div_euclid(MILLI)
}

/// Whole tokens, rounded up.
pub(super) fn whole_up(milli: i64) -> i64 {
    milli.div_euclid(MILLI) + i64::from(milli.rem_euclid(MILLI) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_rounds_down_and_what_is_missing_rounds_up() {
        for (milli, down, up) in
            [(0, 0, 0), (1, 0, 1), (999, 0, 1), (1_000, 1, 1), (-1, -1, 0), (-1_500, -2, -1)]
        {
            assert_eq!((whole(milli), whole_up(milli)), (down, up), "{milli}");
        }
    }
}
