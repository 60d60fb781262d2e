//! Cursors: the end of a page, sealed so that it cannot be forged or used for another query.
//!
//! A cursor is base64url of `version ‖ tag ‖ last key`, where the tag is an HMAC-SHA256 over the query (without its limit and
//! cursor) and the last key. So a forged cursor and one of another query fail alike.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::error::{Error, Result};
use crate::item::Item;
use crate::json;
use crate::request::Query;

const VERSION: u8 = 1;
const TAG_LEN: usize = 16;

/// The secret that seals cursors. Instances that share a store share it.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorKey(…)")
    }
}

impl CursorKey {
    /// A key from bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> CursorKey {
        CursorKey(bytes)
    }

    /// Derives a key for another purpose. Instances that share this key derive the same one from the same label.
    ///
    /// # Errors
    /// None in practice: an HMAC takes keys of every length.
    pub fn derive(&self, label: &str) -> Result<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .map_err(|source| Error::backend("deriving a key", source.to_string()))?;
        // The sealed text of a cursor begins with the length of its query, which is never zero.
        mac.update(&0_u64.to_be_bytes());
        mac.update(label.as_bytes());
        Ok(mac.finalize().into_bytes().into())
    }

    fn mac(&self, query: &Query, last: &[u8]) -> Result<Hmac<Sha256>> {
        let bound = Query { limit: None, cursor: None, ..query.clone() };
        let bound = serde_json::to_vec(&bound)
            .map_err(|source| Error::backend("writing the query of a cursor", source))?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0)
            .map_err(|source| Error::backend("keying a cursor", source.to_string()))?;
        mac.update(&(bound.len() as u64).to_be_bytes());
        mac.update(&bound);
        mac.update(last);
        Ok(mac)
    }

    /// Seals the end of a page of `query`.
    ///
    /// # Errors
    /// Only when serialising fails.
    pub fn seal(&self, query: &Query, last: &Item) -> Result<String> {
        let last = serde_json::to_vec(&json::item_to_json(last))
            .map_err(|source| Error::backend("writing the key of a cursor", source))?;
        let tag = self.mac(query, &last)?.finalize().into_bytes();
        let mut bytes = vec![VERSION];
        bytes.extend(tag.iter().take(TAG_LEN));
        bytes.extend(last);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Opens a cursor that [`CursorKey::seal`] made for the same query.
    ///
    /// # Errors
    /// `cursor` is invalid when it is damaged, forged or of another query.
    pub fn open(&self, query: &Query, cursor: &str) -> Result<Item> {
        let refused =
            || Error::invalid("cursor", "is not a cursor of this query; start without one");
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| refused())?;
        let (version, rest) = bytes.split_first().ok_or_else(refused)?;
        let (tag, last) = rest.split_at_checked(TAG_LEN).ok_or_else(refused)?;
        if *version != VERSION {
            return Err(refused());
        }
        self.mac(query, last)?.verify_truncated_left(tag).map_err(|_| refused())?;
        let json = serde_json::from_slice(last).map_err(|_| refused())?;
        json::item_from_json(&json).map_err(|_| refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_keys_differ_by_label_and_by_key() {
        let key = CursorKey::new([1; 32]);
        let derived = key.derive("leases").unwrap();
        assert_eq!(derived, CursorKey::new([1; 32]).derive("leases").unwrap());
        assert_ne!(derived, key.derive("lease").unwrap());
        assert_ne!(derived, CursorKey::new([2; 32]).derive("leases").unwrap());
        assert_ne!(derived, [1; 32]);
    }
}
