//! Requests to a table and their results.

use serde::{Deserialize, Serialize};

use crate::expr::{Condition, Path, Update};
use crate::item::Item;
use crate::key::{Key, KeyValue};
use crate::value::Name;

/// How fresh a read must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    /// Sees every write that was acknowledged before the read, and nothing that a crash could undo.
    #[default]
    Strong,
    /// May lag behind recent writes. Half the price on DynamoDB.
    Eventual,
}

/// What an acknowledged write survives. On DynamoDB every write is `Synced`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A crash of the process. A power cut may lose the last 100 ms.
    Flushed,
    /// A power cut as well.
    #[default]
    Synced,
}

/// A read of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The table.
    pub table: Name,
    /// The item's key.
    pub key: Key,
    /// The consistency of the read.
    #[serde(default)]
    pub consistency: Consistency,
    /// Paths to return; the whole item when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Vec<Path>>,
}

impl Get {
    /// Reads a whole item, strongly consistent.
    pub fn new(table: impl Into<Name>, key: Key) -> Get {
        Get { table: table.into(), key, consistency: Consistency::Strong, projection: None }
    }

    /// Allows an eventually consistent read.
    #[must_use]
    pub fn eventual(mut self) -> Get {
        self.consistency = Consistency::Eventual;
        self
    }

    /// Returns only these paths.
    #[must_use]
    pub fn project<P: Into<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Get {
        self.projection = Some(paths.into_iter().map(Into::into).collect());
        self
    }
}

/// The action of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Stores an item and replaces any item with its key.
    Put(Item),
    /// Updates an item; creates it if it is missing.
    Update(Key, Update),
    /// Deletes an item.
    Delete(Key),
    /// Checks a condition and changes nothing. Only in transactions.
    Check(Key),
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The table.
    pub table: Name,
    /// The action.
    pub action: Action,
    /// Condition on the current item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// The durability of the acknowledged write.
    #[serde(default)]
    pub durability: Durability,
    /// Whether it settles or ends something that exists: a full disk refuses it last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub essential: bool,
    /// Attributes of the updated item to return; all when `None`.
    #[serde(skip)]
    pub returned: Option<ReturnAttributes>,
}

/// Selects the attributes of an item that an update returns. A back-end may return more.
#[derive(Debug, Clone, Copy)]
pub struct ReturnAttributes(pub fn(&str) -> bool);

impl PartialEq for ReturnAttributes {
    fn eq(&self, other: &ReturnAttributes) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for ReturnAttributes {}

impl Write {
    fn new(table: impl Into<Name>, action: Action) -> Write {
        let durability = Durability::Synced;
        let (table, condition, returned) = (table.into(), None, None);
        Write { table, action, condition, durability, essential: false, returned }
    }

    /// Stores `item`.
    pub fn put(table: impl Into<Name>, item: Item) -> Write {
        Write::new(table, Action::Put(item))
    }

    /// Updates the item at `key`.
    pub fn update(table: impl Into<Name>, key: Key, update: Update) -> Write {
        Write::new(table, Action::Update(key, update))
    }

    /// Deletes the item at `key`.
    pub fn delete(table: impl Into<Name>, key: Key) -> Write {
        Write::new(table, Action::Delete(key))
    }

    /// In a transaction: requires `condition` of the item at `key`.
    pub fn check(table: impl Into<Name>, key: Key, condition: Condition) -> Write {
        Write::new(table, Action::Check(key)).when(condition)
    }

    /// Applies the write only if `condition` is true for the current item.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Write {
        self.condition = Some(condition);
        self
    }

    /// Acknowledges the write once it survives a crash of the process, without waiting for the disk.
    #[must_use]
    pub fn flushed(mut self) -> Write {
        self.durability = Durability::Flushed;
        self
    }

    /// Marks a write that settles or ends something that exists, or that frees the log. While the disk is nearly full, an
    /// embedded store accepts only these and deletions. A transaction is essential if one of its writes is.
    #[must_use]
    pub fn essential(mut self) -> Write {
        self.essential = true;
        self
    }

    /// Of the item after an update, returns at least the attributes that `is_returned` selects; others may be missing.
    #[must_use]
    pub fn returning(mut self, is_returned: fn(&str) -> bool) -> Write {
        self.returned = Some(ReturnAttributes(is_returned));
        self
    }
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Written {
    /// The write was applied. An update returns the new item, as far as [`Write::returning`] selects it; a put or a delete
    /// returns the old item.
    Applied(Option<Item>),
    /// The condition was false for this item, which is unchanged.
    Refused(Option<Item>),
}

impl Written {
    /// Whether the write was applied.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        matches!(self, Written::Applied(_))
    }

    /// The returned item.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        match self {
            Written::Applied(item) | Written::Refused(item) => item.as_ref(),
        }
    }
}

/// Writes that are applied together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// The writes; each names another item.
    pub writes: Vec<Write>,
    /// Idempotency token: the same token within ten minutes applies the transaction once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl Transaction {
    /// A transaction of `writes`.
    pub fn new(writes: impl IntoIterator<Item = Write>) -> Transaction {
        Transaction { writes: writes.into_iter().collect(), token: None }
    }

    /// Sets the idempotency token, so that a retry is not applied twice.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Transaction {
        self.token = Some(token.into());
        self
    }
}

/// The result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transacted {
    /// All writes were applied.
    Applied,
    /// No write was applied. One verdict for each write, in order.
    Refused(Vec<Verdict>),
}

/// The verdict on one write of a refused transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The condition was true, or the write had none.
    Held,
    /// The condition was false for this item.
    Failed(Option<Item>),
}

impl Transacted {
    /// Whether the transaction was applied.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        matches!(self, Transacted::Applied)
    }
}

/// Which sort values a query reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortRange {
    /// All.
    #[default]
    All,
    /// Equal to this value.
    Eq(KeyValue),
    /// Less than this value.
    Lt(KeyValue),
    /// At most this value.
    Le(KeyValue),
    /// Greater than this value.
    Gt(KeyValue),
    /// At least this value.
    Ge(KeyValue),
    /// From the first to the second, both included.
    Between(KeyValue, KeyValue),
    /// Begins with this text or these bytes.
    BeginsWith(KeyValue),
}

impl SortRange {
    /// The values in the range's bounds.
    #[must_use]
    pub fn values(&self) -> Vec<&KeyValue> {
        match self {
            SortRange::All => Vec::new(),
            SortRange::Eq(value)
            | SortRange::Lt(value)
            | SortRange::Le(value)
            | SortRange::Gt(value)
            | SortRange::Ge(value)
            | SortRange::BeginsWith(value) => vec![value],
            SortRange::Between(low, high) => vec![low, high],
        }
    }
}

/// The part of a table or index that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// One partition, in sort order.
    Partition {
        /// The partition value.
        partition: KeyValue,
        /// Sort values to read.
        #[serde(default)]
        sort: SortRange,
        /// Reads in descending order.
        #[serde(default)]
        reverse: bool,
    },
    /// The whole table in no order, or one of several segments of it.
    Everything {
        /// Number of the segment, and how many there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment: Option<(u32, u32)>,
    },
}

/// A query or scan, read page by page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The table.
    pub table: Name,
    /// The index; the table itself when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The part to read.
    pub extent: Extent,
    /// Condition on returned items. Items that it drops are read all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Condition>,
    /// Paths to return of each item; all that the table or index has when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Vec<Path>>,
    /// Counts and returns no items.
    #[serde(default)]
    pub count_only: bool,
    /// Items to read for a page, before the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How fresh the result must be; an index is always eventual.
    #[serde(default)]
    pub consistency: Consistency,
    /// Cursor of the previous page of the same query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Query {
    fn new(table: impl Into<Name>, extent: Extent) -> Query {
        Query {
            table: table.into(),
            index: None,
            extent,
            filter: None,
            projection: None,
            count_only: false,
            limit: None,
            consistency: Consistency::Strong,
            cursor: None,
        }
    }

    /// The items of one partition.
    pub fn partition(table: impl Into<Name>, partition: impl Into<KeyValue>) -> Query {
        let sort = SortRange::All;
        Query::new(table, Extent::Partition { partition: partition.into(), sort, reverse: false })
    }

    /// Every item of the table.
    pub fn scan(table: impl Into<Name>) -> Query {
        Query::new(table, Extent::Everything { segment: None })
    }

    /// Reads an index instead of the table.
    #[must_use]
    pub fn index(mut self, index: impl Into<String>) -> Query {
        self.index = Some(index.into());
        self.consistency = Consistency::Eventual;
        self
    }

    /// Narrows a partition to these sort values.
    #[must_use]
    pub fn sort(mut self, range: SortRange) -> Query {
        if let Extent::Partition { sort, .. } = &mut self.extent {
            *sort = range;
        }
        self
    }

    /// Narrows a partition to sort values that begin with `prefix`.
    #[must_use]
    pub fn begins_with(self, prefix: impl Into<KeyValue>) -> Query {
        self.sort(SortRange::BeginsWith(prefix.into()))
    }

    /// Narrows a partition to sort values from `low` to `high`.
    #[must_use]
    pub fn between(self, low: impl Into<KeyValue>, high: impl Into<KeyValue>) -> Query {
        self.sort(SortRange::Between(low.into(), high.into()))
    }

    /// Reads a partition from its end.
    #[must_use]
    pub fn reverse(mut self) -> Query {
        if let Extent::Partition { reverse, .. } = &mut self.extent {
            *reverse = true;
        }
        self
    }

    /// Scans part `number` (from 0) of `of`.
    #[must_use]
    pub fn segment(mut self, number: u32, of: u32) -> Query {
        if let Extent::Everything { segment } = &mut self.extent {
            *segment = Some((number, of));
        }
        self
    }

    /// Returns only items for which `filter` is true.
    #[must_use]
    pub fn filter(mut self, filter: Condition) -> Query {
        self.filter = Some(filter);
        self
    }

    /// Returns only these paths.
    #[must_use]
    pub fn project<P: Into<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Query {
        self.projection = Some(paths.into_iter().map(Into::into).collect());
        self
    }

    /// Counts and returns no items.
    #[must_use]
    pub fn count_only(mut self) -> Query {
        self.count_only = true;
        self
    }

    /// Reads at most `limit` items for a page.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Query {
        self.limit = Some(limit);
        self
    }

    /// Allows eventually consistent reads.
    #[must_use]
    pub fn eventual(mut self) -> Query {
        self.consistency = Consistency::Eventual;
        self
    }

    /// Continues at the cursor of a page.
    #[must_use]
    pub fn after(mut self, cursor: impl Into<String>) -> Query {
        self.cursor = Some(cursor.into());
        self
    }
}

/// A page of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Page {
    /// The items; empty when only counting.
    pub items: Vec<Item>,
    /// Number of items that passed the filter.
    pub count: u64,
    /// Number of items read.
    pub scanned: u64,
    /// Cursor of the next page; `None` at the end.
    pub cursor: Option<String>,
}

/// A page as a back-end returns it, before its end is sealed in a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawPage {
    /// The items.
    pub items: Vec<Item>,
    /// Number of items that passed the filter.
    pub count: u64,
    /// Number of items read.
    pub scanned: u64,
    /// Key attributes of the last item read: those of the table, and those of the index if one is read.
    pub last: Option<Item>,
}
