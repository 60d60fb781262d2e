//! Follows every write of a review: the model changes when the lookup does.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_reviews::ids::{ModelId, ReviewId};
use weir_reviews::keys::{self, ReviewRef};
use weir_reviews::record::{Completion, NewHead};
use weir_reviews::time::parse_rfc3339;
use weir_table::{Item, Value};

use super::{Op, Simulation};
use crate::check::{Check, Violation};
use crate::model::review::{Review, Stage};
use crate::store::{Commit, ItemChange};

/// The stage of a review before and after a commit.
type Stages = (Option<Stage>, Option<Stage>);

/// The part of the lookup item that the model follows.
#[derive(Debug)]
pub(super) struct StoredLookup {
    pub(super) stage: Stage,
    pub(super) revision: String,
    pub(super) created_at_ms: i64,
    begun_at_ms: Option<i64>,
    /// The models with a claim, and whether all items of their response are written.
    claims: BTreeMap<ModelId, bool>,
}

impl StoredLookup {
    pub(super) fn decode(item: &Item) -> Option<StoredLookup> {
        let Some(Value::M(claims)) = item.get("claims") else { return None };
        let is_whole = |claim: &Value| match claim {
            Value::M(claim) => claim.get("is_whole")?.as_bool(),
            _ => None,
        };
        let claims =
            claims.iter().map(|(model, claim)| Some((ModelId::new(model).ok()?, is_whole(claim)?)));
        Some(StoredLookup {
            stage: Stage::parse(item.s("status")?)?,
            revision: item.s("revision")?.to_owned(),
            created_at_ms: parse_rfc3339("created_at", item.s("created_at")?).ok()?,
            begun_at_ms: item.s("GSI2SK").and_then(keys::parse_recording_gsi2_sort),
            claims: claims.collect::<Option<_>>()?,
        })
    }
}

impl Simulation {
    /// Checks a commit, and follows it.
    pub(super) fn check_commit(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        let mut by_review: BTreeMap<ReviewId, Vec<&ItemChange>> = BTreeMap::new();
        for change in &commit.changes {
            if let Some(id) = review_of(change) {
                by_review.entry(id).or_default().push(change);
            }
        }
        let mut violations = Vec::new();
        for (id, changes) in by_review {
            let before = self.reviews.get(&id).cloned();
            let lookup = keys::lookup(&id);
            for change in changes.iter().filter(|change| change.key == lookup) {
                violations.extend(self.transition(index, &id, change));
            }
            for change in changes.iter().filter(|change| change.key != lookup) {
                violations.extend(self.check_child(index, &id, before.as_ref(), change));
            }
            violations.extend(check_apart(&changes));
            violations.extend(self.check_stored(&id));
            self.remember_moment(&id);
        }
        violations
    }

    /// The lookup of a review changes: so does the model, if this request may do so.
    fn transition(
        &mut self,
        index: usize,
        id: &ReviewId,
        change: &ItemChange,
    ) -> Option<Violation> {
        let decode = |item: &Option<Item>| item.as_ref().and_then(StoredLookup::decode);
        let (old, new) = (decode(&change.old), decode(&change.new));
        let stages = (old.as_ref().map(|old| old.stage), new.as_ref().map(|new| new.stage));
        let task = self.run.tasks[index].id;
        self.run
            .trace
            .say(format_args!("  task {task}: {id} goes from {:?} to {:?}", stages.0, stages.1));
        let is_same = match (&old, &new) {
            (Some(old), Some(new)) => old.revision == new.revision,
            _ => false,
        };
        let problem = self.follow(index, id, (stages, is_same), new.as_ref());
        if let (Some(review), Some(new)) = (self.reviews.get_mut(id), new) {
            review.revision = new.revision;
            review.begun_at_ms = new.begun_at_ms.unwrap_or(review.begun_at_ms);
        }
        let check = if matches!(stages.1, Some(Stage::Recording)) {
            Check::SameContent
        } else if matches!(
            (&self.run.tasks[index].op, stages.1),
            (Op::Deletions, Some(Stage::Deleting))
        ) {
            Check::Abandoned
        } else {
            Check::Revision
        };
        problem.map(|why| Violation::new(check, format!("{id} goes {stages:?}: {why}")))
    }

    /// Changes the model as a request changes the lookup. Returns why it may not.
    fn follow(
        &mut self,
        index: usize,
        id: &ReviewId,
        (stages, is_same): (Stages, bool),
        new: Option<&StoredLookup>,
    ) -> Option<String> {
        match (stages, is_same) {
            ((None, Some(Stage::Recording)), _) | ((Some(_), Some(Stage::Recording)), false) => {
                self.begin_recording(index, id)
            }
            ((None, Some(Stage::InProgress)), _) => self.begin_steps(index, id),
            ((Some(Stage::InProgress), Some(Stage::InProgress)), true) => {
                self.add_response(index, id, new?)
            }
            ((Some(Stage::Recording), Some(Stage::Recording)), true)
            | ((Some(Stage::Completing), Some(Stage::Completing)), true) => {
                self.continue_recording(index, id)
            }
            ((Some(Stage::InProgress), Some(Stage::Completing)), true) => {
                self.begin_completing(index, id)
            }
            (
                (
                    Some(Stage::Recording | Stage::Completing),
                    Some(stage @ (Stage::Completed | Stage::Failed)),
                ),
                true,
            ) => self.end(index, id, stage),
            ((Some(of), Some(Stage::Deleting)), false) => self.begin_deletion(index, id, of),
            ((Some(Stage::Deleting), None), _) => self.end_deletion(index, id),
            _ => Some("as no request may".to_owned()),
        }
    }

    fn begin_recording(&mut self, index: usize, id: &ReviewId) -> Option<String> {
        let task = &self.run.tasks[index];
        let Op::Record { content, replace, .. } = &task.op else {
            return Some("nobody records it".to_owned());
        };
        let (content, replace, now_ms) = (Arc::clone(content), *replace, task.now_ms);
        let before = self.reviews.remove(id);
        let otherwise_ms = before.as_ref().map_or(now_ms, |before| before.created_at_ms);
        let created_at_ms = content.head.created_at_ms.unwrap_or(otherwise_ms);
        let at = review_ref(id, &content.head);
        let mut review = Review::new(at, created_at_ms, Stage::Recording, content.head.clone());
        review.set_content(&content);
        let mut problem = None;
        if let Some(before) = before {
            if !replace {
                problem = Some("it has other content, and is replaced".to_owned());
            } else if before.has_content(&content) {
                problem = Some("it is replaced with the same content".to_owned());
            } else if before.at != review.at || before.stage == Stage::Deleting {
                problem = Some("it is of another pull request, or is being deleted".to_owned());
            }
            (review.is_shown, review.feedback) = (true, before.feedback);
        }
        self.reviews.insert(id.clone(), review);
        problem
    }

    fn begin_steps(&mut self, index: usize, id: &ReviewId) -> Option<String> {
        let task = &self.run.tasks[index];
        let Op::Open { content } = &task.op else { return Some("nobody opens it".to_owned()) };
        let created_at_ms = content.head.created_at_ms.unwrap_or(task.now_ms);
        let at = review_ref(id, &content.head);
        let review = Review::new(at, created_at_ms, Stage::InProgress, content.head.clone());
        let before = self.reviews.insert(id.clone(), review);
        before.map(|_| "it exists".to_owned())
    }

    /// A model claims its response, or the last part of it is written.
    fn add_response(&mut self, index: usize, id: &ReviewId, new: &StoredLookup) -> Option<String> {
        let Op::Add { response, added, .. } = &mut self.run.tasks[index].op else {
            return Some("nobody adds a response".to_owned());
        };
        let review = self.reviews.get_mut(id)?;
        let known = review.responses.entry(response.model.clone());
        let is_known = **known.or_insert_with(|| Arc::clone(response)) == **response;
        if new.claims.get(&response.model) == Some(&true) {
            *added = true;
            review.whole.insert(response.model.clone());
        }
        let expected = review.responses.keys().map(|of| (of.clone(), review.whole.contains(of)));
        if !is_known || !expected.eq(new.claims.clone()) {
            return Some(format!("its claims become {:?}", new.claims));
        }
        None
    }

    /// A second writer notes that it continues.
    fn continue_recording(&mut self, index: usize, id: &ReviewId) -> Option<String> {
        let review = self.reviews.get(id)?;
        let may = match &self.run.tasks[index].op {
            Op::Record { content, .. } => review.has_content(content),
            _ => false,
        };
        (!may).then(|| "another content continues".to_owned())
    }

    fn begin_completing(&mut self, index: usize, id: &ReviewId) -> Option<String> {
        let Op::Complete { completion, .. } = &self.run.tasks[index].op else {
            return Some("nobody completes it".to_owned());
        };
        let review = self.reviews.get_mut(id)?;
        review.stage = Stage::Completing;
        review.end_with(completion);
        let lacks = review.whole.len() < review.responses.len();
        (lacks && *completion != Completion::Failed).then(|| "a response is not whole".to_owned())
    }

    fn end(&mut self, index: usize, id: &ReviewId, stage: Stage) -> Option<String> {
        let review = self.reviews.get_mut(id)?;
        (review.stage, review.is_shown) = (stage, true);
        let may = match &mut self.run.tasks[index].op {
            Op::Record { content, ended, .. } => {
                *ended = true;
                stage == Stage::Completed && review.has_content(content)
            }
            Op::Complete { completion, ended, .. } => {
                *ended = true;
                review.completion.as_ref() == Some(completion)
                    && (stage == Stage::Failed) == (*completion == Completion::Failed)
            }
            _ => false,
        };
        (!may).then(|| "by a request with other content".to_owned())
    }

    fn begin_deletion(&mut self, index: usize, id: &ReviewId, of: Stage) -> Option<String> {
        let (review, task) = (self.reviews.get_mut(id)?, &self.run.tasks[index]);
        let latest_ms = task.now_ms - weir_reviews::bounds::ABANDONED_AFTER_MS;
        review.stage = Stage::Deleting;
        match &task.op {
            Op::Delete(named) if named == id => None,
            Op::Deletions if of != Stage::Recording => Some("it is not being recorded".to_owned()),
            Op::Deletions if review.is_shown => Some("readers see it".to_owned()),
            Op::Deletions if review.begun_at_ms >= latest_ms => Some("it is recent".to_owned()),
            Op::Deletions => None,
            _ => Some("nobody deletes it".to_owned()),
        }
    }

    fn end_deletion(&mut self, index: usize, id: &ReviewId) -> Option<String> {
        self.reviews.remove(id);
        let op = &self.run.tasks[index].op;
        let may = matches!(op, Op::Delete(_) | Op::Deletions | Op::Record { .. } | Op::Open { .. });
        (!may).then(|| "nobody deletes it".to_owned())
    }
}

/// A query may meet a part of a transaction: one that completes a review has nothing else that belongs to it.
fn check_apart(changes: &[&ItemChange]) -> Option<Violation> {
    let new = |change: &&ItemChange, name: &str| {
        change.new.as_ref().and_then(|item| Some(item.s(name)?.to_owned()))
    };
    let completes = |change: &&ItemChange| {
        new(change, "entity_type").as_deref() == Some("REVIEW")
            && new(change, "status").as_deref() == Some("completed")
    };
    let is_child = |change: &&ItemChange| {
        new(change, "PK").is_some_and(|pk| pk.starts_with(keys::REVIEW_PREFIX))
    };
    let child = changes.iter().find(|change| is_child(change))?;
    let found = format!("{} is written in the transaction that completes its review", child.key);
    changes.iter().any(completes).then(|| Violation::new(Check::Whole, found))
}

/// The review that an item belongs to; rollups, their marks and the list of expiries belong to none.
fn review_of(change: &ItemChange) -> Option<ReviewId> {
    let item = change.new.as_ref().or(change.old.as_ref())?;
    let (pk, sk) = (item.s("PK")?, item.s("SK")?);
    let kind = pk.split('#').next().unwrap_or(pk);
    match kind {
        "REVIEWID" | "REPO" => ReviewId::new(item.s("review_id")?).ok(),
        "REVIEW" => Some(keys::parse_review_partition(pk)?.id),
        "ROLLUP" => ReviewId::new(sk.rsplit('#').next()?).ok(),
        keys::DELETIONS => ReviewId::new(sk).ok(),
        _ => None,
    }
}

fn review_ref(id: &ReviewId, head: &NewHead) -> ReviewRef {
    let of = &head.pull_request;
    ReviewRef {
        id: id.clone(),
        owner: of.owner.clone(),
        repo: of.repo.clone(),
        pr_number: of.number,
    }
}
