//! Every key, derived from the types. There is no other list.

use confique::Config as _;
use confique::meta::{Expr, Field, FieldKind, LeafKind};
use toml::Value;

use super::Config;
use super::flags::FLAGS;

/// Minimum similarity of names for a suggestion, from 0 to 1.
const NEAR: f64 = 0.75;

/// The keys whose value is a table. Their types do not show it, because they have no default.
const TABLES: [&str; 1] = ["keeper.labels"];

/// One key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    /// Section of the key.
    pub(crate) section: &'static str,
    /// Name of the key in its section.
    pub(crate) name: &'static str,
    /// Environment variable of the key.
    pub(crate) variable: &'static str,
    /// Description of the key; each line begins with a space.
    doc: &'static [&'static str],
    default: Option<Expr>,
}

/// One section of keys.
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) doc: &'static [&'static str],
    pub(super) keys: Vec<Key>,
}

/// The kind of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Text,
    Number,
    Decimal,
    Switch,
    List,
    Table,
}

/// All sections with their keys, in the order of the types.
pub(super) fn sections() -> Vec<Section> {
    let nested = |field: &Field| match field.kind {
        FieldKind::Nested { meta } => Some(Section {
            name: field.name,
            doc: field.doc,
            keys: keys_of(field.name, meta.fields),
        }),
        FieldKind::Leaf { .. } => None,
    };
    Config::META.fields.iter().filter_map(nested).collect()
}

/// All keys, in the order of the types.
pub(crate) fn all() -> Vec<Key> {
    sections().into_iter().flat_map(|section| section.keys).collect()
}

fn keys_of(section: &'static str, fields: &'static [Field]) -> Vec<Key> {
    let leaf = |field: &Field| match field.kind {
        FieldKind::Leaf { env, kind } => Some(Key {
            section,
            name: field.name,
            variable: env.unwrap_or_default(),
            doc: field.doc,
            default: match kind {
                LeafKind::Required { default } => default,
                LeafKind::Optional => None,
            },
        }),
        FieldKind::Nested { .. } => None,
    };
    fields.iter().filter_map(leaf).collect()
}

impl Key {
    /// `section.name`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The flag of the key.
    pub(crate) fn flag(&self) -> Option<&'static str> {
        let path = self.path();
        FLAGS.iter().find(|(key, _)| *key == path).map(|(_, flag)| *flag)
    }

    /// The description of the key, line by line.
    pub(crate) fn doc(&self) -> impl Iterator<Item = &'static str> {
        self.doc.iter().map(|line| line.trim())
    }

    /// The default value, as TOML.
    pub(crate) fn default(&self) -> Option<Value> {
        self.default.and_then(|default| Value::try_from(default).ok())
    }

    fn takes(&self) -> Takes {
        match self.default {
            Some(Expr::Integer(_)) => Takes::Number,
            Some(Expr::Float(_)) => Takes::Decimal,
            Some(Expr::Bool(_)) => Takes::Switch,
            Some(Expr::Array(_)) => Takes::List,
            None if TABLES.contains(&self.path().as_str()) => Takes::Table,
            _ => Takes::Text,
        }
    }

    /// Parses the text of a variable or a flag.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        match self.takes() {
            Takes::Text => Ok(Value::String(text.to_owned())),
            Takes::Number => text
                .trim()
                .parse()
                .map(Value::Integer)
                .map_err(|_| format!("{text:?} is no whole number")),
            Takes::Decimal => {
                let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
                number.map(Value::Float).ok_or_else(|| format!("{text:?} is no number"))
            }
            Takes::Switch => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Ok(Value::Boolean(true)),
                "false" | "no" | "off" | "0" => Ok(Value::Boolean(false)),
                _ => Err(format!("{text:?} is neither true nor false")),
            },
            Takes::List => Ok(parse_list(text)),
            Takes::Table => parse_table(text),
        }
    }

    /// Checks the kind of `value`. The error does not quote the value, which may be a secret.
    pub(super) fn check_kind(&self, value: &Value) -> Result<(), String> {
        match (self.takes(), value) {
            (Takes::Text, Value::String(_))
            | (Takes::Number, Value::Integer(0..))
            | (Takes::Decimal, Value::Integer(_) | Value::Float(_))
            | (Takes::Switch, Value::Boolean(_))
            | (Takes::Table, Value::Table(_)) => Ok(()),
            (Takes::List, Value::Array(items)) if items.iter().all(Value::is_str) => Ok(()),
            (Takes::Number, Value::Integer(_)) => Err("must not be negative".to_owned()),
            (Takes::Text, _) => Err("takes text, in quotes".to_owned()),
            (Takes::Number, _) => Err("takes a whole number, without quotes".to_owned()),
            (Takes::Decimal, _) => Err("takes a number, without quotes".to_owned()),
            (Takes::Switch, _) => Err("takes true or false, without quotes".to_owned()),
            (Takes::List, _) => Err("takes a list of texts, like [\"a\", \"b\"]".to_owned()),
            (Takes::Table, _) => {
                Err(format!("takes a table; write [{}.NAME] and its keys below", self.path()))
            }
        }
    }
}

/// Parses a list in a variable: texts between commas.
fn parse_list(text: &str) -> Value {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
}

/// Parses a table in a variable: an inline table of TOML, on one line.
fn parse_table(text: &str) -> Result<Value, String> {
    let whole = format!("it = {}", text.trim()).parse::<toml::Table>();
    let table =
        whole.ok().filter(|whole| whole.len() == 1).and_then(|mut whole| whole.remove("it"));
    table
        .filter(Value::is_table)
        .ok_or_else(|| "is no table; write {name = {key = \"value\"}}".to_owned())
}

/// The candidate whose name is most similar to `name`, if one is similar enough. A candidate may have several names.
pub(super) fn nearest<T>(
    name: &str,
    candidates: impl IntoIterator<Item = (T, Vec<String>)>,
) -> Option<T> {
    let similarity = |known: &String| strsim::jaro_winkler(name, known);
    let scored = candidates.into_iter().map(|(candidate, names)| {
        let score = names.iter().map(similarity).fold(0.0, f64::max);
        (candidate, score)
    });
    scored
        .filter(|(_, score)| *score >= NEAR)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_is_documented_and_has_a_variable_of_its_own() {
        let keys = all();
        assert!(keys.len() > 25);
        let variables: BTreeSet<_> = keys.iter().map(|key| key.variable).collect();
        assert_eq!(variables.len(), keys.len());
        for key in keys {
            assert!(key.variable.starts_with("WEIR_"), "{key:?}");
            assert!(key.doc().any(|line| !line.is_empty()), "{key:?}");
        }
    }

    #[test]
    fn every_flag_sets_a_key() {
        let keys: Vec<_> = all().iter().map(Key::path).collect();
        for (key, _) in FLAGS {
            assert!(keys.iter().any(|path| path == key), "{key}");
        }
    }

    #[test]
    fn a_table_is_taken_from_a_file_and_inline_from_a_variable() {
        let key = all().into_iter().find(|key| key.path() == "keeper.labels").unwrap();
        let table = key.parse("{a = {tier = \"x\"}}").unwrap();
        assert_eq!(key.check_kind(&table), Ok(()));
        for bad in ["", "a", "\"a\"", "{", "{}\nother = 1"] {
            assert!(key.parse(bad).is_err(), "{bad}");
        }
        assert!(key.check_kind(&Value::Integer(1)).unwrap_err().contains("[keeper.labels.NAME]"));
    }

    #[test]
    fn a_list_is_taken_from_a_file_and_between_commas_from_a_variable() {
        let key = all().into_iter().find(|key| key.path() == "server.trusted_proxies").unwrap();
        let list = key.parse("10.0.0.0/8, ::1,").unwrap();
        assert_eq!(list, Value::from(vec!["10.0.0.0/8", "::1"]));
        assert_eq!(key.check_kind(&list), Ok(()));
        for bad in [Value::Integer(1), Value::from("10.0.0.0/8"), Value::from(vec![1])] {
            assert!(key.check_kind(&bad).unwrap_err().starts_with("takes a list"), "{bad}");
        }
    }

    #[test]
    fn a_number_may_have_decimals_where_its_default_has_them() {
        let find = |path| all().into_iter().find(|key| key.path() == path).unwrap();
        let decimal = find("reviews.consensus_threshold");
        assert_eq!(decimal.parse(" 0.25 "), Ok(Value::Float(0.25)));
        assert_eq!(decimal.check_kind(&Value::Integer(1)), Ok(()));
        for bad in ["", "x", "nan", "inf"] {
            assert!(decimal.parse(bad).unwrap_err().ends_with("is no number"), "{bad}");
        }
        assert!(decimal.check_kind(&Value::from("0.2")).unwrap_err().starts_with("takes a number"));
        assert!(find("reviews.consensus_line_slack").parse("0.25").is_err());
    }

    #[test]
    fn nothing_is_near_to_something_else() {
        let known = || [("data", vec!["data".to_owned()])];
        assert_eq!(nearest("dta", known()), Some("data"));
        assert_eq!(nearest("xyz", known()), None);
    }
}
