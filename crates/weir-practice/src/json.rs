//! JSON of clients in items: metadata, summaries of results.
//!
//! It is stored as values of the store, so that other programs can read its fields.

use serde_json::{Map, Value as Json};
use weir_table::{Name, Number, Value};

use crate::bounds::JSON_DEPTH_MAX;
use crate::error::{Error, Result};

/// Checks that JSON is an object of at most `bytes_max` bytes, and converts it.
///
/// # Errors
/// It is no object, too large or too deep, or has a number that a store does not have.
pub fn object_value(field: &str, json: &Json, bytes_max: usize) -> Result<Value> {
    if !json.is_object() {
        return Err(Error::invalid(field, "is not an object"));
    }
    check_size(field, json, bytes_max)?;
    value(field, json, JSON_DEPTH_MAX)
}

/// Checks that JSON is a list of at most `bytes_max` bytes, and converts it.
///
/// # Errors
/// It is no list, too large or too deep, or has a number that a store does not have.
pub fn list_value(field: &str, json: &Json, bytes_max: usize) -> Result<Value> {
    if !json.is_array() {
        return Err(Error::invalid(field, "is not a list"));
    }
    check_size(field, json, bytes_max)?;
    value(field, json, JSON_DEPTH_MAX)
}

/// Checks that any JSON has at most `bytes_max` bytes, and converts it.
///
/// # Errors
/// It is too large or too deep, or has a number that a store does not have.
pub fn any_value(field: &str, json: &Json, bytes_max: usize) -> Result<Value> {
    check_size(field, json, bytes_max)?;
    value(field, json, JSON_DEPTH_MAX)
}

fn check_size(field: &str, json: &Json, bytes_max: usize) -> Result<()> {
    let bytes = json.to_string().len();
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::too_large(field, format!("has {bytes} bytes; at most {bytes_max} are allowed")))
}

fn value(field: &str, json: &Json, depth: usize) -> Result<Value> {
    let depth = depth.checked_sub(1).ok_or_else(|| {
        Error::invalid(field, format!("is nested in more than {JSON_DEPTH_MAX} levels"))
    })?;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => (*flag).into(),
        Json::Number(number) => Value::N(number.to_string().parse::<Number>().map_err(|_| {
            Error::invalid(field, format!("has the number {number}, which cannot be stored"))
        })?),
        Json::String(text) => text.as_str().into(),
        Json::Array(all) => {
            Value::L(all.iter().map(|one| value(field, one, depth)).collect::<Result<_>>()?)
        }
        Json::Object(map) => Value::M(
            map.iter()
                .map(|(name, one)| Ok((Name::from(name.as_str()), value(field, one, depth)?)))
                .collect::<Result<_>>()?,
        ),
    })
}

/// The JSON of a stored value. Bytes, which no JSON of a client becomes, are null.
#[must_use]
pub fn from_value(value: &Value) -> Json {
    match value {
        Value::S(text) => Json::from(text.as_str()),
        Value::N(number) => from_number(*number),
        Value::Bool(flag) => Json::from(*flag),
        Value::L(all) => all.iter().map(from_value).collect(),
        Value::M(map) => Json::Object(
            map.iter()
                .map(|(name, one)| (name.to_string(), from_value(one)))
                .collect::<Map<_, _>>(),
        ),
        Value::Ss(all) => all.iter().map(|text| Json::from(text.as_str())).collect(),
        Value::Ns(all) => all.iter().map(|number| from_number(*number)).collect(),
        Value::B(_) | Value::Bs(_) | Value::Null => Json::Null,
    }
}

fn from_number(number: Number) -> Json {
    if let Some(whole) = number.to_i64() {
        return Json::from(whole);
    }
    // Not through the parser of JSON, which rounds the last digit of some numbers.
    let text = number.to_string();
    let whole = text.parse::<u64>().map(Json::from);
    whole.unwrap_or_else(|_| text.parse::<f64>().map_or(Json::String(text), Json::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_back() {
        let json = serde_json::json!({
            "difficulty": "gold", "time_ms": 1.25, "n": -3, "ok": true, "none": null,
            "list": [1, "a", {"b": []}], "large": 9_007_199_254_740_993_i64,
        });
        let stored = object_value("metadata", &json, 1_000).unwrap();
        assert_eq!(from_value(&stored), json);
        assert_eq!(from_value(&list_value("l", &json["list"], 100).unwrap()), json["list"]);
        for any in [&json, &json["list"], &json["n"]] {
            assert_eq!(from_value(&any_value("result", any, 1_000).unwrap()), *any);
        }
    }

    #[test]
    fn json_that_cannot_be_stored_is_refused() {
        let deep = (0..20).fold(Json::Null, |inner, _| serde_json::json!({"a": inner}));
        for bad in [Json::Null, serde_json::json!([1]), serde_json::json!({"a": 1e200}), deep] {
            let error = object_value("metadata", &bad, 1_000).unwrap_err();
            assert!(error.to_string().starts_with("metadata: "), "{error}");
        }
        let large = serde_json::json!({"a": "x".repeat(100)});
        assert!(matches!(object_value("metadata", &large, 100), Err(Error::TooLarge { .. })));
        assert!(list_value("test_results", &large, 1_000).is_err());
    }
}
