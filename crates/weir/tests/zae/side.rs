//! What both limiters can be asked, so that every story is told in all directions.

use std::collections::BTreeMap;

use serde_json::Value;

/// One user of the table: Weir or the original, in the namespace `default`.
pub(crate) trait Side {
    fn create_entity(&mut self, id: &str, parent: Option<&str>);
    /// Its parent, and whether it cascades; none when there is no such entity.
    fn entity(&mut self, id: &str) -> Option<(Option<String>, bool)>;
    fn children(&mut self, id: &str) -> Vec<String>;
    fn delete_entity(&mut self, id: &str);

    fn set_limits(&mut self, level: Level<'_>, limits: &[Value]);
    fn delete_limits(&mut self, level: Level<'_>);
    /// The capacities in force and the level they come from.
    fn resolve(&mut self, entity: &str, resource: &str) -> (BTreeMap<String, u64>, String);
    /// Resources that have defaults of their own.
    fn resources(&mut self) -> Vec<String>;
    /// Resources on which entities have limits of their own.
    fn custom_resources(&mut self) -> Vec<String>;
    /// Entities that have limits of their own on a resource.
    fn custom_entities(&mut self, resource: &str) -> Vec<String>;

    /// Takes these amounts; the lease, or none when that was refused.
    fn hold(&mut self, take: &Take<'_>) -> Option<String>;
    /// Changes a lease by so much, and ends it.
    fn settle(&mut self, lease: &str, adjust: &[(&str, i64)]);
    fn rollback(&mut self, lease: &str);
    /// Tokens left in an entity's own bucket.
    fn left(&mut self, entity: &str, resource: &str, limit: &str) -> i64;
    /// Tokens left of a limit in all buckets of a resource.
    fn capacity(&mut self, resource: &str, limit: &str) -> i64;

    /// What happened to an entity, oldest first.
    fn audit(&mut self, entity: &str) -> Vec<String>;

    /// Takes for good; whether it got them.
    fn takes(&mut self, entity: &str, resource: &str, consume: &[(&str, u64)]) -> bool {
        let lease = self.hold(&Take { entity, resource, consume });
        if let Some(lease) = &lease {
            self.settle(lease, &[]);
        }
        lease.is_some()
    }
}

/// Weir or the original, whichever it is in a direction of a story.
pub(crate) type Someone = dyn Side;

/// What is asked of which bucket.
pub(crate) struct Take<'a> {
    pub(crate) entity: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) consume: &'a [(&'a str, u64)],
}

/// Where limits are set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level<'a> {
    System,
    Resource(&'a str),
    EntityDefault(&'a str),
    Entity(&'a str, &'a str),
}

/// The strings of a list, or those that its objects have in a member.
pub(crate) fn texts(list: &Value, member: Option<&str>) -> Vec<String> {
    let value = |element: &Value| text(member.map_or(element, |member| &element[member]));
    list.as_array().unwrap().iter().map(value).collect()
}

/// A string, empty when there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
