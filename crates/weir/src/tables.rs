//! The tables that a command works on: those of a running server, or of a store that the command opened.

use std::path::Path;

use weir_framework::Client;
use weir_table::embedded::{BackupReport, Passphrase};
use weir_table::{AnyBackend, Get, Item, Page, Query, Result, Store, TableSpec, Write, Written};

/// Tables, with the same methods for both kinds. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Tables {
    /// Tables of a store that this process opened.
    Own(Store<AnyBackend>),
    /// Tables of a server, through its socket.
    Server(Client),
}

/// Calls the same method of either kind.
macro_rules! delegate {
    ($self:ident, $tables:ident => $call:expr) => {
        match $self {
            Tables::Own($tables) => $call,
            Tables::Server($tables) => $call,
        }
    };
}

impl Tables {
    pub(crate) async fn names(&self) -> Result<Vec<String>> {
        delegate!(self, tables => tables.table_names().await)
    }

    pub(crate) async fn create(&self, spec: &TableSpec) -> Result<()> {
        delegate!(self, tables => tables.create_table(spec).await)
    }

    pub(crate) async fn verify(&self, spec: &TableSpec) -> Result<()> {
        delegate!(self, tables => tables.verify_table(spec).await)
    }

    pub(crate) async fn remove(&self, table: &str) -> Result<()> {
        delegate!(self, tables => tables.delete_table(table).await)
    }

    pub(crate) async fn spec(&self, table: &str) -> Result<TableSpec> {
        match self {
            Tables::Own(store) => Ok((*store.spec(table).await?).clone()),
            Tables::Server(client) => client.spec(table).await,
        }
    }

    pub(crate) async fn get(&self, get: &Get) -> Result<Option<Item>> {
        delegate!(self, tables => tables.get(get).await)
    }

    pub(crate) async fn query(&self, query: &Query) -> Result<Page> {
        delegate!(self, tables => tables.query(query).await)
    }

    pub(crate) async fn write(&self, write: Write) -> Result<Written> {
        match self {
            Tables::Own(store) => store.write(write).await,
            Tables::Server(client) => client.write(&write).await,
        }
    }

    pub(crate) async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        match self {
            Tables::Own(store) => store.batch_write(writes).await,
            Tables::Server(client) => client.batch_write(&writes).await,
        }
    }

    pub(crate) async fn backup(
        &self,
        to: &Path,
        passphrase: Option<Passphrase>,
        progress: impl Fn(u64, u64) + Send + Sync + 'static,
    ) -> Result<BackupReport> {
        match self {
            Tables::Own(store) => store.backend().backup(to, passphrase, progress).await,
            Tables::Server(client) => client.backup(to, passphrase.as_ref(), progress).await,
        }
    }

    /// Closes a store that this process opened.
    pub(crate) async fn close(&self) -> Result<()> {
        match self {
            Tables::Own(store) => store.backend().close().await,
            Tables::Server(_) => Ok(()),
        }
    }
}
