//! `[limiter]`: rate limits.

use serde::{Deserialize, Serialize};

/// Rate limits.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Limiter {
    /// Table of the limiter, without store.table_prefix.
    #[config(default = "weir-limiter", env = "WEIR_LIMITER_TABLE")]
    pub(crate) table: String,
    /// Whose table it is: "own", or "zae" when zae-limiter 0.10 works on the same one.
    #[config(default = "own", env = "WEIR_LIMITER_COMPAT")]
    pub(crate) compat: Compat,
    /// Seconds for which limits that were read are believed; 0 reads them every time.
    #[config(default = 60, env = "WEIR_LIMITER_CONFIG_TTL_SECS")]
    pub(crate) config_ttl_secs: u64,
    /// Whether what is used is counted, by hour, day and month: "yes", "no", or "auto", which is
    /// yes in a table of Weir's own and no in a shared one, where zae-limiter's Lambda may count.
    #[config(default = "auto", env = "WEIR_LIMITER_COUNT_USAGE")]
    pub(crate) count_usage: CountUsage,
    /// Days for which audit events are kept in the table.
    #[config(default = 90, env = "WEIR_LIMITER_AUDIT_RETENTION_DAYS")]
    pub(crate) audit_retention_days: u64,
    /// Where audit events go after that: "s3://BUCKET/PREFIX" or "file:///FOLDER". Without it they
    /// are removed.
    #[config(env = "WEIR_LIMITER_AUDIT_ARCHIVE")]
    pub(crate) audit_archive: Option<String>,
}

/// Whose table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Compat {
    /// Weir's alone.
    Own,
    /// Shared with zae-limiter.
    Zae,
}

/// Whether what is used is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CountUsage {
    /// In a table of Weir's own.
    Auto,
    /// In any table.
    Yes,
    /// In none.
    No,
}

impl Limiter {
    /// Whether what is used is counted in this table.
    pub(crate) fn counts_usage(&self) -> bool {
        match self.count_usage {
            CountUsage::Auto => self.compat == Compat::Own,
            CountUsage::Yes => true,
            CountUsage::No => false,
        }
    }
}

/// Characters of the longest table that zae-limiter works on, and of any table of DynamoDB.
const ZAE_TABLE_MAX: usize = 55;
const TABLE_MAX: usize = 255;
const TABLE_MIN: usize = 3;

/// What is wrong with the table's name; none when nothing is. `prefix` stands before it.
pub(super) fn table_problem(table: &str, prefix: &str, compat: Compat) -> Option<String> {
    let whole = format!("{prefix}{table}");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match compat {
        Compat::Own
            if (TABLE_MIN..=TABLE_MAX).contains(&whole.len()) && whole.chars().all(plain) =>
        {
            None
        }
        Compat::Own => Some(format!(
            "{whole:?} is no table; it has {TABLE_MIN} to {TABLE_MAX} letters, digits, `_`, `-`, `.`"
        )),
        Compat::Zae if is_zae(&whole) => None,
        Compat::Zae => Some(format!(
            "{whole:?} is no table for zae-limiter, which wants a letter and then letters, digits and `-`, \
             {ZAE_TABLE_MAX} characters at most, store.table_prefix included"
        )),
    }
}

fn is_zae(whole: &str) -> bool {
    let letter = whole.starts_with(|c: char| c.is_ascii_alphabetic());
    let rest = whole.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    letter && rest && (TABLE_MIN..=ZAE_TABLE_MAX).contains(&whole.len())
}

/// What is wrong with the place of the archive; none when nothing is.
pub(super) fn archive_problem(place: &str) -> Option<String> {
    let named = |rest: &str| !rest.trim_matches('/').is_empty();
    let known = place.strip_prefix("s3://").or_else(|| place.strip_prefix("file:///"));
    let is_good = known.is_some_and(named);
    (!is_good)
        .then(|| format!("{place:?} is no archive; write s3://BUCKET/PREFIX or file:///FOLDER"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_shared_with_zae_limiter_keep_to_its_names() {
        let long = "a".repeat(56);
        for (table, prefix, own, zae) in [
            ("weir-limiter", "", true, true),
            ("weir-limiter", "test-", true, true),
            ("weir-limiter", "test_", true, false),
            ("weir.limiter", "", true, false),
            ("1limiter", "", true, false),
            ("limiter", "1-", true, false),
            (long.as_str(), "", true, false),
            ("ab", "", false, false),
            ("a/b/c", "", false, false),
        ] {
            let problem = |compat| table_problem(table, prefix, compat);
            assert_eq!(problem(Compat::Own).is_none(), own, "{prefix}{table}");
            assert_eq!(problem(Compat::Zae).is_none(), zae, "{prefix}{table}");
        }
    }

    #[test]
    fn archives_are_buckets_or_folders() {
        for good in ["s3://bucket", "s3://bucket/a/b", "file:///var/audit"] {
            assert_eq!(archive_problem(good), None, "{good}");
        }
        for bad in ["", "bucket", "s3://", "file://var", "file:///", "https://x"] {
            assert!(archive_problem(bad).is_some(), "{bad}");
        }
    }
}
