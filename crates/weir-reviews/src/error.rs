//! Faults of a request or of the store.

/// Result of a call.
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
    /// The request exceeds a bound.
    #[error("{field}: {problem}")]
    TooLarge {
        /// The field.
        field: String,
        /// The bound, and by how much it is exceeded.
        problem: String,
    },
    /// The resource does not exist.
    #[error("{what} {id:?} not found")]
    NotFound {
        /// The kind of resource: `review`, `response`, `finding`, `raw output`.
        what: &'static str,
        /// The id of the resource.
        id: String,
    },
    /// The request conflicts with stored data, like the same review id with other content.
    #[error("{0}")]
    Conflict(String),
    /// Too many concurrent writers changed the same item.
    #[error("too many concurrent writes to the same item; try again")]
    Contended,
    /// A stored item is not in the format this version writes.
    #[error("{what} cannot be read: {problem}")]
    Damaged {
        /// The item.
        what: String,
        /// The reason why it cannot be read.
        problem: String,
    },
    /// The object storage failed.
    #[error("the object storage failed: {0}")]
    Objects(String),
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
            weir_table::Error::Conflict => Error::Contended,
            error => Error::Store(error),
        }
    }
}

impl Error {
    /// An invalid request.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    /// A request that exceeds a bound.
    pub fn too_large(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::TooLarge { field: field.into(), problem: problem.into() }
    }

    /// A missing resource.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Error {
        Error::NotFound { what, id: id.into() }
    }

    /// A corrupt item.
    pub fn damaged(what: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), problem: problem.into() }
    }

    /// The same error, of a field inside of `parent`: `findings[3].severity`.
    #[must_use]
    pub fn inside(self, parent: &str) -> Error {
        match self {
            Error::Invalid { field, problem } => {
                Error::invalid(format!("{parent}.{field}"), problem)
            }
            Error::TooLarge { field, problem } => {
                Error::too_large(format!("{parent}.{field}"), problem)
            }
            other => other,
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match self {
            Error::Contended | Error::Objects(_) => true,
            Error::Store(error) => error.is_unavailable() || error.is_conflict(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_field_from_the_outside_in() {
        let error = Error::invalid("severity", "is unknown");
        let error = error.inside("findings[3]").inside("responses[0]");
        assert_eq!(error.to_string(), "responses[0].findings[3].severity: is unknown");
    }
}
