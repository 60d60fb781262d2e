//! Every key of the limiter's table. The text is the file format, so each builder has a test with the literal
//! text.

use weir_table::{Item, Key};

use crate::aggregate::Whose;
use crate::ids::{EntityId, NamespaceId, NamespaceName, Resource};

/// The namespace of the registry and the version record.
pub const REGISTRY: &str = "_";
/// Where an entity's limits for all resources stand.
pub const DEFAULT_RESOURCE: &str = "_default_";
/// The audit id of the system's config.
pub const AUDIT_SYSTEM: &str = "$SYSTEM";

/// Who did what the limiter did by itself.
pub(crate) const PRINCIPAL_WEIR: &str = "weir";

const STATE: &str = "#STATE";
/// Sort key of entities.
pub(crate) const META: &str = "#META";
const CONFIG: &str = "#CONFIG";
/// Prefix of audit sort keys.
pub const AUDIT_SK: &str = "#AUDIT#";
/// Prefix of namespace records' sort keys.
pub const NAMESPACE_SK: &str = "#NAMESPACE#";
/// Prefix of namespace id records' sort keys.
pub const NSID_SK: &str = "#NSID#";
/// Prefix of bucket sort keys in GSI2 and GSI3, and of their partition key after the namespace.
pub const BUCKET_PREFIX: &str = "BUCKET#";
/// Prefix of usage sort keys in GSI2.
pub const GSI2_USAGE: &str = "USAGE#";
/// Prefix of errands' partition keys after the namespace.
const ERRAND_PREFIX: &str = "ERRAND#";
/// Prefix of a lease's partition key after the namespace.
const LEASE_PREFIX: &str = "LEASE#";
/// Partitions of the index of held leases.
pub const LEASE_PARTITIONS: u8 = 16;

/// An item that has its key and nothing else yet.
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
    // Made with every take, so without the machinery of `format` and in one piece.
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

/// The parts of a bucket's partition key, if it is one.
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

/// Whether a partition key is a bucket's: what [`parse_bucket`] finds out, without making its parts.
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

/// How the partitions of all entities begin.
#[must_use]
pub fn entities_prefix(ns: &NamespaceId) -> String {
    format!("{ns}/ENTITY#")
}

/// How sort keys of an entity's limits begin; what follows is the resource.
#[must_use]
pub fn entity_config_prefix() -> String {
    format!("{CONFIG}#")
}

/// The limits of an entity on a resource, or on all of them.
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

/// The registry of resources for which entities have limits of their own, with how many do.
#[must_use]
pub fn entity_config_resources(ns: &NamespaceId) -> Key {
    Key::new(format!("{ns}/SYSTEM#"), "#ENTITY_CONFIG_RESOURCES")
}

/// Usage of a resource by an entity in a window.
#[must_use]
pub fn usage(ns: &NamespaceId, entity: &EntityId, resource: &Resource, window_key: &str) -> Key {
    Key::new(entity_partition(ns, entity), usage_sort(resource, window_key))
}

/// The sort key of usage.
#[must_use]
pub fn usage_sort(resource: &Resource, window_key: &str) -> String {
    format!("{}{window_key}", usage_prefix(Some(resource)))
}

/// Between which sort keys the usage of the resources after this one stands. No id has a `~`, and all that may be in one
/// stands behind `#`.
#[must_use]
pub fn usage_after(resource: Option<&Resource>) -> (String, String) {
    let low = resource.map_or_else(|| usage_prefix(None), |resource| usage_sort(resource, "~"));
    (low, format!("{}~", usage_prefix(None)))
}

/// The resource in a sort key of usage.
#[must_use]
pub fn parse_usage(sk: &str) -> Option<Resource> {
    let (resource, _) = sk.strip_prefix("#USAGE#")?.rsplit_once('#')?;
    Some(Resource::stored(resource))
}

/// How sort keys of usage begin.
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

/// The window and the entity in a `GSI2SK` of usage.
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

/// The audit id of a resource's config.
#[must_use]
pub fn audit_resource(resource: &Resource) -> String {
    format!("$RESOURCE:{resource}")
}

/// An audit event.
#[must_use]
pub fn audit(ns: &str, subject: &str, event_id: &str) -> Key {
    Key::new(audit_partition(ns, subject), audit_sort(event_id))
}

/// The sort key of an audit event.
#[must_use]
pub fn audit_sort(event_id: &str) -> String {
    format!("{AUDIT_SK}{event_id}")
}

/// A lease that was settled, or that is rolled back when it expires.
#[must_use]
pub fn lease(ns: &NamespaceId, id: &str) -> Key {
    Key::new(format!("{ns}/{LEASE_PREFIX}{id}"), "#LEASE")
}

/// The parts of a lease's partition key, if it is one.
#[must_use]
pub fn parse_lease(pk: &str) -> Option<(NamespaceId, &str)> {
    let (ns, tail) = pk.split_once('/')?;
    Some((NamespaceId::stored(ns), tail.strip_prefix(LEASE_PREFIX)?))
}

/// Which partition of the index of held leases a lease is in.
#[must_use]
pub fn lease_partition(id: &str) -> u8 {
    id.bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte)) % LEASE_PARTITIONS
}

/// An operator's call that was done, by the digest of its key.
#[must_use]
pub fn operation(ns: &NamespaceId, digest: &str) -> Key {
    Key::new(format!("{ns}/OPERATION#{digest}"), "#OPERATION")
}

/// `GSI2PK` of leases that are rolled back when they expire. Spread over a few partitions, because all of them are
/// written to.
#[must_use]
pub fn gsi2_held_leases(partition: u8) -> String {
    format!("{REGISTRY}/LEASES#{partition}")
}

/// `GSI2SK` of such a lease: they are found by when they expire.
#[must_use]
pub fn gsi2_held_lease(expires_ms: i64, id: &str) -> String {
    format!("{expires_ms:015}#{id}")
}

/// A note that live buckets are to be brought to what holds.
#[must_use]
pub(crate) fn errand(ns: &NamespaceId, whose: &Whose) -> Key {
    Key::new(format!("{ns}/{ERRAND_PREFIX}{}", errand_tail(whose)), "#ERRAND")
}

fn errand_tail(whose: &Whose) -> String {
    match whose {
        Whose::All => "SYSTEM".to_owned(),
        Whose::Resource(resource) => format!("RESOURCE#{resource}"),
        Whose::Entity(entity) => format!("ENTITY#{entity}"),
    }
}

/// The parts of such a note's partition key, if it is one.
#[must_use]
pub(crate) fn parse_errand(pk: &str) -> Option<(NamespaceId, Whose)> {
    let (ns, tail) = pk.split_once('/')?;
    let whose = match tail.strip_prefix(ERRAND_PREFIX)?.split_once('#') {
        None => Whose::All,
        Some(("RESOURCE", resource)) => Whose::Resource(Resource::stored(resource)),
        Some(("ENTITY", entity)) => Whose::Entity(EntityId::stored(entity)),
        Some(_) => return None,
    };
    Some((NamespaceId::stored(ns), whose))
}

/// `GSI2PK` of such notes.
#[must_use]
pub(crate) fn gsi2_errands() -> String {
    format!("{REGISTRY}/ERRANDS")
}

/// `GSI2SK` of such a note: they are found by when they are due.
#[must_use]
pub(crate) fn gsi2_errand(due_ms: i64, ns: &NamespaceId, whose: &Whose) -> String {
    format!("{due_ms:015}#{ns}#{}", errand_tail(whose))
}

/// Where the notes that are due by now end.
#[must_use]
pub(crate) fn gsi2_errand_before(now_ms: i64) -> String {
    format!("{now_ms:015}#~")
}

/// What an item sets for buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Limits.
    Config,
    /// A parent, and whether it pays too.
    Family,
}

/// Whose buckets an item sets something for, and what, if it does.
#[must_use]
pub(crate) fn parse_setting(pk: &str, sk: &str) -> Option<(NamespaceId, Whose, Setting)> {
    let (ns, tail) = pk.split_once('/').filter(|(ns, _)| *ns != REGISTRY)?;
    let (whose, setting) = match (tail.split_once('#')?, sk) {
        (("SYSTEM", ""), CONFIG) => (Whose::All, Setting::Config),
        (("RESOURCE", resource), CONFIG) => {
            (Whose::Resource(Resource::stored(resource)), Setting::Config)
        }
        (("ENTITY", entity), META) => (Whose::Entity(EntityId::stored(entity)), Setting::Family),
        (("ENTITY", entity), sk) if sk.strip_prefix(CONFIG)?.starts_with('#') => {
            (Whose::Entity(EntityId::stored(entity)), Setting::Config)
        }
        _ => return None,
    };
    Some((NamespaceId::stored(ns), whose, setting))
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

/// The version of the schema.
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
    fn the_text_of_keys_stays() {
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
            (operation(ns, "D1"), "abcdefghijk/OPERATION#D1 | #OPERATION"),
            (version(), "_/SYSTEM# | #VERSION"),
            (namespace(&name), "_/SYSTEM# | #NAMESPACE#default"),
            (namespace_id(ns), "_/SYSTEM# | #NSID#abcdefghijk"),
        ] {
            assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn the_text_of_index_keys_stays() {
        let (ns, user, gpt) = (&ns(), &user(), &gpt());
        for (key, text) in [
            (gsi1_parent(ns, user), "abcdefghijk/PARENT#user-1"),
            (gsi1_child(user), "CHILD#user-1"),
            (resource_partition(ns, gpt), "abcdefghijk/RESOURCE#openai/gpt-4:x"),
            (gsi2_bucket(user, 0), "BUCKET#user-1#0"),
            (gsi2_usage("2026-01-23", user), "USAGE#2026-01-23#user-1"),
            (gsi2_held_leases(7), "_/LEASES#7"),
            (gsi2_purging(), "_/PURGING"),
            (gsi2_entities(ns), "abcdefghijk/ENTITIES"),
            (audit_sort("01ABC"), "#AUDIT#01ABC"),
            (entities_prefix(ns), "abcdefghijk/ENTITY#"),
            (entity_config_prefix(), "#CONFIG#"),
            (gsi2_held_lease(1_768_478_400_000, "L1"), "001768478400000#L1"),
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
    fn errand_keys_are_taken_apart_again() {
        let (ns, user, gpt) = (ns(), user(), gpt());
        for (whose, text) in [
            (Whose::All, "abcdefghijk/ERRAND#SYSTEM | #ERRAND"),
            (Whose::Resource(gpt), "abcdefghijk/ERRAND#RESOURCE#openai/gpt-4:x | #ERRAND"),
            (Whose::Entity(user.clone()), "abcdefghijk/ERRAND#ENTITY#user-1 | #ERRAND"),
        ] {
            assert_eq!(errand(&ns, &whose).to_string(), text);
            let pk = text.split(" | ").next().unwrap();
            assert_eq!(parse_errand(pk), Some((ns.clone(), whose)));
        }
        assert_eq!(gsi2_errands(), "_/ERRANDS");
        let sk = gsi2_errand(1_768_478_400_000, &ns, &Whose::Entity(user));
        assert_eq!(sk, "001768478400000#abcdefghijk#ENTITY#user-1");
        assert!(sk < gsi2_errand_before(1_768_478_400_000));
        assert!(sk > gsi2_errand_before(1_768_478_399_999));
    }

    #[test]
    fn usage_keys_are_taken_apart_again() {
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
    fn a_bucket_key_is_taken_apart_again() {
        let (ns, user, gpt) = (ns(), user(), gpt());
        let text = format!("{ns}/{}", bucket_tail(&user, &gpt, 31));
        assert_eq!(parse_bucket(&text), Some((ns, user, gpt, 31)));
        for other in ["abcdefghijk/ENTITY#user-1", "x", "a/BUCKET#x", "a/BUCKET#x#y#z"] {
            assert_eq!(parse_bucket(other), None, "{other}");
        }
    }

    #[test]
    fn a_lease_key_is_taken_apart_again() {
        assert_eq!(parse_lease("abcdefghijk/LEASE#L1"), Some((ns(), "L1")));
        assert_eq!(parse_lease("abcdefghijk/BUCKET#x#y#0"), None);
        assert_eq!(parse_lease("L1"), None);
    }

    #[test]
    fn the_partition_of_a_lease_stays() {
        for (id, partition) in [("", 0), ("L1", 5), ("0123456789abcdefghijkl", 11)] {
            assert_eq!(lease_partition(id), partition, "{id}");
        }
    }
}
