//! Tables that benchmarks print.

use comfy_table::{Cell, CellAlignment, Row, Table};

/// A table with these heads.
pub(crate) fn table<R: Into<Row>>(heads: R) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(heads);
    table
}

/// A cell with a number.
pub(crate) fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
