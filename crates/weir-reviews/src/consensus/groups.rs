//! Joins findings to groups by average similarity.
//!
//! The two groups with the highest average score of their pairs are joined first, until no average reaches the threshold.
//! Groups are joined only if all their pairs may match and at least one pair has a token in common.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use super::candidates;
use super::compare::Comparison;
use super::rivals::{Pair, lower_rivals};
use crate::ids::ModelId;

/// The groups of the findings of a file; a finding that is like no other is a group of its own.
pub(super) fn join(comparison: &Comparison<'_>, file: Range<usize>) -> Vec<Vec<usize>> {
    let mut joining = Joining::new(comparison, file);
    while let Some(next) = joining.queue.pop() {
        if joining.is_current(&next) {
            joining.join(next.a, next.b);
        }
    }
    joining.groups.into_values().map(|group| group.members).collect()
}

fn scored_pairs(comparison: &Comparison<'_>, file: Range<usize>) -> Vec<Pair> {
    let pairs = candidates::pairs(comparison, file).into_iter();
    let mut pairs: Vec<Pair> =
        pairs.map(|(a, b)| Pair { a, b, score: comparison.score(a, b) }).collect();
    lower_rivals(comparison, &mut pairs);
    pairs
}

struct Joining<'a> {
    threshold: f64,
    line_slack: u32,
    /// The groups by their first member.
    groups: BTreeMap<usize, Group<'a>>,
    queue: BinaryHeap<Join>,
}

struct Group<'a> {
    members: Vec<usize>,
    models: Vec<&'a ModelId>,
    /// The last of the first lines.
    start_max: u32,
    /// The first of the last lines.
    end_min: u32,
    /// The connections to other groups.
    edges: BTreeMap<usize, Edge>,
    /// Counts the joins, so that queued ones of former states are known.
    version: u32,
}

/// The compared pairs of two groups.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    score_sum: f64,
    shares_text: bool,
}

impl<'a> Joining<'a> {
    fn new(comparison: &Comparison<'a>, file: Range<usize>) -> Joining<'a> {
        let findings = comparison.findings().get(file.clone()).unwrap_or_default();
        let groups = file.clone().zip(findings).map(|(at, finding)| {
            let group = Group {
                members: vec![at],
                models: vec![&finding.model],
                start_max: finding.line_start,
                end_min: finding.line_end,
                edges: BTreeMap::new(),
                version: 0,
            };
            (at, group)
        });
        let options = comparison.options();
        let mut joining = Joining {
            threshold: options.threshold,
            line_slack: options.line_slack,
            groups: groups.collect(),
            queue: BinaryHeap::new(),
        };
        for Pair { a, b, score } in scored_pairs(comparison, file) {
            joining.connect(a, b, Edge { score_sum: score.total, shares_text: score.text > 0.0 });
        }
        joining
    }

    /// Connects two groups, and queues them if they are alike enough.
    fn connect(&mut self, a: usize, b: usize, edge: Edge) {
        let (a, b) = (a.min(b), a.max(b));
        let Some(second) = self.groups.get_mut(&b) else { return };
        second.edges.insert(a, edge);
        let (version_b, size_b) = (second.version, second.members.len());
        let Some(first) = self.groups.get_mut(&a) else { return };
        first.edges.insert(b, edge);
        let score = edge.average(first.members.len(), size_b);
        if edge.shares_text && score >= self.threshold {
            self.queue.push(Join { score, a, b, versions: (first.version, version_b) });
        }
    }

    fn is_current(&self, join: &Join) -> bool {
        let version = |at| self.groups.get(at).map(|group| group.version);
        version(&join.a) == Some(join.versions.0) && version(&join.b) == Some(join.versions.1)
    }

    /// Joins the group `b` to the group `a`.
    fn join(&mut self, a: usize, b: usize) {
        let Some(second) = self.groups.remove(&b) else { return };
        let Some(first) = self.groups.get_mut(&a) else { return };
        let mut edges = std::mem::take(&mut first.edges);
        for (&other, edge) in &second.edges {
            edges.entry(other).or_default().add(*edge);
        }
        edges.remove(&a);
        edges.remove(&b);
        first.absorb(second);
        for (other, edge) in edges {
            self.reconnect(a, b, other, edge);
        }
    }

    /// Replaces what connected `other` to `a` and `b` by `edge`, if all pairs may still match.
    fn reconnect(&mut self, a: usize, b: usize, other: usize, edge: Edge) {
        if let Some(group) = self.groups.get_mut(&other) {
            group.edges.remove(&a);
            group.edges.remove(&b);
        }
        let may_join = match (self.groups.get(&a), self.groups.get(&other)) {
            (Some(group), Some(other)) => self.may_join(group, other),
            _ => false,
        };
        if may_join {
            self.connect(a, other, edge);
        }
    }

    /// Whether all pairs of two groups may match.
    fn may_join(&self, a: &Group<'_>, b: &Group<'_>) -> bool {
        // Every two ranges overlap exactly if the last start is not after the first end.
        let start_max = a.start_max.max(b.start_max);
        let end_min = a.end_min.min(b.end_min);
        start_max <= end_min.saturating_add(self.line_slack)
            && !a.models.iter().any(|model| b.models.contains(model))
    }
}

impl<'a> Group<'a> {
    fn absorb(&mut self, other: Group<'a>) {
        self.version += 1;
        self.members.extend(other.members);
        self.members.sort_unstable();
        self.models.extend(other.models);
        self.start_max = self.start_max.max(other.start_max);
        self.end_min = self.end_min.min(other.end_min);
    }
}

impl Edge {
    fn add(&mut self, other: Edge) {
        self.score_sum += other.score_sum;
        self.shares_text |= other.shares_text;
    }

    /// The average over all pairs; those that were not compared have 0.
    #[expect(clippy::cast_precision_loss, reason = "a group has few findings")]
    fn average(self, size_a: usize, size_b: usize) -> f64 {
        self.score_sum / (size_a * size_b) as f64
    }
}

/// A queued join of the groups `a` and `b` in these versions. The highest score is the greatest, then the first groups.
struct Join {
    score: f64,
    a: usize,
    b: usize,
    versions: (u32, u32),
}

impl Ord for Join {
    fn cmp(&self, other: &Join) -> Ordering {
        let by_position = |join: &Join| Reverse((join.a, join.b, join.versions));
        self.score.total_cmp(&other.score).then_with(|| by_position(self).cmp(&by_position(other)))
    }
}

impl PartialOrd for Join {
    fn partial_cmp(&self, other: &Join) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Join {
    fn eq(&self, other: &Join) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Join {}
