//! A back-end chosen at run time, by flags or configuration.

#[cfg(feature = "embedded")]
use std::path::Path;
#[cfg(feature = "dynamodb")]
use std::pin::Pin;

use crate::addition::{Add, Added};
use crate::backend::{Backend, WriteState};
#[cfg(feature = "dynamodb")]
use crate::dynamodb::Dynamo;
#[cfg(feature = "embedded")]
use crate::embedded::{BackupReport, Embedded, Passphrase};
#[cfg(all(feature = "embedded", feature = "dynamodb"))]
use crate::error::Error;
use crate::error::Result;
use crate::feed::{FeedPage, FeedShard, Merge, Position};
use crate::item::Item;
use crate::request::{Get, Query, RawPage, Transacted, Transaction, Write, Written};
use crate::spec::TableSpec;

/// One of the back-ends in this build.
#[derive(Debug)]
#[non_exhaustive]
#[cfg_attr(
    all(feature = "embedded", feature = "dynamodb"),
    expect(clippy::large_enum_variant, reason = "a process has one or two, behind an Arc")
)]
pub enum AnyBackend {
    /// Tables on this machine.
    #[cfg(feature = "embedded")]
    Embedded(Embedded),
    /// Tables on DynamoDB.
    #[cfg(feature = "dynamodb")]
    Dynamo(Dynamo),
}

/// Calls a method of the back-end.
macro_rules! delegate {
    ($self:ident, $backend:ident => $call:expr) => {
        match $self {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded($backend) => $call.await,
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo($backend) => boxed($call).await,
        }
    };
}

/// Boxes a call of the AWS SDK: its futures take tens of kilobytes, which would enlarge every caller's future, also on an
/// embedded store.
#[cfg(feature = "dynamodb")]
fn boxed<'a, T>(
    call: impl Future<Output = T> + Send + 'a,
) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    Box::pin(call)
}

impl AnyBackend {
    /// Whether several instances share it over a network: responses can be lost, and the write rate of an item is limited.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        match self {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded(_) => false,
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(_) => true,
        }
    }

    /// Which writes the back-end accepts at the moment.
    #[must_use]
    pub fn write_state(&self) -> WriteState {
        match self {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded(embedded) => embedded.write_state(),
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(_) => WriteState::Accepting,
        }
    }

    /// The name of the back-end in flags and responses.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded(_) => "embedded",
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(_) => "dynamodb",
        }
    }

    /// Writes everything out and closes the store.
    ///
    /// # Errors
    /// The last writes could not be synced.
    #[cfg_attr(
        not(feature = "embedded"),
        expect(clippy::unused_async, reason = "only an embedded store has something to write out")
    )]
    pub async fn close(&self) -> Result<()> {
        match self {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded(embedded) => embedded.close().await,
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(_) => Ok(()),
        }
    }

    /// Copies the store to a folder while it is in use, and its keys encrypted with `passphrase` if there is one. Calls
    /// `progress` with the entries copied and their total.
    ///
    /// # Errors
    /// The folder is not empty or cannot be written, or the back-end has backups of its own.
    #[cfg(feature = "embedded")]
    pub async fn backup(
        &self,
        to: &Path,
        passphrase: Option<Passphrase>,
        progress: impl Fn(u64, u64) + Send + Sync + 'static,
    ) -> Result<BackupReport> {
        match self {
            AnyBackend::Embedded(embedded) => embedded.backup(to, passphrase, progress).await,
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(_) => Err(Error::invalid(
                "store",
                "DynamoDB has its own backups (point-in-time recovery); \
                 `weir copy` copies its tables to an embedded store",
            )),
        }
    }
}

impl Backend for AnyBackend {
    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        delegate!(self, backend => backend.create_table(spec))
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        delegate!(self, backend => backend.delete_table(table))
    }

    async fn describe(&self, table: &str) -> Result<Option<TableSpec>> {
        delegate!(self, backend => backend.describe(table))
    }

    async fn table_names(&self) -> Result<Vec<String>> {
        delegate!(self, backend => backend.table_names())
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        delegate!(self, backend => backend.get(get))
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        delegate!(self, backend => backend.batch_get(gets))
    }

    async fn write(&self, write: Write) -> Result<Written> {
        delegate!(self, backend => backend.write(write))
    }

    async fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> Result<Added<T>> {
        delegate!(self, backend => backend.add(add, read))
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        delegate!(self, backend => backend.batch_write(writes))
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        delegate!(self, backend => backend.transact(transaction))
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        delegate!(self, backend => backend.transact_get(gets))
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        delegate!(self, backend => backend.page(query, after))
    }

    async fn feed_shards(&self, table: &str) -> Result<Vec<FeedShard>> {
        delegate!(self, backend => backend.feed_shards(table))
    }

    async fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        delegate!(self, backend => backend.feed_read(table, shard, from, limit))
    }

    async fn feed_read_merged(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        merge: Merge,
    ) -> Result<FeedPage> {
        delegate!(self, backend => backend.feed_read_merged(table, shard, from, merge))
    }
}
