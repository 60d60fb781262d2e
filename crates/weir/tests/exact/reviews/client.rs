//! Writers and observers of reviews.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::Method;
use serde_json::json;
use weir_api::page::Page;
use weir_api::reviews::{RecordedStatus, Review, ReviewStatus};

use super::load::{Fate, Load, OWNER, REPOS};
use crate::client::pause;
use crate::patient::Client;

pub(crate) const WHOLE: &str = "include=responses,findings,consensus";

/// Takes each of its reviews to its fate.
pub(crate) struct Writer {
    pub(crate) client: Client,
    pub(crate) load: Arc<Load>,
    /// Reviews that all writers have finished.
    pub(crate) finished: Arc<AtomicU64>,
}

impl Writer {
    /// Returns how many requests were sent again.
    pub(crate) async fn run(mut self, writer: u64, writers: u64) -> u64 {
        for number in 0..self.load.count {
            let is_own = number % writers == writer;
            let is_seconded = Load::fate(number) == Fate::Recorded && number.is_multiple_of(2);
            if is_own {
                self.fulfil(number).await;
                self.finished.fetch_add(1, Ordering::SeqCst);
            } else if is_seconded && (number + 1) % writers == writer {
                self.record(number, 0, false).await;
            }
        }
        self.client.retries
    }

    async fn fulfil(&mut self, number: u64) {
        match Load::fate(number) {
            Fate::Stepwise => self.record_stepwise(number).await,
            _ => self.record(number, 0, false).await,
        }
        let fate = Load::fate(number);
        if matches!(fate, Fate::Deleted | Fate::Reborn) {
            self.delete(number).await;
        }
        if fate == Fate::Reborn {
            self.record(number, 1, false).await;
        }
        self.judge(number).await;
        if fate == Fate::Replaced {
            self.record(number, 1, true).await;
        }
    }

    async fn record(&mut self, number: u64, version: u64, replace: bool) {
        let path = format!("/v1/reviews/{}?replace={replace}", self.load.id(number));
        let load = Arc::clone(&self.load);
        let body = || Some(serde_json::to_value(load.review(number, version)).unwrap());
        let (status, response, _) = self.client.send(Method::PUT, &path, body).await;
        assert!(matches!(status, 200 | 201), "{path}: {status} {response}");
    }

    async fn record_stepwise(&mut self, number: u64) {
        let (load, id) = (Arc::clone(&self.load), self.load.id(number));
        let opened = || {
            let mut review = load.review(number, 0);
            review.status = RecordedStatus::InProgress;
            review.responses.clear();
            Some(serde_json::to_value(review).unwrap())
        };
        let (status, response, _) = self.client.send(Method::POST, "/v1/reviews", opened).await;
        assert!(matches!(status, 200 | 201), "{id}: {status} {response}");
        for model in super::load::MODELS {
            let added = || {
                let responses = load.review(number, 0).responses.into_iter();
                let of_model = responses.into_iter().find(|response| response.model_id == model);
                Some(serde_json::to_value(of_model.unwrap()).unwrap())
            };
            let path = format!("/v1/reviews/{id}/responses");
            let (status, response, _) = self.client.send(Method::POST, &path, added).await;
            assert!(matches!(status, 200 | 201), "{path}: {status} {response}");
        }
        let path = format!("/v1/reviews/{id}/complete");
        let (status, response, _) = self.client.send(Method::POST, &path, || None).await;
        assert_eq!(status, 200, "{path}: {response}");
    }

    async fn delete(&mut self, number: u64) {
        let path = format!("/v1/reviews/{}", self.load.id(number));
        let (status, response, again) = self.client.send(Method::DELETE, &path, || None).await;
        assert!(status == 204 || again && status == 404, "{path}: {status} {response}");
    }

    async fn judge(&mut self, number: u64) {
        let Some((model, finding)) = self.load.judged(number) else { return };
        let id = self.load.id(number);
        let path = format!("/v1/reviews/{id}/findings/{model}/{finding}/feedback");
        let body = || Some(json!({"verdict": "accepted", "by": "ann"}));
        let (status, response, _) = self.client.send(Method::POST, &path, body).await;
        assert_eq!(status, 200, "{path}: {response}");
    }
}

/// What observers saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) completed: u64,
    pub(crate) others: u64,
    pub(crate) listed: u64,
    /// The consensus of each version of a review, which is the same whenever it is seen.
    pub(crate) consensus: BTreeMap<(u64, u64), String>,
    pub(crate) problems: Vec<String>,
}

impl Seen {
    /// Checks a review with everything that belongs to it.
    pub(crate) fn check(&mut self, load: &Load, review: &Review) -> Option<u64> {
        match load.check(review) {
            Ok(version) => {
                let consensus = serde_json::to_string(&review.consensus).unwrap();
                let key = (Load::number(&review.review_id), version);
                let known = self.consensus.entry(key).or_insert_with(|| consensus.clone());
                if *known != consensus {
                    self.problems.push(format!("{key:?} has another consensus"));
                }
                Some(version)
            }
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }
}

/// Looks at reviews until the run is over: none that is completed is incomplete.
pub(crate) async fn observe(
    mut client: Client,
    load: Arc<Load>,
    seen: Arc<Mutex<Seen>>,
    is_over: Arc<AtomicBool>,
) {
    while !is_over.load(Ordering::SeqCst) {
        let id = load.id(fastrand::u64(..load.count));
        observe_one(&mut client, &load, &seen, &id).await;
        let repo = REPOS[fastrand::usize(..REPOS.len())];
        let path = format!("/v1/reviews/repos/{OWNER}/{repo}?limit=5");
        let (status, page) = client.get(&path).await;
        assert_eq!(status, 200, "{path}: {page}");
        let page: Page<Review> = serde_json::from_value(page).unwrap();
        for review in page.items {
            seen.lock().unwrap().listed += 1;
            if review.status == ReviewStatus::Completed {
                observe_one(&mut client, &load, &seen, &review.review_id).await;
            }
        }
        pause().await;
    }
}

async fn observe_one(client: &mut Client, load: &Load, seen: &Mutex<Seen>, id: &str) {
    let (status, review) = client.get(&format!("/v1/reviews/{id}?{WHOLE}")).await;
    assert!(matches!(status, 200 | 404), "{id}: {status} {review}");
    let review = (status == 200).then(|| serde_json::from_value::<Review>(review).unwrap());
    let mut seen = seen.lock().unwrap();
    match review.filter(|review| review.status == ReviewStatus::Completed) {
        Some(review) => {
            seen.completed += 1;
            seen.check(load, &review);
        }
        None => seen.others += 1,
    }
}
