//! What can go wrong, asked by question. A quota that is spent and a duplicate are not here: they are answers.

/// The result of a call of the keeper.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault of the request or of the store.
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
    /// The configuration asked for cannot be.
    #[error("{field}: {problem}")]
    Config {
        /// What is wrong.
        field: String,
        /// How it is wrong.
        problem: String,
    },
    /// No such label in the catalogue, in the chain, or among the app's inference profiles.
    #[error("{field}: {problem}")]
    Label {
        /// Where the label stands.
        field: String,
        /// Which label, and which there are.
        problem: String,
    },
    /// Nobody knows what the model costs, and the org did not say that it costs nothing.
    #[error("there is no price for model {model:?}: add one to its label, or import it")]
    UnknownPrice {
        /// The model.
        model: String,
    },
    /// There is none of that name.
    #[error("there is no {what} {id:?}")]
    NotFound {
        /// What kind of thing: `org`, `app`, `webhook`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The caller is not who it says it is. Not told more exactly, so that nobody learns which part was wrong.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The request contradicts what is there: the same id with another payload.
    #[error("{0}")]
    AlreadyExists(String),
    /// An amount does not fit the numbers there are.
    #[error("{0} is too large to be counted")]
    Overflow(&'static str),
    /// Too many others changed the same thing at the same time.
    #[error("this is written by too many at once; try again")]
    Contended,
    /// Too much of something that is done little at a time is asked for.
    #[error("too many are waiting for {0}; try again")]
    Busy(&'static str),
    /// What is stored or shipped is not what was written.
    #[error("{what} cannot be read: {problem}")]
    Damaged {
        /// Which item or file.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The store failed; a write may or may not have happened.
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
    /// A wrong request.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Invalid { field: field.into(), problem: problem.into() }
    }

    /// A wrong configuration.
    pub fn config(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Config { field: field.into(), problem: problem.into() }
    }

    /// A label that is not known.
    pub fn label(field: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Label { field: field.into(), problem: problem.into() }
    }

    /// A thing that is not there.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Error {
        Error::NotFound { what, id: id.into() }
    }

    /// A thing that was not written by us, or not like this.
    pub fn damaged(what: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), problem: problem.into() }
    }

    /// The same problem as one of the configuration, which has a code of its own.
    #[must_use]
    pub fn of_config(self, at: &str) -> Error {
        match self {
            Error::Invalid { problem, .. } => Error::config(at, problem),
            other => other,
        }
    }

    /// The code that clients know it by.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid { .. } | Error::Overflow(_) => "INVALID_REQUEST",
            Error::Config { .. } => "INVALID_CONFIG",
            Error::Label { .. } => "INVALID_MODEL_LABEL",
            Error::UnknownPrice { .. } => "UNKNOWN_PRICE",
            Error::NotFound { .. } => "NOT_FOUND",
            Error::Unauthorized(_) => "UNAUTHORIZED",
            Error::Forbidden(_) => "FORBIDDEN",
            Error::AlreadyExists(_) => "ALREADY_EXISTS",
            Error::Contended | Error::Busy(_) => "SERVICE_UNAVAILABLE",
            Error::Store(_) if self.is_unavailable() => "SERVICE_UNAVAILABLE",
            Error::Damaged { .. } | Error::Store(_) => "INTERNAL_ERROR",
        }
    }

    /// The same error for another of the same batch.
    #[must_use]
    pub(crate) fn told_again(&self) -> Error {
        let (field, problem) = match self {
            Error::Invalid { field, problem } => (field, problem),
            Error::Config { field, problem } => return Error::config(field, problem),
            Error::Label { field, problem } => return Error::label(field, problem),
            Error::UnknownPrice { model } => return Error::UnknownPrice { model: model.clone() },
            Error::NotFound { what, id } => return Error::not_found(what, id),
            Error::AlreadyExists(text) => return Error::AlreadyExists(text.clone()),
            Error::Overflow(what) => return Error::Overflow(what),
            Error::Contended => return Error::Contended,
            Error::Busy(what) => return Error::Busy(what),
            Error::Unauthorized(what) => return Error::Unauthorized(what),
            Error::Forbidden(what) => return Error::Forbidden(what),
            Error::Damaged { what, problem } => return Error::damaged(what, problem),
            Error::Store(fault) => return Error::Store(told_again(fault)),
        };
        Error::invalid(field, problem)
    }

    /// Whether the same request may do better later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        use weir_table::Error as Store;
        matches!(
            self,
            Error::Contended
                | Error::Busy(_)
                | Error::Store(
                    Store::Unavailable(_)
                        | Store::Throttled
                        | Store::Closed
                        | Store::Conflict
                        | Store::ReadOnly { .. }
                )
        )
    }
}

/// The same fault of the store for another of the same batch.
pub(crate) fn told_again(fault: &weir_table::Error) -> weir_table::Error {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_the_code_that_clients_know() {
        for (error, code) in [
            (Error::invalid("timestamp", "is in the future"), "INVALID_REQUEST"),
            (Error::Overflow("the cost"), "INVALID_REQUEST"),
            (Error::config("timezone", "is none"), "INVALID_CONFIG"),
            (Error::invalid("app", "is none").of_config("quotas"), "INVALID_CONFIG"),
            (Error::label("model_label", "is none"), "INVALID_MODEL_LABEL"),
            (Error::UnknownPrice { model: "m".into() }, "UNKNOWN_PRICE"),
            (Error::not_found("org", "o"), "NOT_FOUND"),
            (Error::Unauthorized("the secret is wrong"), "UNAUTHORIZED"),
            (Error::Forbidden("another org"), "FORBIDDEN"),
            (Error::AlreadyExists("it is there".into()), "ALREADY_EXISTS"),
            (Error::Contended, "SERVICE_UNAVAILABLE"),
            (Error::Busy("seats"), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::Throttled), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::TokenReused), "INTERNAL_ERROR"),
            (Error::damaged("item", "no name"), "INTERNAL_ERROR"),
        ] {
            assert_eq!(error.code(), code, "{error}");
        }
    }
}
