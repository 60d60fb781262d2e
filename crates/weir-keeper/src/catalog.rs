//! The catalog of model labels. Orgs and apps refer to models by label only, so a model can be replaced for all at
//! once.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::bounds::{DESCRIPTION_MAX, LABELS_MAX};
use crate::error::{Error, Result};
use crate::ids::{Label, ModelId, Vendor, shown};
use crate::money::Price;

/// The model behind a label.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawDefinition")]
pub struct ModelDefinition {
    /// The id of the model at its vendor.
    pub model_id: ModelId,
    /// The vendor, where the id alone does not say.
    pub vendor: Option<Vendor>,
    /// The tier: `premium`.
    pub tier: String,
    /// The model family: `claude-4.5`.
    pub family: String,
    /// Description of the model.
    pub description: String,
    /// Price, used where no other source has one.
    pub price: Option<Price>,
}

/// A definition as a configuration has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDefinition {
    model_id: Option<String>,
    bedrock_model_id: Option<String>,
    vendor: Option<Vendor>,
    #[serde(default)]
    tier: String,
    #[serde(default)]
    family: String,
    #[serde(default)]
    description: String,
    price: Option<Price>,
}

impl TryFrom<RawDefinition> for ModelDefinition {
    type Error = String;

    fn try_from(raw: RawDefinition) -> Result<ModelDefinition, String> {
        let RawDefinition { vendor, tier, family, description, price, .. } = raw;
        let (id, bedrock) = (raw.model_id.as_deref(), raw.bedrock_model_id.as_deref());
        let model_id = ModelId::of_request(id, bedrock).map_err(|error| error.to_string())?;
        Ok(ModelDefinition { model_id, vendor, tier, family, description, price })
    }
}

/// Where the guide has an example of labels.
pub const LABELS_EXAMPLE: &str = "docs/keeper.md#models-of-other-vendors";

/// The catalog of model labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCatalog {
    labels: BTreeMap<Label, ModelDefinition>,
}

impl ModelCatalog {
    /// Validates the definitions.
    ///
    /// # Errors
    /// There are too many, a text is too long, or a price is too high.
    pub fn new(labels: BTreeMap<Label, ModelDefinition>) -> Result<ModelCatalog> {
        if labels.len() > LABELS_MAX {
            return Err(Error::config("labels", format!("has more than {LABELS_MAX} entries")));
        }
        for (label, def) in &labels {
            let texts =
                [("tier", &def.tier), ("family", &def.family), ("description", &def.description)];
            for (field, text) in texts {
                if text.len() > DESCRIPTION_MAX || text.contains(char::is_control) {
                    let problem = format!(
                        "must have at most {DESCRIPTION_MAX} bytes and no control characters"
                    );
                    return Err(Error::config(format!("labels.{label}.{field}"), problem));
                }
            }
            let at = |error: Error| error.into_config(&format!("labels.{label}.price"));
            def.price.as_ref().map_or(Ok(()), Price::check).map_err(at)?;
        }
        Ok(ModelCatalog { labels })
    }

    /// The definition of a label.
    #[must_use]
    pub fn get(&self, label: &Label) -> Option<&ModelDefinition> {
        self.labels.get(label)
    }

    /// All labels, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Label, &ModelDefinition)> {
        self.labels.iter()
    }

    /// Finds a label in the catalog or among `profiles`.
    ///
    /// # Errors
    /// There is no such label; the error lists those that exist.
    pub fn find(&self, field: &str, text: &str, profiles: &[Label]) -> Result<Label> {
        let found = Label::new(text).ok();
        let found =
            found.filter(|label| self.labels.contains_key(label) || profiles.contains(label));
        found.ok_or_else(|| {
            let all = self.labels.keys().chain(profiles).map(Label::as_str);
            let all = all.take(SUGGESTED_MAX).collect::<Vec<_>>().join(", ");
            let problem = format!(
                "{} is not a label; use one of {all}, or add it to [keeper.labels] as in {LABELS_EXAMPLE}",
                shown(text)
            );
            Error::label(field, problem)
        })
    }
}

/// Most labels an error lists.
const SUGGESTED_MAX: usize = 20;

/// Four labels to start with, from expensive to cheap.
impl Default for ModelCatalog {
    fn default() -> ModelCatalog {
        let labels = DEFAULTS.iter().filter_map(|(label, model, family, description, price)| {
            let def = ModelDefinition {
                model_id: ModelId::new(model).ok()?,
                vendor: None,
                tier: (*label).to_owned(),
                family: (*family).to_owned(),
                description: (*description).to_owned(),
                price: Some(*price),
            };
            Some((Label::new(label).ok()?, def))
        });
        ModelCatalog { labels: labels.collect() }
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
        Price { cache_read: Some(15_000), ..Price::new(60_000, 240_000) },
    ),
];

const fn cached(input: u64, output: u64, read: u64, write: u64) -> Price {
    Price { cache_read: Some(read), cache_write: Some(write), ..Price::new(input, output) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prices::{PriceBook, PriceQuery, resolve};

    #[test]
    fn the_price_book_has_every_default_label() {
        let (catalog, book) = (ModelCatalog::default(), PriceBook::shipped().unwrap());
        let names: Vec<&str> = catalog.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(names, ["economy", "premium", "standard", "ultra_premium"]);
        for (label, def) in catalog.iter() {
            let found = resolve(&book, &PriceQuery::new(&def.model_id), None).unwrap().unwrap();
            assert_eq!(Some(found.price), def.price, "{label}");
        }
        assert_eq!(ModelCatalog::new(catalog.labels.clone()).unwrap(), catalog);
    }

    #[test]
    fn the_error_for_an_unknown_label_lists_the_labels() {
        let catalog = ModelCatalog::default();
        let profile = Label::new("our-profile").unwrap();
        let profiles = std::slice::from_ref(&profile);
        assert_eq!(catalog.find("model_label", "our-profile", profiles).unwrap(), profile);
        let error = catalog.find("model_label", "cheap", profiles).unwrap_err();
        assert!(matches!(error, Error::Label { .. }));
        assert_eq!(
            error.to_string(),
            "model_label: \"cheap\" is not a label; use one of economy, premium, standard, ultra_premium, our-profile, \
             or add it to [keeper.labels] as in docs/keeper.md#models-of-other-vendors"
        );
        assert!(catalog.find("model_label", "a#b", &[]).is_err());
    }

    #[test]
    fn a_definition_names_its_model_by_either_name() {
        let read = |json: serde_json::Value| {
            serde_json::from_value::<ModelDefinition>(json).map_err(|error| error.to_string())
        };
        let def = read(json!({"vendor": "openai", "model_id": "gpt-5.4"})).unwrap();
        assert_eq!((def.model_id.as_str(), def.vendor.unwrap().as_str()), ("gpt-5.4", "openai"));
        assert!(read(json!({"bedrock_model_id": "amazon.nova-lite-v1:0", "tier": "t"})).is_ok());
        for (wrong, problem) in [
            (json!({"vendor": "openai"}), "model_id: is required"),
            (json!({"model_id": "a", "bedrock_model_id": "a"}), "model_id: is another name"),
            (json!({"model_id": "a", "vendor": "Open AI"}), "is not a vendor"),
            (json!({"model": "a"}), "unknown field `model`"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn an_invalid_definition_is_refused_by_field() {
        let (label, mut def) = ModelCatalog::default().labels.pop_first().unwrap();
        def.price = Some(Price::new(u64::MAX, 0));
        let error = ModelCatalog::new(BTreeMap::from([(label.clone(), def.clone())])).unwrap_err();
        assert_eq!(error.to_string(), "labels.economy.price: must be at most 1000000000000");
        def.price = None;
        def.family = "x\n".into();
        let error = ModelCatalog::new(BTreeMap::from([(label, def)])).unwrap_err();
        assert!(error.to_string().starts_with("labels.economy.family: "), "{error}");
    }
}
