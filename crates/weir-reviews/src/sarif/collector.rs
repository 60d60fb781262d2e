//! Holds the results that are kept while a SARIF file is read, and makes findings of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::document::{Artifact, BaselineState, Kind, SarifResult};
use super::finding_ids::{Draft, assign};
use super::loose::Bounded;
use super::reader::{Excess, ReadOptions};
use super::resolve::{self, Context};
use super::rules::Rules;
use super::uri::Bases;
use crate::bounds::{MODEL_ID_MAX, MODELS_MAX, SARIF_ARTIFACTS_MAX, SARIF_LIST_MAX};
use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::ids::ModelId;

/// The findings of a model in a SARIF file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFindings {
    /// The model.
    pub model: ModelId,
    /// Findings of the run, in the order of the file.
    pub findings: Vec<Finding>,
    /// How many results are no findings.
    pub skipped: Skipped,
}

/// How many results of a SARIF file are no findings, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// A person or the code suppresses them.
    pub suppressed: u64,
    /// The rule is kept, or does not apply.
    pub passed: u64,
    /// The result was in the baseline and is gone.
    pub absent: u64,
    /// The result names no file.
    pub without_file: u64,
    /// They are too many, and the others are worse.
    pub over_bound: u64,
}

/// A run that is being read. Its parts come in any order.
#[derive(Default)]
pub(super) struct Run {
    pub(super) rules: Option<Rules>,
    pub(super) bases: Bounded<Bases, SARIF_LIST_MAX>,
    pub(super) artifacts: Bounded<Vec<Artifact>, SARIF_ARTIFACTS_MAX>,
    results: u64,
    skipped: Skipped,
}

/// The worst is the last, and of equals the first in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    severity: Severity,
    place: Reverse<(u64, u64)>,
}

/// The results and findings that are kept so far: together at most as many as the caller allows.
pub(super) struct Collector<'o> {
    options: &'o ReadOptions,
    runs: u64,
    /// Results of the current run.
    results: BTreeMap<Rank, SarifResult>,
    /// Findings of the runs before, and the index of their model.
    drafts: BTreeMap<Rank, (usize, Draft)>,
    models: Vec<(ModelId, Skipped)>,
    /// Why reading ended early.
    pub(super) refusal: Option<Error>,
}

impl<'o> Collector<'o> {
    pub(super) fn new(options: &'o ReadOptions) -> Collector<'o> {
        Collector {
            options,
            runs: 0,
            results: BTreeMap::new(),
            drafts: BTreeMap::new(),
            models: Vec::new(),
            refusal: None,
        }
    }

    /// Takes the next result of the run.
    pub(super) fn add(&mut self, run: &mut Run, result: SarifResult) -> Result<()> {
        let index = run.results;
        run.results += 1;
        if let Some(count) = skipped(&result, &mut run.skipped) {
            *count += 1;
            return Ok(());
        }
        let rule = run.rules.as_ref().and_then(|rules| rules.of(&result));
        let severity = resolve::severity(&result, rule);
        let rank = Rank { severity, place: Reverse((self.runs, index)) };
        self.results.insert(rank, result);
        if self.held() > self.options.findings_max {
            self.drop_least(run)?;
        }
        Ok(())
    }

    /// Makes findings of the results of a run, now that its rules are known.
    pub(super) fn finish_run(&mut self, run: Run) -> Result<()> {
        let place = format!("runs[{}]", self.runs);
        let Some(rules) = &run.rules else {
            return Err(Error::invalid("tool", "is missing").inside(&place));
        };
        let model = self.model_of(&rules.tool).map_err(|error| error.inside(&place))?;
        let (id, skipped) = self.models.get_mut(model).ok_or_else(too_many_models)?;
        skipped.add(run.skipped);
        let root = self.options.root.as_deref();
        let (bases, artifacts) = (&run.bases.0, &run.artifacts.0);
        let context = Context { model: id, rules, bases, artifacts, root };
        for (rank, result) in std::mem::take(&mut self.results) {
            let Reverse((_, index)) = rank.place;
            let draft = resolve::draft(&context, &result)
                .map_err(|error| error.inside(&format!("{place}.results[{index}]")))?;
            let Some(draft) = draft else {
                skipped.without_file += 1;
                continue;
            };
            let rank = Rank { severity: draft.finding.severity, ..rank };
            self.drafts.insert(rank, (model, draft));
        }
        self.runs += 1;
        Ok(())
    }

    /// The findings of each model, in the order of the file.
    pub(super) fn finish(self) -> Result<Vec<ModelFindings>> {
        let mut drafts: Vec<Vec<(u64, u64, Draft)>> =
            self.models.iter().map(|_| Vec::new()).collect();
        for (rank, (model, draft)) in self.drafts {
            let Reverse((run, index)) = rank.place;
            drafts.get_mut(model).ok_or_else(too_many_models)?.push((run, index, draft));
        }
        let models = self.models.into_iter().zip(drafts);
        let findings = models.map(|((model, skipped), mut drafts)| {
            drafts.sort_unstable_by_key(|(run, index, _)| (*run, *index));
            let drafts = drafts.into_iter().map(|(_, _, draft)| draft).collect();
            Ok(ModelFindings { model, findings: assign(drafts)?, skipped })
        });
        findings.collect()
    }

    fn held(&self) -> usize {
        self.results.len() + self.drafts.len()
    }

    fn drop_least(&mut self, run: &mut Run) -> Result<()> {
        if self.options.on_excess == Excess::Refuse {
            let problem = format!("has more than {} findings", self.options.findings_max);
            return Err(Error::too_large(format!("runs[{}].results", self.runs), problem));
        }
        let least_draft = self.drafts.first_key_value().map(|(rank, _)| *rank);
        let least_result = self.results.first_key_value().map(|(rank, _)| *rank);
        if least_draft.is_some_and(|draft| least_result.is_none_or(|result| draft < result)) {
            if let Some((_, (model, _))) = self.drafts.pop_first()
                && let Some((_, skipped)) = self.models.get_mut(model)
            {
                skipped.over_bound += 1;
            }
        } else if self.results.pop_first().is_some() {
            run.skipped.over_bound += 1;
        }
        Ok(())
    }

    /// The index of the run's model.
    fn model_of(&mut self, tool: &str) -> Result<usize> {
        let id = match &self.options.model {
            Some(id) => id.clone(),
            None => model_named(tool)?,
        };
        if let Some(index) = self.models.iter().position(|(model, _)| *model == id) {
            return Ok(index);
        }
        if self.models.len() == MODELS_MAX {
            return Err(too_many_models());
        }
        self.models.push((id, Skipped::default()));
        Ok(self.models.len() - 1)
    }
}

fn too_many_models() -> Error {
    Error::too_large(
        "tool.driver.name",
        format!("is the name of model {}; at most {MODELS_MAX} are allowed", MODELS_MAX + 1),
    )
}

/// The name of a tool as a model id.
fn model_named(name: &str) -> Result<ModelId> {
    let replace = |c: char| if c.is_ascii_graphic() && c != '#' { c } else { '-' };
    let id: String = name.trim().chars().map(replace).take(MODEL_ID_MAX).collect();
    ModelId::new(id).map_err(|_| Error::invalid("tool.driver.name", "is missing or empty"))
}

/// The counter of the reason why a result is no finding.
fn skipped<'a>(result: &SarifResult, skipped: &'a mut Skipped) -> Option<&'a mut u64> {
    // A suppression under review or rejected does not hide the result.
    let hides = |status: Option<&str>| status.is_none_or(|status| status == "accepted");
    let suppressions = &result.suppressions.0;
    let is_hidden = suppressions.iter().all(|suppression| hides(suppression.status.as_deref()));
    if !suppressions.is_empty() && is_hidden {
        return Some(&mut skipped.suppressed);
    }
    if matches!(result.kind, Some(Kind::Pass | Kind::NotApplicable)) {
        return Some(&mut skipped.passed);
    }
    (result.baseline_state == Some(BaselineState::Absent)).then_some(&mut skipped.absent)
}

impl Skipped {
    fn add(&mut self, more: Skipped) {
        self.suppressed += more.suppressed;
        self.passed += more.passed;
        self.absent += more.absent;
        self.without_file += more.without_file;
        self.over_bound += more.over_bound;
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Component, Level, Tool};
    use super::*;

    #[test]
    fn no_more_results_are_held_than_allowed() {
        let options = ReadOptions {
            findings_max: 50,
            on_excess: Excess::KeepWorst,
            ..ReadOptions::default()
        };
        let mut collector = Collector::new(&options);
        let mut run = Run::default();
        for index in 0..10_000_u64 {
            let level = if index % 100 == 0 { Level::Error } else { Level::Note };
            let result = SarifResult { level: Some(level), ..SarifResult::default() };
            collector.add(&mut run, result).unwrap();
            assert!(collector.held() <= 50);
        }
        assert!(collector.results.keys().all(|rank| rank.severity == Severity::High));
        let places: Vec<u64> = collector.results.keys().map(|rank| rank.place.0.1).collect();
        assert_eq!((places.first(), places.last()), (Some(&4_900), Some(&0)));
        let driver = Component { name: "lint".to_owned(), ..Component::default() };
        run.rules = Some(Rules::new(Tool { driver, ..Tool::default() }));
        collector.finish_run(run).unwrap();
        let models = collector.finish().unwrap();
        let expected = Skipped { without_file: 50, over_bound: 9_950, ..Skipped::default() };
        assert_eq!(models[0].skipped, expected);
    }
}
