//! All limits. They are DynamoDB's, so that every request that works embedded works there.

/// Bytes of an item, names included.
pub const ITEM_MAX: usize = 400 * 1024;
/// Bytes of a partition key.
pub const PARTITION_KEY_MAX: usize = 2048;
/// Bytes of a sort key.
pub const SORT_KEY_MAX: usize = 1024;
/// Operations of a transaction.
pub const TRANSACT_MAX: usize = 100;
/// Bytes of a transaction's items.
pub const TRANSACT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Keys of a batch get.
pub const BATCH_GET_MAX: usize = 100;
/// Operations of a batch write.
pub const BATCH_WRITE_MAX: usize = 25;
/// Bytes of items a query or scan reads for one page.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Global secondary indexes of a table.
pub const INDEXES_MAX: usize = 20;
/// Bytes of an attribute name; key attributes of an index have at most 255.
pub const NAME_MAX: usize = 64 * 1024 - 1;
/// Operators and functions in one expression.
pub const EXPRESSION_OPERATORS_MAX: usize = 300;
/// Bytes of an expression's text, with placeholders for names and values.
pub const EXPRESSION_TEXT_MAX: usize = 4096;
/// Values of one `IN`.
pub const IN_MAX: usize = 100;
/// Levels of nesting of a value or a path.
pub const NESTING_MAX: usize = 32;
/// Characters of an idempotency token.
pub const TOKEN_MAX: usize = 36;
/// How long an idempotency token is valid.
pub const TOKEN_TTL_MS: u64 = 10 * 60 * 1000;
/// Changes one read of the feed returns.
pub const FEED_READ_MAX: usize = 1000;
