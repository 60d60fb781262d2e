//! The keys that sign tokens: a current one that signs, and a previous one that still verifies.
//!
//! A key has one algorithm and a token names its key, so a token cannot choose the algorithm. The id of a
//! key (`kid`) is derived from it, so that instances which share a key agree on the id. It reveals nothing
//! of the secret, because it is part of an HMAC under it.

use std::fmt;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use ring::{digest, hmac};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Serialize;
use weir_table::{Error, Result};
use zeroize::Zeroizing;

use super::secret::Secret;

/// Minimum length of an HS256 secret in bytes: that of the hash (RFC 7518, 3.2).
pub const SECRET_MIN: usize = 32;
/// Characters of a key's id.
const KID_LEN: usize = 16;
/// Bytes of one coordinate of a point on P-256.
const COORDINATE: usize = 32;

/// The source of a signing key.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// A secret of at least [`SECRET_MIN`] bytes that every instance knows: HS256.
    Hs256(SecretBytes),
    /// A private key on P-256 as PKCS#8 in PEM: ES256.
    Es256(Secret),
}

/// The bytes of a secret. They are not shown, and wiped when dropped.
#[derive(Clone)]
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> SecretBytes {
        SecretBytes(Zeroizing::new(bytes))
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

/// The algorithm of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Hs256,
    Es256,
}

impl Algorithm {
    /// The name of the algorithm in the header of a token.
    pub(super) fn name(self) -> &'static str {
        match self {
            Algorithm::Hs256 => "HS256",
            Algorithm::Es256 => "ES256",
        }
    }
}

enum Material {
    Hs256(hmac::Key),
    Es256(EcdsaKeyPair),
}

/// One key.
pub struct SigningKey {
    kid: String,
    material: Material,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithm = self.algorithm().name();
        write!(f, "SigningKey({algorithm} {})", self.kid)
    }
}

impl SigningKey {
    /// Reads a key. `field` is its name in errors.
    ///
    /// # Errors
    /// The secret is too short, or the text is not a private key on P-256.
    pub fn from_source(field: &str, source: &KeySource) -> Result<SigningKey> {
        match source {
            KeySource::Hs256(secret) => Self::hs256(field, &secret.0),
            KeySource::Es256(pem) => Self::es256(field, pem.expose()),
        }
    }

    pub(super) fn hs256(field: &str, secret: &[u8]) -> Result<SigningKey> {
        if secret.len() < SECRET_MIN {
            let problem = format!("a secret for HS256 has at least {SECRET_MIN} bytes");
            return Err(Error::invalid(field, problem));
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        Ok(SigningKey {
            kid: kid(hmac::sign(&key, b"weir signing key id").as_ref()),
            material: Material::Hs256(key),
        })
    }

    fn es256(field: &str, pem: &str) -> Result<SigningKey> {
        let wrong = |problem: &str| Error::invalid(field, problem);
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| {
            wrong(
                "is no private key in PEM (BEGIN PRIVATE KEY); \
                 `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one, \
                 `openssl pkcs8 -topk8 -nocrypt` converts a BEGIN EC PRIVATE KEY",
            )
        })?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            der.secret_pkcs8_der(),
            &random,
        )
        .map_err(|_| wrong("is no private key on the curve P-256"))?;
        let public = digest::digest(&digest::SHA256, pair.public_key().as_ref());
        Ok(SigningKey { kid: kid(public.as_ref()), material: Material::Es256(pair) })
    }

    /// The key's id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        match &self.material {
            Material::Hs256(_) => Algorithm::Hs256,
            Material::Es256(_) => Algorithm::Es256,
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        match &self.material {
            Material::Hs256(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            Material::Es256(pair) => pair
                .sign(&SystemRandom::new(), message)
                .map(|signature| signature.as_ref().to_vec())
                .map_err(|_| Error::backend("signing a token", "the system has no random bytes")),
        }
    }

    /// Whether `signature` is the signature of `message` by this key. Both algorithms compare in constant time.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Hs256(key) => hmac::verify(key, message, signature).is_ok(),
            Material::Es256(pair) => {
                let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key());
                public.verify(message, signature).is_ok()
            }
        }
    }

    fn jwk(&self) -> Option<Jwk> {
        let Material::Es256(pair) = &self.material else {
            return None;
        };
        // An uncompressed point: 4, x, y.
        let point = pair.public_key().as_ref().strip_prefix(&[4])?;
        let (x, y) = point.split_at_checked(COORDINATE)?;
        Some(Jwk {
            kty: "EC",
            crv: "P-256",
            usage: "sig",
            alg: "ES256",
            kid: self.kid.clone(),
            x: URL_SAFE_NO_PAD.encode(x),
            y: URL_SAFE_NO_PAD.encode(y),
        })
    }
}

fn kid(bytes: &[u8]) -> String {
    let mut kid = String::with_capacity(KID_LEN);
    for byte in bytes.iter().take(KID_LEN / 2) {
        write!(kid, "{byte:02x}").ok();
    }
    kid
}

/// A public key as JSON (RFC 7517).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Jwk {
    kty: &'static str,
    crv: &'static str,
    #[serde(rename = "use")]
    usage: &'static str,
    alg: &'static str,
    kid: String,
    x: String,
    y: String,
}

impl Jwk {
    /// The key's id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }
}

/// The public keys that verify tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Jwks {
    /// The current key, then the previous one, without HS256 keys, which have no public part.
    pub keys: Vec<Jwk>,
}

/// The current and the previous key.
#[derive(Debug)]
pub struct Keyring {
    current: SigningKey,
    previous: Option<SigningKey>,
}

impl Keyring {
    /// Signs with `current`. Tokens that `previous` signed stay valid.
    ///
    /// # Errors
    /// They are the same key.
    pub fn new(current: SigningKey, previous: Option<SigningKey>) -> Result<Keyring> {
        if previous.as_ref().is_some_and(|key| key.kid == current.kid) {
            let problem = "is the current key; leave it out, or name the one before";
            return Err(Error::invalid("signing.previous", problem));
        }
        Ok(Keyring { current, previous })
    }

    /// The key that signs.
    #[must_use]
    pub fn current(&self) -> &SigningKey {
        &self.current
    }

    /// The current key, then the previous one.
    pub fn keys(&self) -> impl Iterator<Item = &SigningKey> {
        std::iter::once(&self.current).chain(&self.previous)
    }

    /// The current or previous key with this id.
    #[must_use]
    pub fn find(&self, kid: &str) -> Option<&SigningKey> {
        self.keys().find(|key| key.kid == kid)
    }

    /// The public keys.
    #[must_use]
    pub fn jwks(&self) -> Jwks {
        Jwks { keys: self.keys().filter_map(SigningKey::jwk).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 7515, A.3.
    const RFC_PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff\n\
        H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp\n\
        7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt\n\
        -----END PRIVATE KEY-----\n";
    const P384_PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCxK91mN10Tg6LjFZjZ\n\
        +hv4T6JOvBJ5nxRkCG8TflS8s/P1MGalIN1UdYxVCeqzLFShZANiAAQLOoJd2Zqa\n\
        /y1TEi/9/v6WQ+6EEPX8XVk7ATMVj+OieW3svnQXirfLwjGTN7JEtWALdq01QzrH\n\
        hqiFnvMzj5Iokl1ZKvW+idMqL5u7P1Fn/Sb0hR0UUYj+JxwoQfJC2IE=\n\
        -----END PRIVATE KEY-----\n";
    /// The claims of RFC 7515, A.1 and A.3.
    const RFC_CLAIMS: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl\
        LmNvbS9pc19yb290Ijp0cnVlfQ";

    fn decode(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    fn es256(pem: &str) -> Result<SigningKey> {
        SigningKey::from_source("signing.key", &KeySource::Es256(Secret::new(pem)))
    }

    #[test]
    fn the_hs256_example_of_rfc_7515_verifies() {
        let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjA\
            zZr1Z9CAow";
        let key = SigningKey::hs256("signing.key", &decode(secret)).unwrap();
        let message = format!("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{RFC_CLAIMS}");
        let signature = decode("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert!(key.verifies(message.as_bytes(), &signature));
        assert_eq!(key.sign(message.as_bytes()).unwrap(), signature);
    }

    #[test]
    fn the_es256_example_of_rfc_7515_verifies() {
        let key = es256(RFC_PEM).unwrap();
        let message = format!("eyJhbGciOiJFUzI1NiJ9.{RFC_CLAIMS}");
        let signature = decode(
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-K\
             g6NU1Q",
        );
        assert!(key.verifies(message.as_bytes(), &signature));
        assert!(!key.verifies(b"another", &signature));
        let ours = key.sign(message.as_bytes()).unwrap();
        assert_eq!(ours.len(), 64);
        assert!(key.verifies(message.as_bytes(), &ours));
    }

    #[test]
    fn the_public_part_is_told_and_only_that() {
        let secret = b"0123456789abcdef0123456789abcdef".to_vec().into();
        let previous = SigningKey::from_source("signing.previous", &KeySource::Hs256(secret));
        let keys = Keyring::new(es256(RFC_PEM).unwrap(), Some(previous.unwrap())).unwrap();
        let jwks = serde_json::to_value(keys.jwks()).unwrap();
        let kid = keys.current().kid();
        assert_eq!(
            jwks,
            serde_json::json!({"keys": [{
                "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid,
                "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            }]})
        );
    }

    #[test]
    fn an_id_is_sixteen_hex_digits_of_the_key() {
        let key = es256(RFC_PEM).unwrap();
        assert_eq!(key.kid(), es256(RFC_PEM).unwrap().kid());
        assert_eq!(key.kid().len(), 16);
        assert!(key.kid().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(format!("{key:?}"), format!("SigningKey(ES256 {})", key.kid()));
    }

    #[test]
    fn what_is_no_key_is_refused_without_quoting_it() {
        let refused = |pem: &str| es256(pem).unwrap_err().to_string();
        assert!(refused("drowssap").starts_with("signing.key: is no private key in PEM"));
        assert!(!refused("drowssap").contains("drowssap"));
        assert!(refused(P384_PEM).contains("is no private key on the curve P-256"));
        let short = KeySource::Hs256(b"only thirty-one bytes, one less".to_vec().into());
        let refused = SigningKey::from_source("signing.key", &short).unwrap_err();
        let text = "signing.key: a secret for HS256 has at least 32 bytes";
        assert_eq!(refused.to_string(), text);
    }

    #[test]
    fn the_current_key_is_no_previous_key() {
        let refused = Keyring::new(es256(RFC_PEM).unwrap(), Some(es256(RFC_PEM).unwrap()));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with("signing.previous: is the current key"));
    }
}
