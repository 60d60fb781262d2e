//! `[keeper]`: the settings of the keeper. Their defaults are those of the domain, which a test checks.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::Table;
use weir_framework::networks::Networks;
use weir_framework::settings::{SettingProblem, defaults, in_range, object_store_problem};
use weir_keeper::catalog::{LABELS_EXAMPLE, ModelCatalog};
use weir_keeper::ids::Label;
use weir_keeper::table::Tables;
use weir_keeper::webhooks::AddressPolicy;

const DAY_SECS: u64 = 86_400;

/// Daily budgets for AI models, and model selection.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub struct Settings {
    /// Model labels: one table `[keeper.labels.NAME]` per label, with `model_id` (or `bedrock_model_id`) and optionally
    /// `vendor`, `tier`, `family`, `description` and `price` with `input_price_usd_micros_per_1m` and
    /// `output_price_usd_micros_per_1m`. The price applies if neither the fetched prices nor the built-in price book
    /// list the model. The table replaces the built-in labels `ultra_premium`, `premium`, `standard` and `economy`.
    /// docs/keeper.md has an example for OpenAI.
    #[config(env = "WEIR_KEEPER_LABELS")]
    pub labels: Option<Labels>,
    /// Days before spend counters are deleted.
    #[config(default = 90, env = "WEIR_KEEPER_RETENTION_DAYS")]
    pub retention_days: u64,
    /// Export target for spend counters before they are deleted: "s3://BUCKET/PREFIX" or "file:///FOLDER".
    /// Without it they are only deleted.
    #[config(env = "WEIR_KEEPER_EXPORT")]
    pub export: Option<String>,
    /// Seconds between two full passes over today's and yesterday's counters. A pass sums counters whose changes
    /// the change feed missed.
    #[config(default = 300, env = "WEIR_KEEPER_CATCH_UP_SECS")]
    pub catch_up_secs: u64,
    /// Seconds that the configuration of an org or app stays cached; 0 reads it on every request.
    #[config(default = 10, env = "WEIR_KEEPER_CONFIG_TTL_SECS")]
    pub config_ttl_secs: u64,
    /// URL of a price book that the server fetches once a day: "https://", "http://" or "file:///".
    #[config(env = "WEIR_KEEPER_PRICES")]
    pub prices: Option<String>,
    /// Lifetime in seconds of the one-time token that retrieves a new secret.
    #[config(default = 600, env = "WEIR_KEEPER_SECRET_RETRIEVAL_SECS")]
    pub secret_retrieval_secs: u64,
    /// bcrypt cost of client secrets. Each step doubles the time to hash one.
    #[config(default = 12, env = "WEIR_KEEPER_BCRYPT_COST")]
    pub bcrypt_cost: u64,
    /// Maximum number of secrets hashed concurrently. Further requests wait.
    #[config(default = 2, env = "WEIR_KEEPER_BCRYPT_AT_ONCE")]
    pub bcrypt_at_once: u64,
    /// Networks that webhooks may reach although they are not public, like ["10.0.0.0/8"]. Loopback, private, link-local
    /// and other special addresses are refused otherwise.
    #[config(default = [], env = "WEIR_KEEPER_WEBHOOK_ALLOWED_NETWORKS")]
    pub webhook_allowed_networks: Networks,
    /// Successful token requests per minute and client; 0 for no limit.
    #[config(default = 10, env = "WEIR_KEEPER_TOKEN_RATE")]
    pub token_rate: u64,
    /// Failed token requests per minute and client address; 0 for no limit.
    #[config(default = 60, env = "WEIR_KEEPER_TOKEN_ADDRESS_RATE")]
    pub token_address_rate: u64,
    /// Token requests per minute in total; 0 for no limit. Requests whose secret has another id than the client's are
    /// counted apart: guesses do not use up the limit of clients.
    #[config(default = 300, env = "WEIR_KEEPER_TOKEN_TOTAL_RATE")]
    pub token_total_rate: u64,
    /// Token refreshes per minute and client; 0 for no limit.
    #[config(default = 30, env = "WEIR_KEEPER_REFRESH_RATE")]
    pub refresh_rate: u64,
    /// Requests for aggregates per minute and client; 0 for no limit.
    #[config(default = 60, env = "WEIR_KEEPER_AGGREGATES_RATE")]
    pub aggregates_rate: u64,
    /// Model selections per minute and client; 0 for no limit.
    #[config(default = 120, env = "WEIR_KEEPER_SELECTION_RATE")]
    pub selection_rate: u64,
    /// Changes of orgs and apps per hour and admin key; 0 for no limit.
    #[config(default = 600, env = "WEIR_KEEPER_WRITE_RATE")]
    pub write_rate: u64,
    /// Secret rotations per hour and admin key; 0 for no limit.
    #[config(default = 60, env = "WEIR_KEEPER_ROTATE_RATE")]
    pub rotate_rate: u64,
    /// Submissions per second and org, counting each one of a batch; 0 for no limit.
    #[config(default = 5000, env = "WEIR_KEEPER_SUBMISSION_RATE")]
    pub submission_rate: u64,
}

/// Labels as written in the file; the keeper validates them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub Table);

impl Default for Settings {
    fn default() -> Settings {
        defaults()
    }
}

impl Settings {
    /// Problems of single values.
    #[must_use]
    pub fn problems(&self) -> Vec<SettingProblem> {
        let ranges = [
            in_range("retention_days", self.retention_days, 1..=3650),
            in_range("catch_up_secs", self.catch_up_secs, 10..=DAY_SECS),
            in_range("config_ttl_secs", self.config_ttl_secs, 0..=3600),
            in_range("secret_retrieval_secs", self.secret_retrieval_secs, 60..=DAY_SECS),
            in_range("bcrypt_cost", self.bcrypt_cost, 4..=16),
            in_range("bcrypt_at_once", self.bcrypt_at_once, 1..=64),
        ];
        let export = self.export.as_deref().and_then(object_store_problem);
        let prices = self.prices.as_deref().and_then(prices_problem);
        let others = [("export", export), ("prices", prices), ("labels", self.catalog().err())];
        let others = others.into_iter().map(|(key, problem)| problem.map(|problem| (key, problem)));
        ranges.into_iter().chain(others).flatten().collect()
    }

    /// The addresses that webhooks may reach.
    #[must_use]
    pub fn webhook_addresses(&self) -> AddressPolicy {
        AddressPolicy::new(self.webhook_allowed_networks.as_slice().to_vec())
    }

    /// The settings as the domain takes them. `idempotency_tokens` is whether a response of the store can be lost.
    ///
    /// # Errors
    /// As [`Settings::catalog`].
    pub(super) fn to_domain(
        &self,
        aggregate_every: Duration,
        idempotency_tokens: bool,
    ) -> Result<weir_keeper::Settings, String> {
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let config_ttl_ms = self.config_ttl_secs.saturating_mul(1_000);
        Ok(weir_keeper::Settings {
            tables: Tables::default(),
            labels: self.catalog()?,
            retention_days: number(self.retention_days),
            aggregate_interval_secs: number(aggregate_every.as_secs()),
            config_ttl_ms: i64::try_from(config_ttl_ms).unwrap_or(i64::MAX),
            retrieval_token_secs: number(self.secret_retrieval_secs),
            bcrypt_cost: number(self.bcrypt_cost),
            idempotency_tokens,
            webhook_addresses: self.webhook_addresses(),
            bcrypt_at_once: usize::try_from(self.bcrypt_at_once).unwrap_or(usize::MAX),
        })
    }

    /// The configured model labels, or the built-in ones.
    ///
    /// # Errors
    /// The configured labels are invalid; the error says why.
    pub fn catalog(&self) -> Result<ModelCatalog, String> {
        let Some(Labels(table)) = &self.labels else {
            return Ok(ModelCatalog::default());
        };
        let wrong = |problem: &str| format!("{problem}; see the example in {LABELS_EXAMPLE}");
        let mut labels = BTreeMap::new();
        for (name, definition) in table {
            let label = Label::new(name).map_err(|error| wrong(&error.to_string()))?;
            let definition = definition.clone().try_into();
            let definition = definition
                .map_err(|error: toml::de::Error| wrong(&format!("{name}: {}", error.message())))?;
            labels.insert(label, definition);
        }
        ModelCatalog::new(labels).map_err(|error| wrong(&error.to_string()))
    }
}

/// The problem of the price book's URL, if it has one.
fn prices_problem(place: &str) -> Option<String> {
    let known = ["https://", "http://", "file:///"];
    let is_good = known.iter().any(|scheme| {
        place.strip_prefix(scheme).is_some_and(|rest| !rest.trim_matches('/').is_empty())
    });
    (!is_good).then(|| format!("{place:?} is not https://HOST/PATH or file:///FILE"))
}

#[cfg(test)]
mod tests {
    use weir_framework::settings::JobSettings;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_domain() {
        let every = Duration::from_secs(JobSettings::default().aggregate_interval_secs);
        let configured = Settings::default().to_domain(every, true).unwrap();
        let domain = weir_keeper::Settings::default();
        assert_eq!(format!("{configured:?}"), format!("{domain:?}"));
        assert_eq!(Settings::default().problems(), []);
    }

    #[test]
    fn a_wrong_label_is_refused_with_its_name_and_an_example() {
        let catalog = |text: &str| {
            let labels = Some(Labels(text.parse().unwrap()));
            Settings { labels, ..Settings::default() }.catalog()
        };
        let good = "[premium]\nvendor = \"openai\"\nmodel_id = \"gpt-5.4\"\n";
        assert_eq!(catalog(good).unwrap().iter().count(), 1);
        for (text, problem) in [
            ("[premium]\nvendor = \"openai\"\n", "premium: model_id: is required"),
            ("[premium]\nmodel = \"gpt-5.4\"\n", "premium: unknown field `model`"),
            ("[premium]\nmodel_id = \"g\"\nvendor = \"Open AI\"\n", "premium: \"Open AI\" is not"),
            ("[\"a b\"]\nmodel_id = \"g\"\n", "model_label: \"a b\" is not a label"),
        ] {
            let error = catalog(text).unwrap_err();
            assert!(error.contains(problem), "{error}");
            assert!(error.ends_with("see the example in docs/keeper.md#models-of-other-vendors"));
        }
    }

    #[test]
    fn prices_come_from_a_url_or_a_file() {
        for good in ["https://prices.test/book.json", "http://localhost:1/", "file:///etc/p.json"] {
            assert_eq!(prices_problem(good), None, "{good}");
        }
        for bad in ["", "book.json", "/etc/p.json", "https://", "file:///", "ftp://x/y"] {
            assert!(prices_problem(bad).is_some(), "{bad}");
        }
    }
}
