//! Converts between JSON and the attribute values of an item.

use serde_json::Value as Json;
use weir_table::{Number, Value};

/// A JSON value as an attribute. A number that DynamoDB cannot store becomes text.
pub(super) fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            let text = number.to_string();
            text.parse::<Number>().map_or(Value::S(text), Value::N)
        }
        Json::String(text) => Value::S(text.clone()),
        Json::Array(values) => Value::L(values.iter().map(from_json).collect()),
        Json::Object(fields) => {
            Value::map(fields.iter().map(|(name, value)| (name.as_str(), from_json(value))))
        }
    }
}

/// An attribute as JSON. Fractional numbers and bytes become text.
pub(super) fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::from(*value),
        Value::S(text) => Json::from(text.as_str()),
        Value::N(number) => number_to_json(*number),
        Value::L(values) => values.iter().map(to_json).collect(),
        Value::M(fields) => {
            fields.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect()
        }
        Value::Ss(texts) => texts.iter().map(String::as_str).collect(),
        Value::Ns(numbers) => numbers.iter().copied().map(number_to_json).collect(),
        Value::B(_) | Value::Bs(_) => Json::from("(bytes)"),
    }
}

fn number_to_json(number: Number) -> Json {
    number.to_i64().map_or_else(|| Json::from(number.to_string()), Json::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_back_as_written() {
        let value = json!({
            "name": "Ann", "parent_id": null, "cascade": true, "version": 7,
            "limits": [{ "name": "rpm", "capacity": 1_000_000_000_000_u64 }], "metadata": {},
        });
        assert_eq!(to_json(&from_json(&value)), value);
        assert_eq!(to_json(&from_json(&json!(1.5))), json!("1.5"));
    }
}
