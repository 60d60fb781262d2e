//! The key text of the jobs table: one item per job.

use weir_table::{Error, Key, Kind, Result, TableSpec};

/// The table of the leases and results of jobs.
pub const JOBS_TABLE: &str = "weir-jobs";

const PARTITION: &str = "PK";
const SORT: &str = "SK";
/// Maximum length of a job's name in bytes.
const NAME_MAX: usize = 64;

/// The schema of [`JOBS_TABLE`].
#[must_use]
pub fn table_spec() -> TableSpec {
    TableSpec::new(JOBS_TABLE, PARTITION, Kind::S).sort(SORT, Kind::S)
}

/// The item of a job. All are in one partition, so that one query lists them.
pub(super) fn job(name: &str) -> Key {
    Key::new("JOBS", format!("JOB#{name}"))
}

/// The item that readiness checks read. No one writes it.
pub(crate) fn readiness_key() -> Key {
    Key::new("READINESS", "READINESS")
}

/// Checks a name, which becomes part of a key and a label of metrics.
pub(super) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_plain) {
        return Ok(());
    }
    let problem = format!("{name:?}: 1 to {NAME_MAX} of a-z, 0-9, '-' and '_'");
    Err(Error::invalid("job", problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_texts() {
        assert_eq!(job("price-refresh").to_string(), "JOBS | JOB#price-refresh");
        assert_eq!(readiness_key().to_string(), "READINESS | READINESS");
        let spec = table_spec();
        assert_eq!(spec.name, "weir-jobs");
        assert_eq!(spec.partition.as_str(), "PK");
        assert_eq!(spec.sort.as_deref(), Some("SK"));
    }

    #[test]
    fn names_are_plain() {
        assert!(check_name("price-refresh_2").is_ok());
        for name in ["", "a#b", "a/b", "Ä", "a b", &"x".repeat(65)] {
            assert_eq!(check_name(name).unwrap_err().field(), Some("job"), "{name}");
        }
    }
}
