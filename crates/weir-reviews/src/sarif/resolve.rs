//! Makes a finding of a result and the rule that it breaks.

use super::document::{
    Artifact, ArtifactLocation, Kind, Level, Properties, Region, Rule, SarifResult,
};
use super::finding_ids::{Draft, own_id};
use super::rules::Rules;
use super::uri::{self, Bases};
use crate::bounds::{LINE_MAX, SARIF_TITLE_MAX, TEXT_MAX};
use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::ids::{Category, FindingId, ModelId};

/// Tags that are a category. Others say something else, like `HIGH CONFIDENCE`, and would keep findings of different tools
/// apart.
const CATEGORY_TAGS: &[&str] = &[
    "security",
    "correctness",
    "bug",
    "reliability",
    "performance",
    "maintainability",
    "accessibility",
    "documentation",
    "testing",
    "style",
];

/// The rules and artifacts that the results of a run refer to.
pub(super) struct Context<'a> {
    pub(super) model: &'a ModelId,
    pub(super) rules: &'a Rules,
    pub(super) bases: &'a Bases,
    pub(super) artifacts: &'a [Artifact],
    pub(super) root: Option<&'a str>,
}

/// The finding of a result; none if it names no file.
///
/// # Errors
/// A value of the result is missing or out of bounds.
pub(super) fn draft(context: &Context<'_>, result: &SarifResult) -> Result<Option<Draft>> {
    let Some(file_path) = file_path(context, result) else { return Ok(None) };
    let rule = context.rules.of(result);
    let description = message(result, rule)?;
    let (line_start, line_end) = lines(result)?;
    let finding = Finding {
        model: context.model.clone(),
        // Decided when all results of the model are known.
        id: FindingId::new("undecided")?,
        severity: severity(result, rule),
        category: category(result, rule),
        rule: rule_id(result, rule),
        file_path,
        line_start,
        line_end,
        title: title(result, rule, &description),
        description,
        suggestion: suggestion(result),
    };
    finding.check().map_err(in_words_of_sarif)?;
    Ok(Some(Draft { finding, own_id: own_id(result) }))
}

/// How bad a result is: what its `severity` says, else its `security-severity`, else its `rank`, else its level.
pub(super) fn severity(result: &SarifResult, rule: Option<&Rule>) -> Severity {
    let bags = || bags(result, rule);
    let named = bags().find_map(|bag| {
        let text = bag.severity.text()?.to_ascii_lowercase();
        Severity::parse(&text).ok()
    });
    let score = || bags().find_map(|bag| bag.security_severity.number());
    let rank = || result.rank.filter(|rank| *rank >= 0.0).map(|rank| rank / 10.0);
    named
        .or_else(|| score().or_else(rank).map(of_score))
        .unwrap_or_else(|| of_level(level(result, rule)))
}

/// The bands of CVSS, as code scanning uses them.
fn of_score(score: f64) -> Severity {
    match score {
        9.0.. => Severity::Critical,
        7.0.. => Severity::High,
        4.0.. => Severity::Medium,
        _ => Severity::Low,
    }
}

fn of_level(level: Level) -> Severity {
    match level {
        Level::Error => Severity::High,
        Level::Warning => Severity::Medium,
        Level::Note => Severity::Low,
        Level::None => Severity::Info,
    }
}

/// The level, with the defaults of the standard.
fn level(result: &SarifResult, rule: Option<&Rule>) -> Level {
    let by_rule = || rule?.default_configuration.as_ref()?.level;
    match (result.level, result.kind) {
        (Some(level), _) => level,
        (None, None | Some(Kind::Fail)) => by_rule().unwrap_or(Level::Warning),
        (None, Some(_)) => Level::None,
    }
}

fn category(result: &SarifResult, rule: Option<&Rule>) -> Option<Category> {
    let named = bags(result, rule).find_map(|bag| Category::new(bag.category.text()?).ok());
    let has_tag = |tag: &str| {
        bags(result, rule).any(|bag| bag.tags.texts().iter().any(|t| t.eq_ignore_ascii_case(tag)))
    };
    named.or_else(|| Category::new(CATEGORY_TAGS.iter().find(|tag| has_tag(tag))?).ok())
}

/// The properties of the result and then of the rule.
fn bags<'a>(
    result: &'a SarifResult,
    rule: Option<&'a Rule>,
) -> impl Iterator<Item = &'a Properties> {
    let of_rule = rule.and_then(|rule| rule.properties.as_deref());
    result.properties.as_deref().into_iter().chain(of_rule)
}

fn rule_id(result: &SarifResult, rule: Option<&Rule>) -> Option<String> {
    let own = result.rule_id.as_deref();
    let referred = || result.rule.as_ref()?.id.as_deref();
    let id = own.or_else(referred).or_else(|| rule.map(|rule| rule.id.as_str()))?;
    (!id.is_empty()).then(|| id.to_owned())
}

fn message(result: &SarifResult, rule: Option<&Rule>) -> Result<String> {
    let missing = || Error::invalid("message", "has no text, and no id that the rule knows");
    let message = result.message.as_ref().ok_or_else(missing)?;
    let by_id = || Some(rule?.message_strings.0.get(message.id.as_deref()?)?.text.as_str());
    let text = message.text.as_deref().or_else(by_id).or(message.markdown.as_deref());
    let text = text.filter(|text| !text.trim().is_empty()).ok_or_else(missing)?;
    let arguments = &message.arguments.0;
    Ok(if arguments.is_empty() { text.to_owned() } else { filled(text, arguments) })
}

/// Replaces `{0}` by the first argument and so on; `{{` is a brace. It ends once the text is too large to be accepted.
fn filled(text: &str, arguments: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']).filter(|_| filled.len() <= TEXT_MAX) {
        let (before, brace) = rest.split_at(at);
        filled.push_str(before);
        if let Some((argument, after)) = placeholder(brace, arguments) {
            filled.push_str(argument);
            rest = after;
            continue;
        }
        let width = if brace.starts_with("{{") || brace.starts_with("}}") { 2 } else { 1 };
        let (braces, after) = brace.split_at(width);
        filled.push_str(braces.get(..1).unwrap_or_default());
        rest = after;
    }
    filled.push_str(rest);
    filled
}

fn placeholder<'a>(text: &'a str, arguments: &'a [String]) -> Option<(&'a str, &'a str)> {
    let (digits, after) = text.strip_prefix('{')?.split_once('}')?;
    let is_number = digits.bytes().all(|b| b.is_ascii_digit());
    let index: usize = is_number.then(|| digits.parse().ok())??;
    Some((arguments.get(index)?, after))
}

/// A rule says in a few words what its results have in common; otherwise the message begins with it.
fn title(result: &SarifResult, rule: Option<&Rule>, message: &str) -> String {
    let own = result.properties.as_ref().and_then(|bag| bag.title.text());
    if let Some(own) = own.filter(|title| !title.trim().is_empty()) {
        return own.to_owned();
    }
    let of_rule =
        rule.and_then(|rule| rule.short_description.as_ref()).map(|text| text.text.trim());
    let first_line = message.trim().lines().next().unwrap_or_default();
    clipped(of_rule.filter(|title| !title.is_empty()).unwrap_or(first_line))
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SARIF_TITLE_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn suggestion(result: &SarifResult) -> Option<String> {
    let own = result.properties.as_ref().and_then(|bag| bag.suggestion.text());
    let of_fix = || result.fixes.0.as_ref()?.description.as_ref()?.text.as_deref();
    own.or_else(of_fix).map(str::to_owned)
}

fn file_path(context: &Context<'_>, result: &SarifResult) -> Option<String> {
    let physical = result.locations.0.as_ref()?.physical_location.as_ref()?;
    let location = physical.artifact_location.as_ref()?;
    let path = |location: &ArtifactLocation| uri::to_path(location, context.bases, context.root);
    path(location).or_else(|| {
        let index = usize::try_from(location.index?).ok()?;
        path(context.artifacts.get(index)?.location.as_ref()?)
    })
}

/// The lines of a result. A result without lines is about the whole file, and a finding names its first line then.
fn lines(result: &SarifResult) -> Result<(u32, u32)> {
    let physical = result.locations.0.as_ref().and_then(|it| it.physical_location.as_ref());
    let Some(region) = physical.and_then(|physical| physical.region.as_ref()) else {
        return Ok((1, 1));
    };
    let Region { start_line, end_line } = region;
    let start = start_line.unwrap_or(1).max(1);
    let end = end_line.unwrap_or(start).max(1);
    let line = |field: &str, line: u64| {
        let line = u32::try_from(line).ok().filter(|line| *line <= LINE_MAX);
        line.ok_or_else(|| Error::invalid(place_of(field), format!("is not from 1 to {LINE_MAX}")))
    };
    Ok((line("line_start", start)?, line("line_end", end)?))
}

/// Names the field where the SARIF file has it.
fn in_words_of_sarif(error: Error) -> Error {
    match error {
        Error::Invalid { field, problem } => {
            Error::invalid(place_of(&field), problem.replace("line_start", "startLine"))
        }
        Error::TooLarge { field, problem } => Error::too_large(place_of(&field), problem),
        other => other,
    }
}

fn place_of(field: &str) -> &str {
    match field {
        "file_path" => "locations[0].physicalLocation.artifactLocation.uri",
        "line_start" => "locations[0].physicalLocation.region.startLine",
        "line_end" => "locations[0].physicalLocation.region.endLine",
        "rule" => "ruleId",
        "suggestion" => "fixes[0].description",
        "title" | "description" => "message",
        other => other,
    }
}
