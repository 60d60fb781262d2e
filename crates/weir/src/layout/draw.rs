//! Draws a table whose columns are chosen.

use super::columns::{Columns, INDENT};
use super::words::{self, Wrapped};
use super::{Content, Drawn, width};
use crate::state;

/// Draws the table with a frame.
pub(super) fn table(content: &Content, columns: &Columns, colours: bool) -> Drawn {
    let mut drawing =
        Drawing {
            content, columns, colours, lines: vec![rule(columns, "╭─┬╮")], is_cut: false
        };
    drawing.cells(|column| content.name(column), false);
    drawing.lines.push(rule(columns, "╞═╪╡"));
    for row in 0..content.rows.len() {
        drawing.cells(|column| content.cell(row, column), colours);
        drawing.below(row);
    }
    drawing.lines.push(rule(columns, "╰─┴╯"));
    Drawn { text: drawing.lines.join("\n"), is_cut: drawing.is_cut }
}

/// A line of the frame, from its left end, its stroke, its crossing and its right end.
fn rule(columns: &Columns, parts: &str) -> String {
    let mut parts = parts.chars().map(String::from);
    let mut next = || parts.next().unwrap_or_default();
    let (left, stroke, crossing, right) = (next(), next(), next(), next());
    let strokes = columns.beside.iter().map(|(_, width)| stroke.repeat(width + 2));
    format!("{left}{}{right}", strokes.collect::<Vec<_>>().join(&crossing))
}

struct Drawing<'a> {
    content: &'a Content<'a>,
    columns: &'a Columns,
    colours: bool,
    lines: Vec<String>,
    is_cut: bool,
}

impl Drawing<'_> {
    /// The lines of a row, or of the header.
    fn cells<'t>(&mut self, text: impl Fn(usize) -> &'t str, colours: bool) {
        let of = |(column, max): &(usize, usize)| words::wrap(text(*column), *max);
        let wrapped: Vec<Wrapped> = self.columns.beside.iter().map(of).collect();
        self.is_cut |= wrapped.iter().any(|cell| cell.is_cut);
        let height = wrapped.iter().map(|cell| cell.lines.len()).max().unwrap_or_default().max(1);
        for line in 0..height {
            let parts = self.columns.beside.iter().zip(&wrapped).map(|((column, max), cell)| {
                let part = cell.lines.get(line).map_or("", String::as_str);
                let space = " ".repeat(max.saturating_sub(width(part)));
                let part = match colours && state::is_column(self.content.name(*column)) {
                    true => state::coloured(text(*column), part),
                    false => part.to_owned(),
                };
                let is_number = self.content.numbers.contains(column);
                if is_number { format!("{space}{part}") } else { format!("{part}{space}") }
            });
            self.lines.push(format!("│ {} │", parts.collect::<Vec<_>>().join(" ┆ ")));
        }
    }

    /// The columns of a row that are not beside each other.
    fn below(&mut self, row: usize) {
        let inner = self.columns.inner();
        let texts = self.content.details(row, self.columns);
        let flowed = words::flow(&texts, inner.saturating_sub(INDENT));
        self.is_cut |= flowed.is_cut;
        for text in flowed.lines {
            let space = " ".repeat(inner.saturating_sub(INDENT + width(&text)));
            let text = if self.colours { state::dimmed(&text) } else { text };
            self.lines.push(format!("│ {:INDENT$}{text}{space} │", ""));
        }
    }
}
