//! What can be asked of a table, and what comes back.

use serde::{Deserialize, Serialize};

use crate::expr::{Condition, Path, Update};
use crate::item::Item;
use crate::key::{Key, KeyValue};
use crate::value::Name;

/// How fresh a read must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    /// Every write answered before the read is seen, and nothing is seen that a crash could undo.
    #[default]
    Strong,
    /// Half the price on DynamoDB; may be a moment behind.
    Eventual,
}

/// What a write survives once it is answered. On DynamoDB every write is `Synced`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The end of the process; a power cut may take the last 100 ms.
    Flushed,
    /// A power cut too.
    #[default]
    Synced,
}

/// One item to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The table.
    pub table: Name,
    /// The item.
    pub key: Key,
    /// How fresh.
    #[serde(default)]
    pub consistency: Consistency,
    /// What to return of it; everything when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Vec<Path>>,
}

impl Get {
    /// Reads a whole item, strongly consistent.
    pub fn new(table: impl Into<Name>, key: Key) -> Get {
        Get { table: table.into(), key, consistency: Consistency::Strong, projection: None }
    }

    /// Allows a read that is a moment behind.
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

/// What a write does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Stores an item in place of what has its key.
    Put(Item),
    /// Changes an item; one that does not exist is made.
    Update(Key, Update),
    /// Removes an item.
    Delete(Key),
    /// Changes nothing; only in transactions, for its condition.
    Check(Key),
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The table.
    pub table: Name,
    /// What to do.
    pub action: Action,
    /// What must hold of the item for it to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// What the write survives.
    #[serde(default)]
    pub durability: Durability,
    /// What an update need tell of the item after it; everything when none.
    #[serde(skip)]
    pub told: Option<Told>,
}

/// Says of an attribute whether an update need tell it. A back-end may tell more.
#[derive(Debug, Clone, Copy)]
pub struct Told(pub fn(&str) -> bool);

impl PartialEq for Told {
    fn eq(&self, other: &Told) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Told {}

impl Write {
    fn new(table: impl Into<Name>, action: Action) -> Write {
        let durability = Durability::Synced;
        Write { table: table.into(), action, condition: None, durability, told: None }
    }

    /// Stores `item`.
    pub fn put(table: impl Into<Name>, item: Item) -> Write {
        Write::new(table, Action::Put(item))
    }

    /// Changes the item at `key`.
    pub fn update(table: impl Into<Name>, key: Key, update: Update) -> Write {
        Write::new(table, Action::Update(key, update))
    }

    /// Removes the item at `key`.
    pub fn delete(table: impl Into<Name>, key: Key) -> Write {
        Write::new(table, Action::Delete(key))
    }

    /// In a transaction: `condition` must hold of the item at `key`.
    pub fn check(table: impl Into<Name>, key: Key, condition: Condition) -> Write {
        Write::new(table, Action::Check(key)).when(condition)
    }

    /// Does the write only if `condition` holds of the item as it is.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Write {
        self.condition = Some(condition);
        self
    }

    /// Answers once the write survives a crash of the process, without waiting for the disk.
    #[must_use]
    pub fn flushed(mut self) -> Write {
        self.durability = Durability::Flushed;
        self
    }

    /// Of the item after an update, tells at least the attributes for which `told` says so; perhaps no others.
    #[must_use]
    pub fn telling(mut self, told: fn(&str) -> bool) -> Write {
        self.told = Some(Told(told));
        self
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Written {
    /// It was done. An update returns the item after it, or what [`Write::telling`] asks of it; a put or delete the item before it.
    Applied(Option<Item>),
    /// Its condition did not hold of this item, which is as it was.
    Refused(Option<Item>),
}

impl Written {
    /// Whether the write was done.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        matches!(self, Written::Applied(_))
    }

    /// The item that came back.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        match self {
            Written::Applied(item) | Written::Refused(item) => item.as_ref(),
        }
    }
}

/// Writes that happen together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// The writes; no item twice.
    pub writes: Vec<Write>,
    /// The same token within ten minutes does the transaction once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl Transaction {
    /// A transaction of `writes`.
    pub fn new(writes: impl IntoIterator<Item = Write>) -> Transaction {
        Transaction { writes: writes.into_iter().collect(), token: None }
    }

    /// Makes a retry with the same token do nothing.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Transaction {
        self.token = Some(token.into());
        self
    }
}

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transacted {
    /// All of it was done.
    Applied,
    /// None of it was done. For each write, in order: whether its own condition failed.
    Refused(Vec<Verdict>),
}

/// What one write of a refused transaction had to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Its condition held, or it had none.
    Held,
    /// Its condition did not hold of this item.
    Failed(Option<Item>),
}

impl Transacted {
    /// Whether the transaction was done.
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
    /// This one.
    Eq(KeyValue),
    /// Those before.
    Lt(KeyValue),
    /// Those before, and this one.
    Le(KeyValue),
    /// Those after.
    Gt(KeyValue),
    /// Those after, and this one.
    Ge(KeyValue),
    /// From the first to the second, both included.
    Between(KeyValue, KeyValue),
    /// Those that begin with this text or these bytes.
    BeginsWith(KeyValue),
}

impl SortRange {
    /// The values the range names.
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

/// Which part of a table or index is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// One partition, in sort order.
    Partition {
        /// The partition value.
        partition: KeyValue,
        /// Which sort values.
        #[serde(default)]
        sort: SortRange,
        /// From the last to the first.
        #[serde(default)]
        reverse: bool,
    },
    /// Everything, in no order; or one of several equal parts of it.
    Everything {
        /// Which part, and of how many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment: Option<(u32, u32)>,
    },
}

/// Many items to read, page by page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The table.
    pub table: Name,
    /// The index, or the table itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Which part.
    pub extent: Extent,
    /// What must hold of an item for it to be returned; it is read all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Condition>,
    /// What to return of each item; everything the table or index holds when none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<Vec<Path>>,
    /// Count, and return no items.
    #[serde(default)]
    pub count_only: bool,
    /// How many items to read for a page, before the filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How fresh; an index is always eventual.
    #[serde(default)]
    pub consistency: Consistency,
    /// Where the last page of the same query ended.
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

    /// Returns only items of which `filter` holds.
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

    /// Counts, and returns no items.
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

    /// Allows reads that are a moment behind.
    #[must_use]
    pub fn eventual(mut self) -> Query {
        self.consistency = Consistency::Eventual;
        self
    }

    /// Goes on where a page ended.
    #[must_use]
    pub fn after(mut self, cursor: impl Into<String>) -> Query {
        self.cursor = Some(cursor.into());
        self
    }
}

/// A page of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Page {
    /// The items; none when only counting.
    pub items: Vec<Item>,
    /// Items the filter let through.
    pub count: u64,
    /// Items read.
    pub scanned: u64,
    /// Where to go on; none at the end.
    pub cursor: Option<String>,
}

/// A page as a back-end returns it, its end not yet sealed in a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawPage {
    /// The items.
    pub items: Vec<Item>,
    /// Items the filter let through.
    pub count: u64,
    /// Items read.
    pub scanned: u64,
    /// Key attributes (of the table, and of the index when one is read) of the last item read.
    pub last: Option<Item>,
}
