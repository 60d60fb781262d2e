//! Rounds of runs in which the sides take turns.
//!
//! Every run of a case stands between two runs of what it is measured beside, so that the machine's
//! noise shows and a slow minute hits both sides. Figures are the middle ones of all rounds.

use std::io::Write as _;

use crate::load::Answers;

/// Something to measure: its name, and a run of it.
pub(crate) struct Case<'a> {
    pub(crate) name: &'a str,
    pub(crate) run: &'a dyn Fn() -> Answers,
}

/// What the rounds of a case came to.
pub(crate) struct Told {
    /// The middle ones of all rounds.
    pub(crate) answers: Answers,
    /// Rates beside the mean of the runs before and after, in order of size.
    pub(crate) ratios: Vec<f64>,
}

/// Base, a case, base, the next case, …, base; and that a few times, because what else a machine
/// does comes and goes. The base comes first in the answer, its ratios are to its own first run.
pub(crate) fn beside(base: &Case<'_>, cases: &[Case<'_>], rounds: usize) -> Vec<Told> {
    let mut bases = vec![(base.run)()];
    let mut measured: Vec<(Vec<Answers>, Vec<f64>)> = vec![Default::default(); cases.len()];
    for round in 1..=rounds {
        if cases.is_empty() {
            bases.push((base.run)());
        }
        for (case, (answers, ratios)) in cases.iter().zip(&mut measured) {
            let before = bases.last().map_or(f64::NAN, |base| base.rate);
            let told = (case.run)();
            let after = (base.run)();
            let ratio = told.rate * 2.0 / (before + after.rate);
            progress(&format!("round {round}, {}", case.name), told, ratio);
            answers.push(told);
            ratios.push(ratio);
            bases.push(after);
        }
    }
    let first = bases.first().map_or(f64::NAN, |base| base.rate);
    let to_first = bases.iter().map(|base| base.rate / first).collect();
    let mut all = vec![Told::of(&bases, to_first)];
    all.extend(measured.into_iter().map(|(answers, ratios)| Told::of(&answers, ratios)));
    all
}

impl Told {
    pub(crate) fn of(answers: &[Answers], mut ratios: Vec<f64>) -> Told {
        ratios.sort_by(f64::total_cmp);
        let of = |figure: fn(&Answers) -> f64| {
            let mut all: Vec<f64> = answers.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            middle(&all).unwrap_or(f64::NAN)
        };
        let answers = Answers {
            count: answers.iter().map(|answers| answers.count).sum(),
            refused: answers.iter().map(|answers| answers.refused).sum(),
            rate: of(|answers| answers.rate),
            p50_ms: of(|answers| answers.p50_ms),
            p99_ms: of(|answers| answers.p99_ms),
            server_micros: of(|answers| answers.server_micros),
        };
        Told { answers, ratios }
    }

    /// The middle ratio.
    pub(crate) fn ratio(&self) -> Option<f64> {
        middle(&self.ratios)
    }

    /// The least and the largest ratio, as a text.
    pub(crate) fn range(&self) -> String {
        match (self.ratios.first(), self.ratios.last()) {
            (Some(least), Some(most)) => format!("{:.0}–{:.0} %", least * 100.0, most * 100.0),
            _ => String::new(),
        }
    }
}

fn middle(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

fn progress(what: &str, answers: Answers, ratio: f64) {
    println!("  {what}: {:.0}/s, {:.0} %", answers.rate, ratio * 100.0);
    std::io::stdout().flush().expect("stdout");
}
