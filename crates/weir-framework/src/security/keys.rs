//! The table of security events and the keys in it; their text is a file format.
//!
//! | table | key | item |
//! |---|---|---|
//! | `weir-security-log` | `EVENT`, `{id}` | one event; the id is a ULID, which sorts by time |

use weir_table::{Item, Key, Kind, TableSpec};

/// The table of security events.
pub const SECURITY_LOG: &str = "weir-security-log";

pub(super) const SK: &str = "SK";
/// The expiry attribute.
pub(super) const EXPIRES: &str = "expires_at_epoch";
/// The partition of all events. One query lists them, because sign-ins are bounded by the time that checking a secret takes.
pub(super) const EVENT: &str = "EVENT";

/// The schema of [`SECURITY_LOG`].
#[must_use]
pub fn table() -> TableSpec {
    TableSpec::new(SECURITY_LOG, "PK", Kind::S).sort(SK, Kind::S).ttl(EXPIRES)
}

/// An event with nothing but its key.
pub(super) fn event_item(id: &str) -> Item {
    Key::new(EVENT, id).to_item(&table())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_shaped_like_this() {
        let spec = table();
        spec.check().unwrap();
        assert_eq!((spec.name.as_str(), spec.ttl.as_deref()), (SECURITY_LOG, Some(EXPIRES)));
        assert_eq!(Key::new(EVENT, "0193-7").to_string(), "EVENT | 0193-7");
    }
}
