//! Findings of one model compete for a match.
//!
//! A model seldom reports an issue twice. A pair therefore scores less if one of its findings is more like another finding of
//! the other's model: by as much as that one is more alike.

use std::collections::HashMap;

use super::compare::{Comparison, Score};
use crate::ids::ModelId;

/// Two findings and how alike they are.
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) score: Score,
}

/// Lowers the scores of pairs whose findings prefer others.
pub(super) fn lower_rivals(comparison: &Comparison<'_>, pairs: &mut [Pair]) {
    let model = |at: usize| comparison.findings().get(at).map(|finding| &finding.model);
    let mut best: HashMap<(usize, Option<&ModelId>), f64> = HashMap::new();
    for Pair { a, b, score } in pairs.iter() {
        for key in [(*a, model(*b)), (*b, model(*a))] {
            let best = best.entry(key).or_insert(score.total);
            *best = best.max(score.total);
        }
    }
    for Pair { a, b, score } in pairs {
        let own = score.total;
        for key in [(*a, model(*b)), (*b, model(*a))] {
            score.total -= best.get(&key).map_or(0.0, |best| best - own);
        }
    }
}
