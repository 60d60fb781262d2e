//! The parts of a SARIF document that become findings, as serde reads them. All other parts are skipped while reading.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::loose::{Bounded, First, Loose};
use crate::bounds::{SARIF_EXTENSIONS_MAX, SARIF_LIST_MAX, SARIF_RULES_MAX};

/// A map of texts.
type TextMap<T> = Bounded<BTreeMap<String, T>, SARIF_LIST_MAX>;
/// A list of which a tool writes few elements.
type ShortList<T> = Bounded<Vec<T>, SARIF_LIST_MAX>;

/// A result of a run.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifResult {
    pub(super) rule_id: Option<String>,
    pub(super) rule_index: Option<i64>,
    pub(super) rule: Option<RuleReference>,
    pub(super) level: Option<Level>,
    pub(super) kind: Option<Kind>,
    pub(super) baseline_state: Option<BaselineState>,
    pub(super) message: Option<Message>,
    pub(super) locations: First<Location>,
    pub(super) guid: Option<String>,
    pub(super) fingerprints: TextMap<String>,
    pub(super) partial_fingerprints: TextMap<String>,
    pub(super) suppressions: ShortList<Suppression>,
    pub(super) fixes: First<Fix>,
    pub(super) rank: Option<f64>,
    pub(super) properties: Option<Box<Properties>>,
}

/// The properties that have a meaning here, of a result or a rule. The first three are those of code scanning.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Properties {
    #[serde(rename = "security-severity")]
    pub(super) security_severity: Loose,
    pub(super) tags: Loose,
    pub(super) category: Loose,
    pub(super) severity: Loose,
    pub(super) title: Loose,
    pub(super) suggestion: Loose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    None,
    Note,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    NotApplicable,
    Pass,
    Fail,
    Review,
    Open,
    Informational,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum BaselineState {
    New,
    Unchanged,
    Updated,
    Absent,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) text: Option<String>,
    pub(super) markdown: Option<String>,
    pub(super) id: Option<String>,
    pub(super) arguments: ShortList<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Location {
    pub(super) physical_location: Option<PhysicalLocation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: Option<ArtifactLocation>,
    pub(super) region: Option<Region>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArtifactLocation {
    pub(super) uri: Option<String>,
    pub(super) uri_base_id: Option<String>,
    pub(super) index: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Region {
    pub(super) start_line: Option<u64>,
    pub(super) end_line: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Suppression {
    pub(super) status: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fix {
    pub(super) description: Option<Message>,
}

/// Where a result says which rule it breaks, if `ruleId` and `ruleIndex` do not.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleReference {
    pub(super) id: Option<String>,
    pub(super) index: Option<i64>,
    pub(super) tool_component: Option<ComponentReference>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ComponentReference {
    pub(super) index: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tool {
    pub(super) driver: Component,
    pub(super) extensions: Bounded<Vec<Component>, SARIF_EXTENSIONS_MAX>,
}

/// A tool or an extension of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) rules: Bounded<Vec<Rule>, SARIF_RULES_MAX>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) short_description: Option<Text>,
    pub(super) message_strings: TextMap<Text>,
    pub(super) default_configuration: Option<Configuration>,
    pub(super) properties: Option<Box<Properties>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    pub(super) level: Option<Level>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Artifact {
    pub(super) location: Option<ArtifactLocation>,
}
