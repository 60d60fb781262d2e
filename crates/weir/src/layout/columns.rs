//! Which columns of a table fit beside each other, and how wide they are.

use super::{Content, width, words};

/// Text up to this width does not wrap.
const WHOLE_MAX: usize = 16;
/// Smallest width of a table; a narrower terminal breaks lines itself.
const WIDTH_MIN: usize = 24;
/// Cells of a line around the first column, and for each further column.
const FRAME: usize = 4;
const BETWEEN: usize = 3;
/// Cells before what is shown below a row.
pub(super) const INDENT: usize = 2;

/// The columns of a table.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The columns beside each other, with their widths.
    pub(super) beside: Vec<(usize, usize)>,
    /// The columns that are shown below their row.
    pub(super) below: Vec<usize>,
}

impl Columns {
    /// Every column as wide as its longest text.
    pub(super) fn natural(content: &Content) -> Columns {
        let beside = (0..content.header.len()).map(|at| (at, natural(content, at)));
        Columns { beside: beside.collect(), below: Vec::new() }
    }

    /// Columns whose table is at most `max` wide.
    pub(super) fn fitting(content: &Content, max: usize) -> Columns {
        let all = Columns::natural(content);
        let max = max.max(WIDTH_MIN);
        if all.inner() + FRAME <= max {
            return all;
        }
        let mut columns = Columns::chosen(content, max - FRAME);
        columns.widen(content, max - FRAME);
        columns
    }

    /// From the left, the columns that fit when their text wraps.
    fn chosen(content: &Content, inner: usize) -> Columns {
        let mut chosen = Columns::default();
        for at in 0..content.header.len() {
            let least = least(content, at);
            if chosen.beside.is_empty() {
                chosen.beside.push((at, least.min(inner)));
            } else if !content.rows.is_empty() && content.cells(at).all(str::is_empty) {
                // Nothing to show, and the table is too wide.
            } else if chosen.inner() + BETWEEN + least <= inner {
                chosen.beside.push((at, least));
            } else {
                chosen.below.push(at);
            }
        }
        chosen
    }

    /// Gives the columns the width that is left: first what their text needs, then room for what is below.
    fn widen(&mut self, content: &Content, inner: usize) {
        let mut spare = inner.saturating_sub(self.inner());
        let needs = |(at, width): (usize, usize)| natural(content, at).saturating_sub(width);
        let mut order: Vec<usize> = (0..self.beside.len()).collect();
        order.sort_by_key(|at| self.beside.get(*at).map(|column| needs(*column)));
        for (done, at) in order.iter().enumerate() {
            let share = spare / (order.len() - done);
            if let Some(column) = self.beside.get_mut(*at) {
                let more = needs(*column).min(share);
                column.1 += more;
                spare -= more;
            }
        }
        let below = (0..content.rows.len()).map(|row| {
            let texts = content.details(row, self);
            let between = texts.len().saturating_sub(1) * 2;
            INDENT + between + texts.iter().map(|text| width(text)).sum::<usize>()
        });
        let wanted = below.max().unwrap_or_default().min(inner);
        let missing = wanted.saturating_sub(self.inner());
        let text = self.beside.iter().rposition(|column| !content.numbers.contains(&column.0));
        let last = self.beside.len().saturating_sub(1);
        if let Some(column) = self.beside.get_mut(text.unwrap_or(last)) {
            column.1 += missing;
        }
    }

    /// Cells of a line within the frame.
    pub(super) fn inner(&self) -> usize {
        let widths: usize = self.beside.iter().map(|column| column.1).sum();
        widths + BETWEEN * self.beside.len().saturating_sub(1)
    }
}

fn natural(content: &Content, column: usize) -> usize {
    content.texts(column).map(width).max().unwrap_or_default()
}

/// The smallest width in which words and short texts of a column stay whole.
fn least(content: &Content, column: usize) -> usize {
    let least = |text: &str| match width(text) {
        short @ ..=WHOLE_MAX => short,
        _ => words::longest(text).max(WHOLE_MAX),
    };
    let header = words::longest(content.name(column));
    content.cells(column).map(least).max().unwrap_or_default().max(header)
}
