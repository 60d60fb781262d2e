//! Checks every response: what it says was so at some moment of its request.

use weir_reviews::Error;
use weir_reviews::ids::ReviewId;
use weir_reviews::record::{Completion, NewResponse, NewReview, Recorded};
use weir_reviews::review::{RecordedFinding, RecordedReview, Review as StoredReview, ReviewStatus};

use super::moments::Moment;
use super::requests::id_of;
use super::rollups::is_complete;
use super::{Op, Outcome, Simulation};
use crate::check::{Check, Violation};
use crate::model::review::{Review, Stage, normal};
use crate::task::Task;

impl Simulation {
    /// Checks the response to a request.
    pub(super) fn check_answer(
        &mut self,
        task: &Task<Op, Outcome>,
        outcome: Outcome,
    ) -> Vec<Violation> {
        let said = outcome.said();
        self.run.trace.say(format_args!("  task {}: {said}", task.id));
        self.follow_client(task, &outcome);
        let is_alone = self.run.commits - task.began_at == task.commits && task.faults == 0;
        let is_right = match (&outcome, &task.op) {
            (Outcome::Recorded(result), Op::Record { content, replace, ended }) => {
                self.is_recorded(task, result, (content, *replace, *ended))
            }
            (Outcome::Recorded(result), Op::Open { content }) => {
                self.is_opened(task, result, content)
            }
            (Outcome::Recorded(result), Op::Complete { id, completion, ended }) => {
                self.is_completed(task, result, (id, completion, *ended))
            }
            (Outcome::Added(result), Op::Add { id, response, added }) => {
                self.is_added(task, result, (id, response, *added))
            }
            (Outcome::Judged(result), Op::Feedback { .. }) => self.is_judged(task, result),
            (Outcome::Deleted(result), Op::Delete(id)) => match result {
                Ok(()) | Err(Error::NotFound { .. }) => {
                    self.was(task, id, |moment| moment.review.is_none())
                }
                Err(error) => error.is_unavailable(),
            },
            (Outcome::Read(result), Op::Read(id)) => self.is_read(task, result, id),
            (Outcome::RolledUp(Ok(report)), Op::Rollup) if is_alone && is_complete(report) => {
                return self.check_rollups();
            }
            (Outcome::RolledUp(_) | Outcome::Done(_), _) => true,
            _ => false,
        };
        let mut violations = Vec::new();
        if !is_right {
            let found = format!("task {}: {said}", task.id);
            violations.push(Violation::new(Check::Response, found));
        }
        if is_alone && outcome.is_unavailable() && !self.waits(task) {
            let found = format!("task {} fails without a fault: {said}", task.id);
            violations.push(Violation::new(Check::Response, found));
        }
        violations
    }

    /// Feedback waits while the items of its review are being written, also by a writer that was killed.
    fn waits(&self, task: &Task<Op, Outcome>) -> bool {
        let Op::Feedback { id, .. } = &task.op else { return false };
        let stage = self.reviews.get(id).map(|review| review.stage);
        matches!(stage, Some(Stage::Recording | Stage::Completing))
    }

    /// A client that records step by step goes on, repeats its step, or gives up.
    fn follow_client(&mut self, task: &Task<Op, Outcome>, outcome: &Outcome) {
        let Some(at) = self.scripts.iter().position(|script| script.task == task.id) else {
            return;
        };
        let script = &mut self.scripts[at];
        let is_last = script.done > script.content.responses.len();
        if outcome.is_unavailable() {
            return;
        }
        if outcome.is_ok() && !is_last {
            script.done += 1;
        } else {
            self.scripts.swap_remove(at);
        }
    }

    fn is_recorded(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_reviews::Result<Recorded>,
        (content, replace, ended): (&NewReview, bool, bool),
    ) -> bool {
        let id = id_of(content);
        let is_other = |review: &Review| {
            let of = &content.head.pull_request;
            let is_elsewhere = review.at.repo != of.repo || review.at.pr_number != of.number;
            is_elsewhere || !replace && !review.has_content(content)
        };
        match result {
            Ok(recorded) => {
                let is_so = |moment: &Moment| {
                    let has = moment.review.as_ref().is_some_and(|of| of.has_content(content));
                    has && is_shown_as(moment, &recorded.review)
                };
                recorded.changed == ended && self.was(task, &id, is_so)
            }
            Err(Error::Conflict(_)) => {
                self.was(task, &id, |moment| moment.living().is_some_and(is_other))
            }
            Err(Error::Invalid { .. }) => content.head.created_at_ms.is_some(),
            Err(error) => error.is_unavailable(),
        }
    }

    fn is_opened(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_reviews::Result<Recorded>,
        content: &NewReview,
    ) -> bool {
        let is_open = |review: &Review| review.head == content.head && review.is_shown;
        match result {
            Ok(_) => self.was(task, &id_of(content), |at| at.living().is_some_and(is_open)),
            Err(Error::Conflict(_)) => {
                let is_other = |review: &Review| {
                    review.head != content.head || review.stage == Stage::Recording
                };
                self.was(task, &id_of(content), |at| at.living().is_some_and(is_other))
            }
            Err(Error::Invalid { .. }) => content.head.created_at_ms.is_some(),
            Err(error) => error.is_unavailable(),
        }
    }

    fn is_added(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_reviews::Result<bool>,
        (id, response, added): (&ReviewId, &NewResponse, bool),
    ) -> bool {
        let is_same = |review: &Review| {
            review.responses.get(&response.model).is_some_and(|of| **of == *response)
        };
        match result {
            Ok(true) => added,
            Ok(false) => self.was(task, id, |at| at.living().is_some_and(is_same)),
            Err(Error::NotFound { .. }) => self.was(task, id, |at| at.living().is_none()),
            Err(Error::Conflict(_)) => {
                let refuses = |review: &Review| {
                    let has_other = review.responses.contains_key(&response.model);
                    review.stage != Stage::InProgress || has_other && !is_same(review)
                };
                self.was(task, id, |at| at.living().is_some_and(refuses))
            }
            Err(error) => error.is_unavailable(),
        }
    }

    fn is_completed(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_reviews::Result<Recorded>,
        (id, completion, ended): (&ReviewId, &Completion, bool),
    ) -> bool {
        match result {
            Ok(recorded) => {
                let is_so = |moment: &Moment| {
                    let of = moment.review.as_ref().and_then(|review| review.completion.as_ref());
                    of == Some(completion) && is_shown_as(moment, &recorded.review)
                };
                recorded.changed == ended && self.was(task, id, is_so)
            }
            Err(Error::NotFound { .. }) => self.was(task, id, |at| at.living().is_none()),
            Err(Error::Conflict(_)) => {
                let refuses = |review: &Review| {
                    review.whole.len() < review.responses.len() || review.stage != Stage::InProgress
                };
                self.was(task, id, |at| at.living().is_some_and(refuses))
            }
            // The consensus was sent for other responses.
            Err(Error::Invalid { .. }) => matches!(completion, Completion::Completed(Some(_))),
            Err(error) => error.is_unavailable(),
        }
    }

    fn is_judged(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_reviews::Result<RecordedFinding>,
    ) -> bool {
        let Op::Feedback { id, of, accepted, by, given } = &task.op else { return false };
        match result {
            Ok(found) => {
                let is_so = |moment: &Moment| {
                    let known = moment.feedback.get(of);
                    known.is_some_and(|known| known.accepted == *accepted && known.by == *by)
                        && known == found.feedback.as_ref()
                };
                let is_named = (&found.finding.model, &found.finding.id) == (&of.0, &of.1);
                is_named && (*given || self.was(task, id, is_so))
            }
            Err(Error::NotFound { .. }) => true,
            Err(error) => error.is_unavailable(),
        }
    }

    fn is_read(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_reviews::Result<RecordedReview>,
        id: &ReviewId,
    ) -> bool {
        match result {
            Ok(read) if read.review.status == ReviewStatus::InProgress => {
                let is_open = |review: &Review| {
                    review.is_shown && !matches!(review.stage, Stage::Completed | Stage::Failed)
                };
                self.was(task, id, |at| at.living().is_some_and(is_open))
            }
            Ok(read) => {
                let read = normal(read.clone());
                let is_so = |moment: &Moment| {
                    moment.ended.as_deref().is_some_and(|ended| normal(ended.clone()) == read)
                };
                self.was(task, id, is_so)
            }
            Err(Error::NotFound { .. }) => {
                self.was(task, id, |at| at.living().is_none_or(|review| !review.is_shown))
            }
            Err(error) => error.is_unavailable(),
        }
    }
}

/// Whether a review was seen as it is returned.
fn is_shown_as(moment: &Moment, returned: &StoredReview) -> bool {
    let sorted = |review: &StoredReview| {
        let mut review = review.clone();
        review.pull_request.files.sort_unstable();
        review
    };
    moment.ended.as_deref().is_some_and(|ended| sorted(&ended.review) == sorted(returned))
}

impl Outcome {
    fn error(&self) -> Option<&Error> {
        match self {
            Outcome::Recorded(result) => result.as_ref().err(),
            Outcome::Added(result) => result.as_ref().err(),
            Outcome::Judged(result) => result.as_ref().err(),
            Outcome::Deleted(result) | Outcome::Done(result) => result.as_ref().err(),
            Outcome::Read(result) => result.as_ref().as_ref().err(),
            Outcome::RolledUp(result) => result.as_ref().err(),
        }
    }

    fn is_ok(&self) -> bool {
        self.error().is_none()
    }

    fn is_unavailable(&self) -> bool {
        self.error().is_some_and(Error::is_unavailable)
    }

    /// The response in words.
    fn said(&self) -> String {
        match (self, self.error()) {
            (_, Some(error)) => error.to_string(),
            (Outcome::Recorded(Ok(recorded)), _) => {
                let (review, changed) = (&recorded.review, recorded.changed);
                format!("{} of {}, changed {changed}", review.status.as_str(), review.created_at_ms)
            }
            (Outcome::Added(Ok(is_new)), _) => format!("added, new {is_new}"),
            (Outcome::Judged(Ok(found)), _) => format!("judged {:?}", found.feedback),
            (Outcome::Read(read), _) => match read.as_ref() {
                Ok(read) => format!("{} findings", read.findings.len()),
                Err(error) => error.to_string(),
            },
            (Outcome::RolledUp(Ok(report)), _) => format!("{report:?}"),
            _ => "done".to_owned(),
        }
    }
}
