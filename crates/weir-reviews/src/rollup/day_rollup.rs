//! All models and pairs of a day, of one repository or of all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model_day::ModelDay;
use super::pair_day::PairDay;
use super::summary::Summary;
use crate::ids::ModelId;

/// The models and pairs of a day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DayRollup {
    /// Each model that took part in a review.
    pub models: BTreeMap<ModelId, ModelDay>,
    /// Each pair of models that responded in the same review.
    pub pairs: PairDay,
}

impl DayRollup {
    /// The sum of `summaries`.
    #[must_use]
    pub fn from_summaries<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> DayRollup {
        let mut day = DayRollup::default();
        summaries.into_iter().for_each(|summary| day.merge(&summary.rollup));
        day
    }

    /// Adds another day, repository or review.
    pub fn merge(&mut self, other: &DayRollup) {
        for (model, day) in &other.models {
            self.merge_model(model, day);
        }
        self.pairs.merge(&other.pairs);
    }

    /// Adds a model's day.
    pub fn merge_model(&mut self, model: &ModelId, day: &ModelDay) {
        match self.models.get_mut(model) {
            Some(known) => known.merge(day),
            None => {
                self.models.insert(model.clone(), day.clone());
            }
        }
    }

    /// Whether it has no models.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.models.is_empty() && self.pairs == PairDay::default()
    }
}
