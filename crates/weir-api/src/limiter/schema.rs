//! How names and amounts look, for the OpenAPI description. The domain checks them.

use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};

use crate::described::text;
use crate::texts;

/// The largest number of tokens in an amount.
const TOKENS_MAX: i64 = 1_000_000_000_000;
/// The largest number of limits that a request names.
const LIMITS_MAX: usize = 16;
/// Metadata entries of an entity at most.
const METADATA_MAX: usize = 32;

texts! {
    /// The name of a namespace.
    NamespaceName = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", 64, "default";
    /// The id of an entity.
    EntityId = r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,255}$", 256, "user-1";
    /// The name of a resource.
    ResourceName = r"^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$", 128, "gpt-4";
    /// The name of a resource, or `_default_` for all resources.
    ResourceNameOrAll = r"^(_default_|[A-Za-z][A-Za-z0-9_.:/-]{0,127})$", 128, "_default_";
    /// The name of a limit.
    LimitName = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$", 64, "rpm";
    /// The subject of an audit event: an entity, `$SYSTEM` or `$RESOURCE:name`.
    AuditSubject = r"^(\$SYSTEM|\$RESOURCE:[A-Za-z][A-Za-z0-9_.:/-]{0,127}|[A-Za-z0-9][A-Za-z0-9_.:@-]{0,255})$",
        256, "user-1";
    /// Amounts in a query: `limit:amount`, separated by commas.
    QueryAmounts = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}:[1-9][0-9]{0,11}$", 2048, "rpm:1";
    /// The key of a request that takes effect once.
    IdempotencyKey = r"^[!-~]{1,64}$", 64, "settle-42";
}

/// An object of amounts by limit, each at least `amount_min`, with at least `limits_min` limits.
fn amounts(description: &str, amount_min: i64, limits_min: usize) -> Schema {
    let amount = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(amount_min))
        .maximum(Some(TOKENS_MAX));
    ObjectBuilder::new()
        .description(Some(description))
        .property_names(Some(text(r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$", 64, "rpm")))
        .additional_properties(Some(amount))
        .min_properties(Some(limits_min))
        .max_properties(Some(LIMITS_MAX))
        .into()
}

pub(super) fn consumed_amounts() -> Schema {
    amounts("Tokens to take from each limit.", 1, 1)
}

pub(super) fn topped_up_amounts() -> Schema {
    amounts("Tokens to add to each limit.", 1, 1)
}

pub(super) fn adjusted_amounts() -> Schema {
    let description = "Tokens to take from each limit (positive; may leave the bucket in debt) or to return to it (negative).";
    amounts(description, -TOKENS_MAX, 1)
}

pub(super) fn actual_amounts() -> Schema {
    let description = "Tokens of each limit that were used. The lease is adjusted to them before it ends: it takes more, \
         which may leave the bucket in debt, or returns the rest. Limits that are not named keep what the lease holds.";
    amounts(description, 0, 0)
}

pub(super) fn released_amounts() -> Schema {
    let description =
        "Tokens to return to each limit. An empty object returns all tokens and ends the lease.";
    amounts(description, 1, 0)
}

pub(super) fn metadata() -> Schema {
    let string = |min, max| {
        let string = ObjectBuilder::new().schema_type(Type::String);
        string.min_length(Some(min)).max_length(Some(max))
    };
    ObjectBuilder::new()
        .description(Some("Up to 32 labels of the entity, of up to 1024 characters each."))
        .property_names(Some(string(1, 64).build()))
        .additional_properties(Some(string(0, 1024)))
        .max_properties(Some(METADATA_MAX))
        .into()
}
