//! Flags that say which pull request a review is about. They go before what a file says.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use weir_api::reviews::{NewReview, RecordedStatus};
use weir_framework::serde_problem;

use crate::failure::Failure;
use crate::parse;
use crate::time::GivenTime;

/// The fields of a review as JSON, by name.
pub(super) type Fields = BTreeMap<String, Box<RawValue>>;

/// The pull request, and who asked for its review.
#[derive(Debug, Args)]
pub(super) struct HeadArgs {
    /// Id of the review: recording it again with the same content changes nothing [default: a new UUID]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Owner of the repository, for example acme
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Name of the repository, for example shop
    #[arg(long, value_name = "NAME")]
    repo: Option<String>,
    /// Number of the pull request
    #[arg(long, value_name = "NUMBER")]
    pr: Option<u64>,
    /// Title of the pull request [default: empty]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Address of the pull request [default: empty]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the paths that the pull request changes, one on a line, as `git diff --name-only` prints them
    #[arg(long, value_name = "FILE")]
    files: Option<String>,
    /// User who requested the review, for example octocat
    #[arg(long, value_name = "NAME")]
    requested_by: Option<String>,
    /// Time of the review: 2026-01-31T12:00:00Z, 2h or 7d (ago), yesterday; days are in UTC [default: now]
    #[arg(long, value_name = "TIME")]
    created_at: Option<GivenTime>,
}

impl HeadArgs {
    /// The review that the fields of a file and the flags describe. It always has an id.
    pub(super) fn review(&self, mut fields: Fields, source: &str) -> Result<NewReview, Failure> {
        self.set(&mut fields)?;
        for (name, flag) in [("owner", "--owner"), ("repo", "--repo"), ("pr_number", "--pr")] {
            if !fields.contains_key(name) {
                return Err(Failure::usage(format!("{source}: {name} is missing"))
                    .help(format!("add {flag}, or `\"{name}\": …` to the JSON of the review")));
            }
        }
        let text = serde_json::to_string(&fields).map_err(|error| wrong(source, &error))?;
        let mut json = serde_json::Deserializer::from_str(&text);
        let review: Result<NewReview, _> = serde_path_to_error::deserialize(&mut json);
        let mut review = review.map_err(|error| {
            let (path, problem) = (error.path().to_string(), error.inner().to_string());
            // Lines and columns are those of the rewritten JSON.
            let problem = problem.rsplit_once(" at line ").map_or(&*problem, |(text, _)| text);
            let problem = serde_problem::describe(problem);
            let place = if path == "." { String::new() } else { format!("{path}: ") };
            Failure::usage(format!("{source}: {place}{problem}"))
        })?;
        review.review_id.get_or_insert_with(|| uuid::Uuid::new_v4().to_string());
        Ok(review)
    }

    /// The review without responses, to be opened.
    pub(super) fn open(&self) -> Result<NewReview, Failure> {
        let review = self.review(Fields::new(), "flags")?;
        Ok(NewReview { status: RecordedStatus::InProgress, ..review })
    }

    fn set(&self, fields: &mut Fields) -> Result<(), Failure> {
        put(fields, "review_id", self.id.as_ref())?;
        put(fields, "owner", self.owner.as_ref())?;
        put(fields, "repo", self.repo.as_ref())?;
        put(fields, "pr_number", self.pr.as_ref())?;
        put(fields, "pr_title", self.title.as_ref())?;
        put(fields, "pr_url", self.url.as_ref())?;
        put(fields, "requested_by", self.requested_by.as_ref())?;
        let created_at = self.created_at.as_ref().map(GivenTime::rfc3339);
        put(fields, "created_at", created_at.as_ref())?;
        put(fields, "files", self.changed_files()?.as_ref())?;
        for name in ["pr_title", "pr_url"] {
            if !fields.contains_key(name) {
                put(fields, name, Some(&""))?;
            }
        }
        Ok(())
    }

    fn changed_files(&self) -> Result<Option<Vec<String>>, Failure> {
        let Some(file) = &self.files else { return Ok(None) };
        let text = parse::read(file)?;
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        Ok(Some(lines.map(str::to_owned).collect()))
    }
}

fn put(fields: &mut Fields, name: &str, value: Option<&impl Serialize>) -> Result<(), Failure> {
    if let Some(value) = value {
        let value = to_raw_value(value).map_err(|error| wrong(name, &error))?;
        fields.insert(name.to_owned(), value);
    }
    Ok(())
}

fn wrong(source: &str, error: &serde_json::Error) -> Failure {
    Failure::usage(format!("{source}: is not JSON")).because(error)
}
