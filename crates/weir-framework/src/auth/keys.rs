//! The tables of authentication and the keys in them; their text is a file format.
//!
//! | table | key | item |
//! |---|---|---|
//! | `weir-edge` | `ADMIN`, `KEY` | hash of the admin key |
//! | `weir-edge` | `SUBJECT#{sub}`, `VALID_AFTER` | tokens of this subject are valid only if issued later |
//! | `weir-edge` | `ISSUED`, `{jti}` | record of an operator's token |
//! | `weir-edge` | `SIGNING_KEY#{kid}`, `ENDED` | tokens of this signing key are refused |
//! | `weir-keeper-revoked-tokens` | `{jti}` | a revoked token, until it would have expired |

use weir_table::{Item, Key, Kind, TableSpec};

/// The table of the HTTP edge.
pub const EDGE: &str = "weir-edge";
/// Revoked tokens.
pub const REVOKED: &str = "weir-keeper-revoked-tokens";

/// The partition key of both tables.
pub const PK: &str = "PK";
pub(super) const SK: &str = "SK";
/// The expiry attribute of both tables.
pub(super) const EXPIRES: &str = "expires_at_epoch";
/// The partition of operators' tokens. One query lists them all, because there are few.
pub(super) const ISSUED: &str = "ISSUED";

/// The tables that authentication needs.
#[must_use]
pub fn tables() -> [TableSpec; 2] {
    [edge(), revoked_tokens()]
}

/// The schema of [`EDGE`].
#[must_use]
pub fn edge() -> TableSpec {
    TableSpec::new(EDGE, PK, Kind::S).sort(SK, Kind::S).ttl(EXPIRES)
}

/// The schema of [`REVOKED`].
#[must_use]
pub fn revoked_tokens() -> TableSpec {
    TableSpec::new(REVOKED, PK, Kind::S).ttl(EXPIRES)
}

/// The partition of the admin key, which belongs to one installation and is not copied to another.
pub const ADMIN: &str = "ADMIN";

pub(super) fn admin_key() -> Key {
    Key::new(ADMIN, "KEY")
}

pub(super) fn ended_key(kid: &str) -> Key {
    Key::new(format!("SIGNING_KEY#{kid}"), "ENDED")
}

pub(super) fn valid_after(subject: &str) -> Key {
    Key::new(format!("SUBJECT#{subject}"), "VALID_AFTER")
}

pub(super) fn issued(jti: &str) -> Key {
    Key::new(ISSUED, jti)
}

pub(super) fn revoked(jti: &str) -> Key {
    Key::partition(jti)
}

/// An item of [`EDGE`] with nothing but its key.
pub(super) fn edge_item(key: &Key) -> Item {
    key.to_item(&edge())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_these_texts() {
        assert_eq!(admin_key().to_string(), "ADMIN | KEY");
        let subject = "org-550e8400-e29b-41d4-a716-446655440000";
        let text = "SUBJECT#org-550e8400-e29b-41d4-a716-446655440000 | VALID_AFTER";
        assert_eq!(valid_after(subject).to_string(), text);
        assert_eq!(issued("0193-7").to_string(), "ISSUED | 0193-7");
        assert_eq!(revoked("0193-7").to_string(), "0193-7");
        assert_eq!(ended_key("00ff").to_string(), "SIGNING_KEY#00ff | ENDED");
    }

    #[test]
    fn tables_are_shaped_like_this() {
        for spec in tables() {
            spec.check().unwrap();
            assert_eq!(spec.ttl.as_deref(), Some("expires_at_epoch"));
            assert_eq!(spec.partition, "PK");
        }
        assert_eq!(edge().name, "weir-edge");
        assert_eq!(edge().sort.as_deref(), Some("SK"));
        assert_eq!(revoked_tokens().name, "weir-keeper-revoked-tokens");
        assert_eq!(revoked_tokens().sort, None);
    }
}
