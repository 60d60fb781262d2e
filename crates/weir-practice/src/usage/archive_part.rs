//! A part of the archive: JSON lines, compressed. Each line has the fields of a log item under their long names.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};
use weir_calendar::Day;
use weir_table::Value;
use weir_table::json::value_to_json;

use super::log::UsageLogEntry;
use crate::error::{Error, Result};
use crate::ids::UserId;

const USER: &str = "user_id";
const METADATA: &str = "metadata";

/// The line of a log item.
pub(super) fn line(user: &UserId, day: Day, entry: &UsageLogEntry) -> Json {
    json!({
        USER: user.as_str(),
        "day": day.to_string(),
        "created_at_ms": entry.at_ms,
        "action": entry.action.as_str(),
        "problem_id": entry.problem_id.as_ref().map(|id| id.as_str()),
        METADATA: entry.metadata.as_ref().map_or(Json::Null, plain),
    })
}

/// Compresses lines. The same lines have the same bytes.
pub(super) fn encode(lines: &[Json]) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::damaged("an archive", error.to_string());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for line in lines {
        writeln!(encoder, "{line}").map_err(failed)?;
    }
    encoder.finish().map_err(failed)
}

/// Reads lines back.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Json>> {
    let failed = |error: String| Error::damaged("an archive", error);
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().map_err(|error| failed(error.to_string()))
}

/// Removes the metadata of a user. Returns whether there was any.
pub(super) fn anonymise(lines: &mut [Json], user: &UserId) -> bool {
    let mut changed = false;
    for line in lines {
        let is_theirs = line.get(USER).and_then(Json::as_str) == Some(user.as_str());
        if let (true, Some(metadata)) = (is_theirs, line.get_mut(METADATA)) {
            changed |= !metadata.take().is_null();
        }
    }
    changed
}

/// A value as ordinary JSON; kinds that JSON does not have keep the form of DynamoDB.
fn plain(value: &Value) -> Json {
    match value {
        Value::S(text) => Json::from(text.as_str()),
        Value::N(number) => {
            let text = number.to_string();
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
        Value::Bool(flag) => Json::from(*flag),
        Value::Null => Json::Null,
        Value::L(values) => values.iter().map(plain).collect(),
        Value::M(map) => map.iter().map(|(name, value)| (name.to_string(), plain(value))).collect(),
        other => value_to_json(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Action;

    #[test]
    fn lines_are_read_back_and_lose_the_metadata_of_a_user() {
        let (ann, ben) = (UserId::new("1").unwrap(), UserId::new("2").unwrap());
        let metadata = Value::map([("n", Value::from(5)), ("l", Value::list(["a"]))]);
        let entry = UsageLogEntry {
            at_ms: 5,
            action: Action::Hint,
            problem_id: None,
            metadata: Some(metadata),
        };
        let day = Day::from_compact("20370123").unwrap();
        let lines = [line(&ann, day, &entry), line(&ben, day, &entry)];
        let expected = r#"{"action":"hint","created_at_ms":5,"day":"2037-01-23","metadata":{"l":["a"],"n":5},"problem_id":null,"user_id":"1"}"#;
        assert_eq!(lines[0].to_string(), expected);
        let bytes = encode(&lines).unwrap();
        assert_eq!(encode(&lines).unwrap(), bytes);
        let mut read = decode(&bytes).unwrap();
        assert_eq!(read, lines);
        assert!(anonymise(&mut read, &ann) && !anonymise(&mut read, &ann));
        assert!(read[0]["metadata"].is_null() && read[1] == lines[1]);
        assert!(decode(b"x").is_err());
    }
}
