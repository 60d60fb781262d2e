//! The two items of a namespace, as zae-limiter writes them: one under its name while it is active, one under its id until
//! it is purged.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use weir_table::{Item, Key};

use super::{Record, State};
use crate::error::{Error, Result};
use crate::ids::{NamespaceId, NamespaceName};
use crate::{keys, time};

pub(super) const ID: &str = "namespace_id";
pub(super) const NAME: &str = "namespace_name";
pub(super) const STATUS: &str = "status";
pub(super) const CREATED: &str = "created_at";
pub(super) const DELETED: &str = "deleted_at";
/// On the item under the id: when a purge first found nothing, in milliseconds since 1970.
pub(super) const EMPTY_SINCE: &str = "purge_empty_ms";

impl State {
    /// The stored text.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Deleted => "deleted",
            State::Purging => "purging",
        }
    }

    fn parse(text: &str) -> Option<State> {
        [State::Active, State::Deleted, State::Purging].into_iter().find(|s| s.as_str() == text)
    }
}

impl Record {
    /// The item under the name.
    pub(super) fn by_name(&self) -> Item {
        self.item(keys::namespace(&self.name))
    }

    /// The item under the id.
    pub(super) fn by_id(&self) -> Item {
        self.item(keys::namespace_id(&self.id))
    }

    fn item(&self, key: Key) -> Item {
        keys::item(key)
            .with(ID, self.id.as_str())
            .with(NAME, self.name.as_str())
            .with(STATUS, self.state.as_str())
            .with(CREATED, time::rfc3339(self.created_ms))
            .with("GSI4PK", keys::REGISTRY)
            .with("GSI4SK", keys::registry_partition())
    }

    /// Decodes either item. None, if the name is invalid here: zae-limiter does not check names.
    pub(super) fn decode(item: &Item) -> Option<Record> {
        Some(Record {
            name: NamespaceName::new(item.s(NAME)?).ok()?,
            id: NamespaceId::stored(item.s(ID)?),
            state: State::parse(item.s(STATUS).unwrap_or("active"))?,
            created_ms: item.s(CREATED).and_then(time::parse).unwrap_or_default(),
            deleted_ms: item.s(DELETED).and_then(time::parse),
        })
    }
}

/// A new id: eight random bytes as 11 characters. The first is never a dash, which would look like an option on a command
/// line.
pub(super) fn new_id() -> Result<NamespaceId> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        Error::Store(weir_table::Error::backend("making a namespace's id", "no random bytes"))
    })?;
    Ok(id_of(bytes))
}

fn id_of(bytes: [u8; 8]) -> NamespaceId {
    let id = URL_SAFE_NO_PAD.encode(bytes);
    let id = id.strip_prefix('-').map_or(id.clone(), |rest| format!("e{rest}"));
    NamespaceId::stored(&id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_valid_and_never_begin_with_a_dash() {
        for first in 0..=255 {
            let id = id_of([first, 255, 255, 255, 255, 255, 255, 255]);
            assert!(NamespaceId::new(id.as_str()).is_ok(), "{id}");
            assert!(!id.as_str().starts_with('-'), "{id}");
        }
        assert_ne!(new_id().unwrap(), new_id().unwrap());
    }

    #[test]
    fn the_items_match_zae_limiter() {
        let record = Record {
            name: NamespaceName::new("team").unwrap(),
            id: NamespaceId::new("abcdefghijk").unwrap(),
            state: State::Active,
            created_ms: 1_768_478_400_000,
            deleted_ms: None,
        };
        let item = record.by_name();
        for (name, value) in [
            ("PK", "_/SYSTEM#"),
            ("SK", "#NAMESPACE#team"),
            ("namespace_id", "abcdefghijk"),
            ("namespace_name", "team"),
            ("status", "active"),
            ("created_at", "2026-01-15T12:00:00.000Z"),
            ("GSI4PK", "_"),
            ("GSI4SK", "_/SYSTEM#"),
        ] {
            assert_eq!(item.s(name), Some(value), "{name}");
        }
        assert_eq!(item.len(), 8);
        assert_eq!(record.by_id().s("SK"), Some("#NSID#abcdefghijk"));
        assert_eq!(Record::decode(&item), Some(record));
        let invalid = item.with(NAME, "tenant a/b");
        assert_eq!(Record::decode(&invalid), None);
    }
}
