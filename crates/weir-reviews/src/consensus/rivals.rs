//! Findings of one model compete for a match.
//!
//! A model seldom reports an issue twice. A pair therefore scores less if one of its findings is more like another finding of
//! the other's model: by as much as that one is more alike.

use super::compare::{Comparison, Score};

/// Two findings and how alike they are.
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) score: Score,
}

/// Lowers the scores of pairs whose findings prefer others.
pub(super) fn lower_rivals(comparison: &Comparison<'_>, pairs: &mut [Pair]) {
    let model = |at: usize| comparison.findings().get(at).map(|finding| &finding.model);
    let mut sides: Vec<Side> = pairs.iter().enumerate().flat_map(sides).collect();
    // Findings are sorted by model, so those that compete for one finding stand together.
    sides.sort_unstable_by_key(|side| (side.of, side.other));
    for rivals in sides.chunk_by(|a, b| a.of == b.of && model(a.other) == model(b.other)) {
        let best = rivals.iter().map(|side| side.score).fold(f64::NEG_INFINITY, f64::max);
        for side in rivals {
            if let Some(pair) = pairs.get_mut(side.pair) {
                pair.score.total -= best - side.score;
            }
        }
    }
}

/// A pair as the finding `of` sees it.
struct Side {
    of: usize,
    other: usize,
    score: f64,
    /// The position of the pair.
    pair: usize,
}

fn sides((pair, &Pair { a, b, score }): (usize, &Pair)) -> [Side; 2] {
    [(a, b), (b, a)].map(|(of, other)| Side { of, other, score: score.total, pair })
}
