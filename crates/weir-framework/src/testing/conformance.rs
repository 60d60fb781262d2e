//! Compares a response with the server's own description.
//!
//! Every response schema is closed: an undescribed member is an error, unless the schema has `additionalProperties`.
//! Requests are not checked here; schemathesis tests them.

use serde_json::{Map, Value};

/// The description of a running server.
#[derive(Debug, Default)]
pub(super) struct Description(Value);

/// The parts of a response that are compared.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: u16,
    /// Without parameters.
    pub(super) content_type: &'a str,
    pub(super) body: &'a [u8],
}

impl Description {
    pub(super) fn new(served: Value) -> Description {
        Description(served)
    }

    /// The differences between a response and the description.
    pub(super) fn faults(&self, answer: &Answer<'_>) -> Vec<String> {
        let path = answer.path.split('?').next().unwrap_or_default();
        let Some(operation) = self.operation(answer.method, path) else {
            // An undescribed path must return 404, except for pages for people.
            let is_fine = answer.status >= 300 || path == "/openapi.json";
            let is_json = answer.content_type == "application/json";
            return if is_fine || !is_json { vec![] } else { vec!["the path".to_owned()] };
        };
        self.faults_of(operation, answer)
    }

    fn faults_of(&self, operation: &Value, answer: &Answer<'_>) -> Vec<String> {
        let responses = &operation["responses"];
        let status = answer.status.to_string();
        let Some(response) = responses.get(&status).or_else(|| responses.get("default")) else {
            return vec![format!("the status {status}")];
        };
        let content = self.resolved(response).get("content").and_then(Value::as_object);
        let Some(content) = content.filter(|content| !content.is_empty()) else {
            return if answer.body.is_empty() { vec![] } else { vec!["the body".to_owned()] };
        };
        let Some(described) = content.get(answer.content_type) else {
            return vec![format!("the content type {:?}", answer.content_type)];
        };
        if !answer.content_type.ends_with("json") {
            return vec![];
        }
        let Ok(body) = serde_json::from_slice(answer.body) else {
            return vec!["the body is no JSON".to_owned()];
        };
        let mut faults = Vec::new();
        self.check(&described["schema"], &body, "", &mut faults);
        faults
    }

    /// The operation of a path. One without parameters comes before one with some.
    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let paths = self.0.get("paths")?.as_object()?;
        let mut fitting: Vec<_> =
            paths.iter().filter(|(template, _)| fits(template, path)).collect();
        fitting.sort_by_key(|(template, _)| template.matches('{').count());
        let (_, item) = fitting.first()?;
        item.get(method.to_lowercase())
    }

    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let pointer = value.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        match pointer.and_then(|pointer| self.0.pointer(pointer)) {
            Some(to) => self.resolved(to),
            None => value,
        }
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let schema = self.resolved(schema);
        for choice in ["oneOf", "anyOf"] {
            if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
                return self.check_choices(choices, value, at, faults);
            }
        }
        if !is_of_type(schema, value) {
            faults.push(format!("{at} is no {}", schema["type"]));
        }
        let allowed = schema.get("enum").and_then(Value::as_array);
        if allowed.is_some_and(|allowed| !allowed.contains(value)) {
            faults.push(format!("{at} is none of {}", schema["enum"]));
        }
        if let (Some(items), Some(elements)) = (schema.get("items"), value.as_array()) {
            for (place, element) in elements.iter().enumerate() {
                self.check(items, element, &format!("{at}/{place}"), faults);
            }
        }
        if let Some(members) = value.as_object() {
            let mut object = Object::default();
            self.collect(schema, &mut object);
            self.check_object(&object, members, at, faults);
        }
    }

    /// One choice must match. Otherwise returns the differences of the choice whose type matches, if there is one.
    fn check_choices(&self, choices: &[Value], value: &Value, at: &str, faults: &mut Vec<String>) {
        let found = choices.iter().map(|choice| {
            let mut faults = Vec::new();
            self.check(choice, value, at, &mut faults);
            (!is_of_type(self.resolved(choice), value), faults)
        });
        let best = found.min_by_key(|(is_of_other_type, faults)| {
            (!faults.is_empty(), *is_of_other_type, faults.len())
        });
        faults.extend(best.map(|(_, faults)| faults).unwrap_or_default());
    }

    fn check_object(
        &self,
        object: &Object<'_>,
        members: &Map<String, Value>,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        for name in &object.required {
            if !members.contains_key(*name) {
                faults.push(format!("{at}/{name} is missing"));
            }
        }
        for (name, member) in members {
            let at = format!("{at}/{name}");
            let described = object.properties.iter().find(|(property, _)| property == name);
            match (described, object.others) {
                (Some((_, schema)), _) => self.check(schema, member, &at, faults),
                (None, Some(schema)) => self.check(schema, member, &at, faults),
                (None, None) if object.properties.is_empty() => {}
                (None, None) => faults.push(format!("{at} is not described")),
            }
        }
    }

    /// Collects the members that a schema and its parts describe.
    fn collect<'v>(&'v self, schema: &'v Value, object: &mut Object<'v>) {
        let schema = self.resolved(schema);
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            object.properties.extend(properties.iter().map(|(name, value)| (name.as_str(), value)));
        }
        if let Some(required) = schema.get("required").and_then(Value::as_array) {
            object.required.extend(required.iter().filter_map(Value::as_str));
        }
        let others = schema.get("additionalProperties").filter(|others| **others != false);
        object.others = object.others.or(others);
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.collect(part, object);
        }
    }
}

/// The described members of an object.
#[derive(Default)]
struct Object<'v> {
    properties: Vec<(&'v str, &'v Value)>,
    required: Vec<&'v str>,
    others: Option<&'v Value>,
}

fn fits(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == found || wanted.starts_with('{') => {}
            _ => return false,
        }
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => false,
    };
    match schema.get("type") {
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(schema: Value, body: Value) -> Vec<String> {
        let description = Description::new(json!({
            "paths": {"/things/{id}": {"get": {"responses": {"200":
                {"content": {"application/json": {"schema": schema}}}}}}},
            "components": {"schemas": {"Name": {"type": "string"}}},
        }));
        description.faults(&Answer {
            method: "GET",
            path: "/things/7?x=1",
            status: 200,
            content_type: "application/json",
            body: body.to_string().as_bytes(),
        })
    }

    fn thing() -> Value {
        json!({"type": "object", "required": ["name"], "properties": {
            "name": {"$ref": "#/components/schemas/Name"},
            "size": {"type": ["integer", "null"]},
        }})
    }

    #[test]
    fn an_undescribed_member_is_found() {
        assert_eq!(faults(thing(), json!({"name": "a", "size": null})), [""; 0]);
        assert_eq!(faults(thing(), json!({"name": "a", "extra": 1})), ["/extra is not described"]);
        let list = json!({"type": "array", "items": thing()});
        assert_eq!(
            faults(list, json!([{"name": "a"}, {"name": "b", "x": 1}])),
            ["/1/x is not described"]
        );
    }

    #[test]
    fn missing_and_mistyped_members_are_found() {
        assert_eq!(faults(thing(), json!({})), ["/name is missing"]);
        assert_eq!(faults(thing(), json!({"name": 1})), ["/name is no \"string\""]);
    }

    #[test]
    fn parts_and_choices_are_put_together() {
        let both = json!({"allOf": [thing(), {"properties": {"age": {"type": "integer"}}}]});
        assert_eq!(faults(both, json!({"name": "a", "age": 3})), [""; 0]);
        let either = json!({"oneOf": [{"type": "null"}, thing()]});
        assert_eq!(faults(either.clone(), json!(null)), [""; 0]);
        assert_eq!(faults(either, json!({"name": "a", "x": 1})), ["/x is not described"]);
    }

    #[test]
    fn a_status_and_a_content_type_must_be_described() {
        let description = Description::new(json!({"paths": {"/x": {"get": {"responses": {
            "204": {}, "200": {"content": {"application/json": {}}}}}}}}));
        let ask = |status, content_type, body| {
            description.faults(&Answer { method: "GET", path: "/x", status, content_type, body })
        };
        assert_eq!(ask(204, "", b"".as_slice()), [""; 0]);
        assert_eq!(ask(204, "", b"x"), ["the body"]);
        assert_eq!(ask(500, "", b""), ["the status 500"]);
        assert_eq!(ask(200, "text/plain", b"x"), ["the content type \"text/plain\""]);
    }
}
