//! The two sides of a comparison: the embedded store behind our checks, and an oracle in front of
//! which none of our checks stand, so that what we refuse is compared too.

use std::path::Path;

use weir_table::dynamodb::{self, Dynamo};
use weir_table::embedded::{Embedded, Options};
use weir_table::{
    Backend, Error, Get, Item, Query, Result, Store, TableSpec, Transacted, Transaction, Write,
    Written,
};

use crate::program::Setting;

/// Where a page ended.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    Cursor(String),
    Last(Item),
}

/// A page of either side.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Item>,
    pub(crate) count: u64,
    pub(crate) scanned: u64,
    pub(crate) next: Option<Mark>,
}

/// What a program can ask of a side.
pub(crate) trait Side {
    async fn create(&self, spec: &TableSpec) -> Result<()>;
    async fn get(&self, get: &Get) -> Result<Option<Item>>;
    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>>;
    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>>;
    async fn write(&self, write: Write) -> Result<Written>;
    async fn batch_write(&self, writes: Vec<Write>) -> Result<()>;
    async fn transact(&self, transaction: Transaction) -> Result<Transacted>;
    async fn page(&self, query: &Query, after: Option<Mark>) -> Result<Page>;
}

/// A store with all its checks.
impl<B: Backend> Side for Store<B> {
    async fn create(&self, spec: &TableSpec) -> Result<()> {
        self.create_table(spec).await
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        Store::get(self, get).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        Store::batch_get(self, gets).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        Store::transact_get(self, gets).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        Store::write(self, write).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        Store::batch_write(self, writes).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        Store::transact(self, transaction).await
    }

    async fn page(&self, query: &Query, after: Option<Mark>) -> Result<Page> {
        let query = match after {
            Some(Mark::Cursor(cursor)) => query.clone().after(cursor),
            _ => query.clone(),
        };
        let page = self.query(&query).await?;
        Ok(Page {
            items: page.items,
            count: page.count,
            scanned: page.scanned,
            next: page.cursor.map(Mark::Cursor),
        })
    }
}

/// A DynamoDB endpoint as it is.
#[derive(Debug)]
pub(crate) struct Oracle<'a>(pub(crate) &'a Dynamo);

impl Side for Oracle<'_> {
    async fn create(&self, spec: &TableSpec) -> Result<()> {
        self.0.create_table(spec).await
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        self.0.get(get).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.0.batch_get(gets).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.0.transact_get(gets).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.0.write(write).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.0.batch_write(writes).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        self.0.transact(transaction).await
    }

    async fn page(&self, query: &Query, after: Option<Mark>) -> Result<Page> {
        let last = match after {
            Some(Mark::Last(last)) => Some(last),
            _ => None,
        };
        let page = self.0.page(query, last.as_ref()).await?;
        Ok(Page {
            items: page.items,
            count: page.count,
            scanned: page.scanned,
            next: page.last.map(Mark::Last),
        })
    }
}

/// Opens the embedded store in `dir`.
pub(crate) fn open(dir: &Path, setting: Setting) -> Result<Store<Embedded>> {
    let usual = Options { sweep_interval: None, ..Options::new(dir) };
    let options = match setting {
        Setting::Usual => usual,
        Setting::Tiny => {
            Options { cache_bytes: 1024, dirty_bytes_max: 4096, segment_bytes_max: 4096, ..usual }
        }
    };
    let embedded = Embedded::open(options)?;
    let cursors = embedded.cursor_key();
    Ok(Store::new(embedded, cursors))
}

/// Connects to a DynamoDB endpoint.
pub(crate) async fn connect(endpoint: &str) -> Result<Dynamo> {
    let options = dynamodb::Options {
        region: Some(weir_testkit::dynamo_local_region().to_owned()),
        endpoint: Some(endpoint.to_owned()),
        table_prefix: weir_testkit::unique_prefix("differential"),
        timeouts: weir_testkit::stage::patient_timeouts(),
        ..dynamodb::Options::default()
    };
    Dynamo::connect(options).await
}

/// What kind of failure an error is. Words differ between sides, kinds must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    Invalid,
    TokenReused,
    Conflict,
    /// Something that must not happen here.
    Other,
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Fault {
        match error {
            Error::Invalid { .. } => Fault::Invalid,
            Error::TokenReused => Fault::TokenReused,
            Error::Conflict => Fault::Conflict,
            _ => Fault::Other,
        }
    }
}
