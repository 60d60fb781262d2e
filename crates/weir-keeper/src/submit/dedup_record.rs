//! The deduplication record of a submission: it makes a retry idempotent, and holds what a duplicate is answered with.

use weir_table::expr::{Condition, attr};
use weir_table::{Item, Name, Value, Write};

use super::payload_hash::PayloadHash;
use super::plan::PlannedSubmission;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::{AppId, Label, OrgId};
use crate::keys;
use crate::money::MicroUsd;
use crate::table::TTL;

const COST: &str = "cost_usd_micros";
const SHARD: &str = "shard_id";
const COMPUTED: &str = "computed_cost_usd_micros";
const LABEL: &str = "model_label";
const DAY: &str = "org_day";
const HASH: &str = "payload_hash";

/// How a submission was metered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DedupRecord {
    pub(crate) label: Label,
    pub(crate) day: OrgDay,
    pub(crate) shard: u8,
    pub(crate) cost: MicroUsd,
    pub(crate) computed: Option<MicroUsd>,
    pub(crate) hash: PayloadHash,
}

impl DedupRecord {
    /// The write that stores the record, unless its request id is taken. An expired record counts as absent.
    pub(crate) fn write(
        planned: &PlannedSubmission,
        table: Name,
        (org, app): (&OrgId, &AppId),
        now_ms: i64,
    ) -> Write {
        let record = &planned.record;
        let mut item = keys::item(keys::request(org, app, &planned.request_id));
        item.set(COST, record.cost.0);
        if let Some(computed) = record.computed {
            item.set(COMPUTED, computed.0);
        }
        item.set(TTL, planned.dedup_expires_at_ms.div_euclid(1000));
        item.set(LABEL, record.label.as_str());
        item.set(DAY, record.day.compact());
        item.set(HASH, record.hash.to_vec());
        item.set(SHARD, record.shard);
        let write = Write::put(table, item);
        if faults::is(Fault::CountedTwice) { write } else { write.when(is_free(now_ms)) }
    }

    /// Decodes a record.
    pub(crate) fn read(item: &Item) -> Result<DedupRecord> {
        let read = || {
            let hash = match item.get(HASH)? {
                Value::B(bytes) => bytes.as_slice().try_into().ok()?,
                _ => return None,
            };
            let micros = |name: &str| item.i64(name).and_then(|n| u64::try_from(n).ok());
            Some(DedupRecord {
                label: Label::new(item.s(LABEL)?).ok()?,
                day: OrgDay::from_compact(item.s(DAY)?)?,
                shard: item.i64(SHARD)?.try_into().ok()?,
                cost: MicroUsd(micros(COST)?),
                computed: micros(COMPUTED).map(MicroUsd),
                hash,
            })
        };
        read().ok_or_else(|| {
            Error::damaged("the record of a submission", "an attribute is missing or invalid")
        })
    }
}

fn is_free(now_ms: i64) -> Condition {
    attr("PK").absent().or(attr(TTL).le(now_ms.div_euclid(1000)))
}
