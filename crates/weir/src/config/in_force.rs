//! The values in effect and their origins, with secrets as dots.

use weir_api::console::{ConfigEntry, ConfigLayer};

use super::{Loaded, Origin, keys};

/// Every key with its value and the layer that sets it.
///
/// # Errors
/// A value cannot be serialized.
pub(crate) fn in_force(loaded: &Loaded) -> serde_json::Result<Vec<ConfigEntry>> {
    let values = serde_json::to_value(&loaded.config)?;
    let entry = |key: &super::Key| {
        let section = values.get(key.section);
        let value = section.and_then(|section| section.get(key.name));
        let path = key.path();
        let origin = loaded.origin(&path);
        ConfigEntry {
            value: value.cloned().unwrap_or_default(),
            layer: match origin {
                Origin::Default => ConfigLayer::Default,
                Origin::File(_) => ConfigLayer::File,
                Origin::Variable(_) => ConfigLayer::Environment,
                Origin::Flag(_) => ConfigLayer::Flag,
            },
            name: Some(origin.to_string()).filter(|_| *origin != Origin::Default),
            key: path,
        }
    };
    Ok(keys().iter().map(entry).collect())
}
