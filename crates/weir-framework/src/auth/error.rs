//! Why a credential does not count. Texts are for logs and never quote the credential.

/// What is wrong with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is not a token of ours: too long, not three parts, or without a claim it must have.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// It names no key, or one that is not in force.
    #[error("the token is signed with a key that is not in force")]
    UnknownKey,
    /// It claims another algorithm than its key has.
    #[error("the token names another algorithm than its key has")]
    WrongAlgorithm,
    /// The signature is not its key's.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// Somebody else issued it.
    #[error("the token was issued by another issuer")]
    WrongIssuer,
    /// It was issued in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// It is a refresh token where an access token is wanted, or the other way round.
    #[error("the token is of the wrong type")]
    WrongType,
    /// It was revoked, or the token it came from, or all of its subject.
    #[error("the token was revoked")]
    Revoked,
}

impl TokenError {
    /// A short name, for the label of a metric.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TokenError::Malformed(_) => "malformed",
            TokenError::UnknownKey => "unknown_key",
            TokenError::WrongAlgorithm => "wrong_algorithm",
            TokenError::BadSignature => "bad_signature",
            TokenError::WrongIssuer => "wrong_issuer",
            TokenError::NotYetValid => "not_yet_valid",
            TokenError::Expired => "expired",
            TokenError::WrongType => "wrong_type",
            TokenError::Revoked => "revoked",
        }
    }
}

/// Why somebody is not let in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The token does not count.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The key is not the admin key.
    #[error("the key is not the admin key")]
    WrongKey,
    /// Whether it counts could not be found out; nobody is let in on a guess.
    #[error("credentials could not be checked")]
    Store(#[from] weir_table::Error),
}

impl AuthError {
    /// The credential may be good: the answer is 503, not 401.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, AuthError::Store(_))
    }
}
