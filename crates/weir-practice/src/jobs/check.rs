//! What a submitted job and the reports of a worker may contain.

use crate::bounds::{
    ERROR_MESSAGE_MAX, EXTERNAL_ID_MAX, JOB_LEASE_MAX_MS, JOB_LEASE_MIN_MS, NAME_MAX, NOTE_MAX,
    TAGS_MAX, TEXT_MAX, TITLE_MAX, URL_MAX,
};
use crate::error::{Error, Result};
use crate::jobs::{Completion, JobFields, NewJob, NewStep};
use crate::kinds::JobType;

/// Checks a job of this type.
pub(super) fn new_job(of: JobType, new: &NewJob) -> Result<()> {
    if new.id.is_some() && new.idempotency_key.is_some() {
        return Err(Error::invalid("idempotency_key", "is sent together with an id; send one"));
    }
    fields(&new.fields)?;
    text_bytes("solution_code", new.solution_code.as_deref(), TEXT_MAX)?;
    text_bytes("constraints", new.constraints.as_deref(), TEXT_MAX)?;
    let fields = &new.fields;
    match of {
        JobType::ScriptGeneration => {
            required(of, "platform", fields.platform.is_some())?;
            required(of, "problem_id", fields.problem_id.is_some())?;
            required(of, "title", fields.title.is_some())?;
            foreign(of, "problem_identifier", fields.problem_identifier.is_some())
        }
        JobType::ProblemExtraction => {
            required(of, "problem_url", fields.problem_url.is_some())?;
            foreign(of, "title", fields.title.is_some())?;
            foreign(of, "tags", !fields.tags.is_empty())?;
            foreign(of, "language", fields.language.is_some())?;
            foreign(of, "solution_code", new.solution_code.is_some())?;
            foreign(of, "constraints", new.constraints.is_some())
        }
    }
}

fn fields(fields: &JobFields) -> Result<()> {
    line("title", fields.title.as_deref(), TITLE_MAX)?;
    line("language", fields.language.as_deref(), NAME_MAX)?;
    line("problem_identifier", fields.problem_identifier.as_deref(), EXTERNAL_ID_MAX)?;
    if let Some(url) = &fields.problem_url {
        let has_scheme = url.starts_with("https://") || url.starts_with("http://");
        let is_bad = |c: char| c.is_whitespace() || c.is_control();
        if !has_scheme || url.len() > URL_MAX || url.contains(is_bad) {
            let rule = format!("is not an http or https address of at most {URL_MAX} bytes");
            return Err(Error::invalid("problem_url", rule));
        }
    }
    if fields.tags.len() > TAGS_MAX {
        let problem = format!("has {} tags; at most {TAGS_MAX}", fields.tags.len());
        return Err(Error::too_large("tags", problem));
    }
    Ok(())
}

/// Checks the result of a job of this type.
pub(super) fn completion(of: JobType, completion: &Completion) -> Result<()> {
    text_bytes("generator_code", completion.generator_code.as_deref(), TEXT_MAX)?;
    match of {
        JobType::ScriptGeneration => {
            required(of, "generator_code", completion.generator_code.is_some())?;
            foreign(of, "problem", completion.problem.is_some())
        }
        JobType::ProblemExtraction => {
            foreign(of, "generator_code", completion.generator_code.is_some())
        }
    }
}

/// Checks the error message of a failed job.
pub(super) fn error_message(message: &str) -> Result<()> {
    if message.trim().is_empty() {
        return Err(Error::invalid("error_message", "is empty"));
    }
    text_bytes("error_message", Some(message), ERROR_MESSAGE_MAX)
}

/// Checks a progress step.
pub(super) fn step(step: &NewStep) -> Result<()> {
    line("step", Some(&step.step), NAME_MAX)?;
    text_bytes("message", Some(&step.message), NOTE_MAX)
}

/// The length of a lease that is requested.
pub(super) fn lease_ms(requested: Option<i64>, default: i64) -> Result<i64> {
    let lease_ms = requested.unwrap_or(default);
    if (JOB_LEASE_MIN_MS..=JOB_LEASE_MAX_MS).contains(&lease_ms) {
        return Ok(lease_ms);
    }
    let problem = format!("is {lease_ms}; {JOB_LEASE_MIN_MS} to {JOB_LEASE_MAX_MS}");
    Err(Error::invalid("lease_ms", problem))
}

fn required(of: JobType, field: &str, is_given: bool) -> Result<()> {
    if is_given {
        return Ok(());
    }
    Err(Error::invalid(field, format!("is missing; a {of} job requires it")))
}

fn foreign(of: JobType, field: &str, is_given: bool) -> Result<()> {
    if !is_given {
        return Ok(());
    }
    Err(Error::invalid(field, format!("is not a field of a {of} job")))
}

/// A text of one line that is not empty.
fn line(field: &str, text: Option<&str>, chars_max: usize) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err(Error::invalid(field, "is empty or has control characters"));
    }
    let chars = text.chars().count();
    if chars > chars_max {
        return Err(Error::too_large(
            field,
            format!("has {chars} characters; at most {chars_max}"),
        ));
    }
    Ok(())
}

fn text_bytes(field: &str, text: Option<&str>, bytes_max: usize) -> Result<()> {
    let bytes = text.map_or(0, str::len);
    if bytes > bytes_max {
        return Err(Error::too_large(field, format!("has {bytes} bytes; at most {bytes_max}")));
    }
    Ok(())
}
