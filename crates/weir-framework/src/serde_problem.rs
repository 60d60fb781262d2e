//! Rewrites error messages of serde for clients: JSON words instead of Rust types.

use std::fmt::Write as _;

/// The message of a serde error, in terms of JSON.
///
/// ```
/// use weir_framework::serde_problem;
///
/// let text = "invalid type: string \"x\", expected struct AcquireRequest";
/// assert_eq!(serde_problem::describe(text), "is the string \"x\"; it must be an object");
/// ```
#[must_use]
pub fn describe(message: &str) -> String {
    let mismatch = ["invalid type: ", "invalid value: "];
    let mismatch = mismatch.iter().find_map(|prefix| message.strip_prefix(prefix));
    if let Some((found, expected)) = mismatch.and_then(|rest| rest.rsplit_once(", expected ")) {
        let (expected, place) = split_place(expected);
        return format!("is {}; it must be {}{place}", actual(found), required(expected));
    }
    if let Some((len, expected)) =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
    {
        let (expected, place) = split_place(expected);
        return format!("has length {len}; it must be {}{place}", required(expected));
    }
    if message.starts_with("data did not match any variant of untagged enum") {
        return "has none of the accepted forms".to_owned();
    }
    message.to_owned()
}

/// Separates the line and column that serde_json appends.
fn split_place(expected: &str) -> (&str, &str) {
    expected.find(" at line ").map_or((expected, ""), |at| expected.split_at(at))
}

/// The value that was sent. Serde writes "integer `7`", "string \"x\"", "map".
fn actual(found: &str) -> String {
    match found.split_once(' ').unwrap_or((found, "")) {
        ("map", _) => "an object".to_owned(),
        ("sequence", _) => "an array".to_owned(),
        ("unit" | "null" | "Option", _) => "null".to_owned(),
        ("boolean", value) => value.trim_matches('`').to_owned(),
        ("integer", value) => format!("the number {}", value.trim_matches('`')),
        ("floating", value) => {
            format!("the number {}", value.trim_start_matches("point ").trim_matches('`'))
        }
        ("string", value) => format!("the string {value}"),
        _ => found.to_owned(),
    }
}

/// The value that is accepted. Serde writes "struct Name", "u64", "a sequence".
fn required(expected: &str) -> String {
    match expected.split_once(' ').unwrap_or((expected, "")) {
        ("struct" | "internally" | "adjacently", _) | ("a", "map") => "an object".to_owned(),
        ("tuple", _) | ("a", "sequence") => "an array".to_owned(),
        ("enum" | "variant", _) | ("string", "or map") => "one of the documented values".to_owned(),
        ("u8" | "u16" | "u32" | "u64" | "u128" | "usize", _) => unsigned(expected),
        ("i8" | "i16" | "i32" | "i64" | "i128" | "isize", _) => "an integer".to_owned(),
        ("f32" | "f64", _) => "a number".to_owned(),
        ("unit" | "null", _) => "null".to_owned(),
        ("option", _) => "a value or null".to_owned(),
        ("a", "nonzero u32" | "nonzero u64" | "nonzero usize") => "an integer from 1".to_owned(),
        _ => expected.to_owned(),
    }
}

fn unsigned(kind: &str) -> String {
    let mut text = "an integer from 0".to_owned();
    let max = match kind {
        "u8" => Some(u64::from(u8::MAX)),
        "u16" => Some(u64::from(u16::MAX)),
        "u32" => Some(u64::from(u32::MAX)),
        _ => None,
    };
    if let Some(max) = max {
        // Writing to a string cannot fail.
        let _ = write!(text, " to {max}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Color {
        Red,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    enum Either {
        #[expect(dead_code, reason = "only parsed")]
        Text(String),
    }

    fn problem<T: for<'de> Deserialize<'de> + std::fmt::Debug>(json: &str) -> String {
        let text = serde_json::from_str::<T>(json).unwrap_err().to_string();
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
        describe(text)
    }

    #[derive(Debug, Deserialize)]
    struct Request {
        #[expect(dead_code, reason = "only parsed")]
        name: String,
    }

    #[test]
    fn types_of_rust_are_not_named() {
        let cases = [
            (problem::<Request>("7"), "is the number 7; it must be an object"),
            (problem::<Request>("null"), "is null; it must be an object"),
            (
                problem::<Request>(r#""a, expected b""#),
                r#"is the string "a, expected b"; it must be an object"#,
            ),
            (problem::<Request>(r#"{"name": true}"#), "is true; it must be a string"),
            (problem::<Request>("{}"), "missing field `name`"),
            (problem::<String>("{}"), "is an object; it must be a string"),
            (problem::<Vec<u64>>("1.5"), "is the number 1.5; it must be an array"),
            (problem::<u8>("300"), "is the number 300; it must be an integer from 0 to 255"),
            (problem::<u64>("-1"), "is the number -1; it must be an integer from 0"),
            (problem::<i64>("[]"), "is an array; it must be an integer"),
            (problem::<f64>(r#""x""#), r#"is the string "x"; it must be a number"#),
            (problem::<bool>("0"), "is the number 0; it must be a boolean"),
            (problem::<Color>(r#""blue""#), "unknown variant `blue`, expected `red`"),
            (problem::<Either>("1"), "has none of the accepted forms"),
            (problem::<[u8; 2]>("[1]"), "has length 1; it must be an array of length 2"),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
        assert!(matches!(serde_json::from_str(r#""red""#), Ok(Color::Red)));
    }
}
