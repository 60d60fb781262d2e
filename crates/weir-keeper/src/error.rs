//! Faults of a request or of the store. A spent quota and a duplicate submission are normal results, not errors.

/// Result of a keeper call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of the request or of the store. The server maps each variant to a status code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the request is invalid.
    #[error("{field}: {problem}")]
    Invalid {
        /// The field.
        field: String,
        /// Why it is invalid.
        problem: String,
    },
    /// The requested configuration is invalid.
    #[error("{field}: {problem}")]
    Config {
        /// The field.
        field: String,
        /// Why it is invalid.
        problem: String,
    },
    /// The label is not in the catalog, in the chain, or among the app's inference profiles.
    #[error("{field}: {problem}")]
    Label {
        /// The field that holds the label.
        field: String,
        /// The label, and the labels that exist.
        problem: String,
    },
    /// The model has no known price, and the org does not meter unpriced models as free.
    #[error(
        "no price is known for model {model:?}: `weir keeper prices list` searches by part of a name; name the vendor, set \
         `price` on its label, or import a price"
    )]
    UnknownPrice {
        /// The model.
        model: String,
    },
    /// The resource does not exist.
    #[error("{what} {id:?} not found")]
    NotFound {
        /// The kind of resource: `org`, `app`, `webhook`.
        what: &'static str,
        /// The id of the resource.
        id: String,
    },
    /// The caller is not authenticated. The text does not say which part of the credentials is wrong.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The caller is not allowed to do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The request conflicts with stored data: the same id with another payload.
    #[error("{0}")]
    AlreadyExists(String),
    /// An amount exceeds its type.
    #[error("{0} is too large")]
    Overflow(&'static str),
    /// Too many concurrent writers changed the same item.
    #[error("too many concurrent writes to the same item; try again")]
    Contended,
    /// The queue of a bounded resource is full.
    #[error("too many requests are waiting for {0}; try again")]
    Busy(&'static str),
    /// A stored item or shipped file is not in the format this version writes.
    #[error("{what} cannot be read: {problem}")]
    Damaged {
        /// The item or file.
        what: String,
        /// The reason why it cannot be read.
        problem: String,
    },
    /// The store failed; a write may or may not have been applied.
    #[error(transparent)]
    Store(weir_table::Error),
}

impl From<weir_table::Error> for Error {
    /// A cursor comes from the caller, so a wrong one is an invalid request.
    fn from(error: weir_table::Error) -> Error {
        match error {
            weir_table::Error::Invalid { field, problem } if field == "cursor" => {
                Error::Invalid { field, problem }
            }
            error => Error::Store(error),
        }
    }
}

impl Error {
    /// An invalid request.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    /// An invalid configuration.
    pub fn config(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Config { field: field.into(), problem: problem.into() }
    }

    /// An unknown label.
    pub fn label(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Label { field: field.into(), problem: problem.into() }
    }

    /// A missing resource.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Error {
        Error::NotFound { what, id: id.into() }
    }

    /// A corrupt item or file.
    pub fn damaged(what: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), problem: problem.into() }
    }

    /// The same problem, reported as one of the configuration field `at`.
    #[must_use]
    pub fn into_config(self, at: &str) -> Error {
        match self {
            Error::Invalid { problem, .. } => Error::config(at, problem),
            other => other,
        }
    }

    /// The same error once more, for another submission of the batch. Causes of store errors cannot be cloned, so they
    /// become text.
    #[must_use]
    pub(crate) fn repeat(&self) -> Error {
        match self {
            Error::Invalid { field, problem } => Error::invalid(field, problem),
            Error::Config { field, problem } => Error::config(field, problem),
            Error::Label { field, problem } => Error::label(field, problem),
            Error::UnknownPrice { model } => Error::UnknownPrice { model: model.clone() },
            Error::NotFound { what, id } => Error::not_found(what, id),
            Error::AlreadyExists(text) => Error::AlreadyExists(text.clone()),
            Error::Overflow(what) => Error::Overflow(what),
            Error::Contended => Error::Contended,
            Error::Busy(what) => Error::Busy(what),
            Error::Unauthorized(what) => Error::Unauthorized(what),
            Error::Forbidden(what) => Error::Forbidden(what),
            Error::Damaged { what, problem } => Error::damaged(what, problem),
            Error::Store(fault) => Error::Store(repeat_fault(fault)),
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match self {
            Error::Contended | Error::Busy(_) => true,
            Error::Store(error) => error.is_unavailable() || error.is_conflict(),
            _ => false,
        }
    }
}

/// The same store error once more; see [`Error::repeat`].
pub(crate) fn repeat_fault(fault: &weir_table::Error) -> weir_table::Error {
    use weir_table::Error as Store;
    match fault {
        Store::Conflict => Store::Conflict,
        Store::Throttled => Store::Throttled,
        Store::Closed => Store::Closed,
        Store::Unavailable(why) => Store::Unavailable(why.clone()),
        Store::ReadOnly { reason } => Store::ReadOnly { reason: reason.clone() },
        other => Store::backend("writing a batch", other.to_string()),
    }
}
