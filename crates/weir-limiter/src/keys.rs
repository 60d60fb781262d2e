//! Every key of the limiter's table. Their text is the file format, so each builder has a test with the literal text.

use weir_table::{Item, Key};

use crate::aggregate::PropagationScope;
use crate::config::Level;
use crate::error::Result;
use crate::ids::{EntityId, NamespaceId, NamespaceName, Resource};

/// The namespace of the registry and the version record.
pub const REGISTRY: &str = "_";
/// Stands for all resources in the key of an entity's limits.
pub const DEFAULT_RESOURCE: &str = "_default_";
/// The audit subject of the system's config.
pub const AUDIT_SYSTEM: &str = "$SYSTEM";

/// The actor of changes that the limiter makes itself.
pub(crate) const ACTOR_WEIR: &str = "weir";

const STATE: &str = "#STATE";
/// Sort key of entities.
pub(crate) const META: &str = "#META";
const CONFIG: &str = "#CONFIG";
const OPERATION_SORT: &str = "#OPERATION";
/// Prefix of audit sort keys.
pub const AUDIT_SK: &str = "#AUDIT#";
/// Prefix of the sort keys of namespaces by name.
pub const NAMESPACE_SK: &str = "#NAMESPACE#";
/// Prefix of the sort keys of namespaces by id.
pub const NSID_SK: &str = "#NSID#";
/// Prefix of bucket sort keys in GSI2 and GSI3, and of their partition key after the namespace.
pub const BUCKET_PREFIX: &str = "BUCKET#";
/// Prefix of usage sort keys in GSI2.
pub const GSI2_USAGE: &str = "USAGE#";
/// Prefix of the partition keys of propagation tasks, after the namespace.
const PROPAGATION_PREFIX: &str = "ERRAND#";
/// Prefix of a lease's partition key, after the namespace.
const LEASE_PREFIX: &str = "LEASE#";
/// Partitions of the index of leases that roll back on expiry.
pub const LEASE_PARTITIONS: u8 = 16;

/// An item with its key and nothing else.
pub(crate) fn item(key: Key) -> Item {
    let item = Item::new().with("PK", key.partition.to_value());
    match key.sort {
        Some(sort) => item.with("SK", sort.to_value()),
        None => item,
    }
}

/// A shard of a bucket.
#[must_use]
pub fn bucket(ns: &NamespaceId, entity: &EntityId, resource: &Resource, shard: u32) -> Key {
    // Built for every take, so without the cost of `format!`, in one allocation.
    let (entity, resource) = (entity.as_str(), resource.as_str());
    let mut pk = String::with_capacity(entity.len() + resource.len() + 24);
    for part in [ns.as_str(), "/", BUCKET_PREFIX, entity, "#", resource, "#"] {
        pk.push_str(part);
    }
    match shard {
        0 => pk.push('0'),
        shard => pk.push_str(&shard.to_string()),
    }
    Key::new(pk, STATE)
}

/// A bucket's partition key after the namespace; also its `GSI4SK`.
#[must_use]
pub fn bucket_tail(entity: &EntityId, resource: &Resource, shard: u32) -> String {
    format!("{BUCKET_PREFIX}{entity}#{resource}#{shard}")
}

/// Parses a bucket's partition key.
#[must_use]
pub fn parse_bucket(pk: &str) -> Option<(NamespaceId, EntityId, Resource, u32)> {
    let (ns, tail) = pk.split_once('/')?;
    let (rest, shard) = tail.strip_prefix(BUCKET_PREFIX)?.rsplit_once('#')?;
    let (entity, resource) = rest.split_once('#')?;
    Some((
        NamespaceId::stored(ns),
        EntityId::stored(entity),
        Resource::stored(resource),
        shard.parse().ok()?,
    ))
}

/// Whether a partition key is a bucket's: like [`parse_bucket`], without building the parts.
#[must_use]
pub fn is_bucket(pk: &str) -> bool {
    let parts = || {
        let (_, tail) = pk.split_once('/')?;
        let (rest, shard) = tail.strip_prefix(BUCKET_PREFIX)?.rsplit_once('#')?;
        (rest.contains('#') && shard.parse::<u32>().is_ok()).then_some(())
    };
    parts().is_some()
}

/// Whether a sort key is a bucket's.
#[must_use]
pub fn is_bucket_sort(sk: &str) -> bool {
    sk == STATE
}

/// An entity.
#[must_use]
pub fn entity(ns: &NamespaceId, entity: &EntityId) -> Key {
    Key::new(entity_partition(ns, entity), META)
}

/// The partition of an entity: its record, its config and its usage.
#[must_use]
pub fn entity_partition(ns: &NamespaceId, entity: &EntityId) -> String {
    format!("{}{entity}", entities_prefix(ns))
}

/// Prefix of the partitions of all entities.
#[must_use]
pub fn entities_prefix(ns: &NamespaceId) -> String {
    format!("{ns}/ENTITY#")
}

/// Prefix of the sort keys of an entity's limits; the resource follows.
#[must_use]
pub fn entity_config_prefix() -> String {
    format!("{CONFIG}#")
}

/// The limits of an entity on a resource, or on all resources.
#[must_use]
pub fn entity_config(ns: &NamespaceId, entity: &EntityId, resource: Option<&Resource>) -> Key {
    let resource = resource.map_or(DEFAULT_RESOURCE, Resource::as_str);
    Key::new(entity_partition(ns, entity), format!("{CONFIG}#{resource}"))
}

/// The limits of a resource.
#[must_use]
pub fn resource_config(ns: &NamespaceId, resource: &Resource) -> Key {
    Key::new(resource_partition(ns, resource), CONFIG)
}

/// The partition of a resource; also `GSI2PK` of its buckets and usage.
#[must_use]
pub fn resource_partition(ns: &NamespaceId, resource: &Resource) -> String {
    format!("{ns}/RESOURCE#{resource}")
}

/// The limits of the system.
#[must_use]
pub fn system_config(ns: &NamespaceId) -> Key {
    Key::new(format!("{ns}/SYSTEM#"), CONFIG)
}

/// The registry of resources that have limits.
#[must_use]
pub fn resources(ns: &NamespaceId) -> Key {
    Key::new(format!("{ns}/SYSTEM#"), "#RESOURCES")
}

/// The registry of resources on which entities have limits of their own, with the number of those entities.
#[must_use]
pub fn entity_config_resources(ns: &NamespaceId) -> Key {
    Key::new(format!("{ns}/SYSTEM#"), "#ENTITY_CONFIG_RESOURCES")
}

/// The usage of a resource by an entity in a window.
#[must_use]
pub fn usage(ns: &NamespaceId, entity: &EntityId, resource: &Resource, window_key: &str) -> Key {
    Key::new(entity_partition(ns, entity), usage_sort(resource, window_key))
}

/// The sort key of usage.
#[must_use]
pub fn usage_sort(resource: &Resource, window_key: &str) -> String {
    format!("{}{window_key}", usage_prefix(Some(resource)))
}

/// The range of sort keys that holds the usage of all resources after this one. No id contains `~`, and every character
/// that an id may contain sorts after `#`.
#[must_use]
pub fn usage_after(resource: Option<&Resource>) -> (String, String) {
    let low = resource.map_or_else(|| usage_prefix(None), |resource| usage_sort(resource, "~"));
    (low, format!("{}~", usage_prefix(None)))
}

/// Parses the resource from a sort key of usage.
#[must_use]
pub fn parse_usage(sk: &str) -> Option<Resource> {
    let (resource, _) = sk.strip_prefix("#USAGE#")?.rsplit_once('#')?;
    Some(Resource::stored(resource))
}

/// Prefix of the sort keys of usage.
#[must_use]
pub fn usage_prefix(resource: Option<&Resource>) -> String {
    resource.map_or_else(|| "#USAGE#".to_owned(), |resource| format!("#USAGE#{resource}#"))
}

/// `GSI2SK` of usage.
#[must_use]
pub fn gsi2_usage(window_key: &str, entity: &EntityId) -> String {
    format!("{GSI2_USAGE}{window_key}#{entity}")
}

/// Where the usage of a window begins in GSI2.
#[must_use]
pub fn gsi2_usage_from(window_key: &str) -> String {
    format!("{GSI2_USAGE}{window_key}#")
}

/// Where the usage of a window ends in GSI2.
#[must_use]
pub fn gsi2_usage_to(window_key: &str) -> String {
    format!("{GSI2_USAGE}{window_key}#~")
}

/// Parses the window and the entity from a `GSI2SK` of usage.
#[must_use]
pub fn parse_gsi2_usage(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(GSI2_USAGE)?.split_once('#')
}

/// `GSI1PK` of an entity's children.
#[must_use]
pub fn gsi1_parent(ns: &NamespaceId, parent: &EntityId) -> String {
    format!("{ns}/PARENT#{parent}")
}

/// `GSI1SK` of a child.
#[must_use]
pub fn gsi1_child(entity: &EntityId) -> String {
    format!("CHILD#{entity}")
}

/// `GSI2SK` of a bucket.
#[must_use]
pub fn gsi2_bucket(entity: &EntityId, shard: u32) -> String {
    format!("{BUCKET_PREFIX}{entity}#{shard}")
}

/// `GSI3SK` of a bucket; its `GSI3PK` is the entity's partition.
#[must_use]
pub fn gsi3_bucket(resource: &Resource, shard: u32) -> String {
    format!("{BUCKET_PREFIX}{resource}#{shard}")
}

/// `GSI3PK` of entities with limits of their own; the `GSI3SK` is the entity.
#[must_use]
pub fn gsi3_entity_config(ns: &NamespaceId, resource: Option<&Resource>) -> String {
    let resource = resource.map_or(DEFAULT_RESOURCE, Resource::as_str);
    format!("{ns}/ENTITY_CONFIG#{resource}")
}

/// The partition of an audit trail: of an entity, `$SYSTEM` or `$RESOURCE:{name}`.
#[must_use]
pub fn audit_partition(ns: &str, subject: &str) -> String {
    format!("{ns}/AUDIT#{subject}")
}

/// The audit subject of a resource's config.
#[must_use]
pub fn audit_resource(resource: &Resource) -> String {
    format!("$RESOURCE:{resource}")
}

/// An audit event.
#[must_use]
pub fn audit(ns: &str, subject: &str, event_id: &str) -> Key {
    Key::new(audit_partition(ns, subject), audit_sort(event_id))
}

/// The partition in `GSI1` of all audit events of a namespace; they sort by their id, and so by time.
#[must_use]
pub fn gsi1_audit(ns: &str) -> String {
    format!("{ns}/AUDIT")
}

/// Parses the key of a config level, if it is one.
///
/// # Errors
/// The name of the entity or the resource is invalid.
#[must_use]
pub fn parse_level(pk: &str, sk: &str) -> Option<Result<Level>> {
    let (_, tail) = pk.split_once('/')?;
    let on = sk.strip_prefix(CONFIG)?;
    if on.is_empty() {
        return match tail.strip_prefix("RESOURCE#") {
            Some(resource) => Some(Resource::new(resource).map(Level::Resource)),
            None => (tail == "SYSTEM#").then_some(Ok(Level::System)),
        };
    }
    let (entity, on) = (tail.strip_prefix("ENTITY#")?, on.strip_prefix('#')?);
    let resource = (on != DEFAULT_RESOURCE).then(|| Resource::new(on)).transpose();
    Some(EntityId::new(entity).and_then(|entity| Ok(Level::Entity(entity, resource?))))
}

/// Whether a key is that of an audit event (true) or of usage (false).
#[must_use]
pub fn parse_history(pk: &str, sk: &str) -> Option<bool> {
    let (_, tail) = pk.split_once('/')?;
    if tail.starts_with("AUDIT#") && sk.starts_with(AUDIT_SK) {
        return Some(true);
    }
    (tail.starts_with("ENTITY#") && sk.starts_with("#USAGE#")).then_some(false)
}

/// Whether a sort key is that of the state which zae-limiter's provisioner keeps.
#[must_use]
pub fn is_zae_provisioner(sk: &str) -> bool {
    sk == "#PROVISIONER"
}

/// The sort key of an audit event.
#[must_use]
pub fn audit_sort(event_id: &str) -> String {
    format!("{AUDIT_SK}{event_id}")
}

/// A lease that was settled, or that rolls back on expiry.
#[must_use]
pub fn lease(ns: &NamespaceId, id: &str) -> Key {
    Key::new(format!("{ns}/{LEASE_PREFIX}{id}"), "#LEASE")
}

/// Parses a lease's partition key.
#[must_use]
pub fn parse_lease(pk: &str) -> Option<(NamespaceId, &str)> {
    let (ns, tail) = pk.split_once('/')?;
    Some((NamespaceId::stored(ns), tail.strip_prefix(LEASE_PREFIX)?))
}

/// The index partition of a lease that rolls back on expiry.
#[must_use]
pub fn lease_partition(id: &str) -> u8 {
    id.bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % LEASE_PARTITIONS
}

/// The record of an operator's call, by the digest of its idempotency key.
#[must_use]
pub fn idempotency_record(ns: &NamespaceId, digest: &str) -> Key {
    Key::new(format!("{ns}/OPERATION#{digest}"), OPERATION_SORT)
}

/// Whether a sort key is that of an idempotency record.
#[must_use]
pub fn is_idempotency_sort(sort: &str) -> bool {
    sort == OPERATION_SORT
}

/// `GSI2PK` of leases that roll back on expiry. They are spread over several partitions, because every one of them is
/// written there.
#[must_use]
pub fn gsi2_expiring_leases(partition: u8) -> String {
    format!("{REGISTRY}/LEASES#{partition}")
}

/// `GSI2SK` of a lease that rolls back on expiry, sorted by expiry.
#[must_use]
pub fn gsi2_expiring_lease(expires_ms: i64, id: &str) -> String {
    format!("{expires_ms:015}#{id}")
}

/// A task to propagate a changed setting to live buckets.
#[must_use]
pub(crate) fn propagation_task(ns: &NamespaceId, scope: &PropagationScope) -> Key {
    Key::new(format!("{ns}/{PROPAGATION_PREFIX}{}", propagation_scope_text(scope)), "#ERRAND")
}

fn propagation_scope_text(scope: &PropagationScope) -> String {
    match scope {
        PropagationScope::Namespace => "SYSTEM".to_owned(),
        PropagationScope::Resource(resource) => format!("RESOURCE#{resource}"),
        PropagationScope::Entity(entity) => format!("ENTITY#{entity}"),
    }
}

/// Parses the partition key of a propagation task.
#[must_use]
pub(crate) fn parse_propagation_task(pk: &str) -> Option<(NamespaceId, PropagationScope)> {
    let (ns, tail) = pk.split_once('/')?;
    let scope = match tail.strip_prefix(PROPAGATION_PREFIX)?.split_once('#') {
        None => PropagationScope::Namespace,
        Some(("RESOURCE", resource)) => PropagationScope::Resource(Resource::stored(resource)),
        Some(("ENTITY", entity)) => PropagationScope::Entity(EntityId::stored(entity)),
        Some(_) => return None,
    };
    Some((NamespaceId::stored(ns), scope))
}

/// `GSI2PK` of propagation tasks.
#[must_use]
pub(crate) fn gsi2_propagation_tasks() -> String {
    format!("{REGISTRY}/ERRANDS")
}

/// `GSI2SK` of a propagation task, sorted by due time.
#[must_use]
pub(crate) fn gsi2_propagation_task(
    due_ms: i64,
    ns: &NamespaceId,
    scope: &PropagationScope,
) -> String {
    format!("{due_ms:015}#{ns}#{}", propagation_scope_text(scope))
}

/// Where the propagation tasks that are due by now end.
#[must_use]
pub(crate) fn gsi2_propagation_due(now_ms: i64) -> String {
    format!("{now_ms:015}#~")
}

/// A setting that is copied to buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Limits.
    Limits,
    /// A parent, and whether it pays too.
    Cascade,
}

/// The setting that an item stores, and the buckets it applies to.
#[must_use]
pub(crate) fn parse_setting(
    pk: &str,
    sk: &str,
) -> Option<(NamespaceId, PropagationScope, Setting)> {
    let (ns, tail) = pk.split_once('/').filter(|(ns, _)| *ns != REGISTRY)?;
    let (scope, setting) = match (tail.split_once('#')?, sk) {
        (("SYSTEM", ""), CONFIG) => (PropagationScope::Namespace, Setting::Limits),
        (("RESOURCE", resource), CONFIG) => {
            (PropagationScope::Resource(Resource::stored(resource)), Setting::Limits)
        }
        (("ENTITY", entity), META) => {
            (PropagationScope::Entity(EntityId::stored(entity)), Setting::Cascade)
        }
        (("ENTITY", entity), sk) if sk.strip_prefix(CONFIG)?.starts_with('#') => {
            (PropagationScope::Entity(EntityId::stored(entity)), Setting::Limits)
        }
        _ => return None,
    };
    Some((NamespaceId::stored(ns), scope, setting))
}

/// `GSI2PK` of namespaces that are being purged; the `GSI2SK` is the id.
#[must_use]
pub fn gsi2_purging() -> String {
    format!("{REGISTRY}/PURGING")
}

/// `GSI2PK` of the entities of a namespace; the `GSI2SK` is the entity. zae-limiter does not read it.
#[must_use]
pub fn gsi2_entities(ns: &NamespaceId) -> String {
    format!("{ns}/ENTITIES")
}

/// The partition of the registry.
#[must_use]
pub fn registry_partition() -> String {
    format!("{REGISTRY}/SYSTEM#")
}

/// The version record.
#[must_use]
pub fn version() -> Key {
    Key::new(registry_partition(), "#VERSION")
}

/// A namespace by name.
#[must_use]
pub fn namespace(name: &NamespaceName) -> Key {
    Key::new(registry_partition(), format!("{NAMESPACE_SK}{name}"))
}

/// A namespace by id.
#[must_use]
pub fn namespace_id(id: &NamespaceId) -> Key {
    Key::new(registry_partition(), format!("{NSID_SK}{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns() -> NamespaceId {
        NamespaceId::new("abcdefghijk").unwrap()
    }

    fn user() -> EntityId {
        EntityId::new("user-1").unwrap()
    }

    fn gpt() -> Resource {
        Resource::new("openai/gpt-4:x").unwrap()
    }

    #[test]
    fn the_text_of_keys_is_stable() {
        let (ns, user, gpt) = (&ns(), &user(), &gpt());
        let name = NamespaceName::new("default").unwrap();
        for (key, text) in [
            (bucket(ns, user, gpt, 3), "abcdefghijk/BUCKET#user-1#openai/gpt-4:x#3 | #STATE"),
            (entity(ns, user), "abcdefghijk/ENTITY#user-1 | #META"),
            (
                entity_config(ns, user, Some(gpt)),
                "abcdefghijk/ENTITY#user-1 | #CONFIG#openai/gpt-4:x",
            ),
            (entity_config(ns, user, None), "abcdefghijk/ENTITY#user-1 | #CONFIG#_default_"),
            (resource_config(ns, gpt), "abcdefghijk/RESOURCE#openai/gpt-4:x | #CONFIG"),
            (system_config(ns), "abcdefghijk/SYSTEM# | #CONFIG"),
            (resources(ns), "abcdefghijk/SYSTEM# | #RESOURCES"),
            (entity_config_resources(ns), "abcdefghijk/SYSTEM# | #ENTITY_CONFIG_RESOURCES"),
            (
                usage(ns, user, gpt, "2026-01"),
                "abcdefghijk/ENTITY#user-1 | #USAGE#openai/gpt-4:x#2026-01",
            ),
            (audit(ns.as_str(), "user-1", "01ABC"), "abcdefghijk/AUDIT#user-1 | #AUDIT#01ABC"),
            (lease(ns, "L1"), "abcdefghijk/LEASE#L1 | #LEASE"),
            (idempotency_record(ns, "D1"), "abcdefghijk/OPERATION#D1 | #OPERATION"),
            (version(), "_/SYSTEM# | #VERSION"),
            (namespace(&name), "_/SYSTEM# | #NAMESPACE#default"),
            (namespace_id(ns), "_/SYSTEM# | #NSID#abcdefghijk"),
        ] {
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn the_text_of_index_keys_is_stable() {
        let (ns, user, gpt) = (&ns(), &user(), &gpt());
        for (key, text) in [
            (gsi1_parent(ns, user), "abcdefghijk/PARENT#user-1"),
            (gsi1_child(user), "CHILD#user-1"),
            (resource_partition(ns, gpt), "abcdefghijk/RESOURCE#openai/gpt-4:x"),
            (gsi2_bucket(user, 0), "BUCKET#user-1#0"),
            (gsi2_usage("2026-01-23", user), "USAGE#2026-01-23#user-1"),
            (gsi2_expiring_leases(7), "_/LEASES#7"),
            (gsi2_purging(), "_/PURGING"),
            (gsi2_entities(ns), "abcdefghijk/ENTITIES"),
            (audit_sort("01ABC"), "#AUDIT#01ABC"),
            (entities_prefix(ns), "abcdefghijk/ENTITY#"),
            (entity_config_prefix(), "#CONFIG#"),
            (gsi2_expiring_lease(1_768_478_400_000, "L1"), "001768478400000#L1"),
            (entity_partition(ns, user), "abcdefghijk/ENTITY#user-1"),
            (gsi3_bucket(gpt, 2), "BUCKET#openai/gpt-4:x#2"),
            (gsi3_entity_config(ns, Some(gpt)), "abcdefghijk/ENTITY_CONFIG#openai/gpt-4:x"),
            (gsi3_entity_config(ns, None), "abcdefghijk/ENTITY_CONFIG#_default_"),
            (bucket_tail(user, gpt, 0), "BUCKET#user-1#openai/gpt-4:x#0"),
            (audit_resource(gpt), "$RESOURCE:openai/gpt-4:x"),
        ] {
            assert_eq!(key, text);
        }
    }

    #[test]
    fn propagation_task_keys_are_parsed() {
        let (ns, user, gpt) = (ns(), user(), gpt());
        for (scope, text) in [
            (PropagationScope::Namespace, "abcdefghijk/ERRAND#SYSTEM | #ERRAND"),
            (
                PropagationScope::Resource(gpt),
                "abcdefghijk/ERRAND#RESOURCE#openai/gpt-4:x | #ERRAND",
            ),
            (PropagationScope::Entity(user.clone()), "abcdefghijk/ERRAND#ENTITY#user-1 | #ERRAND"),
        ] {
            assert_eq!(propagation_task(&ns, &scope).to_string(), text);
            let pk = text.split(" | ").next().unwrap();
            assert_eq!(parse_propagation_task(pk), Some((ns.clone(), scope)));
        }
        assert_eq!(gsi2_propagation_tasks(), "_/ERRANDS");
        let sk = gsi2_propagation_task(1_768_478_400_000, &ns, &PropagationScope::Entity(user));
        assert_eq!(sk, "001768478400000#abcdefghijk#ENTITY#user-1");
        assert!(sk < gsi2_propagation_due(1_768_478_400_000));
        assert!(sk > gsi2_propagation_due(1_768_478_399_999));
    }

    #[test]
    fn usage_keys_are_parsed() {
        let (user, gpt) = (user(), gpt());
        assert_eq!(parse_usage(&usage_sort(&gpt, "2026-01")), Some(gpt.clone()));
        assert_eq!(parse_usage("#META"), None);
        let after = ("#USAGE#openai/gpt-4:x#~".to_owned(), "#USAGE#~".to_owned());
        assert_eq!(usage_after(Some(&gpt)), after);
        assert_eq!(usage_after(None).0, "#USAGE#");
        let text = gsi2_usage("2026-01-23T14:00:00Z", &user);
        assert_eq!(parse_gsi2_usage(&text), Some(("2026-01-23T14:00:00Z", "user-1")));
        assert!(gsi2_usage_from("2026-01-23") < gsi2_usage("2026-01-23", &user));
        assert!(gsi2_usage("2026-01-23", &user) < gsi2_usage_to("2026-01-23"));
        assert!(gsi2_usage_to("2026-01-23") < gsi2_usage("2026-01-23T00:00:00Z", &user));
    }

    #[test]
    fn a_bucket_key_is_parsed() {
        let (ns, user, gpt) = (ns(), user(), gpt());
        let text = format!("{ns}/{}", bucket_tail(&user, &gpt, 31));
        assert_eq!(parse_bucket(&text), Some((ns, user, gpt, 31)));
        for other in ["abcdefghijk/ENTITY#user-1", "x", "a/BUCKET#x", "a/BUCKET#x#y#z"] {
            assert_eq!(parse_bucket(other), None, "{other}");
        }
    }

    #[test]
    fn the_key_of_a_level_is_parsed() {
        let level = |pk: &str, sk: &str| parse_level(pk, sk).map(|level| level.ok());
        let (user, gpt) = (user(), gpt());
        assert_eq!(level("ns/SYSTEM#", "#CONFIG"), Some(Some(Level::System)));
        let resource = Some(Some(Level::Resource(gpt.clone())));
        assert_eq!(level(&format!("ns/RESOURCE#{gpt}"), "#CONFIG"), resource);
        let all = Some(Some(Level::Entity(user.clone(), None)));
        assert_eq!(level("ns/ENTITY#user-1", "#CONFIG#_default_"), all);
        let one = Some(Some(Level::Entity(user, Some(gpt.clone()))));
        assert_eq!(level("ns/ENTITY#user-1", &format!("#CONFIG#{gpt}")), one);
        assert_eq!(level("ns/ENTITY#a b", "#CONFIG#x"), Some(None), "an invalid id");
        assert_eq!(level("ns/ENTITY#user-1", "#META"), None);
        assert_eq!(level("ns/SYSTEM#", "#RESOURCES"), None);
    }

    #[test]
    fn the_key_of_history_is_parsed() {
        assert_eq!(gsi1_audit("abcdefghijk"), "abcdefghijk/AUDIT");
        assert_eq!(parse_history("ns/AUDIT#user-1", "#AUDIT#01ABC"), Some(true));
        assert_eq!(parse_history("ns/ENTITY#user-1", "#USAGE#r#2026-01"), Some(false));
        assert_eq!(parse_history("ns/ENTITY#user-1", "#META"), None);
        assert!(is_zae_provisioner("#PROVISIONER") && !is_zae_provisioner("#CONFIG"));
    }

    #[test]
    fn a_lease_key_is_parsed() {
        assert_eq!(parse_lease("abcdefghijk/LEASE#L1"), Some((ns(), "L1")));
        assert_eq!(parse_lease("abcdefghijk/BUCKET#x#y#0"), None);
        assert_eq!(parse_lease("L1"), None);
    }

    #[test]
    fn the_partition_of_a_lease_is_stable() {
        for (id, partition) in [("", 0), ("L1", 5), ("0123456789abcdefghijkl", 11)] {
            assert_eq!(lease_partition(id), partition, "{id}");
        }
    }
}
