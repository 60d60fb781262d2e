//! Every id that is part of a key, and its valid form.
//!
//! Keys join their parts with `#`, so an id that contained one could address another item.

use weir_table::Name;
use weir_table::id::{as_is, shaped};

use crate::bounds::{CATEGORY_MAX, ID_MAX, MODEL_ID_MAX, REPO_NAME_MAX};

weir_table::ids! {
    /// Owner of repositories: a user or an organisation.
    Owner, "owner", |text| word(text, REPO_NAME_MAX),
        "an owner: 1 to 100 letters, digits, `_`, `.` and `-`";
    /// Repository, unique within its owner.
    Repo, "repo", |text| word(text, REPO_NAME_MAX),
        "a repository: 1 to 100 letters, digits, `_`, `.` and `-`";
    /// Review id.
    ReviewId, "review_id", |text| word(text, ID_MAX),
        "a review id: 1 to 128 letters, digits, `_`, `.` and `-`";
    /// Model id, as its vendor or the tool names it.
    ModelId, "model_id", |text| as_is(text, |text| is_printable(text, MODEL_ID_MAX)),
        "a model id: 1 to 256 printable ASCII characters without blanks and `#`";
    /// Finding id, unique among the findings of a model in a review.
    FindingId, "finding_id", |text| as_is(text, |text| is_printable(text, ID_MAX)),
        "a finding id: 1 to 128 printable ASCII characters without blanks and `#`";
    /// Consensus id, unique within a review.
    ConsensusId, "consensus_id", |text| word(text, ID_MAX),
        "a consensus id: 1 to 128 letters, digits, `_`, `.` and `-`";
    /// Category of a finding.
    Category, "category", |text| word(text, CATEGORY_MAX),
        "a category: 1 to 64 letters, digits, `_`, `.` and `-`";
    /// Name of a user who asked for a review or judged a finding.
    UserName, "user", |text| as_is(text, |text| is_printable(text, REPO_NAME_MAX)),
        "a user name: 1 to 100 printable ASCII characters without blanks and `#`";
}

impl ConsensusId {
    /// The id of the `number`th consensus of a review: `consensus-001`.
    #[must_use]
    pub fn numbered(number: usize) -> ConsensusId {
        ConsensusId(format!("consensus-{number:03}").into())
    }
}

fn word(text: &str, max: usize) -> Option<Name> {
    fn is_good(b: u8) -> bool {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')
    }
    // A part of a path in the object storage.
    let is_relative = text == "." || text == "..";
    shaped(text, max, is_good, is_good).filter(|_| !is_relative)
}

fn is_printable(text: &str, max: usize) -> bool {
    let good = |b: u8| b.is_ascii_graphic() && b != b'#';
    (1..=max).contains(&text.len()) && text.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_address_another_item_are_refused() {
        for good in ["acme", "a", "weir.rs", "_x-1"] {
            Owner::new(good).unwrap();
        }
        for bad in ["", "a#b", "a/b", "a b", ".", "..", "ä", &"x".repeat(101)] {
            Owner::new(bad).unwrap_err();
            Repo::new(bad).unwrap_err();
        }
        for good in ["anthropic.claude-sonnet-4:v1", "meta/llama-3", "gpt-5"] {
            ModelId::new(good).unwrap();
        }
        for bad in ["", "a#b", "a b", "\n", &"x".repeat(257)] {
            ModelId::new(bad).unwrap_err();
        }
    }
}
