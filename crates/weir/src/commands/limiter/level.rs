//! The level of a limit in flags: `--system`, `--resource R`, `--entity E [--resource R]`.

use std::fmt;

use clap::Args;
use serde::Serialize;
use weir_api::limiter::ALL_RESOURCES;

use crate::commands::api_context::ApiContext;

#[derive(Debug, Args)]
pub(super) struct LevelFlags {
    /// Work on the limits of the system, for every entity and resource
    #[arg(long, required_unless_present_any = ["entity", "resource"], conflicts_with_all = ["entity", "resource"])]
    system: bool,
    /// Entity whose limits to work on, for example user-1; with --resource on that resource, otherwise on all
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// Resource whose limits to work on, for example gpt-4
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
}

/// A level of the configuration, ordered from the widest to the narrowest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    System,
    Resource(String),
    /// An entity on a resource, or on [`ALL_RESOURCES`].
    Entity(String, String),
}

impl LevelFlags {
    pub(super) fn level(self) -> Level {
        match (self.entity, self.resource) {
            (Some(entity), resource) => {
                Level::Entity(entity, resource.unwrap_or_else(|| ALL_RESOURCES.to_owned()))
            }
            (None, Some(resource)) => Level::Resource(resource),
            (None, None) => Level::System,
        }
    }
}

impl Level {
    pub(super) fn path(&self, context: &ApiContext<'_>) -> String {
        match self {
            Level::System => context.path(&["limits", "system"]),
            Level::Resource(resource) => context.path(&["limits", "resources", resource]),
            Level::Entity(entity, resource) => {
                context.path(&["limits", "entities", entity, resource])
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::System => f.write_str("system"),
            Level::Resource(resource) => write!(f, "resource {resource}"),
            Level::Entity(entity, resource) if resource == ALL_RESOURCES => {
                write!(f, "entity {entity}")
            }
            Level::Entity(entity, resource) => write!(f, "entity {entity} on {resource}"),
        }
    }
}

impl Serialize for Level {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
