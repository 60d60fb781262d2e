//! Lays a table out in a width, without printing it.
//!
//! A table that fits is drawn as it is. Otherwise:
//! 1. text wraps at spaces, so that words and ids stay whole;
//! 2. columns that still do not fit are shown below their row, as `name: value`.
//!
//! Only a word that is longer than a whole line is cut; it ends with `…` then. Crates for tables break words, and have no lines
//! below a row.

mod columns;
mod draw;
mod words;

use console::measure_text_width;

use self::columns::Columns;

/// What is in a table: names of columns, and a cell of each row for each of them.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    pub(crate) header: &'a [String],
    pub(crate) rows: &'a [Vec<String>],
    /// The columns that are aligned on the right.
    pub(crate) numbers: &'a [usize],
}

/// The form in which a table is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Largest width of a line; none is unlimited.
    pub(crate) width: Option<usize>,
    /// Whether states are coloured.
    pub(crate) colours: bool,
}

/// A table as text, and whether a word in it was cut.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

impl Content<'_> {
    /// Draws the table.
    pub(crate) fn draw(&self, style: Style) -> Drawn {
        let columns = match style.width {
            Some(width) => Columns::fitting(self, width),
            None => Columns::natural(self),
        };
        draw::table(self, &columns, style.colours)
    }

    fn cell(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|row| row.get(column)).map_or("", String::as_str)
    }

    fn name(&self, column: usize) -> &str {
        self.header.get(column).map_or("", String::as_str)
    }

    /// The name of a column and all its cells.
    fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        std::iter::once(self.name(column)).chain(self.cells(column))
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        (0..self.rows.len()).map(move |row| self.cell(row, column))
    }

    /// The columns that do not fit and have a value in a row, as `name: value`.
    fn details(&self, row: usize, columns: &Columns) -> Vec<String> {
        let value = |column: &usize| {
            let cell = self.cell(row, *column);
            (!cell.is_empty()).then(|| format!("{}: {cell}", self.name(*column)))
        };
        columns.below.iter().filter_map(value).collect()
    }
}

/// Cells of a terminal that a text takes.
fn width(text: &str) -> usize {
    measure_text_width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11";

    fn drawn(header: &[&str], rows: &[&[&str]], width: Option<usize>) -> Drawn {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(|row| owned(row)).collect();
        let header: Vec<String> = owned(header);
        Content { header: &header, rows: &rows, numbers: &[] }.draw(Style { width, colours: false })
    }

    #[test]
    fn a_table_that_fits_stays_as_it_is() {
        let table = drawn(&["name", "state"], &[&["a b", "open"], &["c", ""]], Some(80));
        let expected = "\
╭──────┬───────╮
│ name ┆ state │
╞══════╪═══════╡
│ a b  ┆ open  │
│ c    ┆       │
╰──────┴───────╯";
        assert_eq!(table.text, expected);
        assert_eq!(drawn(&["name", "state"], &[&["a b", "open"], &["c", ""]], None).text, expected);
    }

    #[test]
    fn text_wraps_at_spaces_and_the_rest_goes_below() {
        let error = "the webhook did not respond within 10 seconds";
        let rows: &[&[&str]] =
            &[&[ID, "nightly report of all the apps", "failed", error], &[ID, "b", "sent", ""]];
        let table = drawn(&["id", "name", "status", "error"], rows, Some(72));
        let expected = "\
╭──────────────────────────────────────┬──────────────────────┬────────╮
│ id                                   ┆ name                 ┆ status │
╞══════════════════════════════════════╪══════════════════════╪════════╡
│ 0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11 ┆ nightly report of    ┆ failed │
│                                      ┆ all the apps         ┆        │
│   error: the webhook did not respond within 10 seconds               │
│ 0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11 ┆ b                    ┆ sent   │
╰──────────────────────────────────────┴──────────────────────┴────────╯";
        assert_eq!(table.text, expected);
        assert!(!table.is_cut);
    }

    #[test]
    fn only_a_word_longer_than_a_line_is_cut() {
        let long = "x".repeat(100);
        let table = drawn(&["id", "value"], &[&["1", &long]], Some(40));
        assert!(table.is_cut && table.text.contains("x…"), "{}", table.text);
        assert!(table.text.lines().all(|line| width(line) <= 40), "{}", table.text);
        assert!(!drawn(&["id", "value"], &[&["1", &long]], None).is_cut);
    }

    /// Texts as they come up in tables: ids, times, names, sentences.
    fn text(random: &mut fastrand::Rng) -> String {
        match random.u8(..6) {
            0 => format!("{:032x}", random.u128(..)),
            1 => ID.to_owned(),
            2 => "2026-01-15T12:00:00.000Z".to_owned(),
            3 => String::new(),
            4 => "häuser 家 ".repeat(random.usize(..9)).trim_end().to_owned(),
            _ => "did not respond in time ".repeat(random.usize(..9)).trim_end().to_owned(),
        }
    }

    #[test]
    fn any_table_fits_and_keeps_every_word() {
        let random = &mut fastrand::Rng::with_seed(7);
        for round in 0..500 {
            let columns = random.usize(1..12);
            let header: Vec<String> = (0..columns).map(|at| format!("column {at}")).collect();
            let row = |random: &mut _| (0..columns).map(|_| text(random)).collect::<Vec<_>>();
            let rows: Vec<_> = (0..random.usize(..5)).map(|_| row(random)).collect();
            let content = Content { header: &header, rows: &rows, numbers: &[0] };
            let width_max = random.usize(64..130);
            let table = content.draw(Style { width: Some(width_max), colours: false });
            for line in table.text.lines() {
                assert!(width(line) <= width_max, "round {round}:\n{}", table.text);
            }
            let words: Vec<&str> = table.text.split_whitespace().collect();
            for word in rows.iter().flatten().flat_map(|cell| cell.split_whitespace()) {
                let is_there = |drawn: &&&str| drawn.trim_end_matches(',') == word;
                assert!(words.iter().any(|drawn| is_there(&drawn)), "{word}:\n{}", table.text);
            }
            assert!(!table.is_cut, "round {round}");
        }
    }

    #[test]
    fn states_are_coloured_and_stay_words() {
        let header = ["model".to_owned(), "status".to_owned()];
        let rows = [vec!["tight".to_owned(), "TIGHT".to_owned()]];
        let content = Content { header: &header, rows: &rows, numbers: &[] };
        let coloured = content.draw(Style { width: Some(80), colours: true }).text;
        assert!(coloured.contains("\u{1b}[33mTIGHT\u{1b}[0m"), "{coloured:?}");
        assert!(coloured.contains("│ tight ┆"), "only states have colours: {coloured:?}");
        let plain = content.draw(Style { width: Some(80), colours: false }).text;
        assert_eq!(console::strip_ansi_codes(&coloured), plain);
    }
}
