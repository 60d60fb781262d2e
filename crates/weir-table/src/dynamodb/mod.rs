//! The DynamoDB back-end: AWS, or any endpoint that speaks it with transactions.
//!
//! A request is rendered (`render`, `convert`) and sent by the one retry loop (`retry`); failures are classified (`fault`) and
//! costs metered (`meter`). The verbs are in `read`, `write`, `batch` and `transact`, table management in `tables`, the
//! change feed in `streams`. Nothing outside this folder uses the AWS SDK.

mod batch;
mod connect;
mod convert;
mod empty_maps;
mod fault;
mod meter;
mod read;
mod render;
mod retry;
mod streams;
mod tables;
mod transact;
mod write;

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use parking_lot::{Mutex, RwLock};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::feed::{FeedPage, FeedShard, Position};
use crate::item::Item;
use crate::request::{Get, Query, RawPage, Transacted, Transaction, Write, Written};
use crate::spec::TableSpec;

pub use connect::Options;
pub use meter::{Capacity, OTHER_TABLES, TABLES_COUNTED_MAX, Usage, Verb};
pub use retry::{RetryOptions, Timeouts};

/// A connection to DynamoDB.
#[derive(Debug)]
pub struct Dynamo {
    tables: aws_sdk_dynamodb::Client,
    streams: aws_sdk_dynamodbstreams::Client,
    prefix: String,
    retries: retry::Retries,
    meter: meter::Meter,
    /// Schemas of tables by logical name; a request needs the names of its key attributes.
    specs: RwLock<HashMap<String, Arc<TableSpec>>>,
    readers: Mutex<streams::Readers>,
}

impl Dynamo {
    /// Totals of all calls since the connection was made.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.meter.capacity()
    }

    /// The table's name on the wire.
    fn wire_name(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }

    /// The error of a failed call. Drops the cached schema of a table that no longer exists.
    fn error<E>(&self, failed: retry::Failed<E>, doing: &str, table: &str) -> Error
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let error = failed.into_error(doing, table);
        if matches!(error, Error::NoSuchTable(_)) {
            self.specs.write().remove(table);
        }
        error
    }
}

impl Backend for Dynamo {
    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        tables::create(self, spec).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        tables::delete(self, table).await
    }

    async fn describe(&self, table: &str) -> Result<Option<TableSpec>> {
        tables::describe(self, table).await
    }

    async fn table_names(&self) -> Result<Vec<String>> {
        tables::names(self).await
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        read::get(self, get).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        batch::get(self, gets).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        write::write(self, write).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        batch::write(self, writes).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        transact::write(self, transaction).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        transact::get(self, gets).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        read::page(self, query, after).await
    }

    async fn feed_shards(&self, table: &str) -> Result<Vec<FeedShard>> {
        streams::shards(self, table).await
    }

    async fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        streams::read(self, table, shard, from, limit).await
    }
}
