//! How far two models agreed on a day, as sums that can be added in any order.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::summary::Summary;
use crate::ids::ModelId;

/// Two models, in alphabetical order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The first.
    pub first: ModelId,
    /// The second.
    pub second: ModelId,
}

impl Pair {
    /// The pair of two models, in either order; `None` if they are the same.
    #[must_use]
    pub fn new(a: &ModelId, b: &ModelId) -> Option<Pair> {
        let (first, second) = if a < b { (a, b) } else { (b, a) };
        (first != second).then(|| Pair { first: first.clone(), second: second.clone() })
    }
}

/// Agreement of two models in the reviews in which both responded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 8]", into = "[u64; 8]")]
pub struct PairCounts {
    /// Reviews in which both responded.
    pub reviews: u64,
    /// Issues that both found: consensus groups with findings of both.
    pub shared: u64,
    /// Findings of the first that are in no such group.
    pub only_first: u64,
    /// Findings of the second that are in no such group.
    pub only_second: u64,
    /// Units (file, category) in which both have findings.
    pub units_both: u64,
    /// Units in which only the first has findings.
    pub units_first: u64,
    /// Units in which only the second has findings.
    pub units_second: u64,
    /// Units in which neither has findings.
    pub units_neither: u64,
}

impl PairCounts {
    /// Adds other counts.
    pub fn merge(&mut self, other: &PairCounts) {
        let (ours, theirs) = (<[u64; 8]>::from(*self), <[u64; 8]>::from(*other));
        let mut sums = ours.into_iter().zip(theirs).map(|(a, b)| a.saturating_add(b));
        *self = PairCounts::from(std::array::from_fn(|_| sums.next().unwrap_or_default()));
    }
}

impl From<[u64; 8]> for PairCounts {
    fn from(counts: [u64; 8]) -> PairCounts {
        let [reviews, shared, only_first, only_second, both, first, second, neither] = counts;
        PairCounts {
            reviews,
            shared,
            only_first,
            only_second,
            units_both: both,
            units_first: first,
            units_second: second,
            units_neither: neither,
        }
    }
}

impl From<PairCounts> for [u64; 8] {
    fn from(counts: PairCounts) -> [u64; 8] {
        let PairCounts { reviews, shared, only_first, only_second, .. } = counts;
        let PairCounts { units_both, units_first, units_second, units_neither, .. } = counts;
        [
            reviews,
            shared,
            only_first,
            only_second,
            units_both,
            units_first,
            units_second,
            units_neither,
        ]
    }
}

/// The pairs of models of a day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Encoded", into = "Encoded")]
pub struct PairDay {
    /// Counts of each pair.
    pub pairs: BTreeMap<Pair, PairCounts>,
    /// Pairs that were left out, because there were too many for an item.
    pub left_out: u64,
}

impl PairDay {
    /// The sum of what each of `summaries` says about pairs.
    #[must_use]
    pub fn from_summaries<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> PairDay {
        let mut day = PairDay::default();
        summaries.into_iter().for_each(|summary| day.merge(&summary.rollup.pairs));
        day
    }

    /// Adds another day, repository or review.
    pub fn merge(&mut self, other: &PairDay) {
        for (pair, counts) in &other.pairs {
            match self.pairs.get_mut(pair) {
                Some(known) => known.merge(counts),
                None => {
                    self.pairs.insert(pair.clone(), *counts);
                }
            }
        }
        self.left_out = self.left_out.saturating_add(other.left_out);
    }

    /// Leaves out all but the `most` pairs with the most reviews.
    pub(super) fn keep_most(&mut self, most: usize) {
        let mut ranked: Vec<_> = std::mem::take(&mut self.pairs).into_iter().collect();
        // The sort is stable, so pairs with as many reviews stay in alphabetical order.
        ranked.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.reviews));
        let rare = ranked.split_off(most.min(ranked.len()));
        self.left_out = self.left_out.saturating_add(rare.len() as u64);
        self.pairs = ranked.into_iter().collect();
    }
}

/// The stored form: every model is named once.
#[derive(Serialize, Deserialize)]
struct Encoded {
    #[serde(rename = "m")]
    models: Vec<ModelId>,
    #[serde(rename = "p")]
    pairs: Vec<(usize, usize, PairCounts)>,
    #[serde(rename = "out", default)]
    left_out: u64,
}

impl From<PairDay> for Encoded {
    fn from(day: PairDay) -> Encoded {
        let models: BTreeSet<_> =
            day.pairs.keys().flat_map(|pair| [&pair.first, &pair.second]).collect();
        let models: Vec<ModelId> = models.into_iter().cloned().collect();
        let place = |model: &ModelId| models.binary_search(model).unwrap_or(models.len());
        let encode = |(pair, counts): (&Pair, &PairCounts)| {
            (place(&pair.first), place(&pair.second), *counts)
        };
        let pairs = day.pairs.iter().map(encode).collect();
        Encoded { pairs, models, left_out: day.left_out }
    }
}

impl TryFrom<Encoded> for PairDay {
    type Error = &'static str;

    fn try_from(encoded: Encoded) -> Result<PairDay, &'static str> {
        let decode = |(first, second, counts): (usize, usize, PairCounts)| {
            let (a, b) = (encoded.models.get(first)?, encoded.models.get(second)?);
            (a < b).then(|| (Pair { first: a.clone(), second: b.clone() }, counts))
        };
        let pairs = encoded.pairs.iter().copied().map(decode).collect::<Option<_>>();
        Ok(PairDay {
            pairs: pairs.ok_or("a pair names no two models")?,
            left_out: encoded.left_out,
        })
    }
}
