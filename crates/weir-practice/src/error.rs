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
        /// The kind of resource: `user`, `plan`, `problem`, `test case`, `run`, `job`, `task`.
        what: &'static str,
        /// The id of the resource.
        id: String,
    },
    /// The user is inactive, or the plan does not allow the request.
    #[error("{0}")]
    Forbidden(String),
    /// The request conflicts with stored data, like an email address that another user has.
    #[error("{0}")]
    Conflict(String),
    /// A worker no longer holds the job: its lease expired and another worker has claimed it, or the job has ended.
    #[error("the worker no longer holds the job {job:?}: {problem}")]
    LeaseLost {
        /// The job.
        job: String,
        /// Why the worker does not hold it.
        problem: String,
    },
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
    pub fn not_found(what: &'static str, id: impl ToString) -> Error {
        Error::NotFound { what, id: id.to_string() }
    }

    /// A request that its user may not make.
    pub fn forbidden(problem: impl Into<String>) -> Error {
        Error::Forbidden(problem.into())
    }

    /// A request that conflicts with stored data.
    pub fn conflict(problem: impl Into<String>) -> Error {
        Error::Conflict(problem.into())
    }

    /// A corrupt item.
    pub fn damaged(what: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), problem: problem.into() }
    }

    /// The same error, of a field inside of `parent`: `test_cases[3].input`.
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

    /// Whether the resource does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::NotFound { .. })
    }

    /// Whether stored data refused the request; the same request will be refused again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Conflict(_) | Error::LeaseLost { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_field_from_the_outside_in() {
        let error = Error::invalid("input", "is too long").inside("test_cases[3]");
        assert_eq!(error.to_string(), "test_cases[3].input: is too long");
    }

    #[test]
    fn errors_are_asked_by_question() {
        assert!(Error::not_found("user", "7").is_not_found());
        assert!(Error::conflict("the email address is taken").is_conflict());
        assert!(Error::from(weir_table::Error::Conflict).is_unavailable());
        assert!(!Error::forbidden("the user is inactive").is_unavailable());
        let cursor = Error::from(weir_table::Error::invalid("cursor", "is not of this list"));
        assert_eq!(cursor.to_string(), "cursor: is not of this list");
    }
}
