//! The eight tables of the keeper.

use weir_table::{Kind, Name, TableSpec};

/// Attribute with the expiry of an item, in seconds since 1970.
pub const TTL: &str = "expires_at_epoch";

/// Table names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Orgs and apps with their credentials, inference profiles, webhooks and audit events.
    pub config: Name,
    /// Sticky fallbacks by scope and day, and webhook notices with their queues.
    pub sticky_state: Name,
    /// Sharded counters.
    pub usage_agg_sharded: Name,
    /// Daily totals: sums of the shards.
    pub daily_total: Name,
    /// Fetched and imported prices.
    pub pricing_cache: Name,
    /// Revoked tokens.
    pub revoked_tokens: Name,
    /// One-time retrieval tokens.
    pub secret_retrieval_tokens: Name,
    /// Deduplication records of submissions.
    pub request_dedup: Name,
}

impl Tables {
    /// The default names, such as `weir-keeper-config`, with a prefix.
    #[must_use]
    pub fn prefixed(prefix: &str) -> Tables {
        let name = |table: &str| Name::from(format!("{prefix}weir-keeper-{table}"));
        Tables {
            config: name("config"),
            sticky_state: name("sticky-state"),
            usage_agg_sharded: name("usage-agg-sharded"),
            daily_total: name("daily-total"),
            pricing_cache: name("pricing-cache"),
            revoked_tokens: name("revoked-tokens"),
            secret_retrieval_tokens: name("secret-retrieval-tokens"),
            request_dedup: name("request-dedup"),
        }
    }

    /// The schema of each table. Only the counters have a change feed, which drives the aggregation.
    #[must_use]
    pub fn specs(&self) -> [TableSpec; 8] {
        let single = |name: &Name| TableSpec::new(name.as_str(), "PK", Kind::S).ttl(TTL);
        let sorted = |name: &Name| single(name).sort("SK", Kind::S);
        [
            sorted(&self.config),
            sorted(&self.sticky_state),
            sorted(&self.usage_agg_sharded).feed(),
            sorted(&self.daily_total),
            sorted(&self.pricing_cache),
            single(&self.revoked_tokens),
            single(&self.secret_retrieval_tokens),
            single(&self.request_dedup),
        ]
    }
}

impl Default for Tables {
    fn default() -> Tables {
        Tables::prefixed("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_of_the_tables_are_stable() {
        let shape = |spec: &TableSpec| {
            spec.check().unwrap();
            assert_eq!((spec.partition.as_str(), spec.ttl.as_deref()), ("PK", Some(TTL)));
            assert!(spec.indexes.is_empty());
            format!("{} {} {}", spec.name, spec.sort.as_deref().unwrap_or("-"), spec.feed)
        };
        assert_eq!(
            Tables::prefixed("t-").specs().each_ref().map(shape),
            [
                "t-weir-keeper-config SK false",
                "t-weir-keeper-sticky-state SK false",
                "t-weir-keeper-usage-agg-sharded SK true",
                "t-weir-keeper-daily-total SK false",
                "t-weir-keeper-pricing-cache SK false",
                "t-weir-keeper-revoked-tokens - false",
                "t-weir-keeper-secret-retrieval-tokens - false",
                "t-weir-keeper-request-dedup - false",
            ]
        );
        assert_eq!(Tables::default().config, "weir-keeper-config");
    }
}
