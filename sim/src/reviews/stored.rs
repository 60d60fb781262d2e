//! Compares what is stored of a review with the model, after every commit that touches it.

use weir_reviews::ids::ReviewId;
use weir_reviews::keys;
use weir_reviews::review::RecordedReview;
use weir_reviews::rollup::{StoredSummary, Summary};
use weir_table::{Item, Key};

use super::commits::StoredLookup;
use super::{Simulation, clients};
use crate::check::{Check, Violation};
use crate::model::review::{Review, Stage, normal};
use crate::task::at_once;

/// What is stored of a review outside of its own partition.
struct Stored {
    /// The review items.
    reviews: Vec<(Key, Item)>,
    /// The keys of its cost metrics.
    costs: Vec<Key>,
    /// The summaries, whatever their day.
    summaries: usize,
}

impl Simulation {
    /// Compares what is stored of a review with the model.
    pub(super) fn check_stored(&self, id: &ReviewId) -> Vec<Violation> {
        let stored = self.stored(id);
        let item = self.run.store.item(&self.settings.table, &keys::lookup(id));
        match (self.reviews.get(id), item.as_ref().and_then(StoredLookup::decode)) {
            (None, None) => self.check_gone(id, &stored),
            (Some(review), Some(lookup)) => {
                let mut violations = self.check_review(review, &lookup, &stored);
                if matches!(review.stage, Stage::Completed | Stage::Failed) {
                    violations.extend(self.check_whole(review, &stored));
                }
                violations.extend(self.check_summary(review, &stored));
                violations
            }
            (review, lookup) => {
                let stage = review.map(|review| review.stage);
                let found = format!("{id} is {lookup:?}, and the model has {stage:?}");
                vec![Violation::new(Check::Revision, found)]
            }
        }
    }

    fn stored(&self, id: &ReviewId) -> Stored {
        let mut stored = Stored { reviews: Vec::new(), costs: Vec::new(), summaries: 0 };
        let table = &self.settings.table;
        for repo in clients::repos() {
            let partition = keys::repo_partition(&clients::owner(), &repo);
            for (key, item) in self.run.store.partition(table, &partition) {
                if item.s("review_id") != Some(id.as_str()) {
                    continue;
                }
                if item.s("SK").is_some_and(|sk| sk.starts_with(keys::COST_PREFIX)) {
                    stored.costs.push(key);
                } else {
                    stored.reviews.push((key, item));
                }
            }
            let partition = weir_reviews::rollup::keys::repository(&clients::owner(), &repo);
            let of_review = |(_, item): &(Key, Item)| {
                item.s("SK").and_then(|sk| sk.rsplit('#').next()) == Some(id.as_str())
            };
            stored.summaries += self
                .run
                .store
                .partition(table, &partition)
                .iter()
                .filter(|of| of_review(of))
                .count();
        }
        stored
    }

    /// Nothing is left of a review without a lookup.
    fn check_gone(&self, id: &ReviewId, stored: &Stored) -> Vec<Violation> {
        let table = &self.settings.table;
        let partitions = clients::repos().map(|repo| {
            let at =
                keys::ReviewRef { id: id.clone(), owner: clients::owner(), repo, pr_number: 7 };
            keys::review_partition(&at)
        });
        let children = partitions.iter().flat_map(|of| self.run.store.partition(table, of));
        let mut left: Vec<Key> = children.map(|(key, _)| key).collect();
        left.extend(stored.reviews.iter().map(|(key, _)| key.clone()));
        left.extend(stored.costs.iter().cloned());
        left.extend(self.run.store.item(table, &keys::deletion(id)).map(|_| keys::deletion(id)));
        if left.is_empty() && stored.summaries == 0 {
            return Vec::new();
        }
        let found = format!("{id} is gone, but for {left:?}, {} summaries", stored.summaries);
        vec![Violation::new(Check::Deleted, found)]
    }

    /// The review item is where it belongs, with the right status, if readers may see it.
    fn check_review(
        &self,
        review: &Review,
        lookup: &StoredLookup,
        stored: &Stored,
    ) -> Vec<Violation> {
        let mut violations = Vec::new();
        let id = &review.at.id;
        if (lookup.stage, &lookup.revision) != (review.stage, &review.revision) {
            let found = format!("{id} is {lookup:?}, and the model has {:?}", review.stage);
            violations.push(Violation::new(Check::Revision, found));
        }
        let key = keys::review(&review.at, review.created_at_ms);
        let keys: Vec<&Key> = stored.reviews.iter().map(|(key, _)| key).collect();
        let is_visible = review.is_shown && review.stage != Stage::Deleting;
        if keys != Vec::from_iter(is_visible.then_some(&key)) {
            let found = format!("{id} is at {keys:?}, and the model has {key}, {is_visible}");
            let is_moved = keys.len() == 1 && is_visible;
            let check = if is_moved { Check::CreatedAt } else { Check::Whole };
            violations.push(Violation::new(check, found));
        }
        if lookup.created_at_ms != review.created_at_ms {
            let found = format!("{id} is of {}", lookup.created_at_ms);
            violations.push(Violation::new(Check::CreatedAt, found));
        }
        let status = match review.stage {
            Stage::Completed => "completed",
            Stage::Failed => "failed",
            _ => "in_progress",
        };
        if let Some((key, item)) =
            stored.reviews.iter().find(|(_, of)| of.s("status") != Some(status))
        {
            let found = format!("{key} is {:?} while the model has {status}", item.s("status"));
            violations.push(Violation::new(Check::Whole, found));
        }
        violations
    }

    /// A review that has ended is exactly what was recorded.
    fn check_whole(&self, review: &Review, stored: &Stored) -> Vec<Violation> {
        let id = &review.at.id;
        self.observe_at(self.run.clocks.true_ms());
        let read = at_once(self.observer.get_whole(id)).map(normal);
        let Some(mut expected) = review.ended() else { return Vec::new() };
        expected.review.pull_request.files.sort_unstable();
        let mut violations = Vec::new();
        if read.as_ref().ok() != Some(&expected) {
            let found = format!("{id} is {read:?}, and the model has {expected:?}");
            violations.push(Violation::new(Check::Whole, found));
        }
        let cost = |of: &weir_reviews::review::Response| {
            keys::cost(&review.at, review.created_at_ms, &of.model)
        };
        let costs: Vec<Key> = expected.responses.iter().map(cost).collect();
        if stored.costs != costs {
            let found = format!("{id} has costs {:?}, and the model {costs:?}", stored.costs);
            violations.push(Violation::new(Check::Whole, found));
        }
        violations.extend(self.check_raws(review, &expected));
        violations
    }

    /// The raw outputs that responses name are stored.
    fn check_raws(&self, review: &Review, expected: &RecordedReview) -> Vec<Violation> {
        let mut violations = Vec::new();
        for response in expected.responses.iter().filter(|of| of.raw_key.is_some()) {
            let sent = review.responses.get(&response.model).and_then(|of| of.raw.clone());
            let read = at_once(self.observer.raw(&review.at.id, &response.model));
            if read.as_ref().ok() != sent.as_ref() {
                let found =
                    format!("{}: the raw output of {}: {read:?}", review.at.id, response.model);
                violations.push(Violation::new(Check::RawOutput, found));
            }
        }
        violations
    }

    /// A completed review is summed up as it is.
    fn check_summary(&self, review: &Review, stored: &Stored) -> Option<Violation> {
        let ended = review.ended().filter(|_| review.stage == Stage::Completed);
        let expected = ended.as_ref().map(Summary::of);
        let read = expected.as_ref().and_then(|expected| {
            let id = expected.id.clone();
            let table = self.observer.rollup_table();
            at_once(StoredSummary::read(self.observer.store(), &table, id)).ok().flatten()
        });
        let read = read.map(|read| read.summary);
        if read == expected && stored.summaries == usize::from(expected.is_some()) {
            return None;
        }
        let id = &review.at.id;
        let found =
            format!("{id} is summed up {} times as {read:?}: {expected:?}", stored.summaries);
        Some(Violation::new(Check::Summary, found))
    }

    /// Sets the clock of the observer.
    pub(super) fn observe_at(&self, now_ms: i64) {
        if let weir_table::clock::Clock::Manual(now) = &self.observer_clock {
            now.store(now_ms.unsigned_abs(), std::sync::atomic::Ordering::SeqCst);
        }
    }
}
