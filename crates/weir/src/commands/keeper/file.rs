//! A configuration in a file: the body of the API request, as YAML or JSON, with the ids of the org and the app.
//!
//! ```yaml
//! org_id: 550e8400-e29b-41d4-a716-446655440000
//! org_name: Acme
//! timezone: America/New_York
//! quota_scope: APP
//! model_ordering: [premium, standard, economy]
//! quotas: {premium: $10, standard: $5, economy: 1000000}
//! ```

use serde_json::{Map, Value};

use super::amount;
use crate::failure::Failure;
use crate::parse;

/// The content of a file.
#[derive(Debug, PartialEq)]
pub(super) struct ConfigFile {
    pub(super) org_id: Option<String>,
    pub(super) app_id: Option<String>,
    /// The body of the API request.
    pub(super) body: Value,
}

/// Reads a file; `-` is standard input.
pub(super) fn read(name: &str) -> Result<ConfigFile, Failure> {
    parsed(name, &parse::read(name)?)
}

fn parsed(name: &str, text: &str) -> Result<ConfigFile, Failure> {
    let wrong = |problem: &str| Failure::usage(format!("{name}: {problem}"));
    let value: Value =
        parse::yaml(text).map_err(|error| wrong("is neither YAML nor JSON").because(error))?;
    let Value::Object(mut fields) = value else {
        return Err(wrong("is not a configuration with names and values, like `org_name: Acme`"));
    };
    let org_id = id(&mut fields, "org_id").map_err(|problem| wrong(&problem))?;
    let app_id = id(&mut fields, "app_id").map_err(|problem| wrong(&problem))?;
    if let Some(Value::Object(quotas)) = fields.get_mut("quotas") {
        dollars(quotas).map_err(|problem| wrong(&problem))?;
    }
    Ok(ConfigFile { org_id, app_id, body: Value::Object(fields) })
}

fn id(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(id)),
        Some(other) => Err(format!("{name} is {other}, not text")),
    }
}

/// Converts quotas in dollars to micro-USD.
fn dollars(quotas: &mut Map<String, Value>) -> Result<(), String> {
    for (label, quota) in quotas {
        if let Value::String(text) = quota {
            let micros =
                amount::micros(text).map_err(|problem| format!("quotas.{label}: {problem}"))?;
            *quota = micros.into();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_has_a_body_and_ids() {
        let text = "org_id: o\napp_id: a\napp_name: A\nquotas: {premium: $10.5, economy: 7}\n";
        let file = parsed("a.yaml", text).unwrap();
        assert_eq!((file.org_id.as_deref(), file.app_id.as_deref()), (Some("o"), Some("a")));
        let body = json!({"app_name": "A", "quotas": {"premium": 10_500_000, "economy": 7}});
        assert_eq!(file.body, body);
    }

    #[test]
    fn errors_name_the_file() {
        for (text, expected) in [
            ("{", "a.yaml: is neither YAML nor JSON"),
            ("[1]", "a.yaml: is not a configuration"),
            ("org_id: [1]", "a.yaml: org_id is [1], not text"),
            ("quotas: {premium: ten}", "a.yaml: quotas.premium: \"ten\" is neither dollars"),
        ] {
            let problem = parsed("a.yaml", text).unwrap_err().text();
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
