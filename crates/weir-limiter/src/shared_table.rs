//! Which tables of zae-limiter can be shared: those of 0.10, and nothing else.
//!
//! Later releases keep rules in a table that Weir does not follow. To ignore them would grant what they forbid.

use weir_table::{Item, TableSpec};

use crate::error::{Error, Result};
use crate::version::{self, SCHEMA_ZAE};

/// The newest release, without its patch number, whose tables are shared.
const RELEASE_MAX: (u64, u64) = (0, 10);
/// Key attributes that start like this belong to the local secondary indexes of later releases.
const LOCAL_INDEX: &str = "LSI";
const CLIENT_MIN_VERSION: &str = "client_min_version";

/// Checks the version record of a shared table.
///
/// # Errors
/// The table is older or newer than those of zae-limiter 0.10.
pub(crate) fn check_version(record: &Item) -> Result<()> {
    let schema = version::decode(record).schema;
    let needed = record.s(CLIENT_MIN_VERSION).unwrap_or("0.0.0");
    let (Some(found), Some(shared)) = (release(&schema), release(SCHEMA_ZAE)) else {
        return Err(Error::Version(format!(
            "the table's schema version {schema:?} is invalid; is this a table of zae-limiter?"
        )));
    };
    if found < shared {
        return Err(Error::Version(format!(
            "the table has schema {schema} of an older zae-limiter, and weir shares tables of zae-limiter 0.10 (schema {SCHEMA_ZAE}): upgrade the table with zae-limiter 0.10.3 first"
        )));
    }
    let is_newer = release(needed).is_none_or(|needed| needed > RELEASE_MAX);
    if found > shared || is_newer { Err(too_new(Some(record))) } else { Ok(()) }
}

/// Checks the shape of a table that is not as it should be, and has this version record.
///
/// # Errors
/// A later release of zae-limiter made the table.
pub(crate) fn check_shape(found: &TableSpec, record: Option<&Item>) -> Result<()> {
    let is_later = found.attributes.keys().any(|name| name.starts_with(LOCAL_INDEX));
    if is_later { Err(too_new(record)) } else { Ok(()) }
}

fn too_new(record: Option<&Item>) -> Error {
    let text = |name: &str| record.and_then(|record| record.s(name)).unwrap_or("unknown");
    Error::Version(format!(
        "the table belongs to a zae-limiter that is too new to share it: schema {}, client_min_version {}, written by {}; weir shares tables of zae-limiter 0.10 only (schema {SCHEMA_ZAE}): copy this one into a table of weir's own with `weir limiter import-zae`",
        text(version::SCHEMA_VERSION),
        text(CLIENT_MIN_VERSION),
        text(version::UPDATED_BY),
    ))
}

/// The major and the minor number of a version.
fn release(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let release = (parts.next()??, parts.next()??);
    // Pre-releases and builds follow the number of the patch.
    parts.next().map(|_| release)
}

#[cfg(test)]
mod tests {
    use weir_table::Kind;

    use super::*;

    fn record(schema: &str, needed: &str) -> Item {
        Item::new()
            .with("schema_version", schema)
            .with("client_min_version", needed)
            .with("updated_by", "client:0.17.0")
    }

    #[test]
    fn tables_of_0_10_are_shared() {
        for (schema, needed) in [("0.9.0", "0.0.0"), ("0.9.3", "0.10.3"), ("0.9.0", "0.9.1")] {
            check_version(&record(schema, needed)).unwrap();
        }
        check_version(&Item::new().with("schema_version", "0.9.0")).unwrap();
    }

    #[test]
    fn other_tables_are_refused_with_the_version_and_what_to_do() {
        for (schema, needed, expected) in [
            ("0.10.0", "0.0.0", "schema 0.10.0"),
            ("1.0.0", "0.0.0", "schema 1.0.0"),
            ("0.9.0", "0.15.0", "client_min_version 0.15.0"),
            ("0.9.0", "new", "client_min_version new"),
            ("0.8.0", "0.0.0", "schema 0.8.0"),
            ("new", "0.0.0", "\"new\" is invalid"),
        ] {
            let error = check_version(&record(schema, needed)).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("zae-limiter"), "{error}");
            let advice = match schema {
                "0.8.0" => "upgrade the table with zae-limiter 0.10.3",
                "new" => "is this a table",
                _ => "weir limiter import-zae",
            };
            assert!(error.contains(advice), "{error}");
        }
    }

    #[test]
    fn local_indexes_show_a_later_release() {
        let table = TableSpec::new("limits", "PK", Kind::S).sort("SK", Kind::S);
        check_shape(&table, None).unwrap();
        let later = table.attribute("LSI1SK", Kind::S);
        let error = check_shape(&later, Some(&record("0.10.0", "0.0.0"))).unwrap_err().to_string();
        assert!(error.contains("client:0.17.0") && error.contains("import-zae"), "{error}");
        assert!(check_shape(&later, None).unwrap_err().to_string().contains("unknown"));
    }
}
