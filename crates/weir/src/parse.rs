//! Parses the values of flags: keys, paths, filters, items.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_table::expr::{Condition, Operand, Path};
use weir_table::{Item, Key, KeyValue, Kind, Name, Number, TableSpec, Value, json};

use crate::failure::Failure;
use crate::plain;

/// Maximum size of a file or of standard input in bytes.
const INPUT_MAX: u64 = 16 * 1024 * 1024;

/// The value of the key attribute `name`, written as `text`, by the kind the table declares.
pub(crate) fn key_value(
    spec: &TableSpec,
    name: &Name,
    text: &str,
    flag: &str,
) -> Result<KeyValue, Failure> {
    let wrong = |what: &str| {
        Failure::usage(format!("{flag}: {text:?} is {what}")).help(format!(
            "{name} is declared {} in table {:?}; `weir tables describe {}` shows all keys",
            spec.attributes.get(name).copied().unwrap_or(Kind::S),
            spec.name,
            spec.name,
        ))
    };
    match spec.attributes.get(name) {
        Some(Kind::N) => text.parse::<Number>().map(KeyValue::N).map_err(|_| wrong("not a number")),
        Some(Kind::B) => STANDARD.decode(text).map(KeyValue::B).map_err(|_| wrong("not base64")),
        _ => Ok(KeyValue::S(text.to_owned())),
    }
}

/// The key of an item of the table, from `--pk` and `--sk`.
pub(crate) fn key(spec: &TableSpec, pk: &str, sk: Option<&str>) -> Result<Key, Failure> {
    let partition = key_value(spec, &spec.partition, pk, "--pk")?;
    let sort = match (&spec.sort, sk) {
        (Some(name), Some(text)) => Some(key_value(spec, name, text, "--sk")?),
        (None, None) => None,
        (Some(name), None) => {
            let problem = format!("--sk is missing: table {:?} has the sort key {name}", spec.name);
            return Err(Failure::usage(problem));
        }
        (None, Some(_)) => {
            let problem = format!("--sk: table {:?} has no sort key", spec.name);
            return Err(Failure::usage(problem));
        }
    };
    Ok(Key { partition, sort })
}

/// Parses YAML.
///
/// # Errors
/// What is wrong, on one line, with its place in the text.
pub(crate) fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let place =
            error.location().map(|at| format!("line {}, column {}: ", at.line(), at.column()));
        let problem = error.without_snippet().to_string();
        // The message repeats the place in its own words at the end.
        let problem = problem.split(" at line ").next().unwrap_or(&problem);
        let words: Vec<&str> = problem.split_whitespace().collect();
        format!("{}{}", place.unwrap_or_default(), words.join(" "))
    })
}

/// Parses JSON; `source` names the file or the flag in errors.
///
/// # Errors
/// The text is not JSON, or a field is wrong, which the error names.
pub(crate) fn json_text<T: serde::de::DeserializeOwned>(
    source: &str,
    text: &str,
) -> Result<T, Failure> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = match error.path().to_string() {
            path if path == "." => String::new(),
            path => format!("{path}: "),
        };
        let problem = weir_framework::serde_problem::describe(&error.inner().to_string());
        Failure::usage(format!("{source}: {place}{problem}"))
    })?;
    json.end().map_err(|error| Failure::usage(format!("{source}: {error}")))?;
    Ok(value)
}

/// A path like `address.lines[0]`.
pub(crate) fn path(text: &str) -> Result<Path, String> {
    let wrong = || format!("{text:?} is not a path like total or address.lines[0]");
    let mut path: Option<Path> = None;
    for part in text.split('.') {
        let (name, elements) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return Err(wrong());
        }
        let mut longer = match path.take() {
            Some(path) => path.field(name),
            None => Path::new(name),
        };
        for element in elements.split_inclusive(']') {
            let number = element.strip_prefix('[').and_then(|e| e.strip_suffix(']'));
            let position = number.and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
            longer = longer.element(position);
        }
        path = Some(longer);
    }
    path.ok_or_else(wrong)
}

/// A value in a filter: `12.5`, `true`, `null`, `"quoted"`, or bare text.
fn value(text: &str) -> Result<Value, String> {
    Ok(match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        quoted if quoted.starts_with('"') => Value::S(
            serde_json::from_str(quoted)
                .map_err(|_| format!("{quoted} is not a quoted text like \"a b\""))?,
        ),
        bare => match bare.parse::<Number>() {
            Ok(number) => Value::N(number),
            Err(_) => Value::S(bare.to_owned()),
        },
    })
}

const FILTER_HELP: &str = "write ATTRIBUTE OPERATOR VALUE; operators are \
     = != < <= > >= begins_with contains exists absent";

/// A filter like `total >= 10`, `name begins_with A`, `deleted absent`.
pub(crate) fn filter(text: &str) -> Result<Condition, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, '=' | '!' | '<' | '>'))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let subject = Operand::Path(path(name).map_err(|problem| format!("{problem}: {FILTER_HELP}"))?);
    let rest = rest.trim_start();
    for (operator, build) in OPERATORS {
        let Some(after) = rest.strip_prefix(operator) else {
            continue;
        };
        let is_word = operator.starts_with(char::is_alphabetic);
        if is_word && !after.is_empty() && !after.starts_with(char::is_whitespace) {
            continue;
        }
        let given = after.trim();
        return match build {
            Build::Alone(build) if given.is_empty() => Ok(build(subject)),
            Build::Alone(_) => Err(format!("{operator} takes no value, and {given:?} follows")),
            Build::With(_) if given.is_empty() => {
                Err(format!("a value is missing after {operator}; empty text is written \"\""))
            }
            Build::With(build) => Ok(build(subject, Operand::Value(value(given)?))),
        };
    }
    Err(format!("{rest:?} has no operator: {FILTER_HELP}"))
}

enum Build {
    With(fn(Operand, Operand) -> Condition),
    Alone(fn(Operand) -> Condition),
}

/// Longer operators come before those they begin with.
const OPERATORS: &[(&str, Build)] = &[
    ("<=", Build::With(|a, b| a.le(b))),
    (">=", Build::With(|a, b| a.ge(b))),
    ("!=", Build::With(|a, b| a.ne(b))),
    ("=", Build::With(|a, b| a.eq(b))),
    ("<", Build::With(|a, b| a.lt(b))),
    (">", Build::With(|a, b| a.gt(b))),
    ("begins_with", Build::With(|a, b| a.begins_with(b))),
    ("contains", Build::With(|a, b| a.contains(b))),
    ("exists", Build::Alone(Operand::exists)),
    ("absent", Build::Alone(Operand::absent)),
];

/// The text of an argument: itself, `@FILE`, or `-` for standard input.
pub(crate) fn argument(text: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(file) => read(file),
        None if text == "-" => read("-"),
        None => Ok(text.to_owned()),
    }
}

/// The content of a file, or of standard input for `-`.
pub(crate) fn read(file: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file {
        "-" => std::io::stdin().take(INPUT_MAX).read_to_string(&mut text),
        file => std::fs::File::open(file)
            .and_then(|opened| opened.take(INPUT_MAX).read_to_string(&mut text)),
    };
    match read {
        Ok(bytes) if bytes as u64 >= INPUT_MAX => {
            Err(Failure::usage(format!("{file}: longer than {INPUT_MAX} bytes")))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::usage(format!("cannot read {file}")).because(error)),
    }
}

/// An item of DynamoDB JSON, or of ordinary JSON.
pub(crate) fn item(text: &str, plain: bool) -> Result<Item, Failure> {
    if plain {
        return plain::item(text).map_err(|problem| Failure::usage(format!("--item: {problem}")));
    }
    let parsed = serde_json::from_str(text)
        .map_err(|problem| Failure::usage(format!("--item is not JSON: {problem}")))?;
    json::item_from_json(&parsed).map_err(|problem| {
        Failure::usage(format!("--item: {problem}"))
            .help("use --plain for ordinary JSON like {\"PK\": \"x\"}")
    })
}

#[cfg(test)]
mod tests {
    use weir_table::expr::attr;

    use super::*;

    #[test]
    fn filters_read_as_people_write_them() {
        for (text, expected) in [
            ("total >= 10.5", attr("total").ge("10.5".parse::<Number>().unwrap())),
            ("total>=10", attr("total").ge(10)),
            ("a = true", attr("a").eq(true)),
            ("a = null", attr("a").eq(Value::Null)),
            ("a != \"10\"", attr("a").ne("10")),
            ("a = two words ", attr("a").eq("two words")),
            ("a = \"\"", attr("a").eq("")),
            ("a < b", attr("a").lt("b")),
            ("a.b[1][2].c > 1", attr("a").field("b").element(1).element(2).field("c").gt(1)),
            ("n begins_with ORDER#", attr("n").begins_with("ORDER#")),
            ("n contains x", attr("n").contains("x")),
            ("existsx exists", attr("existsx").exists()),
            ("n absent", attr("n").absent()),
        ] {
            assert_eq!(filter(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_in_filters_are_told() {
        for (text, expected) in [
            ("total", "has no operator"),
            ("total ~ 3", "has no operator"),
            ("total =", "a value is missing"),
            ("total exists 3", "takes no value"),
            ("total existsx", "has no operator"),
            ("= 3", "not a path"),
            ("a..b = 3", "not a path"),
            ("a[x] = 3", "not a path"),
            ("a[1 = 3", "not a path"),
            ("a = \"x", "not a quoted text"),
        ] {
            let problem = filter(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
