//! Hashes of what was sent, which show whether it was sent before. They are stored, so they must not change.
//!
//! The order of responses, findings, files and consensus items does not matter. The hash of a whole review is made of the
//! hashes of its parts; so it is the same in one call and step by step.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{Completion, NewConsensus, NewHead, NewResponse, NewReview};
use crate::finding::Finding;

impl NewHead {
    /// Hash of the review without its responses and its id.
    pub(crate) fn hash(&self) -> String {
        let mut files: Vec<&str> = self.pull_request.files.iter().map(String::as_str).collect();
        files.sort_unstable();
        let mut hash = Hasher::new("head");
        hash.text(self.pull_request.owner.as_str());
        hash.text(self.pull_request.repo.as_str());
        hash.number(self.pull_request.number);
        hash.text(&self.pull_request.title);
        hash.text(&self.pull_request.url);
        hash.list(files, |hash, file| hash.text(file));
        hash.optional(self.requested_by.as_ref().map(|user| user.as_str()));
        hash.optional(self.created_at_ms.map(|ms| ms.to_string()).as_deref());
        hash.hex()
    }
}

impl NewResponse {
    /// Hash of the response with its findings and raw output.
    pub(crate) fn hash(&self) -> String {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        let mut hash = Hasher::new("response");
        hash.text(self.model.as_str());
        hash.text(self.status.as_str());
        for number in [self.input_tokens, self.output_tokens, self.latency_ms, self.cost.0] {
            hash.number(number);
        }
        hash.number(u64::from(self.raw.is_some()));
        hash.bytes(self.raw.as_deref().unwrap_or_default());
        hash.list(findings, Hasher::finding);
        hash.hex()
    }
}

impl Completion {
    fn hash(&self) -> String {
        let mut hash = Hasher::new("completion");
        match self {
            Completion::Failed => hash.text("failed"),
            Completion::Completed(None) => hash.text("computed"),
            Completion::Completed(Some(consensus)) => {
                hash.text("sent");
                let mut sorted: Vec<&NewConsensus> = consensus.iter().collect();
                sorted.sort_unstable_by(|a, b| a.id.cmp(&b.id));
                hash.list(sorted, Hasher::consensus);
            }
        }
        hash.hex()
    }
}

impl NewReview {
    /// Hash of the whole review.
    pub(crate) fn hash(&self) -> String {
        let responses =
            self.responses.iter().map(|response| (response.model.as_str(), response.hash()));
        let completion = Completion::Completed(self.consensus.clone());
        content_hash(&self.head.hash(), responses.collect(), &completion)
    }
}

/// Hash of a whole review, from the hashes of its head and its responses.
pub(crate) fn content_hash(
    head: &str,
    responses: BTreeMap<&str, String>,
    completion: &Completion,
) -> String {
    let mut hash = Hasher::new("review");
    hash.text(head);
    hash.list(responses, |hash, (model, of_model)| {
        hash.text(model);
        hash.text(&of_model);
    });
    hash.text(&completion.hash());
    hash.hex()
}

/// Hashes fields one after the other, each with its length.
struct Hasher(Sha256);

impl Hasher {
    fn new(kind: &str) -> Hasher {
        let mut hash = Hasher(Sha256::new());
        hash.text(kind);
        hash
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn list<T, I: IntoIterator<Item = T, IntoIter: ExactSizeIterator>>(
        &mut self,
        items: I,
        mut each: impl FnMut(&mut Hasher, T),
    ) {
        let items = items.into_iter();
        self.number(items.len() as u64);
        items.for_each(|item| each(self, item));
    }

    fn finding(&mut self, finding: &Finding) {
        self.text(finding.id.as_str());
        self.text(finding.severity.as_str());
        self.optional(finding.category.as_ref().map(|category| category.as_str()));
        self.text(&finding.file_path);
        self.number(u64::from(finding.line_start));
        self.number(u64::from(finding.line_end));
        self.text(&finding.title);
        self.text(&finding.description);
        self.optional(finding.suggestion.as_deref());
        self.optional(finding.rule.as_deref());
    }

    fn consensus(&mut self, consensus: &NewConsensus) {
        let mut members = consensus.members.clone();
        members.sort_unstable();
        self.text(consensus.id.as_str());
        self.list(&members, |hash, member| {
            hash.text(member.model.as_str());
            hash.text(member.finding.as_str());
        });
        self.text(consensus.severity.as_str());
        self.optional(consensus.category.as_ref().map(|category| category.as_str()));
        self.text(&consensus.file_path);
        self.number(u64::from(consensus.line_start));
        self.number(u64::from(consensus.line_end));
        self.text(&consensus.title);
        self.text(&consensus.merged_description);
    }

    fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{consensus, finding, review};
    use super::*;
    use crate::ids::{Category, UserName};
    use crate::money::MicroUsd;
    use crate::review::ResponseStatus;

    #[test]
    fn the_hash_covers_every_field() {
        let changes: [fn(&mut NewReview); 23] = [
            |r| r.head.pull_request.number += 1,
            |r| r.head.pull_request.title.push('x'),
            |r| r.head.pull_request.url.push('x'),
            |r| r.head.pull_request.files.push("b.rs".into()),
            |r| r.head.requested_by = Some(UserName::new("u").unwrap()),
            |r| r.head.created_at_ms = Some(5),
            |r| drop(r.responses.pop()),
            |r| r.responses[0].status = ResponseStatus::Timeout,
            |r| r.responses[0].input_tokens += 1,
            |r| r.responses[0].output_tokens += 1,
            |r| r.responses[0].latency_ms += 1,
            |r| r.responses[0].cost = MicroUsd(77),
            |r| r.responses[0].raw = Some(Vec::new()),
            |r| r.responses[0].raw = Some(vec![1]),
            |r| drop(r.responses[0].findings.pop()),
            |r| r.responses[0].findings[0].line_end += 1,
            |r| r.responses[0].findings[0].title.push('x'),
            |r| r.responses[0].findings[0].description.push('x'),
            |r| r.responses[0].findings[0].category = Some(Category::new("other").unwrap()),
            |r| r.responses[0].findings[0].suggestion = Some(String::new()),
            |r| r.responses[0].findings[0].rule = Some("B608".into()),
            |r| r.consensus = Some(Vec::new()),
            |r| r.consensus = Some(vec![consensus("c", &[("a", "1"), ("b", "1")])]),
        ];
        let mut seen = std::collections::BTreeSet::from([review().hash()]);
        for (number, change) in changes.into_iter().enumerate() {
            let mut other = review();
            change(&mut other);
            assert!(seen.insert(other.hash()), "change {number}");
        }
        assert_eq!(
            review().hash(),
            "1dc1cc641227f28c294790ba3a43b48ad3da79f5585daba621eb551302c8cd50"
        );
    }

    #[test]
    fn the_order_does_not_matter() {
        let mut first = review();
        first.responses[0].findings.push(finding("a", "2"));
        first.head.pull_request.files = vec!["x".into(), "y".into()];
        let two = [consensus("c", &[("a", "1"), ("b", "1")]), consensus("d", &[])];
        first.consensus = Some(two.to_vec());
        let mut second = first.clone();
        second.responses.reverse();
        second.responses.iter_mut().for_each(|response| response.findings.reverse());
        second.head.pull_request.files.reverse();
        for list in second.consensus.iter_mut() {
            list.reverse();
            list.iter_mut().for_each(|consensus| consensus.members.reverse());
        }
        assert_ne!(first, second);
        assert_eq!(first.hash(), second.hash());
    }
}
