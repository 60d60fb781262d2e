//! `[keeper]`: budgets.

use serde::{Deserialize, Serialize};
use toml::Table;

/// Budgets: what AI models may cost a day, and which to use.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Keeper {
    /// The catalogue: a table of labels, each `[keeper.labels.NAME]` with `bedrock_model_id`, `tier`, `family`,
    /// `description` and, where neither a fetched price nor the price book has one, `price` with
    /// `input_price_usd_micros_per_1m` and `output_price_usd_micros_per_1m`. It replaces the one
    /// built in, which has `ultra_premium`, `premium`, `standard` and `economy`.
    #[config(env = "WEIR_KEEPER_LABELS")]
    pub(crate) labels: Option<Labels>,
    /// Days for which counters are kept.
    #[config(default = 90, env = "WEIR_KEEPER_RETENTION_DAYS")]
    pub(crate) retention_days: u64,
    /// Where counters go before they are removed: "s3://BUCKET/PREFIX" or "file:///FOLDER".
    #[config(env = "WEIR_KEEPER_EXPORT")]
    pub(crate) export: Option<String>,
    /// Seconds between two full passes over today and yesterday, for what the feed of changes missed.
    #[config(default = 300, env = "WEIR_KEEPER_CATCH_UP_SECS")]
    pub(crate) catch_up_secs: u64,
    /// Seconds for which the configuration of an org or app is believed; 0 reads it every time.
    #[config(default = 10, env = "WEIR_KEEPER_CONFIG_TTL_SECS")]
    pub(crate) config_ttl_secs: u64,
    /// Where prices are fetched once a day: an "https://", "http://" or "file:///" URL of a price book.
    #[config(env = "WEIR_KEEPER_PRICES")]
    pub(crate) prices: Option<String>,
    /// Seconds for which a new secret can be fetched with its one-time token.
    #[config(default = 600, env = "WEIR_KEEPER_SECRET_RETRIEVAL_SECS")]
    pub(crate) secret_retrieval_secs: u64,
    /// Cost of bcrypt for secrets of clients: each step doubles the time.
    #[config(default = 12, env = "WEIR_KEEPER_BCRYPT_COST")]
    pub(crate) bcrypt_cost: u64,
    /// Secrets that are hashed at once at most; others wait.
    #[config(default = 2, env = "WEIR_KEEPER_BCRYPT_AT_ONCE")]
    pub(crate) bcrypt_at_once: u64,
    /// Tokens a minute for a client; 0 for no limit, here and below.
    #[config(default = 10, env = "WEIR_KEEPER_TOKEN_RATE")]
    pub(crate) token_rate: u64,
    /// Tokens a minute for all clients behind one address.
    #[config(default = 60, env = "WEIR_KEEPER_TOKEN_ADDRESS_RATE")]
    pub(crate) token_address_rate: u64,
    /// Tokens a minute for all clients together.
    #[config(default = 300, env = "WEIR_KEEPER_TOKEN_TOTAL_RATE")]
    pub(crate) token_total_rate: u64,
    /// Refreshes of a token a minute for a client.
    #[config(default = 30, env = "WEIR_KEEPER_REFRESH_RATE")]
    pub(crate) refresh_rate: u64,
    /// Looks at aggregates a minute for a client.
    #[config(default = 60, env = "WEIR_KEEPER_AGGREGATES_RATE")]
    pub(crate) aggregates_rate: u64,
    /// Model selections a minute for a client.
    #[config(default = 120, env = "WEIR_KEEPER_SELECTION_RATE")]
    pub(crate) selection_rate: u64,
    /// Writes of orgs and apps an hour for a key.
    #[config(default = 600, env = "WEIR_KEEPER_WRITE_RATE")]
    pub(crate) write_rate: u64,
    /// Rotations of a secret an hour for a key.
    #[config(default = 60, env = "WEIR_KEEPER_ROTATE_RATE")]
    pub(crate) rotate_rate: u64,
    /// Submissions a second for an org; each of a batch counts.
    #[config(default = 5000, env = "WEIR_KEEPER_SUBMISSION_RATE")]
    pub(crate) submission_rate: u64,
}

/// Labels as the file has them; the keeper checks what they mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Labels(pub(crate) Table);

/// What is wrong with where prices come from; none when nothing is.
pub(super) fn prices_problem(place: &str) -> Option<String> {
    let known = ["https://", "http://", "file:///"];
    let is_good = known.iter().any(|scheme| {
        place.strip_prefix(scheme).is_some_and(|rest| !rest.trim_matches('/').is_empty())
    });
    (!is_good).then(|| {
        format!("{place:?} is no place for prices; write https://HOST/PATH or file:///FILE")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
