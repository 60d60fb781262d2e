//! What the servers have in the end: every review, and every list of what belongs to reviews.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::http::Method;
use serde::Serialize;
use serde_json::{Value, json};
use weir_api::reviews::{
    Consensus, CostMetric, Finding, ListedConsensus, ListedFinding, ListedResponse, Response,
    Review, ReviewRef, ReviewStatus,
};

use super::client::{Seen, WHOLE};
use super::load::{CATEGORIES, Load, MODELS, OWNER, REPOS, SEVERITIES};
use crate::patient::Client;

/// The reviews that are there in the end.
#[derive(Debug, PartialEq)]
pub(crate) struct Books {
    pub(crate) reviews: Vec<Review>,
}

impl Books {
    /// Reads every review, and checks that it is there in its last version or not at all.
    pub(crate) async fn read(client: &mut Client, load: &Load, seen: &Mutex<Seen>) -> Books {
        let mut reviews = Vec::new();
        for number in 0..load.count {
            let id = load.id(number);
            let (status, review) = client.get(&format!("/v1/reviews/{id}?{WHOLE}")).await;
            let Some(last) = Load::last_version(number) else {
                assert_eq!(status, 404, "{id}: {review}");
                continue;
            };
            assert_eq!(status, 200, "{id}: {review}");
            let review: Review = serde_json::from_value(review).unwrap();
            assert_eq!(review.status, ReviewStatus::Completed, "{id}");
            assert_eq!(seen.lock().unwrap().check(load, &review), Some(last), "{id}");
            if let Some((model, finding)) = load.judged(number) {
                let mut findings = review.findings.iter().flatten();
                let judged =
                    findings.find(|one| one.model_id == model && one.finding_id == finding);
                assert!(judged.unwrap().feedback.is_some(), "{id} has lost its feedback");
            }
            reviews.push(review);
        }
        Books { reviews }
    }

    /// Checks that every list has what the reviews have, the newest first. Returns the number of entries.
    pub(crate) async fn check_lists(&self, client: &mut Client) -> usize {
        let mut entries = 0;
        let all: Vec<Review> = client.list("/v1/reviews").await;
        entries += agree("all", all, self.heads(|_| true));
        for repo in REPOS {
            let path = format!("/v1/reviews/repos/{OWNER}/{repo}");
            let found: Vec<Review> = client.list(&path).await;
            entries += agree(&path, found, self.heads(|review| review.repo == repo));
            let path = format!("{path}/costs");
            let found: Vec<CostMetric> = client.list(&path).await;
            let costs = self.responses(|review, _| review.repo == repo).map(cost);
            entries += agree(&path, found, costs);
        }
        let days: BTreeSet<&str> = self.reviews.iter().map(day).collect();
        for of in days {
            let path = format!("/v1/reviews/dates/{of}");
            let found: Vec<Review> = client.list(&path).await;
            entries += agree(&path, found, self.heads(|review| day(review) == of));
        }
        for model in MODELS {
            let path = format!("/v1/reviews/models/{model}");
            let found: Vec<ListedResponse> = client.list(&path).await;
            let expected = self.responses(|_, response| response.model_id == model);
            entries += agree(&path, found, expected);
        }
        for severity in SEVERITIES {
            let name = json!(severity);
            let path = format!("/v1/reviews/findings?severity={}", name.as_str().unwrap());
            let found: Vec<ListedFinding> = client.list(&path).await;
            entries += agree(&path, found, self.findings(|one| one.severity == severity));
        }
        for category in CATEGORIES {
            let path = format!("/v1/reviews/findings?category={category}");
            let found: Vec<ListedFinding> = client.list(&path).await;
            let is_of = |one: &Finding| one.category.as_deref() == Some(category);
            entries += agree(&path, found, self.findings(is_of));
        }
        let found: Vec<ListedConsensus> = client.list("/v1/reviews/consensus").await;
        entries + agree("consensus", found, self.consensus())
    }

    fn heads(&self, is_of: impl Fn(&Review) -> bool) -> impl Iterator<Item = Review> {
        let reviews = self.reviews.iter().filter(move |review| is_of(review));
        reviews.map(|review| Review {
            files: Vec::new(),
            responses: None,
            findings: None,
            consensus: None,
            ..review.clone()
        })
    }

    fn responses(
        &self,
        is_of: impl Fn(&Review, &Response) -> bool,
    ) -> impl Iterator<Item = ListedResponse> {
        let all = self.reviews.iter().flat_map(|review| {
            review.responses.iter().flatten().map(move |response| (review, response))
        });
        all.filter(move |(review, response)| is_of(review, response)).map(|(review, response)| {
            ListedResponse { review: reference(review), response: response.clone() }
        })
    }

    fn findings(&self, is_of: impl Fn(&Finding) -> bool) -> impl Iterator<Item = ListedFinding> {
        let all = self.reviews.iter().flat_map(|review| {
            review.findings.iter().flatten().map(move |finding| (review, finding))
        });
        all.filter(move |(_, finding)| is_of(finding)).map(|(review, finding)| ListedFinding {
            review: reference(review),
            finding: finding.clone(),
        })
    }

    fn consensus(&self) -> impl Iterator<Item = ListedConsensus> {
        let listed = |review: &Review, consensus: &Consensus| ListedConsensus {
            review: reference(review),
            consensus: consensus.clone(),
        };
        self.reviews.iter().flat_map(move |review| {
            review.consensus.iter().flatten().map(move |one| listed(review, one))
        })
    }

    /// Records everything again: the last version is there already, an older one is refused, and what is deleted stays so.
    pub(crate) async fn record_again(client: &mut Client, load: &Arc<Load>) {
        for number in 0..load.count {
            let path = format!("/v1/reviews/{}", load.id(number));
            let Some(last) = Load::last_version(number) else {
                let (status, ..) = client.send(Method::DELETE, &path, || None).await;
                assert_eq!(status, 404, "{path}");
                continue;
            };
            for (version, expected) in [(last, 200), (1 - last, 409)] {
                let body = || Some(serde_json::to_value(load.review(number, version)).unwrap());
                let (status, response, _) = client.send(Method::PUT, &path, body).await;
                assert_eq!(status, expected, "{path}, version {version}: {response}");
            }
        }
    }

    /// Raw outputs that the reviews name.
    pub(crate) fn raw_keys(&self) -> BTreeSet<String> {
        let responses = self.reviews.iter().flat_map(|review| review.responses.iter().flatten());
        responses.filter_map(|response| response.raw_key.clone()).collect()
    }
}

fn day(review: &Review) -> &str {
    &review.created_at[..10]
}

fn reference(review: &Review) -> ReviewRef {
    ReviewRef {
        review_id: review.review_id.clone(),
        owner: review.owner.clone(),
        repo: review.repo.clone(),
        pr_number: review.pr_number,
        created_at: review.created_at.clone(),
    }
}

fn cost(of: ListedResponse) -> CostMetric {
    CostMetric {
        review: of.review,
        model_id: of.response.model_id,
        cost_usd: of.response.cost_usd,
        input_tokens: of.response.input_tokens,
        output_tokens: of.response.output_tokens,
    }
}

/// Checks that a list has these entries and no others, the newest first. Returns their number.
fn agree<T: Serialize>(list: &str, found: Vec<T>, expected: impl Iterator<Item = T>) -> usize {
    let found: Vec<Value> = found.iter().map(|entry| json!(entry)).collect();
    let times: Vec<&str> =
        found.iter().map(|entry| entry["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{list} is not in order");
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for entry in &found {
        *counts.entry(entry.to_string()).or_default() += 1;
    }
    for entry in expected {
        *counts.entry(json!(entry).to_string()).or_default() -= 1;
    }
    let differing: Vec<_> = counts.iter().filter(|(_, count)| **count != 0).take(3).collect();
    assert!(differing.is_empty(), "{list} differs from the reviews: {differing:?}");
    found.len()
}
