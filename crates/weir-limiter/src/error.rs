//! The errors of the limiter. A refused acquire is a result, not an error.

/// The result of a call to the limiter.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An invalid request or a failing store. Nothing was taken, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the request is invalid.
    #[error("{field}: {problem}")]
    Invalid {
        /// The field, or the parameter.
        field: String,
        /// The reason why it is invalid, and the allowed values.
        problem: String,
    },
    /// No such namespace, entity, bucket or limit exists.
    #[error("{kind} not found: {id:?}")]
    NotFound {
        /// The kind of resource: `namespace`, `entity`, `bucket` or `limit`.
        kind: &'static str,
        /// The id of the resource.
        id: String,
    },
    /// No level of the config has limits, and the caller sent none.
    #[error(
        "no limits apply to entity {entity:?} on resource {resource:?}: set limits for the entity, the resource or the system"
    )]
    NoLimits {
        /// The entity that requested.
        entity: String,
        /// The resource it requested.
        resource: String,
    },
    /// The request contradicts the stored state.
    #[error("{0}")]
    Conflict(String),
    /// The lease can no longer be settled.
    #[error("the lease has expired: it can be settled for {ttl_secs} s after its acquire")]
    LeaseExpired {
        /// How long the lease could be settled, in seconds.
        ttl_secs: i64,
    },
    /// The token is not a lease of this limiter, or of another namespace.
    #[error("not a lease of this namespace")]
    NotALease,
    /// Too many others changed the same item at the same time.
    #[error("too many concurrent writes to the same item; try again")]
    Contended,
    /// An item has an attribute that this version does not know, so nobody can say what the item means.
    #[error(
        "{item} has the attribute {attribute:?}, which weir does not know: another program wrote it, and has to remove it"
    )]
    UnknownAttribute {
        /// The config level or the bucket.
        item: String,
        /// The attribute.
        attribute: String,
    },
    /// This version does not support the table's schema.
    #[error("{0}")]
    Version(String),
    /// The store failed. A write may or may not have happened.
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
    /// An invalid field.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    pub(crate) fn not_found(kind: &'static str, id: impl Into<String>) -> Error {
        Error::NotFound { kind, id: id.into() }
    }

    /// Whether the store could not be reached or would not serve, so that `on_unavailable` decides.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Error::Store(error) if error.is_unavailable())
    }
}
