//! The form of a token: `header.claims.signature`, each in base64url (RFC 7515, compact form).
//!
//! Only the id of the key is used before the signature is checked. The header's algorithm must be that
//! of the key, so a token cannot choose how it is checked: neither `none` nor a public key used as a
//! secret is accepted.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use weir_table::{Error, Result};

use super::error::TokenError;
use super::signing::{Keyring, SigningKey};

/// Maximum length of a token in bytes. Longer ones are not parsed.
pub const TOKEN_MAX: usize = 8 * 1024;

#[derive(Serialize)]
struct Written<'a> {
    alg: &'static str,
    typ: &'static str,
    kid: &'a str,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    alg: Cow<'a, str>,
    #[serde(borrow)]
    kid: Option<Cow<'a, str>>,
    crit: Option<IgnoredAny>,
}

/// Signs `claims` with `key`.
pub(super) fn seal(key: &SigningKey, claims: &impl Serialize) -> Result<String> {
    let header = Written { alg: key.algorithm().name(), typ: "JWT", kid: key.kid() };
    let writing = |source| Error::backend("writing a token", source);
    let header = serde_json::to_vec(&header).map_err(writing)?;
    let claims = serde_json::to_vec(claims).map_err(writing)?;
    let mut text = URL_SAFE_NO_PAD.encode(header);
    text.push('.');
    URL_SAFE_NO_PAD.encode_string(claims, &mut text);
    let signature = key.sign(text.as_bytes())?;
    text.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut text);
    if text.len() > TOKEN_MAX {
        let problem = format!("would have {} bytes; at most {TOKEN_MAX}", text.len());
        return Err(Error::invalid("token", problem));
    }
    Ok(text)
}

/// Checks the signature. Returns the claims as bytes, and the key that signed them.
pub(super) fn open<'k>(
    keys: &'k Keyring,
    text: &str,
) -> Result<(Vec<u8>, &'k SigningKey), TokenError> {
    let malformed = TokenError::Malformed;
    if text.len() > TOKEN_MAX {
        return Err(malformed("it is longer than 8 KiB"));
    }
    let (message, signature) = text.rsplit_once('.').ok_or(malformed("not three parts"))?;
    let (header, claims) = message.split_once('.').ok_or(malformed("not three parts"))?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part);
    let header = decode(header).map_err(|_| malformed("the header is not base64url"))?;
    let header: Header<'_> =
        serde_json::from_slice(&header).map_err(|_| malformed("the header is not JSON"))?;
    if header.crit.is_some() {
        return Err(malformed("the header has critical extensions"));
    }
    let key = header.kid.as_deref().and_then(|kid| keys.find(kid));
    let key = key.ok_or(TokenError::UnknownKey)?;
    if header.alg != key.algorithm().name() {
        return Err(TokenError::WrongAlgorithm);
    }
    let signature = decode(signature).map_err(|_| malformed("the signature is not base64url"))?;
    if !key.verifies(message.as_bytes(), &signature) {
        return Err(TokenError::BadSignature);
    }
    let claims = decode(claims).map_err(|_| malformed("the claims are not base64url"))?;
    Ok((claims, key))
}
