//! Conversions between the wire and the domain, one per type.

mod request;
mod response;

pub(super) use request::{
    acquire, amounts, entity_id, level_config, new_entity, parent, planned_level, query_amounts,
    resource, resource_or_all, system_config, usage_window,
};
pub(super) use response::{
    audit_event, bucket_response, effective_limits, entity_response, lease_response, limit_status,
    limits_response, namespace_response, planned_change, usage_snapshot, usage_summary,
    whole_tokens,
};
