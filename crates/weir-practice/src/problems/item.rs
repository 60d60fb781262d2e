//! The item of a problem.

use weir_table::expr::Path;
use weir_table::{Backend, Item, Value};

use super::{Deletion, NewProblem, Problem, ProblemSummary};
use crate::bounds::METADATA_MAX;
use crate::error::Result;
use crate::fields::Fields;
use crate::ids::{EventId, ProblemRef, Tag, UserId};
use crate::item::{CREATED, Data, UPDATED, VERSION, entity, field, id_value, secs};
use crate::json;
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;
use crate::update::{REVISION, version_of};

pub(crate) const TITLE: &str = "tit";
pub(crate) const URL: &str = "url";
pub(crate) const TAGS: &str = "tag";
pub(crate) const SOLUTION: &str = "sol";
pub(crate) const LANGUAGE: &str = "lng";
pub(crate) const CONSTRAINTS: &str = "con";
pub(crate) const PUBLISHED: &str = "cmp";
pub(crate) const DELETED: &str = "del";
pub(crate) const DELETED_AT: &str = "ddt";
pub(crate) const DELETED_REASON: &str = "drs";
pub(crate) const NEEDS_REVIEW: &str = "nrv";
pub(crate) const REVIEW_NOTES: &str = "rvn";
pub(crate) const VERIFIED: &str = "vrf";
pub(crate) const REVIEWED_AT: &str = "rvt";
pub(crate) const METADATA: &str = "met";
pub(crate) const REGISTERED_BY: &str = "uid";

/// Attribute of a problem that is being created or removed; others do not have it.
pub(crate) const STATE: &str = "st";
pub(crate) const CREATING: &str = "creating";
pub(crate) const REMOVING: &str = "removing";

/// The fields that may be in objects.
pub(crate) const TEXTS: &[&str] = &[SOLUTION, CONSTRAINTS];

/// Whether an item is a problem that is neither being created nor removed.
pub(crate) fn is_whole(item: &Item) -> bool {
    item.get(STATE).is_none()
}

/// Whether a problem is soft-deleted.
pub(crate) fn is_deleted(item: &Item) -> bool {
    Fields::of(item).is_ok_and(|fields| fields.flag(DELETED))
}

/// The paths that a summary is read from.
pub(crate) fn summary_paths() -> Vec<Path> {
    let small = [
        TITLE,
        URL,
        TAGS,
        LANGUAGE,
        PUBLISHED,
        DELETED,
        DELETED_AT,
        DELETED_REASON,
        NEEDS_REVIEW,
        REVIEW_NOTES,
        VERIFIED,
        REVIEWED_AT,
        METADATA,
        REGISTERED_BY,
    ];
    let attributes = ["PK", "SK", STATE, CREATED, UPDATED, VERSION];
    attributes.into_iter().map(Path::from).chain(small.map(field)).collect()
}

/// Reads everything but the large texts.
pub(crate) fn decode_summary(item: &Item) -> Result<ProblemSummary> {
    let fields = Fields::of(item)?;
    let at = item.s("PK").and_then(keys::parse_problem).ok_or_else(|| fields.wrong("PK"))?;
    let text = |name: &str| fields.optional_text(name).map(str::to_owned);
    let deletion = fields.flag(DELETED).then(|| Deletion {
        at_s: fields.optional_number(DELETED_AT).unwrap_or_default(),
        reason: text(DELETED_REASON),
    });
    let empty = || serde_json::Value::Object(serde_json::Map::new());
    Ok(ProblemSummary {
        at,
        title: fields.text(TITLE)?.to_owned(),
        url: text(URL),
        tags: fields.parse_list::<Tag>(TAGS)?,
        language: text(LANGUAGE),
        is_published: fields.flag(PUBLISHED),
        deletion,
        needs_review: fields.flag(NEEDS_REVIEW),
        review_notes: text(REVIEW_NOTES),
        is_verified: fields.flag(VERIFIED),
        reviewed_at_s: fields.optional_number(REVIEWED_AT),
        metadata: fields.get(METADATA).map_or_else(empty, json::from_value),
        registered_by: fields.parse_optional::<UserId>(REGISTERED_BY)?,
        created_s: fields.created_s()?,
        updated_s: fields.updated_s()?,
        version: version_of(item),
    })
}

/// A list of tags.
pub(crate) fn tags_value(tags: &[Tag]) -> Value {
    Value::list(tags.iter().map(Tag::as_str))
}

impl<B: Backend> Practice<B> {
    /// The item of a new problem, with its texts in it.
    pub(super) async fn problem_item(
        &self,
        new: &NewProblem,
        registered_by: Option<&UserId>,
        now_ms: i64,
    ) -> Result<Item> {
        let solution = self.optional_text("solution_code", new.solution_code.clone()).await?;
        let constraints = self.optional_text("constraints", new.constraints.clone()).await?;
        let fields = Data::new()
            .with(TITLE, new.title.as_str())
            .with_or_null(URL, new.url.as_deref())
            .with(TAGS, tags_value(&new.tags))
            .with(SOLUTION, solution)
            .with_or_null(LANGUAGE, new.language.as_deref())
            .with(CONSTRAINTS, constraints)
            .with(PUBLISHED, new.is_published)
            .with(DELETED, false)
            .with(DELETED_AT, Value::Null)
            .with(DELETED_REASON, Value::Null)
            .with(NEEDS_REVIEW, false)
            .with(REVIEW_NOTES, Value::Null)
            .with(VERIFIED, false)
            .with(REVIEWED_AT, Value::Null)
            .with(METADATA, json::object_value("metadata", &new.metadata, METADATA_MAX)?)
            .with_or_null(REGISTERED_BY, registered_by.map(|user| id_value(user.as_str())));
        let item = entity(keys::problem(&new.at), EntityType::Problem, fields, secs(now_ms));
        Ok(item.with(VERSION, 1).with(REVISION, self.new_revision(now_ms)))
    }

    /// The value of a text that may be missing.
    pub(crate) async fn optional_text(&self, name: &str, text: Option<String>) -> Result<Value> {
        match text {
            Some(text) => self.encode_text(name, text).await,
            None => Ok(Value::Null),
        }
    }

    pub(super) fn new_revision(&self, now_ms: i64) -> String {
        EventId::next(self.event_ids(), now_ms).to_string()
    }

    /// Reads a problem with its texts; `None` if it has changed since its item was read.
    pub(crate) async fn read_problem(&self, item: &Item) -> Result<Option<Problem>> {
        let summary = decode_summary(item)?;
        let (Some(solution), Some(constraints)) =
            (self.read_text(item, SOLUTION).await?, self.read_text(item, CONSTRAINTS).await?)
        else {
            return Ok(None);
        };
        let has = |name: &str| field(name).find(item).is_some_and(|value| *value != Value::Null);
        Ok(Some(Problem {
            summary,
            solution_code: has(SOLUTION).then_some(solution),
            constraints: has(CONSTRAINTS).then_some(constraints),
        }))
    }
}

/// The item that claims the key of a problem while its test cases are stored.
pub(super) fn claim(at: &ProblemRef, revision: &str, now_ms: i64) -> Item {
    keys::item(keys::problem(at))
        .with(STATE, CREATING)
        .with(REVISION, revision)
        .with(CREATED, secs(now_ms))
}
