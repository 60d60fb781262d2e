//! The schema version, stored in the table itself.

use weir_table::expr::{Update, attr, set};
use weir_table::{Backend, Get, Item, Name, Value, Write};

use crate::error::{Error, Result};
use crate::limiter::Limiter;
use crate::{keys, time};

/// The schema version that this code supports.
pub const SCHEMA: &str = "1.0.0";
/// The schema version that zae-limiter 0.10 supports.
pub const SCHEMA_ZAE: &str = "0.9.0";

/// The version record of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The schema version.
    pub schema: String,
    /// When the record was written, in milliseconds since 1970.
    pub updated_ms: i64,
    /// The program that wrote the record.
    pub updated_by: Option<String>,
}

pub(crate) const SCHEMA_VERSION: &str = "schema_version";
const UPDATED_AT: &str = "updated_at";
pub(crate) const UPDATED_BY: &str = "updated_by";

/// The name of this program in the record.
pub(crate) const WEIR: &str = concat!("weir:", env!("CARGO_PKG_VERSION"));

impl<B: Backend> Limiter<B> {
    /// Reads the version record.
    ///
    /// # Errors
    /// The record is missing, or the store fails.
    pub async fn version(&self) -> Result<Version> {
        let found = self.version_item().await?;
        found.as_ref().map(decode).ok_or_else(|| {
            Error::Version("the table has no version record; start weir on it once".to_owned())
        })
    }

    pub(crate) async fn version_item(&self) -> Result<Option<Item>> {
        Ok(self.store().get(&Get::new(self.table(), keys::version())).await?)
    }
}

pub(crate) fn decode(item: &Item) -> Version {
    Version {
        schema: item.s(SCHEMA_VERSION).unwrap_or_default().to_owned(),
        updated_ms: item.s(UPDATED_AT).and_then(time::parse).unwrap_or_default(),
        updated_by: item.s(UPDATED_BY).map(str::to_owned),
    }
}

/// The first record of a table, as zae-limiter writes it. It names no Lambda, or zae-limiter would try to deploy it.
pub(crate) fn first(table: Name, schema: &str, now_ms: i64) -> Write {
    let item = keys::item(keys::version())
        .with(SCHEMA_VERSION, schema)
        .with("client_min_version", "0.0.0")
        .with("lambda_version", Value::Null)
        .with(UPDATED_AT, time::rfc3339_seconds(now_ms))
        .with(UPDATED_BY, WEIR)
        .with("GSI4PK", keys::REGISTRY)
        .with("GSI4SK", keys::registry_partition());
    Write::put(table, item).when(attr("PK").absent())
}

/// The update that sets the schema version.
pub(crate) fn updated(schema: &str, now_ms: i64) -> Update {
    set(SCHEMA_VERSION, schema).set(UPDATED_AT, time::rfc3339_seconds(now_ms)).set(UPDATED_BY, WEIR)
}
