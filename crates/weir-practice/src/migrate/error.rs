//! Faults of a migration.

use std::error::Error as _;

use tokio_postgres::error::SqlState;

/// Result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of PostgreSQL, of the practice service, or of the request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL of PostgreSQL is invalid. The text never has the password.
    #[error("the URL of PostgreSQL is invalid: {0}")]
    Url(String),
    /// PostgreSQL does not respond, or the connection was closed.
    #[error("PostgreSQL did not respond: {0}")]
    Unreachable(String),
    /// PostgreSQL refused a statement.
    #[error("PostgreSQL refused a statement: {message}")]
    Refused {
        /// Why, in its words.
        message: String,
        /// Whether the data was refused, not the statement as such.
        is_data: bool,
    },
    /// The migration is not in the state that the call needs.
    #[error("{0}")]
    State(String),
    /// The practice service failed.
    #[error(transparent)]
    Practice(#[from] crate::Error),
}

impl From<weir_table::Error> for Error {
    fn from(error: weir_table::Error) -> Error {
        Error::Practice(error.into())
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Error {
        if let Some(refused) = error.as_db_error() {
            let (code, message) = (refused.code(), refused.message());
            let message = format!("{message} (SQLSTATE {})", code.code());
            // It shuts down, starts, or has no connection left.
            let is_gone = code.code().starts_with("57P")
                || code.code().starts_with("08")
                || *code == SqlState::TOO_MANY_CONNECTIONS;
            if is_gone {
                return Error::Unreachable(message);
            }
            let class = code.code();
            return Error::Refused {
                message,
                is_data: class.starts_with("22") || class.starts_with("23"),
            };
        }
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Error::Unreachable(format!("{error}{cause}"))
    }
}

impl Error {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match self {
            Error::Unreachable(_) => true,
            Error::Practice(error) => error.is_unavailable(),
            _ => false,
        }
    }

    /// Whether one record is at fault, so that others can go on.
    #[must_use]
    pub fn is_of_record(&self) -> bool {
        match self {
            Error::Refused { is_data, .. } => *is_data,
            Error::Practice(error) => is_of_record(error),
            _ => false,
        }
    }
}

/// Whether one record is at fault, and not the store.
pub(super) fn is_of_record(error: &crate::Error) -> bool {
    use crate::Error::{
        Conflict, Damaged, Forbidden, Invalid, LeaseLost, NotFound, Store, TooLarge,
    };
    match error {
        Store(error) => matches!(error, weir_table::Error::Invalid { .. }),
        Invalid { .. }
        | TooLarge { .. }
        | NotFound { .. }
        | Forbidden(_)
        | Conflict(_)
        | LeaseLost { .. }
        | Damaged { .. } => true,
        _ => false,
    }
}
