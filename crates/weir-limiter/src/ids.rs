//! Every id that is part of a key, and its syntax.
//!
//! Keys join their parts with `#` and `/`, so an id that contained a separator could address another item.

use compact_str::CompactString;
use weir_table::id::{as_is, shaped};

use crate::error::Error;

weir_table::ids! {
    /// The name of a namespace, as users choose it.
    NamespaceName, "namespace",
        |text| shaped(text, 64, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')),
        "a namespace: a letter or digit, then up to 63 letters, digits, `_`, `.`, `-`";
    /// The opaque id of a namespace; every key begins with it.
    NamespaceId, "namespace id",
        |text| as_is(text, |text| text.len() == 11 && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))),
        "a namespace id: 11 letters, digits, `_`, `-`";
    /// The entity that is limited: a user, an API key, a project.
    EntityId, "entity",
        |text| shaped(text, 256, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'@' | b'-')),
        "an entity: a letter or digit, then up to 255 letters, digits, `_`, `.`, `:`, `@`, `-`";
    /// The resource that is used, for example a model.
    Resource, "resource",
        |text| shaped(text, 128, |b| b.is_ascii_alphabetic(), |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'/' | b'-')),
        "a resource: a letter, then up to 127 letters, digits, `_`, `.`, `:`, `/`, `-`";
    /// The name of a limit: `rpm`, `tpm`.
    LimitName, "limit",
        |text| shaped(text, 64, |b| b.is_ascii_alphabetic(), |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')).filter(|name| !RESERVED_LIMITS.contains(&name.as_str())),
        "a limit: a letter, then up to 63 letters, digits, `_`, `.`, `-`, and none of the reserved names (wcu, PK, SK, ttl, resource, window, …)";
}

/// Names that a limit cannot have: the write limit of a shard, and the attributes of a usage snapshot, in which limits are
/// attributes too.
const RESERVED_LIMITS: &[&str] = &[
    "wcu",
    "PK",
    "SK",
    "GSI1PK",
    "GSI1SK",
    "GSI2PK",
    "GSI2SK",
    "GSI3PK",
    "GSI3SK",
    "GSI4PK",
    "GSI4SK",
    "entity_id",
    "resource",
    "window",
    "window_start",
    "total_events",
    "ttl",
];

impl LimitName {
    /// The reserved limit that meters the writes of a shard.
    #[must_use]
    pub(crate) fn wcu() -> LimitName {
        LimitName(CompactString::const_new("wcu"))
    }

    /// Whether this is the reserved write limit.
    #[must_use]
    pub(crate) fn is_wcu(&self) -> bool {
        self.0 == "wcu"
    }

    /// A limit name from a stored item, unchecked.
    #[must_use]
    pub(crate) fn stored(text: &str) -> LimitName {
        LimitName(text.into())
    }
}

impl NamespaceName {
    /// A namespace name from a stored item, unchecked.
    #[must_use]
    pub(crate) fn stored(text: &str) -> NamespaceName {
        NamespaceName(text.into())
    }
}

impl EntityId {
    /// An entity id from a stored item, unchecked.
    #[must_use]
    pub(crate) fn stored(text: &str) -> EntityId {
        EntityId(text.into())
    }
}

impl Resource {
    /// A resource from a stored item, unchecked.
    #[must_use]
    pub(crate) fn stored(text: &str) -> Resource {
        Resource(text.into())
    }
}

impl NamespaceId {
    /// A namespace id from a stored item, unchecked.
    #[must_use]
    pub(crate) fn stored(text: &str) -> NamespaceId {
        NamespaceId(text.into())
    }
}

/// The narrower syntax of zae-limiter, for a table shared with it. All our entity ids satisfy it.
pub mod zae {
    use super::{Error, LimitName, Resource};

    /// Longest resource that zae-limiter accepts.
    pub const RESOURCE_MAX: usize = 64;

    /// Checks that zae-limiter accepts a resource.
    ///
    /// # Errors
    /// It does not.
    pub fn resource(resource: &Resource) -> Result<(), Error> {
        let text = resource.as_str();
        if text.contains(':') || text.len() > RESOURCE_MAX {
            let problem = "must have at most 64 characters and no `:`, because the table is shared with zae-limiter";
            return Err(Error::invalid("resource", problem));
        }
        Ok(())
    }

    /// Checks that zae-limiter can take from a limit of this name.
    ///
    /// # Errors
    /// It cannot.
    pub fn limit(limit: &LimitName) -> Result<(), Error> {
        if limit.as_str().contains(['-', '.']) {
            let problem = format!(
                "{limit} must not contain `-` or `.`, because the table is shared with zae-limiter"
            );
            return Err(Error::invalid("limit", problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_reach_another_key_are_refused() {
        let long = "a".repeat(257);
        for bad in ["", "#", "a#b", "a/b", " a", "a b", "ä", "-a", ".a", "a\n", long.as_str()] {
            assert!(EntityId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "0", "user-1", "a.b:c@d_e", &"a".repeat(256)] {
            assert_eq!(EntityId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "1a", "a#b", "_default_", "a b", &"a".repeat(129)] {
            assert!(Resource::new(bad).is_err(), "{bad:?}");
        }
        assert!(Resource::new("anthropic/claude-4.5:beta").is_ok());
        for bad in ["", "1", "a#", "a/b", "wcu", "ttl", "window", &"a".repeat(65)] {
            assert!(LimitName::new(bad).is_err(), "{bad:?}");
        }
        assert!(LimitName::new("tokens_per-min.in").is_ok());
        for bad in ["", "_", "a/b", "#", &"a".repeat(65)] {
            assert!(NamespaceName::new(bad).is_err(), "{bad:?}");
        }
        assert!(NamespaceId::new("abc-DEF_123").is_ok());
        assert!(NamespaceId::new("short").is_err());
    }

    #[test]
    fn an_error_names_the_id_and_cuts_it_short() {
        let error = EntityId::new("x".repeat(300) + "#").unwrap_err().to_string();
        assert!(error.starts_with("entity: \"xxx") && error.len() < 300, "{error}");
    }
}
