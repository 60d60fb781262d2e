//! The differences between two price lists.

use std::collections::BTreeMap;

use compact_str::CompactString;
use serde::Serialize;

use super::PriceRow;
use crate::ids::{ModelId, Vendor};
use crate::money::Price;

/// A price that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PriceChange {
    /// The model.
    pub model_id: ModelId,
    /// The vendor; `None` for Bedrock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<Vendor>,
    /// The region; `None` for all regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<CompactString>,
    /// The old price; `None` when it is new.
    pub old: Option<Price>,
    /// The new price; `None` when it was removed.
    pub new: Option<Price>,
}

/// The differences, by model, vendor and region.
#[must_use]
pub fn diff(old: &[PriceRow], new: &[PriceRow]) -> Vec<PriceChange> {
    type Key<'a> = (&'a ModelId, Option<Vendor>, Option<&'a CompactString>);
    fn key(row: &PriceRow) -> Key<'_> {
        (&row.model_id, row.vendor.clone().and_then(Vendor::listed), row.region.as_ref())
    }
    let mut both: BTreeMap<Key<'_>, [Option<Price>; 2]> = BTreeMap::new();
    for row in old {
        let [before, _] = both.entry(key(row)).or_default();
        *before = Some(row.price);
    }
    for row in new {
        let [_, after] = both.entry(key(row)).or_default();
        *after = Some(row.price);
    }
    let changed = both.into_iter().filter(|(_, [old, new])| old != new);
    let change = |((model, vendor, region), [old, new]): (Key<'_>, [_; 2])| PriceChange {
        model_id: model.clone(),
        vendor,
        region: region.cloned(),
        old,
        new,
    };
    changed.map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: &str, region: Option<&str>, input: u64) -> PriceRow {
        PriceRow {
            model_id: ModelId::new(model).unwrap(),
            vendor: None,
            region: region.map(CompactString::from),
            price: Price::new(input, 0),
        }
    }

    #[test]
    fn added_removed_and_changed_prices_are_listed() {
        let old =
            [row("a", None, 1), row("b", None, 1), row("b", Some("eu"), 2), row("c", None, 1)];
        let new =
            [row("b", Some("eu"), 3), row("b", None, 1), row("c", None, 1), row("d", None, 4)];
        let changes = diff(&old, &new).into_iter().map(|change| {
            let input = |price: Option<Price>| price.map(|price| price.input);
            (change.model_id.to_string(), change.region, input(change.old), input(change.new))
        });
        let changes: Vec<_> = changes.collect();
        assert_eq!(
            changes,
            [
                ("a".to_owned(), None, Some(1), None),
                ("b".to_owned(), Some("eu".into()), Some(2), Some(3)),
                ("d".to_owned(), None, None, Some(4)),
            ]
        );
        assert!(diff(&old, &old).is_empty());
    }

    #[test]
    fn a_row_is_read_from_json() {
        let text = r#"{"model_id":"m","region":"eu-west-1","mode":"chat","input_price_usd_micros_per_1m":1,"output_price_usd_micros_per_1m":2}"#;
        let row: PriceRow = serde_json::from_str(text).unwrap();
        assert_eq!((row.region.as_deref(), row.price), (Some("eu-west-1"), Price::new(1, 2)));
    }
}
