//! The settings of a limiter.

use crate::bounds::CONFIG_TTL_DEFAULT_MS;
use crate::table::TABLE_DEFAULT;

/// Whether the table is shared with another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// Only Weir uses the table.
    #[default]
    Own,
    /// zae-limiter 0.10 uses the same table.
    Zae,
}

/// The settings of a limiter.
#[derive(Clone)]
pub struct Settings {
    /// The name of the table.
    pub table: String,
    /// Whether the table is shared.
    pub compat: Compat,
    /// Whether buckets are split over partitions and meter their writes, as DynamoDB needs. On the embedded store a bucket is
    /// one item, and child and parent are charged in one transaction.
    pub sharded: bool,
    /// How long a config level is cached, in milliseconds; 0 reads it every time.
    pub config_ttl_ms: i64,
    /// How long audit events stay in the table, in days.
    pub audit_retention_days: u32,
    /// Whether audit events are archived before they expire.
    pub archive: bool,
    /// The key that signs lease tokens; the same on every instance that shares the table.
    pub lease_key: [u8; 32],
}

impl Settings {
    /// The defaults, for a back-end that needs shards or not.
    #[must_use]
    pub fn new(sharded: bool, lease_key: [u8; 32]) -> Settings {
        Settings {
            table: TABLE_DEFAULT.to_owned(),
            compat: Compat::Own,
            sharded,
            config_ttl_ms: CONFIG_TTL_DEFAULT_MS,
            audit_retention_days: 90,
            archive: false,
            lease_key,
        }
    }

    /// Whether zae-limiter uses the same table.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.compat == Compat::Zae
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("table", &self.table)
            .field("compat", &self.compat)
            .field("sharded", &self.sharded)
            .finish_non_exhaustive()
    }
}
