//! Reasons why a credential is refused. The texts are for logs and never quote the credential.

/// The reason why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is malformed: too long, not three parts, or without a required claim.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// The token names no key, or an unknown one.
    #[error("the token is signed with a key that is not in force")]
    UnknownKey,
    /// The algorithm is not that of the key.
    #[error("the token names another algorithm than its key has")]
    WrongAlgorithm,
    /// The signature is wrong.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// The issuer is another one.
    #[error("the token was issued by another issuer")]
    WrongIssuer,
    /// The token was issued in the future.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// A refresh token was sent instead of an access token, or the reverse.
    #[error("the token is of the wrong type")]
    WrongType,
    /// The token, its refresh token or all tokens of its subject were revoked.
    #[error("the token was revoked")]
    Revoked,
}

impl TokenError {
    /// A short name for the label of a metric.
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

/// The reason why authentication fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The token is refused.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A session with the scope of the token would be longer than a cookie may be.
    #[error("the scope is too long for a session")]
    TooLongForCookie,
    /// The key is not the admin key.
    #[error("the key is not the admin key")]
    WrongKey,
    /// The store failed, so the credential could not be checked.
    #[error("credentials could not be checked")]
    Store(#[from] weir_table::Error),
}

impl AuthError {
    /// Whether the credential may be valid, so that the response is 503 and not 401.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, AuthError::Store(_))
    }
}
