//! Test cases as a JSON array or as JSON lines.

use serde::de::{SeqAccess, Visitor};
use serde::{Deserializer as _, de};

use super::check_count;
use crate::bounds::TEST_CASES_MAX;
use crate::error::{Error, Result};
use crate::test_cases::NewTestCase;

/// Reads a JSON array.
pub(super) fn array(bytes: &[u8]) -> Result<Vec<NewTestCase>> {
    let mut cases = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = reader.deserialize_seq(Cases(&mut cases)).and_then(|()| reader.end());
    check_count(cases.len())?;
    read.map_err(|error| Error::invalid(name(cases.len()), error.to_string()))?;
    for (number, case) in cases.iter().enumerate() {
        case.check().map_err(|error| error.inside(&name(number)))?;
    }
    Ok(cases)
}

/// Reads an object from each line; empty lines are skipped.
pub(super) fn lines(bytes: &[u8]) -> Result<Vec<NewTestCase>> {
    let mut cases = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let name = format!("line {}", number + 1);
        let case: NewTestCase = serde_json::from_slice(line)
            .map_err(|error| Error::invalid(name.clone(), format!("{error}")))?;
        case.check().map_err(|error| error.inside(&name))?;
        cases.push(case);
        check_count(cases.len())?;
    }
    Ok(cases)
}

fn name(number: usize) -> String {
    format!("test_cases[{number}]")
}

/// Collects the elements, so that an error knows how many were read before it, and stops at the bound.
struct Cases<'a>(&'a mut Vec<NewTestCase>);

impl<'de> Visitor<'de> for Cases<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of test cases")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(case) = seq.next_element()? {
            self.0.push(case);
            if self.0.len() > TEST_CASES_MAX {
                return Err(de::Error::custom("too many test cases"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let one = r#"{"input": "1 2", "output": "3", "sample": true}"#;
        let two = r#"{"input": "4 5", "output": "9"}"#;
        let expected = array(format!("[{one}, {two}]").as_bytes()).unwrap();
        assert_eq!(lines(format!("{one}\r\n\n{two}").as_bytes()).unwrap(), expected);
        assert_eq!((expected[0].is_sample, expected[1].is_sample), (true, false));
        assert_eq!(array(b"[]").unwrap(), []);
        assert_eq!(lines(b"").unwrap(), []);
    }

    #[test]
    fn an_error_names_the_test_case_and_the_problem() {
        let good = r#"{"input": "", "output": ""}"#;
        for (bad, expected) in [
            (String::new(), "test_cases[0]: EOF while parsing a value"),
            ("{}".into(), "test_cases[0]: invalid type: map, expected an array of test cases"),
            (format!("[{good}, {{\"input\": \"\"}}]"), "test_cases[1]: missing field `output`"),
            (format!("[{good}, {{\"in\": 1}}]"), "test_cases[1]: unknown field `in`"),
            (format!("[{good}"), "test_cases[1]: EOF"),
            (format!("[{good}] x"), "test_cases[1]: trailing characters"),
        ] {
            let error = array(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let error = lines(format!("{good}\n{{\"input\": 3}}").as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 2: invalid type: integer `3`"), "{error}");
        let long = format!("{{\"input\": \"{}\", \"output\": \"\"}}", "x".repeat(1024 * 1024 + 1));
        let error = lines(long.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 1.input: has 1048577 bytes"), "{error}");
        let many = vec![good; TEST_CASES_MAX + 1];
        for error in [
            array(format!("[{}]", many.join(",")).as_bytes()).unwrap_err(),
            lines(many.join("\n").as_bytes()).unwrap_err(),
        ] {
            assert_eq!(error.to_string(), "upload: has more than 10000 test cases");
        }
    }
}
