//! The position of a copy, stored at its destination.
//!
//! While a copy runs, the destination has the additional table [`TABLE`], with an item per table that is being copied. The
//! item is written after each page, so the same command, run again on any machine, continues after the last complete
//! page. The table is deleted when all tables are verified.

use weir_table::{Error, Get, Item, Key, Kind, Result, TableSpec, Write};

use super::retry;
use crate::tables::Tables;

/// The table of positions.
pub(crate) const TABLE: &str = "weir-copy-position";

/// The position in one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// The table.
    pub(crate) table: String,
    /// The source.
    pub(crate) from: String,
    /// Cursor of the next page; none at the start.
    pub(crate) cursor: Option<String>,
    /// Items copied so far.
    pub(crate) items: u64,
    /// The current phase.
    pub(crate) stage: Stage,
}

/// The phase of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Items are being copied.
    Copying,
    /// All items are copied; they must still be compared.
    Copied,
}

impl Stage {
    const ALL: [(Stage, &str); 2] = [(Stage::Copying, "copying"), (Stage::Copied, "copied")];

    fn text(self) -> &'static str {
        let found = Stage::ALL.iter().find(|(stage, _)| *stage == self);
        found.map_or("copying", |(_, text)| text)
    }
}

impl Position {
    /// The position at the start of a table.
    pub(crate) fn start(table: &str, from: &str) -> Position {
        Position {
            table: table.to_owned(),
            from: from.to_owned(),
            cursor: None,
            items: 0,
            stage: Stage::Copying,
        }
    }

    fn to_item(&self) -> Item {
        let mut item = Item::new()
            .with("table", self.table.as_str())
            .with("from", self.from.as_str())
            .with("items", self.items)
            .with("stage", self.stage.text());
        if let Some(cursor) = &self.cursor {
            item.set("cursor", cursor.as_str());
        }
        item
    }

    fn from_item(item: &Item) -> Option<Position> {
        let stage = item.s("stage")?;
        let (stage, _) = *Stage::ALL.iter().find(|(_, text)| *text == stage)?;
        Some(Position {
            table: item.s("table")?.to_owned(),
            from: item.s("from")?.to_owned(),
            cursor: item.s("cursor").map(str::to_owned),
            items: u64::try_from(item.i64("items")?).ok()?,
            stage,
        })
    }

    /// Stores the position.
    pub(crate) async fn save(&self, to: &Tables) -> Result<()> {
        let write = Write::put(TABLE, self.to_item());
        retry::transient(|| to.write(write.clone())).await?;
        Ok(())
    }

    /// The stored position of `table`, if there is one.
    pub(crate) async fn load(to: &Tables, table: &str) -> Result<Option<Position>> {
        let get = Get::new(TABLE, Key::partition(table));
        let item = match retry::transient(|| to.get(&get)).await {
            Err(Error::NoSuchTable(_)) => None,
            item => item?,
        };
        let damaged = || Error::invalid(TABLE, format!("the position of {table:?} is damaged"));
        item.map(|item| Position::from_item(&item).ok_or_else(damaged)).transpose()
    }
}

/// Creates the table of positions.
pub(crate) async fn prepare(to: &Tables) -> Result<()> {
    to.create(&TableSpec::new(TABLE, "table", Kind::S)).await
}

/// Deletes the table of positions.
pub(crate) async fn finish(to: &Tables) -> Result<()> {
    to.remove(TABLE).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_comes_back() {
        let mut position = Position::start("orders", "embedded:/a");
        assert_eq!(Position::from_item(&position.to_item()), Some(position.clone()));
        position.cursor = Some("c".into());
        position.items = 7;
        for (stage, _) in Stage::ALL {
            position.stage = stage;
            assert_eq!(Position::from_item(&position.to_item()), Some(position.clone()));
        }
    }
}
