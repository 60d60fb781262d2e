//! Files of a review: its JSON, or findings in SARIF. SARIF is read as a stream.

use std::fs::File;
use std::io::{Cursor, Read};

use clap::Args;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use weir_api::reviews::{NewFinding, NewResponse, ResponseStatus};
use weir_reviews::finding::Finding;
use weir_reviews::ids::ModelId;
use weir_reviews::sarif::{self, Excess, ModelFindings, ReadOptions, Skipped};

use super::super::head::Fields;
use super::super::severity;
use super::bound::{REVIEW_FILE_MAX, TOO_MANY_HELP};
use crate::failure::Failure;
use crate::output;
use crate::parse;

/// Bytes of a file that decide whether it is SARIF.
const START_MAX: u64 = 64 * 1024;

/// What a SARIF file does not say about the response of a model.
#[derive(Debug, Args)]
pub(in super::super) struct SarifArgs {
    /// Model of a SARIF file; repeat it for several files, in their order [default: the name of the tool]
    #[arg(long, value_name = "ID")]
    model: Vec<String>,
    /// Cost of the response in a SARIF file, in dollars, for example 0.0123; repeatable like --model [default: 0]
    #[arg(long, value_name = "USD")]
    cost_usd: Vec<String>,
    /// Latency of the response in a SARIF file, in milliseconds; repeatable like --model [default: 0]
    #[arg(long, value_name = "MS")]
    latency_ms: Vec<u64>,
    /// Input tokens of the response in a SARIF file; repeatable like --model [default: 0]
    #[arg(long, value_name = "N")]
    input_tokens: Vec<u64>,
    /// Output tokens of the response in a SARIF file; repeatable like --model [default: 0]
    #[arg(long, value_name = "N")]
    output_tokens: Vec<u64>,
}

/// The content of all files.
pub(super) struct Input {
    /// Fields of the review.
    pub(super) fields: Fields,
    /// Responses of SARIF files.
    pub(super) responses: Vec<NewResponse>,
}

/// Reads all files: at most one JSON, and any number of SARIF files.
pub(super) fn read(
    files: &[String],
    sarif: &SarifArgs,
    keep_worst: bool,
) -> Result<Input, Failure> {
    let mut opened = Vec::new();
    for file in files {
        opened.push((file.as_str(), open(file)?));
    }
    let (sarifs, mut reviews): (Vec<_>, Vec<_>) =
        opened.into_iter().partition(|(_, (format, _))| *format == Format::Sarif);
    if let [(first, _), (second, _), ..] = reviews.as_slice() {
        return Err(Failure::usage(format!(
            "{first} and {second} are both the JSON of a review; record them one by one"
        )));
    }
    let fields = reviews.pop().map(|(file, (_, input))| fields(file, input)).transpose()?;
    let responses = sarif_responses(sarifs, sarif, keep_worst)?;
    Ok(Input { fields: fields.unwrap_or_default(), responses })
}

/// Reads the responses of one file: a response as JSON, or SARIF.
pub(in super::super) fn responses(
    file: &str,
    sarif: &SarifArgs,
    keep_worst: bool,
) -> Result<Vec<NewResponse>, Failure> {
    let (format, input) = open(file)?;
    if format == Format::Sarif {
        return sarif_responses(vec![(file, (format, input))], sarif, keep_worst);
    }
    sarif.check_count(0)?;
    let text = text(file, input)?;
    Ok(vec![parse::json_text(file, &text)?])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Review,
    Sarif,
}

type Opened = (Format, Box<dyn Read>);

/// Opens a file, or standard input for `-`, and finds out its format.
fn open(file: &str) -> Result<Opened, Failure> {
    let cannot = |error| Failure::usage(format!("cannot read {file}")).because(error);
    let mut input: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin()),
        file => Box::new(File::open(file).map_err(cannot)?),
    };
    let mut start = Vec::new();
    input.by_ref().take(START_MAX).read_to_end(&mut start).map_err(cannot)?;
    let format = if file.ends_with(".sarif") { Format::Sarif } else { format_of(&start) };
    Ok((format, Box::new(Cursor::new(start).chain(input))))
}

/// The format of a file, by the first of its fields that only one format has.
fn format_of(start: &[u8]) -> Format {
    struct FirstField(Option<Format>);
    impl<'de> Visitor<'de> for &mut FirstField {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                match name.as_str() {
                    "$schema" | "version" | "runs" => self.0 = Some(Format::Sarif),
                    "properties" | "inlineExternalProperties" => {}
                    _ => self.0 = Some(Format::Review),
                }
                if self.0.is_some() {
                    break;
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut first = FirstField(None);
    let start = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
    // The rest of the file is missing, so an error says nothing.
    serde_json::Deserializer::from_slice(start).deserialize_map(&mut first).ok();
    first.0.unwrap_or(Format::Review)
}

fn text(file: &str, input: Box<dyn Read>) -> Result<String, Failure> {
    let mut text = String::new();
    let read = input.take(REVIEW_FILE_MAX + 1).read_to_string(&mut text);
    let bytes =
        read.map_err(|error| Failure::usage(format!("cannot read {}", name(file))).because(error))?;
    if bytes as u64 > REVIEW_FILE_MAX {
        let message = format!("{}: longer than {REVIEW_FILE_MAX} bytes", name(file));
        return Err(Failure::usage(message));
    }
    Ok(text)
}

fn fields(file: &str, input: Box<dyn Read>) -> Result<Fields, Failure> {
    let text = text(file, input)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            Failure::usage(format!("{}: a review is a JSON object", name(file))).because(error)
        }
        _ => Failure::usage(format!("{}: is not JSON", name(file))).because(error),
    })
}

fn name(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

fn sarif_responses(
    files: Vec<(&str, Opened)>,
    args: &SarifArgs,
    keep_worst: bool,
) -> Result<Vec<NewResponse>, Failure> {
    args.check_count(files.len())?;
    let mut responses = Vec::new();
    for (index, (file, (_, input))) in files.into_iter().enumerate() {
        let model = args.model.get(index).map(ModelId::new).transpose();
        let model = model.map_err(|error| Failure::usage(format!("--model: {error}")))?;
        let models = read_sarif(file, input, model, keep_worst)?;
        if models.len() > 1 && args.has_amounts() {
            let count = models.len();
            return Err(Failure::usage(format!(
                "{}: has findings of {count} models, and costs or tokens are of one",
                name(file)
            ))
            .help("give --model, or record one file for each model"));
        }
        responses.extend(models.into_iter().map(|model| args.response(index, model)));
    }
    Ok(responses)
}

fn read_sarif(
    file: &str,
    input: Box<dyn Read>,
    model: Option<ModelId>,
    keep_worst: bool,
) -> Result<Vec<ModelFindings>, Failure> {
    let root = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let on_excess = if keep_worst { Excess::KeepWorst } else { Excess::Refuse };
    let options = ReadOptions { model, root, on_excess, ..ReadOptions::default() };
    let models = sarif::read(input, &options).map_err(|error| {
        let failure = Failure::usage(format!("{}: {error}", name(file)));
        match error {
            weir_reviews::Error::TooLarge { field, .. } if field.contains("results") => {
                failure.help(TOO_MANY_HELP)
            }
            _ => failure,
        }
    })?;
    for model in &models {
        note_skipped(name(file), model.skipped);
    }
    Ok(models)
}

/// Says how many results of a SARIF file are no findings.
fn note_skipped(file: &str, skipped: Skipped) {
    let reasons = [
        (skipped.suppressed, "suppressed"),
        (skipped.passed, "passed"),
        (skipped.absent, "gone since the baseline"),
        (skipped.without_file, "without a file"),
        (skipped.over_bound, "less severe than those that fit"),
    ];
    let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
    let total = reasons.clone().map(|(count, _)| count).sum();
    if total > 0 {
        let reasons = reasons.map(|(count, why)| format!("{} {why}", output::thousands(count)));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let results = output::counted(total, "result");
        output::note(format!("{file}: skipped {results}: {reasons}"));
    }
}

impl SarifArgs {
    /// Checks that a flag is absent, or there once for each SARIF file.
    fn check_count(&self, files: usize) -> Result<(), Failure> {
        let counts = [
            ("--model", self.model.len()),
            ("--cost-usd", self.cost_usd.len()),
            ("--latency-ms", self.latency_ms.len()),
            ("--input-tokens", self.input_tokens.len()),
            ("--output-tokens", self.output_tokens.len()),
        ];
        match counts.into_iter().find(|(_, count)| *count > 0 && *count != files) {
            None => Ok(()),
            Some((flag, _)) if files == 0 => {
                Err(Failure::usage(format!("{flag} is for SARIF files, and none is given"))
                    .help("the JSON of a review has these values for each model"))
            }
            Some((flag, count)) => Err(Failure::usage(format!(
                "{flag} is given {count} times for {}",
                output::counted(files as u64, "SARIF file")
            ))
            .help(format!("give {flag} once for each SARIF file, in their order"))),
        }
    }

    fn has_amounts(&self) -> bool {
        !self.cost_usd.is_empty()
            || !self.latency_ms.is_empty()
            || !self.input_tokens.is_empty()
            || !self.output_tokens.is_empty()
    }

    /// The response whose findings the SARIF file of this index has.
    fn response(&self, index: usize, model: ModelFindings) -> NewResponse {
        let number = |numbers: &[u64]| numbers.get(index).copied().unwrap_or_default();
        NewResponse {
            model_id: model.model.to_string(),
            status: ResponseStatus::Success,
            input_tokens: number(&self.input_tokens),
            output_tokens: number(&self.output_tokens),
            latency_ms: number(&self.latency_ms),
            cost_usd: self.cost_usd.get(index).cloned().unwrap_or_else(|| "0".to_owned()),
            raw: None,
            findings: model.findings.into_iter().map(finding).collect(),
        }
    }
}

fn finding(finding: Finding) -> NewFinding {
    NewFinding {
        finding_id: finding.id.to_string(),
        severity: severity::of(finding.severity),
        category: finding.category.map(|category| category.to_string()),
        rule: finding.rule,
        file_path: finding.file_path,
        line_start: finding.line_start,
        line_end: finding.line_end,
        title: finding.title,
        description: finding.description,
        suggestion: finding.suggestion,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_telltale_field_decides_the_format() {
        for (start, format) in [
            (r#"{"$schema": "x", "#, Format::Sarif),
            (r#"{"version": "2.1.0", "runs": ["#, Format::Sarif),
            (r#"{"properties": {"owner": 1}, "runs": ["#, Format::Sarif),
            ("\u{feff}{\"runs\": [", Format::Sarif),
            (r#"{"owner": "acme", "runs": 1}"#, Format::Review),
            (r#"{"responses": [{"#, Format::Review),
            ("{", Format::Review),
            ("", Format::Review),
            ("[1]", Format::Review),
        ] {
            assert_eq!(format_of(start.as_bytes()), format, "{start}");
        }
    }
}
