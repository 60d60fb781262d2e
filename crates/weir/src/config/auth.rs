//! `[auth]`: the admin key, signing keys, and the lifetime of tokens.

use std::path::PathBuf;

use serde::Serialize;

use super::Secret;

/// Authentication: keys and tokens.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Auth {
    /// Admin key, at least 16 characters. Without it the server generates one on its first start.
    #[config(env = "WEIR_ADMIN_KEY")]
    pub(crate) admin_key: Option<Secret>,
    /// File with the admin key, instead of the key itself.
    #[config(env = "WEIR_ADMIN_KEY_FILE")]
    pub(crate) admin_key_file: Option<PathBuf>,
    /// Issuer (`iss`) of tokens.
    #[config(default = "weir", env = "WEIR_ISSUER")]
    pub(crate) issuer: String,
    /// Key that signs tokens with HS256: base64 of at least 32 bytes. With an embedded store the server
    /// generates one by default. With DynamoDB it is required, because all instances share it.
    #[config(env = "WEIR_SIGNING_KEY")]
    pub(crate) signing_key: Option<Secret>,
    /// File with the key that signs tokens: an HS256 key as above, or an EC P-256 private key as PEM, which signs with
    /// ES256.
    #[config(env = "WEIR_SIGNING_KEY_FILE")]
    pub(crate) signing_key_file: Option<PathBuf>,
    /// Previous HS256 signing key. Tokens that it signed stay valid until they expire.
    #[config(env = "WEIR_PREVIOUS_SIGNING_KEY")]
    pub(crate) previous_signing_key: Option<Secret>,
    /// File with the previous signing key, of either kind. Tokens that it signed stay valid until they
    /// expire.
    #[config(env = "WEIR_PREVIOUS_SIGNING_KEY_FILE")]
    pub(crate) previous_signing_key_file: Option<PathBuf>,
    /// Key that signs pagination cursors: base64 of 32 bytes. An embedded store generates its own. With
    /// DynamoDB it is required, because all instances share it.
    #[config(env = "WEIR_CURSOR_KEY")]
    pub(crate) cursor_key: Option<Secret>,
    /// File with the key that signs pagination cursors, instead of the key itself.
    #[config(env = "WEIR_CURSOR_KEY_FILE")]
    pub(crate) cursor_key_file: Option<PathBuf>,
    /// Lifetime of access tokens in seconds.
    #[config(default = 3600, env = "WEIR_ACCESS_TOKEN_SECS")]
    pub(crate) access_token_secs: u64,
    /// Lifetime of refresh tokens in seconds.
    #[config(default = 2_592_000, env = "WEIR_REFRESH_TOKEN_SECS")]
    pub(crate) refresh_token_secs: u64,
    /// Seconds for which the server caches that a token is not revoked. A revocation takes effect within
    /// this time.
    #[config(default = 60, env = "WEIR_REVOCATION_CACHE_SECS")]
    pub(crate) revocation_cache_secs: u64,
}
