//! Which pairs of findings may match, and how alike they are.

use std::collections::HashMap;
use std::ops::Range;

use super::Options;
use super::sketch::Sketch;
use super::words::{Token, tokens};
use crate::bounds::COMPARED_TOKENS_MAX;
use crate::finding::Finding;

/// Tokens of a sketch; more would set most of its bits.
const SKETCH_TOKENS: usize = 24;

/// The findings of a review, ready to be compared.
pub(super) struct Comparison<'a> {
    findings: Vec<&'a Finding>,
    texts: Vec<Text>,
    options: &'a Options,
}

/// The title and description of a finding, as weighed tokens.
#[derive(Default)]
struct Text {
    /// The tokens that another finding has too, sorted, with their weights.
    shared: Vec<(u32, f64)>,
    /// The weight of all tokens.
    total: f64,
    /// The heaviest shared tokens.
    sketch: Sketch,
}

/// How alike two findings are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Score {
    /// The similarity of their texts, from 0 to 1.
    pub(super) text: f64,
    /// The similarity of their texts and places, less what different categories and rivals take.
    pub(super) total: f64,
}

impl<'a> Comparison<'a> {
    /// `findings` are sorted by file and model.
    pub(super) fn new(findings: Vec<&'a Finding>, options: &'a Options) -> Comparison<'a> {
        let texts = texts(&findings, options);
        Comparison { findings, texts, options }
    }

    pub(super) fn findings(&self) -> &[&'a Finding] {
        &self.findings
    }

    pub(super) fn options(&self) -> &Options {
        self.options
    }

    /// The positions of the findings of each file.
    pub(super) fn files(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        self.findings.chunk_by(|a, b| a.file_path == b.file_path).map(move |file| {
            let range = start..start + file.len();
            start = range.end;
            range
        })
    }

    /// Whether two findings of a file may match by their lines.
    pub(super) fn may_match(&self, a: &Finding, b: &Finding) -> bool {
        let slack = self.options.line_slack;
        a.line_start <= b.line_end.saturating_add(slack)
            && b.line_start <= a.line_end.saturating_add(slack)
    }

    /// Tokens that two findings probably have in common: cheap and rough.
    pub(super) fn rough_overlap(&self, a: usize, b: usize) -> u32 {
        match (self.texts.get(a), self.texts.get(b)) {
            (Some(a), Some(b)) => a.sketch.overlap(&b.sketch),
            _ => 0,
        }
    }

    /// How alike two findings are.
    pub(super) fn score(&self, a: usize, b: usize) -> Score {
        let text = match (self.texts.get(a), self.texts.get(b)) {
            (Some(a), Some(b)) => a.similarity(b),
            _ => 0.0,
        };
        let beside_text = match (self.findings.get(a), self.findings.get(b)) {
            (Some(a), Some(b)) => self.score_beside_text(a, b),
            _ => 0.0,
        };
        Score { text, total: text + beside_text }
    }

    /// What the lines and the categories of two findings say for or against a match.
    fn score_beside_text(&self, a: &Finding, b: &Finding) -> f64 {
        let place = self.options.place_weight * nearness(a, b, self.options.line_slack);
        if categories_differ(a, b) { place - self.options.category_penalty } else { place }
    }
}

/// A finding without category says nothing about it, and so contradicts none.
fn categories_differ(a: &Finding, b: &Finding) -> bool {
    a.category.is_some() && b.category.is_some() && a.category != b.category
}

impl Text {
    /// The common weight as a share of the lighter text: one says in a few words what the other explains.
    fn similarity(&self, other: &Text) -> f64 {
        let lighter = self.total.min(other.total);
        if lighter > 0.0 { common_weight(&self.shared, &other.shared) / lighter } else { 0.0 }
    }
}

fn common_weight(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut a, mut b) = (a, b);
    let mut common = 0.0;
    while let ([(id_a, weight_a), rest_a @ ..], [(id_b, weight_b), rest_b @ ..]) = (a, b) {
        if id_a == id_b {
            common += weight_a.min(*weight_b);
        }
        if id_a <= id_b {
            a = rest_a;
        }
        if id_b <= id_a {
            b = rest_b;
        }
    }
    common
}

/// From 1 on the same lines to -1 on lines that are just near enough to match.
fn nearness(a: &Finding, b: &Finding, slack: u32) -> f64 {
    let first = a.line_start.max(b.line_start);
    let last = a.line_end.min(b.line_end);
    if first > last {
        return -f64::from(first - last) / f64::from(slack.max(1));
    }
    let lines = |first: u32, last: u32| f64::from(last.saturating_sub(first)) + 1.0;
    let either = lines(a.line_start.min(b.line_start), a.line_end.max(b.line_end));
    // The root, because models differ in how many lines around an issue they name.
    (lines(first, last) / either).sqrt()
}

fn texts(findings: &[&Finding], options: &Options) -> Vec<Text> {
    let mut ids = HashMap::new();
    let mut frequencies: Vec<u32> = Vec::new();
    let mut strengths = Vec::new();
    for finding in findings {
        let tokens = token_strengths(finding, options, &mut ids);
        frequencies.resize(ids.len(), 0);
        for (id, _) in &tokens {
            if let Some(frequency) = frequencies.get_mut(*id as usize) {
                *frequency += 1;
            }
        }
        strengths.push(tokens);
    }
    let rarities: Vec<f64> =
        frequencies.iter().map(|&of| rarity(of, findings.len()).powf(options.rarity)).collect();
    let weigh = |(id, strength): (u32, f64)| Weighed {
        id,
        weight: strength * rarities.get(id as usize).unwrap_or(&0.0),
        is_shared: frequencies.get(id as usize).is_some_and(|&of| of > 1),
    };
    strengths.into_iter().map(|tokens| text(tokens.into_iter().map(weigh).collect())).collect()
}

/// The tokens of a finding, sorted, each with its greatest strength.
fn token_strengths(
    finding: &Finding,
    options: &Options,
    ids: &mut HashMap<Token, u32>,
) -> Vec<(u32, f64)> {
    let mut found = Vec::new();
    for (text, weight) in [(&finding.title, options.title_weight), (&finding.description, 1.0)] {
        tokens(text, |token| {
            let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            found.push((*ids.entry(token).or_insert(next), weight));
        });
    }
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    found.dedup_by_key(|(id, _)| *id);
    found
}

/// Grows with the share of findings that do not have a token.
#[expect(clippy::cast_precision_loss, reason = "a review has few findings")]
fn rarity(frequency: u32, findings: usize) -> f64 {
    (1.0 + findings as f64 / f64::from(frequency.max(1))).ln()
}

struct Weighed {
    id: u32,
    weight: f64,
    is_shared: bool,
}

fn text(mut tokens: Vec<Weighed>) -> Text {
    tokens.sort_unstable_by(|a, b| b.weight.total_cmp(&a.weight).then(a.id.cmp(&b.id)));
    let total = tokens.iter().take(COMPARED_TOKENS_MAX).map(|token| token.weight).sum();
    tokens.retain(|token| token.is_shared);
    tokens.truncate(COMPARED_TOKENS_MAX);
    let sketch = Sketch::new(tokens.iter().take(SKETCH_TOKENS).map(|token| token.id));
    tokens.sort_unstable_by_key(|token| token.id);
    let shared = tokens.into_iter().map(|token| (token.id, token.weight)).collect();
    Text { shared, total, sketch }
}
