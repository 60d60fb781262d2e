//! The error type. A refused condition is a result, not an error.

use std::path::PathBuf;

/// The result of a table call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An invalid request, or a failure of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is invalid; nothing was written.
    #[error("{field}: {problem}")]
    Invalid {
        /// The invalid attribute or parameter.
        field: String,
        /// Why it is invalid.
        problem: String,
    },
    /// The table does not exist.
    #[error("table {0:?} does not exist; `weir tables list` shows the tables")]
    NoSuchTable(String),
    /// The table exists with another schema.
    #[error("table {table:?} has an unexpected schema: {}", differences.join("; "))]
    SpecMismatch {
        /// The table.
        table: String,
        /// The differences.
        differences: Vec<String>,
    },
    /// Another transaction or write touches the same item; retry.
    #[error("another transaction is writing the same item")]
    Conflict,
    /// An idempotency token was reused for another request.
    #[error("this idempotency token was used for a different transaction")]
    TokenReused,
    /// The store is throttling.
    #[error("the store is throttling requests")]
    Throttled,
    /// No response in time, or no connection. A write may or may not have been applied.
    #[error("the store did not respond: {0}")]
    Unavailable(String),
    /// The store no longer accepts writes; reads still work.
    #[error("the store is read-only since {reason}; free the disk or replace it, then restart")]
    ReadOnly {
        /// Why it became read-only.
        reason: String,
    },
    /// The disk is nearly full. Nothing was written; the store accepts writes again once there is room.
    #[error("the disk of the store is nearly full; free some space or enlarge it")]
    DiskFull,
    /// Data on disk is damaged.
    #[error("{} is damaged at byte {offset}: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Offset in the file.
        offset: u64,
        /// The damage.
        what: String,
    },
    /// The data was written by a newer version.
    #[error("{} has data format {found}; this version reads up to {known}: use a newer weir", path.display())]
    NewerFormat {
        /// The folder.
        path: PathBuf,
        /// Format of the folder.
        found: u32,
        /// Newest format that this version reads.
        known: u32,
    },
    /// Another process has the store open.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The feed no longer has the changes after this position; restart and make a full pass.
    #[error("the feed was trimmed past this position")]
    Trimmed,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// A system call failed.
    #[error("{doing}")]
    Io {
        /// The operation that failed.
        doing: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The back-end failed.
    #[error("{doing}")]
    Backend {
        /// The operation that failed.
        doing: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// An invalid request.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    /// Wraps an error of the operating system.
    pub fn io(doing: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { doing: doing.into(), source }
    }

    /// Wraps an error of a back-end.
    pub fn backend(
        doing: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error::Backend { doing: doing.into(), source: source.into() }
    }

    /// Whether the request is invalid, so that a retry cannot help.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Error::Invalid { .. })
    }

    /// Whether another writer touched the same item.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Conflict)
    }

    /// Whether a later retry may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Conflict | Error::Throttled | Error::Unavailable(_))
    }

    /// Whether the store could not be reached or would not serve.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        use Error::{Closed, DiskFull, ReadOnly, Throttled, Unavailable};
        matches!(self, Unavailable(_) | Throttled | Closed | ReadOnly { .. } | DiskFull)
    }

    /// Whether a system call failed because the disk or the quota of the user is full.
    #[must_use]
    pub(crate) fn is_no_room(&self) -> bool {
        use std::io::ErrorKind::{QuotaExceeded, StorageFull};
        let Error::Io { source, .. } = self else { return false };
        matches!(source.kind(), StorageFull | QuotaExceeded)
    }

    /// The attribute or parameter that an invalid request names.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        if let Error::Invalid { field, .. } = self { Some(field) } else { None }
    }
}
