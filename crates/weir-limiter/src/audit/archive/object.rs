//! An object of the archive: events as compressed JSON lines. The same events always give the same bytes. Pure.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value as Json};
use weir_table::Item;

use super::expired::ExpiredEvent;
use crate::audit::json;
use crate::error::{Error, Result};
use crate::time;

/// The attributes on a line, as in zae-limiter's archive; the namespace is added.
const FIELDS: [&str; 7] =
    ["event_id", "timestamp", "action", "entity_id", "principal", "resource", "details"];

/// The name of the object that begins with this event, below the archive's prefix.
pub(super) fn name(ns: &str, first: &ExpiredEvent) -> String {
    let day = time::rfc3339(first.at_ms);
    let day = day.get(..10).unwrap_or_default().replace('-', "/");
    format!("{ns}/{day}/{}.jsonl.gz", first.id)
}

/// The content of an object.
///
/// # Errors
/// Compression fails, which in memory it does not.
pub(super) fn content(ns: &str, events: &[Item]) -> Result<Vec<u8>> {
    let failed = |source: std::io::Error| {
        Error::Store(weir_table::Error::io("compressing audit events", source))
    };
    // No time and no name in the header: they would make each attempt differ.
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    for event in events {
        let mut line = line(ns, event).to_string();
        line.push('\n');
        gzip.write_all(line.as_bytes()).map_err(failed)?;
    }
    gzip.finish().map_err(failed)
}

fn line(ns: &str, event: &Item) -> Json {
    let fields = FIELDS.iter().filter_map(|name| {
        let value = event.get(name)?;
        Some(((*name).to_owned(), json::to_json(value)))
    });
    let namespace = [("namespace_id".to_owned(), Json::from(ns))];
    Json::Object(fields.chain(namespace).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn objects_are_named_by_day_and_first_event_and_always_the_same() {
        let first = ExpiredEvent {
            id: "01ABC".to_owned(),
            at_ms: time::parse("2026-01-23T23:59:59Z").unwrap(),
            key: weir_table::Key::new("a", "b"),
        };
        assert_eq!(name("abcdefghijk", &first), "abcdefghijk/2026/01/23/01ABC.jsonl.gz");
        let event = Item::new()
            .with("PK", "x")
            .with("event_id", "01ABC")
            .with("action", "limits_set")
            .with("ttl", 5_i64)
            .with("principal", weir_table::Value::Null)
            .with("details", weir_table::Value::map([("n", 7_i64)]));
        let bytes = content("abcdefghijk", &[event.clone(), event.clone()]).unwrap();
        assert_eq!(bytes, content("abcdefghijk", &[event.clone(), event]).unwrap());
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        let line = r#"{"action":"limits_set","details":{"n":7},"event_id":"01ABC","namespace_id":"abcdefghijk","principal":null}"#;
        assert_eq!(text, format!("{line}\n{line}\n"));
    }
}
