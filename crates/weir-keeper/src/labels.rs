//! The catalogue: which model each label means. Orgs and apps name labels only, so a model can be replaced for all at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounds::{DESCRIPTION_MAX, LABELS_MAX};
use crate::error::{Error, Result};
use crate::ids::{Label, ModelId, shown};
use crate::money::Price;

/// What a label means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelDef {
    /// The model.
    pub bedrock_model_id: ModelId,
    /// How it ranks: `premium`.
    pub tier: String,
    /// Its family: `claude-4.5`.
    pub family: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// What it costs where nothing else tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// The labels there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Catalogue {
    labels: BTreeMap<Label, LabelDef>,
}

impl Catalogue {
    /// A catalogue of these labels.
    ///
    /// # Errors
    /// There are too many, or one has a text that is too long or a price that cannot be meant.
    pub fn new(labels: BTreeMap<Label, LabelDef>) -> Result<Catalogue> {
        if labels.len() > LABELS_MAX {
            return Err(Error::config("labels", format!("are more than {LABELS_MAX}")));
        }
        for (label, def) in &labels {
            let texts =
                [("tier", &def.tier), ("family", &def.family), ("description", &def.description)];
            for (field, text) in texts {
                if text.len() > DESCRIPTION_MAX || text.contains(char::is_control) {
                    let problem = format!("has control characters or more than {DESCRIPTION_MAX}");
                    return Err(Error::config(format!("labels.{label}.{field}"), problem));
                }
            }
            let at = |error: Error| error.of_config(&format!("labels.{label}.price"));
            def.price.as_ref().map_or(Ok(()), Price::check).map_err(at)?;
        }
        Ok(Catalogue { labels })
    }

    /// What a label means.
    #[must_use]
    pub fn get(&self, label: &Label) -> Option<&LabelDef> {
        self.labels.get(label)
    }

    /// All labels, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Label, &LabelDef)> {
        self.labels.iter()
    }

    /// The label that this text names.
    ///
    /// # Errors
    /// There is none, here or among `profiles`; the error tells which there are.
    pub fn find(&self, field: &str, text: &str, profiles: &[Label]) -> Result<Label> {
        let known = Label::new(text).ok();
        let known =
            known.filter(|label| self.labels.contains_key(label) || profiles.contains(label));
        known.ok_or_else(|| {
            let all = self.labels.keys().chain(profiles).map(Label::as_str);
            let all = all.take(SUGGESTED_MAX).collect::<Vec<_>>().join(", ");
            Error::label(field, format!("{} is no label; there are {all}", shown(text)))
        })
    }
}

/// Labels that an error lists at most.
const SUGGESTED_MAX: usize = 20;

/// Four labels from dear to cheap, for a start.
impl Default for Catalogue {
    fn default() -> Catalogue {
        let labels = DEFAULTS.iter().filter_map(|(label, model, family, description, price)| {
            let def = LabelDef {
                bedrock_model_id: ModelId::new(model).ok()?,
                tier: (*label).to_owned(),
                family: (*family).to_owned(),
                description: (*description).to_owned(),
                price: Some(*price),
            };
            Some((Label::new(label).ok()?, def))
        });
        Catalogue { labels: labels.collect() }
    }
}

type DefaultLabel = (&'static str, &'static str, &'static str, &'static str, Price);

const DEFAULTS: [DefaultLabel; 4] = [
    (
        "ultra_premium",
        "anthropic.claude-opus-5-5",
        "claude-5.5",
        "Claude Opus 5.5: the hardest work",
        cached(4_000_000, 20_000_000, 200_000, 5_000_000),
    ),
    (
        "premium",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-4.5",
        "Claude Sonnet 4.5: demanding work at a fair price",
        cached(3_000_000, 15_000_000, 300_000, 3_750_000),
    ),
    (
        "standard",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "claude-4.5",
        "Claude Haiku 4.5: fast, for everyday work",
        cached(1_000_000, 5_000_000, 100_000, 1_250_000),
    ),
    (
        "economy",
        "amazon.nova-lite-v1:0",
        "nova",
        "Amazon Nova Lite: simple work in bulk",
        Price { input: 60_000, output: 240_000, cache_read: Some(15_000), cache_write: None },
    ),
];

const fn cached(input: u64, output: u64, read: u64, write: u64) -> Price {
    Price { input, output, cache_read: Some(read), cache_write: Some(write) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Book;

    #[test]
    fn the_book_has_the_price_of_every_default_label() {
        let (catalogue, book) = (Catalogue::default(), Book::shipped().unwrap());
        let names: Vec<&str> = catalogue.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(names, ["economy", "premium", "standard", "ultra_premium"]);
        for (label, def) in catalogue.iter() {
            let found = book.find(&def.bedrock_model_id, None).unwrap();
            assert_eq!(Some(found.price), def.price, "{label}");
        }
        assert_eq!(Catalogue::new(catalogue.labels.clone()).unwrap(), catalogue);
    }

    #[test]
    fn an_unknown_label_is_told_which_there_are() {
        let catalogue = Catalogue::default();
        let profile = Label::new("our-profile").unwrap();
        let profiles = std::slice::from_ref(&profile);
        assert_eq!(catalogue.find("model_label", "our-profile", profiles).unwrap(), profile);
        let error = catalogue.find("model_label", "cheap", profiles).unwrap_err();
        assert_eq!(error.code(), "INVALID_MODEL_LABEL");
        assert_eq!(
            error.to_string(),
            "model_label: \"cheap\" is no label; there are economy, premium, standard, ultra_premium, our-profile"
        );
        assert!(catalogue.find("model_label", "a#b", &[]).is_err());
    }

    #[test]
    fn a_wrong_definition_is_refused_by_name() {
        let (label, mut def) = Catalogue::default().labels.pop_first().unwrap();
        def.price = Some(Price::new(u64::MAX, 0));
        let error = Catalogue::new(BTreeMap::from([(label.clone(), def.clone())])).unwrap_err();
        assert_eq!(error.to_string(), "labels.economy.price: is above 1000000000000");
        def.price = None;
        def.family = "x\n".into();
        let error = Catalogue::new(BTreeMap::from([(label, def)])).unwrap_err();
        assert!(error.to_string().starts_with("labels.economy.family: "), "{error}");
    }
}
