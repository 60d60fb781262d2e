//! Values and items as DynamoDB JSON: `{"S": "text"}`, `{"N": "1.5"}`, `{"M": {…}}`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::item::{Attrs, Item};
use crate::number::Number;
use crate::value::{Name, Value};

/// The DynamoDB JSON of a value.
#[must_use]
pub fn value_to_json(value: &Value) -> Json {
    let (kind, json) = match value {
        Value::S(text) => ("S", Json::from(text.as_str())),
        Value::N(number) => ("N", Json::from(number.to_string())),
        Value::B(bytes) => ("B", Json::from(STANDARD.encode(bytes))),
        Value::Bool(value) => ("BOOL", Json::from(*value)),
        Value::Null => ("NULL", Json::from(true)),
        Value::L(values) => ("L", values.iter().map(value_to_json).collect()),
        Value::M(map) => ("M", attrs_to_json(map)),
        Value::Ss(set) => ("SS", set.iter().map(|text| Json::from(text.as_str())).collect()),
        Value::Ns(set) => ("NS", set.iter().map(|number| Json::from(number.to_string())).collect()),
        Value::Bs(set) => {
            ("BS", set.iter().map(|bytes| Json::from(STANDARD.encode(bytes))).collect())
        }
    };
    Json::Object(Map::from_iter([(kind.to_owned(), json)]))
}

fn attrs_to_json(attrs: &Attrs) -> Json {
    attrs.iter().map(|(name, value)| (name.to_string(), value_to_json(value))).collect()
}

/// The DynamoDB JSON of an item.
#[must_use]
pub fn item_to_json(item: &Item) -> Json {
    attrs_to_json(item.attrs())
}

/// Reads an item from DynamoDB JSON.
///
/// # Errors
/// A sentence that names the attribute and the problem.
pub fn item_from_json(json: &Json) -> Result<Item, String> {
    attrs_from_json(json, "").map(Item::from)
}

/// Reads a value from DynamoDB JSON. `at` is its path, for messages.
///
/// # Errors
/// A sentence that names the path and the problem.
pub fn value_from_json(json: &Json, at: &str) -> Result<Value, String> {
    let wrong = |what: &str| Err(format!("{at}: {what}"));
    let Some(object) = json.as_object() else {
        return wrong("expected an object with one type, like {\"S\": \"text\"}");
    };
    let mut entries = object.iter();
    let (Some((kind, inner)), None) = (entries.next(), entries.next()) else {
        return wrong("expected exactly one type, like {\"S\": \"text\"}");
    };
    Ok(match kind.as_str() {
        "S" => Value::S(text(inner, at)?.to_owned()),
        "N" => Value::N(number(inner, at)?),
        "B" => Value::B(bytes(inner, at)?),
        "BOOL" => {
            Value::Bool(inner.as_bool().ok_or_else(|| format!("{at}: BOOL must be true or false"))?)
        }
        "NULL" if inner == &Json::Bool(true) => Value::Null,
        "NULL" => return wrong("expected {\"NULL\": true}"),
        "L" => Value::L(
            array(inner, at)?
                .iter()
                .enumerate()
                .map(|(position, json)| value_from_json(json, &format!("{at}[{position}]")))
                .collect::<Result<_, _>>()?,
        ),
        "M" => Value::M(attrs_from_json(inner, at)?),
        "SS" => Value::Ss(set(inner, at, |json, at| text(json, at).map(str::to_owned))?),
        "NS" => Value::Ns(set(inner, at, number)?),
        "BS" => Value::Bs(set(inner, at, bytes)?),
        other => {
            return wrong(&format!("unknown type {other:?}; one of S N B BOOL NULL L M SS NS BS"));
        }
    })
}

fn attrs_from_json(json: &Json, at: &str) -> Result<Attrs, String> {
    let object =
        json.as_object().ok_or_else(|| format!("{at}: expected an object of attributes"))?;
    let dot = if at.is_empty() { "" } else { "." };
    object
        .iter()
        .map(|(name, json)| {
            Ok((Name::from(name.as_str()), value_from_json(json, &format!("{at}{dot}{name}"))?))
        })
        .collect()
}

fn text<'a>(json: &'a Json, at: &str) -> Result<&'a str, String> {
    json.as_str().ok_or_else(|| format!("{at}: expected a string"))
}

fn number(json: &Json, at: &str) -> Result<Number, String> {
    let text = json
        .as_str()
        .ok_or_else(|| format!("{at}: expected a number as a string, like \"1.5\""))?;
    text.parse().map_err(|problem| format!("{at}: {text:?} {problem}"))
}

fn bytes(json: &Json, at: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text(json, at)?).map_err(|problem| format!("{at}: not base64: {problem}"))
}

fn array<'a>(json: &'a Json, at: &str) -> Result<&'a Vec<Json>, String> {
    json.as_array().ok_or_else(|| format!("{at}: expected a list"))
}

fn set<T: Ord>(
    json: &Json,
    at: &str,
    read: impl Fn(&Json, &str) -> Result<T, String>,
) -> Result<BTreeSet<T>, String> {
    let elements = array(json, at)?;
    let set: BTreeSet<T> = elements.iter().map(|json| read(json, at)).collect::<Result<_, _>>()?;
    if set.len() == elements.len() {
        Ok(set)
    } else {
        Err(format!("{at}: a set must not have duplicate elements"))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        value_to_json(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        value_from_json(&Json::deserialize(deserializer)?, "value").map_err(D::Error::custom)
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        item_to_json(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Item, D::Error> {
        item_from_json(&Json::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips() {
        let item = Item::new()
            .with("s", "text")
            .with("n", "1.50".parse::<Number>().unwrap())
            .with("b", vec![0u8, 255])
            .with("bool", true)
            .with("null", Value::Null)
            .with("l", Value::list([1, 2]))
            .with("m", Value::map([("inner", Value::strings(["a", "b"]))]))
            .with("ns", Value::numbers([1, 2]))
            .with("bs", Value::Bs([vec![1u8]].into()));
        assert_eq!(item_from_json(&item_to_json(&item)), Ok(item));
    }

    #[test]
    fn errors_name_the_path() {
        let problem =
            |json: &str| item_from_json(&serde_json::from_str(json).unwrap()).unwrap_err();
        assert_eq!(
            problem(r#"{"a": {"M": {"b": {"N": "x"}}}}"#),
            "a.b: \"x\" is not a decimal number"
        );
        assert_eq!(
            problem(r#"{"a": {"SS": ["x", "x"]}}"#),
            "a: a set must not have duplicate elements"
        );
        assert!(problem(r#"{"a": "x"}"#).starts_with("a: expected an object with one type"));
        assert!(problem(r#"{"a": {"L": [{"Q": 1}]}}"#).starts_with("a[0]: unknown type \"Q\""));
    }
}
