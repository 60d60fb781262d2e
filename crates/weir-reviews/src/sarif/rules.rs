//! The rules of a tool, found by index or id.

use std::collections::HashMap;

use super::document::{Rule, SarifResult, Tool};

/// The rules of a tool and its extensions.
pub(super) struct Rules {
    /// The name of the tool.
    pub(super) tool: String,
    /// The rules of the tool, and then of each extension.
    components: Vec<Vec<Rule>>,
    /// Component and index of the first rule with each id. A file may have many results and many rules.
    by_id: HashMap<String, (usize, usize)>,
}

impl Rules {
    pub(super) fn new(tool: Tool) -> Rules {
        let extensions = tool.extensions.0.into_iter().map(|extension| extension.rules.0);
        let components: Vec<Vec<Rule>> =
            std::iter::once(tool.driver.rules.0).chain(extensions).collect();
        let mut by_id = HashMap::new();
        for (component, rules) in components.iter().enumerate() {
            for (index, rule) in rules.iter().enumerate() {
                by_id.entry(rule.id.clone()).or_insert((component, index));
            }
        }
        Rules { tool: tool.driver.name, components, by_id }
    }

    /// The rule that a result breaks, if the tool describes it.
    pub(super) fn of(&self, result: &SarifResult) -> Option<&Rule> {
        let reference = result.rule.as_ref();
        let extension = reference.and_then(|rule| rule.tool_component.as_ref()?.index);
        let component = extension.and_then(|index| usize::try_from(index).ok()?.checked_add(1));
        let index = result.rule_index.or_else(|| reference?.index);
        let index = index.and_then(|index| usize::try_from(index).ok());
        if let Some(rule) = index.and_then(|index| self.at(component.unwrap_or(0), index)) {
            return Some(rule);
        }
        let id = result.rule_id.as_deref().or_else(|| reference?.id.as_deref())?;
        // `CA1000/1` is a part of the rule `CA1000`.
        let parent = id.rsplit_once('/').map_or(id, |(parent, _)| parent);
        let (component, index) = self.by_id.get(id).or_else(|| self.by_id.get(parent))?;
        self.at(*component, *index)
    }

    fn at(&self, component: usize, index: usize) -> Option<&Rule> {
        self.components.get(component)?.get(index)
    }
}
