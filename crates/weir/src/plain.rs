//! Items as ordinary JSON: `{"PK": "ORG#1", "total": 12.50}`.
//!
//! Numbers preserve all digits, because they are read and written as text and never become floats. In output a set becomes a
//! list and bytes become base64, so ordinary JSON does not preserve kinds; DynamoDB JSON does.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use weir_table::item::Attrs;
use weir_table::{Item, Name, Number, Value, limits};

/// Reads an item from ordinary JSON.
///
/// # Errors
/// A sentence that names the attribute and its problem.
pub(crate) fn item(json: &str) -> Result<Item, String> {
    let raw: &RawValue = serde_json::from_str(json).map_err(|problem| problem.to_string())?;
    match value(raw, "", 0)? {
        Value::M(attributes) => Ok(Item::from(attributes)),
        _ => Err("an item is an object, like {\"PK\": \"ORG#1\"}".to_owned()),
    }
}

fn value(raw: &RawValue, at: &str, depth: usize) -> Result<Value, String> {
    let text = raw.get();
    let wrong = |problem: &dyn std::fmt::Display| match at {
        "" => problem.to_string(),
        at => format!("{at}: {problem}"),
    };
    if depth > limits::NESTING_MAX {
        return Err(wrong(&"nested too deep"));
    }
    let json = |problem: serde_json::Error| wrong(&problem);
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(json)?;
            let dot = if at.is_empty() { "" } else { "." };
            let field = |(name, raw): (String, &RawValue)| {
                let value = value(raw, &format!("{at}{dot}{name}"), depth + 1)?;
                Ok((Name::from(name), value))
            };
            Value::M(fields.into_iter().map(field).collect::<Result<_, String>>()?)
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(json)?;
            let element = |(position, raw): (usize, &&RawValue)| {
                value(raw, &format!("{at}[{position}]"), depth + 1)
            };
            Value::L(elements.iter().enumerate().map(element).collect::<Result<_, String>>()?)
        }
        Some(b'"') => Value::S(serde_json::from_str(text).map_err(json)?),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') => Value::Null,
        _ => {
            Value::N(text.parse::<Number>().map_err(|problem| wrong(&format!("{text} {problem}")))?)
        }
    })
}

/// An item that serialises as ordinary JSON.
pub(crate) struct PlainItem<'a>(pub(crate) &'a Item);

impl Serialize for PlainItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        map(self.0.attrs(), serializer)
    }
}

/// A value that serialises as ordinary JSON.
pub(crate) struct PlainValue<'a>(pub(crate) &'a Value);

impl Serialize for PlainValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::S(text) => serializer.serialize_str(text),
            Value::N(number) => raw_number(number)?.serialize(serializer),
            Value::B(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Null => serializer.serialize_unit(),
            Value::L(values) => serializer.collect_seq(values.iter().map(PlainValue)),
            Value::M(fields) => map(fields, serializer),
            Value::Ss(set) => serializer.collect_seq(set),
            Value::Bs(set) => serializer.collect_seq(set.iter().map(|b| STANDARD.encode(b))),
            Value::Ns(set) => {
                let numbers: Vec<_> =
                    set.iter().map(raw_number).collect::<Result<_, S::Error>>()?;
                serializer.collect_seq(numbers)
            }
        }
    }
}

fn map<S: Serializer>(fields: &Attrs, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(fields.len()))?;
    for (name, value) in fields {
        map.serialize_entry(name.as_str(), &PlainValue(value))?;
    }
    map.end()
}

fn raw_number<E: serde::ser::Error>(number: &Number) -> Result<Box<RawValue>, E> {
    RawValue::from_string(number.to_string()).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(item: &Item) -> String {
        serde_json::to_string(&PlainItem(item)).unwrap()
    }

    #[test]
    fn every_kind_of_json_becomes_a_value() {
        let item =
            item(r#"{"s":"é\n","n":-1.50e2,"t":true,"f":false,"z":null,"l":[1,[]],"m":{"a":{}}}"#)
                .unwrap();
        assert_eq!(item.s("s"), Some("é\n"));
        assert_eq!(item.i64("n"), Some(-150));
        assert_eq!(
            text(&item),
            r#"{"f":false,"l":[1,[]],"m":{"a":{}},"n":-150,"s":"é\n","t":true,"z":null}"#
        );
    }

    #[test]
    fn numbers_keep_all_digits() {
        let json = r#"{"n":12345678901234567890.123456789012345678}"#;
        assert_eq!(text(&item(json).unwrap()), json);
    }

    #[test]
    fn sets_and_bytes_come_out_as_lists_and_base64() {
        let item = Item::new()
            .with("ss", Value::strings(["b", "a"]))
            .with("ns", Value::numbers([2, 1]))
            .with("b", vec![255u8]);
        assert_eq!(text(&item), r#"{"b":"/w==","ns":[1,2],"ss":["a","b"]}"#);
    }

    #[test]
    fn mistakes_name_the_place() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(40), "]".repeat(40));
        for (json, expected) in [
            ("[1]", "an item is an object"),
            ("{", "EOF while parsing"),
            (r#"{"a":{"b":[1e999]}}"#, "a.b[0]: 1e999 "),
            (&deep, "nested too deep"),
        ] {
            let problem = item(json).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
