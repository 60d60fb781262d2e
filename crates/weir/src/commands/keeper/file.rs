//! A configuration in a file: what the API takes as a body, as YAML or JSON, with whose it is beside it.
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

/// What a file says.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) org_id: Option<String>,
    pub(super) app_id: Option<String>,
    /// What the API is sent.
    pub(super) body: Value,
}

/// Reads a file; `-` is standard input.
pub(super) fn read(name: &str) -> Result<Wanted, Failure> {
    wanted(name, &parse::read(name)?)
}

fn wanted(name: &str, text: &str) -> Result<Wanted, Failure> {
    let wrong = |problem: &str| Failure::usage(format!("{name}: {problem}"));
    let value: Value = serde_saphyr::from_str(text)
        .map_err(|error| wrong("is neither YAML nor JSON").because(error))?;
    let Value::Object(mut fields) = value else {
        return Err(wrong(
            "is not a configuration; it has names and values, like `org_name: Acme`",
        ));
    };
    let org_id = id(&mut fields, "org_id").map_err(|problem| wrong(&problem))?;
    let app_id = id(&mut fields, "app_id").map_err(|problem| wrong(&problem))?;
    if let Some(Value::Object(quotas)) = fields.get_mut("quotas") {
        dollars(quotas).map_err(|problem| wrong(&problem))?;
    }
    Ok(Wanted { org_id, app_id, body: Value::Object(fields) })
}

fn id(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(id)),
        Some(other) => Err(format!("{name} is {other}, not text")),
    }
}

/// Quotas may be written in dollars.
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
    fn a_file_is_a_body_and_whose_it_is() {
        let text = "org_id: o\napp_id: a\napp_name: A\nquotas: {premium: $10.5, economy: 7}\n";
        let wanted = wanted("a.yaml", text).unwrap();
        assert_eq!((wanted.org_id.as_deref(), wanted.app_id.as_deref()), (Some("o"), Some("a")));
        let body = json!({"app_name": "A", "quotas": {"premium": 10_500_000, "economy": 7}});
        assert_eq!(wanted.body, body);
    }

    #[test]
    fn mistakes_are_told_with_the_file() {
        for (text, told) in [
            ("{", "a.yaml: is neither YAML nor JSON"),
            ("[1]", "a.yaml: is not a configuration"),
            ("org_id: [1]", "a.yaml: org_id is [1], not text"),
            ("quotas: {premium: ten}", "a.yaml: quotas.premium: \"ten\" is neither dollars"),
        ] {
            let problem = wanted("a.yaml", text).unwrap_err().text();
            assert!(problem.starts_with(told), "{problem}");
        }
    }
}
