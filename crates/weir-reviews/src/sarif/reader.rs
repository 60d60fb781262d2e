//! Reads SARIF as a stream.
//!
//! 1. serde walks through the document; [`serde_path_to_error`] knows where it is, for errors.
//! 2. Each result is reduced to what a finding needs and handed to the [`Collector`], which holds a bounded number of them.
//! 3. At the end of a run its tool and rules are known, which may stand behind its results, and results become findings.

use std::fmt;
use std::io::{BufReader, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category as Cause;

use super::VERSION;
use super::collector::{Collector, ModelFindings, Run};
use super::rules::Rules;
use crate::bounds::{FINDINGS_MAX, SARIF_BYTES_MAX};
use crate::error::{Error, Result};
use crate::ids::ModelId;

/// How a SARIF file is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The model of all runs. Otherwise each run has its own: the name of its tool, in which `-` replaces what a model id
    /// cannot contain. Runs of one model are joined.
    pub model: Option<ModelId>,
    /// The folder of the repository on the machine of the tool, which absolute paths lose.
    pub root: Option<String>,
    /// Most findings to keep, of all runs together.
    pub findings_max: usize,
    /// The treatment of findings beyond that bound.
    pub on_excess: Excess,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            model: None,
            root: None,
            findings_max: FINDINGS_MAX,
            on_excess: Excess::Refuse,
        }
    }
}

/// The treatment of findings beyond the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// The file is refused, at the first result that is too many.
    Refuse,
    /// The worst are kept and the others counted. Severities that come from rules count if the rules stand before the
    /// results.
    KeepWorst,
}

/// Reads the findings of a SARIF 2.1.0 file, by model.
///
/// Results that are suppressed, passed, not applicable or gone since the baseline are counted and left out, and results
/// without a file too. Fields that findings have no use for are ignored.
///
/// # Errors
/// The input cannot be read, is larger than [`SARIF_BYTES_MAX`], is not SARIF 2.1.0, or has a wrong value or too many
/// results. The error names the place: `runs[0].results[12].level`.
pub fn read(input: impl Read, options: &ReadOptions) -> Result<Vec<ModelFindings>> {
    let mut input = input.take(SARIF_BYTES_MAX + 1);
    let mut collector = Collector::new(options);
    let parsed = parse(&mut input, &mut collector);
    if let Some(refusal) = collector.refusal.take() {
        return Err(refusal);
    }
    if input.limit() == 0 {
        return Err(Error::too_large("sarif", format!("has more than {SARIF_BYTES_MAX} bytes")));
    }
    parsed?;
    collector.finish()
}

fn parse(input: &mut impl Read, collector: &mut Collector<'_>) -> Result<()> {
    let input = without_byte_order_mark(input)?;
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(input));
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let log = Log(collector).deserialize(deserializer);
    let log = log.map_err(|error| invalid(&track.path().to_string(), &error))?;
    json.end().map_err(|error| invalid("sarif", &error))?;
    match log.version.as_deref() {
        Some(VERSION) if log.has_runs => Ok(()),
        Some(VERSION) => Err(Error::invalid("runs", "is missing")),
        Some(other) => {
            let shown = weir_table::id::shown(other);
            Err(Error::invalid("version", format!("is {shown}; only {VERSION} is supported")))
        }
        None => Err(Error::invalid("version", format!("is missing; it must be {VERSION:?}"))),
    }
}

fn invalid(path: &str, error: &serde_json::Error) -> Error {
    let path = if path == "." { "sarif" } else { path };
    match error.classify() {
        Cause::Io => Error::invalid("sarif", format!("cannot be read: {error}")),
        Cause::Syntax | Cause::Eof => Error::invalid(path, format!("is not JSON: {error}")),
        Cause::Data => Error::invalid(path, error.to_string()),
    }
}

/// Tools on Windows write one, and JSON has none.
fn without_byte_order_mark(input: &mut impl Read) -> Result<impl Read> {
    let mut start = Vec::new();
    let read = input.by_ref().take(3).read_to_end(&mut start);
    read.map_err(|error| Error::invalid("sarif", format!("cannot be read: {error}")))?;
    if start == [0xEF, 0xBB, 0xBF] {
        start.clear();
    }
    Ok(std::io::Cursor::new(start).chain(input))
}

/// The whole document.
struct Log<'a, 'o>(&'a mut Collector<'o>);

struct LogEnd {
    version: Option<String>,
    has_runs: bool,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum LogField {
    Version,
    Runs,
    #[serde(other)]
    Other,
}

impl<'de> DeserializeSeed<'de> for Log<'_, '_> {
    type Value = LogEnd;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LogEnd, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Log<'_, '_> {
    type Value = LogEnd;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a SARIF log: an object with `version` and `runs`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LogEnd, A::Error> {
        let mut log = LogEnd { version: None, has_runs: false };
        while let Some(field) = map.next_key()? {
            match field {
                LogField::Version => log.version = map.next_value()?,
                LogField::Runs => {
                    map.next_value_seed(Runs(self.0))?;
                    log.has_runs = true;
                }
                LogField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(log)
    }
}

/// The runs of a document.
struct Runs<'a, 'o>(&'a mut Collector<'o>);

impl<'de> DeserializeSeed<'de> for Runs<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Runs<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of runs")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(RunSeed(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

/// A run.
struct RunSeed<'a, 'o>(&'a mut Collector<'o>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum RunField {
    Tool,
    Results,
    OriginalUriBaseIds,
    Artifacts,
    #[serde(other)]
    Other,
}

impl<'de> DeserializeSeed<'de> for RunSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RunSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run: an object with `tool` and `results`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut run = Run::default();
        while let Some(field) = map.next_key()? {
            match field {
                RunField::Tool => run.rules = map.next_value::<Option<_>>()?.map(Rules::new),
                RunField::OriginalUriBaseIds => run.bases = map.next_value()?,
                RunField::Artifacts => run.artifacts = map.next_value()?,
                RunField::Results => {
                    map.next_value_seed(Results { collector: &mut *self.0, run: &mut run })?;
                }
                RunField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        refuse_by(self.0, |collector| collector.finish_run(run))
    }
}

/// The results of a run.
struct Results<'a, 'o> {
    collector: &'a mut Collector<'o>,
    run: &'a mut Run,
}

impl<'de> DeserializeSeed<'de> for Results<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Results<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of results")
    }

    /// A tool that could not run has no results.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(result) = list.next_element()? {
            refuse_by(self.collector, |collector| collector.add(self.run, result))?;
        }
        Ok(())
    }
}

/// Ends the stream if the collector refuses. serde's error cannot carry ours, so the collector keeps it.
fn refuse_by<'o, E: serde::de::Error>(
    collector: &mut Collector<'o>,
    step: impl FnOnce(&mut Collector<'o>) -> Result<()>,
) -> Result<(), E> {
    let Err(refusal) = step(collector) else { return Ok(()) };
    let error = E::custom(&refusal);
    collector.refusal = Some(refusal);
    Err(error)
}
