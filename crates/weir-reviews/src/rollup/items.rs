//! Rollups as items: the sums are JSON in one attribute, because nobody asks for a part of them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use weir_calendar::Day;
use weir_table::{Item, Key};

use super::RollupTable;
use super::day_rollup::DayRollup;
use super::keys::{self, Level, Part};
use super::model_day::ModelDay;
use super::pair_day::PairDay;
use super::summary::Summary;
use crate::bounds::ROLLUP_DATA_MAX;
use crate::error::{Error, Result};
use crate::time::expires_at;

const DATA: &str = "data";
const FORMAT_ATTR: &str = "format";
/// The form of [`DATA`].
const FORMAT: i64 = 1;
/// Changes with every write of a summary.
pub(super) const REVISION: &str = "revision";
/// Grows with every pass over a day.
pub(super) const VERSION: &str = "version";
/// When a mark was written, in milliseconds since 1970.
pub(super) const MARKED_AT: &str = "marked_at_ms";

impl RollupTable {
    /// An item of a day.
    pub(super) fn item(&self, key: Key, entity_type: &str, day: Day) -> Item {
        keys::item(key)
            .with("entity_type", entity_type)
            .with("ttl", expires_at(day, self.retention_days))
    }

    /// The item of a summary, with another revision each time.
    pub(super) fn summary_item(&self, summary: &Summary) -> Result<Item> {
        let data = encode(&summary.rollup)?;
        let item = self.item(keys::summary(&summary.id), "REVIEW_SUMMARY", summary.id.day);
        Ok(with_data(with_index(item, keys::summary_index(&summary.id)), data)
            .with(REVISION, random_token()))
    }

    /// The items of a day, without its version.
    pub(super) fn day_items(
        &self,
        level: &Level,
        day: Day,
        rollup: &DayRollup,
    ) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(rollup.models.len() + 1);
        for (model, sums) in &rollup.models {
            let part = Part::Model(model.clone());
            items.push(self.part_item(level, day, &part, fitting_model(sums.clone())?));
        }
        if rollup.pairs != PairDay::default() {
            items.push(self.part_item(
                level,
                day,
                &Part::Pairs,
                fitting_pairs(rollup.pairs.clone())?,
            ));
        }
        Ok(items)
    }

    fn part_item(&self, level: &Level, day: Day, part: &Part, data: String) -> Item {
        let entity_type = if *part == Part::Pairs { "ROLLUP_PAIRS" } else { "ROLLUP_MODEL" };
        let item = with_data(self.item(keys::part(level, day, part), entity_type, day), data);
        match keys::part_index(level, day, part) {
            Some(index) => with_index(item, index),
            None => item,
        }
    }
}

/// Adds an item of a day to the day's rollup.
pub(super) fn merge_part(rollup: &mut DayRollup, part: &Part, item: &Item) -> Result<()> {
    match part {
        Part::Model(model) => rollup.merge_model(model, &decode::<ModelDay>(item)?),
        Part::Pairs => rollup.pairs.merge(&decode(item)?),
        Part::Version => {}
    }
    Ok(())
}

/// The contribution of a stored summary.
pub(super) fn decode_summary(item: &Item) -> Result<DayRollup> {
    decode(item)
}

/// A text that no other has.
pub(super) fn random_token() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// The sort key of an item.
pub(super) fn sort_key(item: &Item) -> Result<&str> {
    item.s("SK").ok_or_else(|| Error::damaged("a rollup item", "it has no sort key"))
}

fn with_data(item: Item, data: String) -> Item {
    item.with(FORMAT_ATTR, FORMAT).with(DATA, data)
}

fn with_index(item: Item, index: Key) -> Item {
    let item = item.with(keys::INDEX_PK, index.partition.to_value());
    match index.sort {
        Some(sort) => item.with(keys::INDEX_SK, sort.to_value()),
        None => item,
    }
}

/// Counts rare categories together until the data fits.
fn fitting_model(mut sums: ModelDay) -> Result<String> {
    loop {
        let data = encode(&sums)?;
        if data.len() <= ROLLUP_DATA_MAX || sums.by_category.is_empty() {
            return Ok(data);
        }
        sums.fold_categories(sums.by_category.len() / 2);
    }
}

/// Leaves rare pairs out until the data fits.
fn fitting_pairs(mut day: PairDay) -> Result<String> {
    loop {
        let data = encode(&day)?;
        if data.len() <= ROLLUP_DATA_MAX || day.pairs.is_empty() {
            return Ok(data);
        }
        day.keep_most(day.pairs.len() / 2);
    }
}

fn encode(data: &impl Serialize) -> Result<String> {
    serde_json::to_string(data).map_err(|error| Error::damaged("a rollup", error.to_string()))
}

fn decode<T: DeserializeOwned>(item: &Item) -> Result<T> {
    let what = || format!("rollup item {}", item.s("SK").unwrap_or_default());
    match item.i64(FORMAT_ATTR) {
        Some(FORMAT) => {}
        format => {
            return Err(Error::damaged(what(), format!("its format is {format:?}, not {FORMAT}")));
        }
    }
    let data = item.s(DATA).ok_or_else(|| Error::damaged(what(), "it has no data"))?;
    serde_json::from_str(data).map_err(|error| Error::damaged(what(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Category, ModelId};
    use crate::rollup::FindingCounts;
    use crate::rollup::pair_day::{Pair, PairCounts};

    fn model(text: &str) -> ModelId {
        ModelId::new(text).unwrap()
    }

    #[test]
    fn a_day_with_too_many_categories_keeps_the_most_frequent_and_every_finding() {
        let mut sums = ModelDay::default();
        for number in 0..10_000_u64 {
            let category = Category::new(format!("{number:064}")).unwrap();
            let one = FindingCounts {
                findings: 1 + u64::from(number == 9_999),
                ..FindingCounts::default()
            };
            sums.count(crate::finding::Severity::Low, Some(&category), &one);
        }
        let data = fitting_model(sums.clone()).unwrap();
        assert!((ROLLUP_DATA_MAX / 3..=ROLLUP_DATA_MAX).contains(&data.len()));
        let stored: ModelDay = serde_json::from_str(&data).unwrap();
        let apart: u64 = stored.by_category.values().map(|counts| counts.findings).sum();
        assert_eq!(apart + stored.rare_categories.findings, 10_001);
        assert_eq!(stored.total, sums.total);
        let frequent = Category::new(format!("{:064}", 9_999)).unwrap();
        assert!(stored.by_category.contains_key(&Some(frequent)));
    }

    #[test]
    fn a_day_with_too_many_pairs_says_how_many_it_leaves_out() {
        let mut day = PairDay::default();
        for number in 0..2_000_u64 {
            let pair = Pair::new(&model(&format!("{number:0256}")), &model("z")).unwrap();
            day.pairs.insert(pair, PairCounts { reviews: number, ..PairCounts::default() });
        }
        let data = fitting_pairs(day).unwrap();
        assert!(data.len() <= ROLLUP_DATA_MAX);
        let stored: PairDay = serde_json::from_str(&data).unwrap();
        assert_eq!(stored.pairs.len() as u64 + stored.left_out, 2_000);
        assert!(stored.left_out > 0 && stored.pairs.values().all(|counts| counts.reviews >= 1_000));
    }

    #[test]
    fn data_of_another_format_is_damaged() {
        let table = RollupTable::new("t");
        let day = Day::utc(0);
        let mut rollup = DayRollup::default();
        rollup.merge_model(&model("m"), &ModelDay { successes: 3, ..ModelDay::default() });
        let item = table.day_items(&Level::All, day, &rollup).unwrap().remove(0);
        assert_eq!(decode::<ModelDay>(&item).unwrap().successes, 3);
        for (name, value) in [(FORMAT_ATTR, "2"), (DATA, "{"), (DATA, "[]")] {
            let error = decode::<ModelDay>(&item.clone().with(name, value)).unwrap_err();
            assert!(error.to_string().contains("cannot be read"), "{error}");
        }
    }

    #[test]
    fn the_stored_form_is_stable() {
        let sums = ModelDay {
            successes: 1,
            latency_ms: crate::rollup::Histogram::of(130),
            ..ModelDay::default()
        };
        let zeros = "[0,0,0,0]";
        assert_eq!(
            encode(&sums).unwrap(),
            format!(
                "{{\"ok\":1,\"err\":0,\"late\":0,\"all\":{zeros},\"sev\":[{zeros},{zeros},{zeros},{zeros},{zeros}],\
                 \"cat\":[],\"rare\":{zeros},\"cost\":0,\"in\":0,\"out\":0,\"lat\":{{\"s\":130,\"n\":[[129,1]]}}}}"
            )
        );
        let mut pairs = PairDay::default();
        let counts = PairCounts { reviews: 1, shared: 2, ..PairCounts::default() };
        pairs.pairs.insert(Pair::new(&model("b"), &model("a")).unwrap(), counts);
        assert_eq!(
            encode(&pairs).unwrap(),
            r#"{"m":["a","b"],"p":[[0,1,[1,2,0,0,0,0,0,0]]],"out":0}"#
        );
    }
}
