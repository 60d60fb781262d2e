//! What a review was after each commit, so that a response can be compared with every moment of its request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weir_reviews::ids::ReviewId;
use weir_reviews::review::{Feedback, RecordedReview};

use super::{Op, Outcome, Simulation};
use crate::model::review::{FindingKey, Review, Stage};
use crate::task::Task;

/// Moments of a review that are remembered.
const MOMENTS_MAX: usize = 200;

/// What a review was.
pub(super) struct Moment {
    /// Commits of all before it.
    commit: u64,
    /// The review; none if there was none.
    pub(super) review: Option<Review>,
    /// The review as readers see it, if it has ended.
    pub(super) ended: Option<Arc<RecordedReview>>,
    pub(super) feedback: BTreeMap<FindingKey, Feedback>,
}

impl Moment {
    /// The review, unless it is being deleted.
    pub(super) fn living(&self) -> Option<&Review> {
        self.review.as_ref().filter(|review| review.stage != Stage::Deleting)
    }
}

impl Simulation {
    /// Remembers a review after a commit.
    pub(super) fn remember_moment(&mut self, id: &ReviewId) {
        let review = self.reviews.get(id).cloned();
        let has_ended = |of: &&Review| matches!(of.stage, Stage::Completed | Stage::Failed);
        let ended = review.as_ref().filter(has_ended).and_then(Review::ended).map(Arc::new);
        let feedback = review.as_ref().map(|review| review.feedback.clone()).unwrap_or_default();
        let moments = self.moments.entry(id.clone()).or_default();
        if moments.len() == MOMENTS_MAX {
            moments.pop_front();
        }
        moments.push_back(Moment { commit: self.run.commits, review, ended, feedback });
    }

    /// Whether a review was so at some moment of a request; true if nobody knows any more.
    pub(super) fn was(
        &self,
        task: &Task<Op, Outcome>,
        id: &ReviewId,
        is_so: impl Fn(&Moment) -> bool,
    ) -> bool {
        let none = VecDeque::new();
        let moments = self.moments.get(id).unwrap_or(&none);
        let at_begin = moments.iter().rposition(|moment| moment.commit <= task.began_at);
        if at_begin.is_none() {
            if moments.len() == MOMENTS_MAX {
                return true;
            }
            let commit = 0;
            let absent = Moment { commit, review: None, ended: None, feedback: BTreeMap::new() };
            if is_so(&absent) {
                return true;
            }
        }
        moments.iter().skip(at_begin.unwrap_or_default()).any(is_so)
    }
}
