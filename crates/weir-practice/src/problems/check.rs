//! Checks the fields of problems.

use std::collections::BTreeSet;

use super::NewProblem;
use crate::bounds::{
    METADATA_MAX, NAME_MAX, NOTE_MAX, PROBLEM_BYTES_MAX, TAGS_MAX, TEST_CASES_MAX, TITLE_MAX,
    URL_MAX,
};
use crate::error::{Error, Result};
use crate::ids::Tag;
use crate::json::object_value;
use crate::spill::check_text;

impl NewProblem {
    /// Checks every field.
    pub(super) fn check(&self) -> Result<()> {
        title(&self.title)?;
        url(self.url.as_deref())?;
        tags(&self.tags)?;
        language(self.language.as_deref())?;
        object_value("metadata", &self.metadata, METADATA_MAX)?;
        let texts = [
            ("solution_code", self.solution_code.as_deref().unwrap_or_default()),
            ("constraints", self.constraints.as_deref().unwrap_or_default()),
        ];
        let mut bytes = 0;
        for (name, text) in texts {
            check_text(name, text)?;
            bytes += text.len();
        }
        if self.test_cases.len() > TEST_CASES_MAX {
            let problem = format!("are {}; at most {TEST_CASES_MAX}", self.test_cases.len());
            return Err(Error::too_large("test_cases", problem));
        }
        for (number, case) in self.test_cases.iter().enumerate() {
            case.check().map_err(|error| error.inside(&format!("test_cases[{number}]")))?;
            bytes += case.bytes();
        }
        if bytes > PROBLEM_BYTES_MAX {
            let problem = format!(
                "has {bytes} bytes with its test cases; at most {PROBLEM_BYTES_MAX}: upload test \
                 cases apart"
            );
            return Err(Error::too_large("problem", problem));
        }
        Ok(())
    }
}

pub(super) fn title(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid("title", "is empty"));
    }
    characters("title", text, TITLE_MAX)
}

pub(super) fn url(text: Option<&str>) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    if !(text.starts_with("https://") || text.starts_with("http://")) {
        return Err(Error::invalid("problem_url", "does not begin with https:// or http://"));
    }
    bytes("problem_url", text, URL_MAX)
}

pub(super) fn tags(tags: &[Tag]) -> Result<()> {
    if tags.len() > TAGS_MAX {
        return Err(Error::too_large("tags", format!("are {}; at most {TAGS_MAX}", tags.len())));
    }
    let mut seen = BTreeSet::new();
    match tags.iter().find(|tag| !seen.insert(*tag)) {
        Some(twice) => Err(Error::invalid("tags", format!("have {:?} twice", twice.as_str()))),
        None => Ok(()),
    }
}

pub(super) fn language(text: Option<&str>) -> Result<()> {
    characters("language", text.unwrap_or_default(), NAME_MAX)
}

pub(super) fn note(field: &str, text: Option<&str>) -> Result<()> {
    bytes(field, text.unwrap_or_default(), NOTE_MAX)
}

fn bytes(field: &str, text: &str, max: usize) -> Result<()> {
    if text.len() <= max {
        return Ok(());
    }
    Err(Error::too_large(field, format!("has {} bytes; at most {max} are allowed", text.len())))
}

fn characters(field: &str, text: &str, max: usize) -> Result<()> {
    let count = text.chars().count();
    if count <= max {
        return Ok(());
    }
    Err(Error::too_large(field, format!("has {count} characters; at most {max} are allowed")))
}
