//! The item of a run.

use serde_json::Value as Json;
use weir_table::expr::Path;
use weir_table::{Backend, Item, Value};

use super::{NewRun, Run, RunSummary};
use crate::bounds::{
    COMPRESS_MIN, EXTERNAL_ID_MAX, HINTS_BYTES_MAX, HINTS_MAX, METADATA_MAX, NAME_MAX, NOTE_MAX,
    TEXT_MAX, TITLE_MAX,
};
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::{HistoryId, UserId};
use crate::item::{CREATED, Data, UPDATED, VERSION, entity, field, id_value, secs};
use crate::json;
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;
use crate::spill::check_text;

pub(super) const USER: &str = "uid";
const USER_IDENTIFIER: &str = "uidt";
const PROBLEM_ID: &str = "pid";
const PLATFORM: &str = "plt";
const PROBLEM_NUMBER: &str = "pno";
const PROBLEM_TITLE: &str = "ptt";
const LANGUAGE: &str = "lng";
const CODE: &str = "cod";
const SUMMARY: &str = "res";
const PASSED: &str = "psc";
const FAILED: &str = "fsc";
const TOTAL: &str = "toc";
pub(super) const PUBLIC: &str = "pub";
const RESULTS: &str = "trs";
pub(super) const HINTS: &str = "hnt";
const METADATA: &str = "met";

/// The fields that may be in objects.
pub(super) const TEXTS: &[&str] = &[CODE, RESULTS];

/// The paths that a summary is read from.
pub(super) fn summary_paths() -> Vec<Path> {
    let small = [
        USER,
        USER_IDENTIFIER,
        PROBLEM_ID,
        PLATFORM,
        PROBLEM_NUMBER,
        PROBLEM_TITLE,
        LANGUAGE,
        SUMMARY,
        PASSED,
        FAILED,
        TOTAL,
        PUBLIC,
        HINTS,
        METADATA,
    ];
    let attributes = ["PK", "SK", CREATED, UPDATED, VERSION];
    attributes.into_iter().map(Path::from).chain(small.map(field)).collect()
}

impl NewRun {
    /// Checks every field.
    pub(super) fn check(&self) -> Result<()> {
        if self.id.is_some() && self.idempotency_key.is_some() {
            return Err(Error::invalid("idempotency_key", "is given together with an id"));
        }
        if self.problem_number.is_empty() {
            return Err(Error::invalid("problem_number", "is empty"));
        }
        for (name, text, max) in [
            ("user_identifier", self.user_identifier.as_deref(), NAME_MAX),
            ("problem_id", self.problem_id.as_deref(), EXTERNAL_ID_MAX),
            ("problem_number", Some(self.problem_number.as_str()), EXTERNAL_ID_MAX),
            ("problem_title", self.problem_title.as_deref(), TITLE_MAX),
            ("language", self.language.as_deref(), NAME_MAX),
        ] {
            let count = text.unwrap_or_default().chars().count();
            if count > max {
                let problem = format!("has {count} characters; at most {max} are allowed");
                return Err(Error::too_large(name, problem));
            }
        }
        check_text("code", &self.code)?;
        check_hints(&[], &self.hints)
    }

    /// Checks that the JSON of the run can be stored.
    pub(super) fn check_json(&self) -> Result<()> {
        json::object_value("result_summary", &self.result_summary, METADATA_MAX)?;
        json::object_value("metadata", &self.metadata, METADATA_MAX)?;
        json::list_value("test_results", &self.test_results, TEXT_MAX).map(|_| ())
    }
}

/// Checks the hints of a run and those that are added.
pub(super) fn check_hints(old: &[String], added: &[String]) -> Result<()> {
    if added.len() > HINTS_MAX {
        let problem = format!("are {}; at most {HINTS_MAX} are allowed", added.len());
        return Err(Error::too_large("hints", problem));
    }
    if old.len() + added.len() > HINTS_MAX {
        let has = old.len();
        return Err(Error::conflict(format!(
            "the run has {has} hints; at most {HINTS_MAX} are allowed"
        )));
    }
    let too_long = added.iter().enumerate().find(|(_, hint)| hint.len() > NOTE_MAX);
    if let Some((number, hint)) = too_long {
        let problem = format!("has {} bytes; at most {NOTE_MAX} are allowed", hint.len());
        return Err(Error::too_large(format!("hints[{number}]"), problem));
    }
    let bytes: usize = old.iter().chain(added).map(String::len).sum();
    if bytes > HINTS_BYTES_MAX {
        let problem = format!("have {bytes} bytes; at most {HINTS_BYTES_MAX} are allowed");
        return Err(Error::too_large("hints", problem));
    }
    Ok(())
}

pub(super) fn hints_value(hints: &[String]) -> Value {
    Value::list(hints.iter().map(String::as_str))
}

/// Reads everything but the large texts.
pub(super) fn decode_summary(item: &Item) -> Result<RunSummary> {
    let fields = Fields::of(item)?;
    let id = item.s("PK").and_then(keys::parse_history).ok_or_else(|| fields.wrong("PK"))?;
    let object = |name: &str| {
        let empty = || Json::Object(serde_json::Map::new());
        fields.get(name).map_or_else(empty, json::from_value)
    };
    let count = |name: &str| fields.optional_number(name).unwrap_or_default();
    Ok(RunSummary {
        id,
        user_id: fields.parse_optional::<UserId>(USER)?,
        user_identifier: fields.parse_optional(USER_IDENTIFIER)?,
        problem_id: fields.parse_optional(PROBLEM_ID)?,
        platform: fields.parse_optional(PLATFORM)?,
        problem_number: fields.parse_optional(PROBLEM_NUMBER)?,
        problem_title: fields.parse_optional(PROBLEM_TITLE)?,
        language: fields.parse_optional(LANGUAGE)?,
        result_summary: object(SUMMARY),
        passed_count: count(PASSED),
        failed_count: count(FAILED),
        total_count: count(TOTAL),
        is_public: fields.flag(PUBLIC),
        hints: decode_hints(fields),
        metadata: object(METADATA),
        created_s: fields.created_s()?,
        updated_s: fields.updated_s()?,
    })
}

/// Hints; another program may have stored objects, which are returned as their JSON.
fn decode_hints(fields: Fields<'_>) -> Vec<String> {
    let Some(Value::L(hints)) = fields.get(HINTS) else { return Vec::new() };
    let text = |hint: &Value| match hint {
        Value::S(text) => text.clone(),
        other => json::from_value(other).to_string(),
    };
    hints.iter().map(text).collect()
}

impl<B: Backend> Practice<B> {
    /// The item of a new run, with its texts in it and in no index.
    pub(super) async fn run_item(&self, id: &HistoryId, new: NewRun, now_ms: i64) -> Result<Item> {
        let fields = Data::new()
            .with_or_null(USER, new.user_id.as_ref().map(|user| id_value(user.as_str())))
            .with_or_null(USER_IDENTIFIER, new.user_identifier)
            .with_or_null(PROBLEM_ID, new.problem_id.as_deref().map(id_value))
            .with(PLATFORM, new.platform.as_str())
            .with(PROBLEM_NUMBER, new.problem_number)
            .with_or_null(PROBLEM_TITLE, new.problem_title)
            .with_or_null(LANGUAGE, new.language)
            .with(CODE, self.encode_text("code", new.code).await?)
            .with(SUMMARY, json::object_value("result_summary", &new.result_summary, METADATA_MAX)?)
            .with(PASSED, new.passed_count)
            .with(FAILED, new.failed_count)
            .with(TOTAL, new.total_count)
            .with(PUBLIC, new.is_public)
            .with(RESULTS, self.encode_results(&new.test_results).await?)
            .with(HINTS, hints_value(&new.hints))
            .with(METADATA, json::object_value("metadata", &new.metadata, METADATA_MAX)?);
        let item = entity(keys::history(id), EntityType::History, fields, secs(now_ms));
        Ok(item.with(VERSION, 1))
    }

    /// Short results are a list, as in the source; longer ones are a text with their JSON.
    async fn encode_results(&self, results: &Json) -> Result<Value> {
        let list = json::list_value("test_results", results, TEXT_MAX)?;
        if list.size() < COMPRESS_MIN {
            return Ok(list);
        }
        self.encode_text("test_results", results.to_string()).await
    }

    /// Reads a run with its texts; `None` if it has changed since its item was read.
    pub(crate) async fn read_run(&self, item: &Item) -> Result<Option<Run>> {
        let Some(code) = self.read_text(item, CODE).await? else { return Ok(None) };
        let test_results = match field(RESULTS).find(item) {
            Some(list @ Value::L(_)) => json::from_value(list),
            None | Some(Value::Null) => Json::Array(Vec::new()),
            Some(_) => {
                let Some(text) = self.read_text(item, RESULTS).await? else { return Ok(None) };
                let wrong = |_| Error::damaged("the results of a run", "they are not JSON");
                serde_json::from_str(&text).map_err(wrong)?
            }
        };
        Ok(Some(Run { summary: decode_summary(item)?, code, test_results }))
    }
}
