//! The stored form of reviews and of everything below them, in the layout of Quorum.
//!
//! Responses, findings and consensus items are in the partition of their review, whose key names the pull request; so they
//! need no attributes for it.

mod claim;
mod consensus;
mod cost;
mod fields;
mod files;
mod finding;
mod lookup;
mod response;
mod review;

use weir_calendar::DAY_MS;
use weir_table::Item;

pub(crate) use self::claim::Claim;
pub use self::cost::CostMetric;
use self::fields::Fields;
pub(crate) use self::files::{decode_files, encode_files};
pub(crate) use self::finding::{feedback_unchanged, feedback_update};
pub(crate) use self::lookup::{Fence, Lookup, State, new_revision};
pub(crate) use self::response::cost_key_of;
use crate::error::Result;
use crate::keys::{self, ReviewRef};
use crate::settings::Settings;
use crate::table::TTL;
use crate::time::rfc3339;

/// The attributes that all items of a review have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ItemContext {
    pub(crate) review: ReviewRef,
    pub(crate) created_at_ms: i64,
    /// When the review expires, in seconds since 1970.
    pub(crate) review_ttl: i64,
    /// When its cost metrics expire.
    pub(crate) cost_ttl: i64,
    /// The index shard.
    pub(crate) shard: Option<u32>,
}

impl ItemContext {
    pub(crate) fn new(review: ReviewRef, created_at_ms: i64, settings: &Settings) -> ItemContext {
        let ttl = |days: u32| {
            created_at_ms.saturating_add(i64::from(days).saturating_mul(DAY_MS)).div_euclid(1000)
        };
        ItemContext {
            shard: keys::shard_of(&review.id, settings.index_shards),
            review,
            created_at_ms,
            review_ttl: ttl(settings.review_days),
            cost_ttl: ttl(settings.cost_days),
        }
    }

    /// An item with what every item of a review has.
    fn item(&self, key: weir_table::Key, entity_type: &str) -> Item {
        keys::item(key)
            .with("entity_type", entity_type)
            .with("review_id", self.review.id.as_str())
            .with("created_at", rfc3339(self.created_at_ms))
            .with(TTL, self.review_ttl)
    }
}

/// The key of an item in an index.
fn in_index(item: Item, index: &str, partition: String, sort: String) -> Item {
    let (partition_name, sort_name) = keys::index_attributes(index);
    item.with(partition_name, partition).with(sort_name, sort)
}

/// The review of an item in its partition, and when it was made.
pub(crate) fn review_ref_of(item: &Item) -> Result<(ReviewRef, i64)> {
    let fields = Fields(item);
    Ok((fields.review_ref()?, fields.time("created_at")?))
}

/// Whether an item has expired, although the store may not have removed it yet.
pub(crate) fn is_expired(item: &Item, now_ms: i64) -> bool {
    item.i64(TTL).is_some_and(|ttl| ttl <= now_ms.div_euclid(1000))
}
