//! What can go wrong, asked by question. A refused acquire is not here: it is an answer.

/// The result of a call of the limiter.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of the request or of the store. Nothing was taken, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is wrong.
    #[error("{field}: {problem}")]
    Invalid {
        /// What is wrong.
        field: String,
        /// How it is wrong.
        problem: String,
    },
    /// There is none of that name.
    #[error("there is no {what} {id:?}")]
    NotFound {
        /// What kind of thing: `namespace`, `entity`, `bucket`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// No level of the configuration has limits for this, and the caller gave none.
    #[error(
        "there are no limits for entity {entity:?} on resource {resource:?}: set some for the system, the resource or the entity"
    )]
    NoLimits {
        /// Who asked.
        entity: String,
        /// For what.
        resource: String,
    },
    /// The request contradicts what is there.
    #[error("{0}")]
    Conflict(String),
    /// The lease can no longer be settled.
    #[error("the lease expired; it can be settled for {ttl_secs} s after its acquire")]
    LeaseExpired {
        /// How long it could be settled.
        ttl_secs: i64,
    },
    /// Not a lease of this limiter, or not of this namespace.
    #[error("this is not a lease of this namespace")]
    NotALease,
    /// Too many others changed the same bucket at the same time.
    #[error("the bucket is written by too many at once; try again")]
    Contended,
    /// The schema of the table is not one this version works with.
    #[error("{0}")]
    Version(String),
    /// The store failed; a write may or may not have happened.
    #[error(transparent)]
    Store(#[from] weir_table::Error),
}

impl Error {
    /// A wrong request.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    /// A thing that is not there.
    pub(crate) fn not_found(what: &'static str, id: impl Into<String>) -> Error {
        Error::NotFound { what, id: id.into() }
    }

    /// Whether the store could not be reached or would not serve, so that `on_unavailable` decides.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        use weir_table::Error as Store;
        matches!(
            self,
            Error::Store(
                Store::Unavailable(_) | Store::Throttled | Store::Closed | Store::ReadOnly { .. }
            )
        )
    }
}
