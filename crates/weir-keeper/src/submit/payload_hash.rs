//! The payload hash, which shows whether a request id was submitted before with the same payload.

use sha2::{Digest as _, Sha256};

use super::{CallStatus, Submission};
use crate::money::TokenUse;

/// Bytes of a payload hash.
const HASH_LEN: usize = 16;

/// Hash of a payload.
pub(crate) type PayloadHash = [u8; HASH_LEN];

impl Submission {
    /// Hash of what was used and what it cost: every field but the id and the timestamp, which a client that builds its
    /// request again sets anew. It is stored, so it must not change.
    pub(crate) fn hash(&self) -> PayloadHash {
        let mut hash = Sha256::new();
        let region = self.region.as_deref();
        for text in [Some(self.label.as_str()), Some(self.model.as_str()), region] {
            hash.update([u8::from(text.is_some())]);
            let text = text.unwrap_or_default();
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        // A submission without a vendor has the hash that it had before there were vendors.
        if let Some(vendor) = &self.vendor {
            hash.update(b"vendor");
            hash.update((vendor.as_str().len() as u64).to_be_bytes());
            hash.update(vendor.as_str());
        }
        let TokenUse { input, output, cached_read, cached_write } = self.tokens;
        for number in [input, output, cached_read, cached_write] {
            hash.update(number.to_be_bytes());
        }
        let (stated, failed) = (self.stated_cost, self.status == CallStatus::Error);
        hash.update([u8::from(stated.is_some()), u8::from(failed)]);
        hash.update(stated.unwrap_or_default().0.to_be_bytes());
        let mut short = PayloadHash::default();
        short.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{ModelId, RequestId, Vendor};
    use crate::money::MicroUsd;

    fn submission() -> Submission {
        Submission {
            request_id: RequestId::new("7c9e6679-7425-40de-944b-e07fc1f90ae7").unwrap(),
            label: "premium".into(),
            model: ModelId::new("amazon.nova-lite-v1:0").unwrap(),
            vendor: None,
            tokens: TokenUse { input: 1000, output: 500, cached_read: 0, cached_write: 0 },
            region: None,
            stated_cost: None,
            status: CallStatus::Ok,
            at_ms: 1_768_478_400_000,
        }
    }

    #[test]
    fn the_hash_covers_every_field_but_the_id_and_the_timestamp() {
        let changes: [fn(&mut Submission); 10] = [
            |s| s.label = "standard".into(),
            |s| s.model = ModelId::new("m").unwrap(),
            |s| s.vendor = Some(Vendor::bedrock()),
            |s| s.region = Some(String::new()),
            |s| s.tokens.input += 1,
            |s| s.tokens.output += 1,
            |s| s.tokens.cached_read += 1,
            |s| s.tokens.cached_write += 1,
            |s| s.stated_cost = Some(MicroUsd::ZERO),
            |s| s.status = CallStatus::Error,
        ];
        let mut seen = std::collections::BTreeSet::from([submission().hash()]);
        for change in changes {
            let mut other = submission();
            change(&mut other);
            assert!(seen.insert(other.hash()));
        }
        let mut same = submission();
        same.request_id = RequestId::new("00000000-0000-0000-0000-000000000000").unwrap();
        same.at_ms += 1;
        assert_eq!(same.hash(), submission().hash());
    }

    #[test]
    fn the_hash_of_a_payload_is_stable() {
        let hex = submission().hash().map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(hex, "992de7a6f2100c808a20cfe49fa028bf");
    }
}
