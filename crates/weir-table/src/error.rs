//! What can go wrong, asked by question. A refused condition is not here: it is an answer.

use std::path::PathBuf;

/// The result of a table call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of the request or of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is wrong; nothing was written.
    #[error("{field}: {problem}")]
    Invalid {
        /// What is wrong: an attribute, a parameter.
        field: String,
        /// How it is wrong.
        problem: String,
    },
    /// The table does not exist.
    #[error("no table {0:?}; `weir tables list` shows what there is")]
    NoSuchTable(String),
    /// The table exists with another shape.
    #[error("table {table:?} differs from what is expected: {}", differences.join("; "))]
    SpecMismatch {
        /// The table.
        table: String,
        /// What differs.
        differences: Vec<String>,
    },
    /// Another transaction or write is at the same item; try again.
    #[error("another transaction is writing the same item")]
    Conflict,
    /// An idempotency token came back with another request.
    #[error("this idempotency token was used for a different transaction")]
    TokenReused,
    /// The store asks for fewer requests.
    #[error("the store is throttling requests")]
    Throttled,
    /// No answer in time, or no connection. A write may or may not have happened.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// The store takes no writes any more; reading still works.
    #[error("the store is read-only since {reason}; free the disk or replace it, then restart")]
    ReadOnly {
        /// What happened.
        reason: String,
    },
    /// Bytes on disk are not what was written.
    #[error("{} is damaged at byte {offset}: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The data was written by a newer version.
    #[error("{} has data format {found}; this version reads up to {known}: use a newer weir", path.display())]
    NewerFormat {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest this version reads.
        known: u32,
    },
    /// Another process has the store open.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The feed no longer has what follows this position; do a full pass and start anew.
    #[error("the feed was trimmed past this position")]
    Trimmed,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The operating system refused something.
    #[error("{doing}")]
    Io {
        /// What we were doing.
        doing: String,
        /// Its answer.
        #[source]
        source: std::io::Error,
    },
    /// The back-end failed in a way of its own.
    #[error("{doing}")]
    Backend {
        /// What we were doing.
        doing: String,
        /// Its answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// A wrong request.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    /// Wraps what the operating system answered.
    pub fn io(doing: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { doing: doing.into(), source }
    }

    /// Wraps what a back-end answered.
    pub fn backend(
        doing: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Error::Backend { doing: doing.into(), source: source.into() }
    }

    /// The request itself is wrong; sending it again cannot help.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Error::Invalid { .. })
    }

    /// Another writer was at the same item.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Conflict)
    }

    /// The store asked to slow down.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        matches!(self, Error::Throttled)
    }

    /// Trying again later may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::Conflict | Error::Throttled | Error::Unavailable(_))
    }

    /// The attribute or parameter a wrong request is about.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        if let Error::Invalid { field, .. } = self { Some(field) } else { None }
    }
}
