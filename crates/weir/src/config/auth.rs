//! `[auth]`: the keys that let people in, and how long what they are given lasts.

use std::path::PathBuf;

use serde::Serialize;

use super::Secret;

/// Who may do what: keys and tokens.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Auth {
    /// The admin key, at least 16 characters, used instead of the one made on first start.
    #[config(env = "WEIR_ADMIN_KEY")]
    pub(crate) admin_key: Option<Secret>,
    /// The issuer that tokens name.
    #[config(default = "weir", env = "WEIR_ISSUER")]
    pub(crate) issuer: String,
    /// Key that signs tokens with HS256: base64 of at least 32 bytes. Without one, the server makes
    /// its own in an embedded store's folder; on DynamoDB instances share it, so it must be set.
    #[config(env = "WEIR_SIGNING_KEY")]
    pub(crate) signing_key: Option<Secret>,
    /// Key that signs tokens with ES256 instead: a PEM file of an EC P-256 private key.
    #[config(env = "WEIR_SIGNING_KEY_FILE")]
    pub(crate) signing_key_file: Option<PathBuf>,
    /// The signing key before this one: its tokens stay good until they expire.
    #[config(env = "WEIR_PREVIOUS_SIGNING_KEY")]
    pub(crate) previous_signing_key: Option<Secret>,
    /// The same as a PEM file of an EC P-256 private key.
    #[config(env = "WEIR_PREVIOUS_SIGNING_KEY_FILE")]
    pub(crate) previous_signing_key_file: Option<PathBuf>,
    /// Key that seals the cursors of lists: base64 of 32 bytes. An embedded store has its own; on
    /// DynamoDB instances share it, so it must be set.
    #[config(env = "WEIR_CURSOR_KEY")]
    pub(crate) cursor_key: Option<Secret>,
    /// Seconds an access token is good for.
    #[config(default = 3600, env = "WEIR_ACCESS_TOKEN_SECS")]
    pub(crate) access_token_secs: u64,
    /// Seconds a refresh token is good for.
    #[config(default = 2_592_000, env = "WEIR_REFRESH_TOKEN_SECS")]
    pub(crate) refresh_token_secs: u64,
    /// Seconds for which a token that was found not revoked is believed.
    #[config(default = 60, env = "WEIR_REVOCATION_CACHE_SECS")]
    pub(crate) revocation_cache_secs: u64,
}
