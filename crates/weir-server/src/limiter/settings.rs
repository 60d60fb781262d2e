//! `[limiter]`: the settings of the limiter. Their defaults are those of the domain, which a test checks.

use serde::{Deserialize, Serialize};
use weir_framework::settings::{SettingProblem, defaults, in_range, object_store_problem};

/// Rate limits.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub struct Settings {
    /// Name of the limiter's table, without store.table_prefix.
    #[config(default = "weir-limiter", env = "WEIR_LIMITER_TABLE")]
    pub table: String,
    /// Owner of the table: "own" for Weir alone, "zae" for a table shared with zae-limiter 0.10.
    #[config(default = "own", env = "WEIR_LIMITER_COMPAT")]
    pub compat: Compat,
    /// Seconds that configured limits stay cached; 0 reads them on every request.
    #[config(default = 60, env = "WEIR_LIMITER_CONFIG_TTL_SECS")]
    pub config_ttl_secs: u64,
    /// Whether to record usage by hour, day and month: "yes", "no", or "auto", which records it
    /// in Weir's own table and not in a shared one, where zae-limiter's Lambda may record it.
    #[config(default = "auto", env = "WEIR_LIMITER_COUNT_USAGE")]
    pub count_usage: CountUsage,
    /// Days that audit events stay in the table.
    #[config(default = 90, env = "WEIR_LIMITER_AUDIT_RETENTION_DAYS")]
    pub audit_retention_days: u64,
    /// Archive for audit events that leave the table: "s3://BUCKET/PREFIX" or "file:///FOLDER".
    /// Without it they are deleted.
    #[config(env = "WEIR_LIMITER_AUDIT_ARCHIVE")]
    pub audit_archive: Option<String>,
}

/// The owner of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compat {
    /// Weir alone uses the table.
    Own,
    /// The table is shared with zae-limiter.
    Zae,
}

/// Whether usage is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountUsage {
    /// Recorded in Weir's own table only.
    Auto,
    /// Recorded in any table.
    Yes,
    /// Not recorded.
    No,
}

impl Settings {
    /// Problems of single values.
    #[must_use]
    pub fn problems(&self) -> Vec<SettingProblem> {
        let archive = self.audit_archive.as_deref().and_then(object_store_problem);
        let ranges = [
            in_range("config_ttl_secs", self.config_ttl_secs, 0..=3600),
            in_range("audit_retention_days", self.audit_retention_days, 1..=3650),
        ];
        let archive = archive.map(|problem| ("audit_archive", problem));
        ranges.into_iter().chain([archive]).flatten().collect()
    }

    /// The settings as the domain takes them.
    pub(super) fn to_domain(&self, sharded: bool, lease_key: [u8; 32]) -> weir_limiter::Settings {
        let config_ttl_ms = self.config_ttl_secs.saturating_mul(1_000);
        weir_limiter::Settings {
            table: self.table.clone(),
            compat: self.compat.into(),
            sharded,
            config_ttl_ms: i64::try_from(config_ttl_ms).unwrap_or(i64::MAX),
            audit_retention_days: u32::try_from(self.audit_retention_days).unwrap_or(u32::MAX),
            archive: self.audit_archive.is_some(),
            lease_key,
        }
    }

    /// Whether usage is recorded in this table.
    #[must_use]
    pub fn counts_usage(&self) -> bool {
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

/// The problem of a table name, if it has one; `prefix` is the prefix of all tables.
#[must_use]
pub fn table_problem(table: &str, prefix: &str, compat: Compat) -> Option<String> {
    let whole = format!("{prefix}{table}");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match compat {
        Compat::Own
            if (TABLE_MIN..=TABLE_MAX).contains(&whole.len()) && whole.chars().all(plain) =>
        {
            None
        }
        Compat::Own => Some(format!(
            "{whole:?} is not a table name: {TABLE_MIN} to {TABLE_MAX} letters, digits, `_`, `-`, `.`"
        )),
        Compat::Zae if is_zae(&whole) => None,
        Compat::Zae => Some(format!(
            "{whole:?} is not a table name of zae-limiter: a letter, then letters, digits and `-`, \
             at most {ZAE_TABLE_MAX} characters, store.table_prefix included"
        )),
    }
}

fn is_zae(whole: &str) -> bool {
    let letter = whole.starts_with(|c: char| c.is_ascii_alphabetic());
    let rest = whole.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    letter && rest && (TABLE_MIN..=ZAE_TABLE_MAX).contains(&whole.len())
}

impl Default for Settings {
    fn default() -> Settings {
        defaults()
    }
}

impl From<Compat> for weir_limiter::Compat {
    fn from(compat: Compat) -> weir_limiter::Compat {
        match compat {
            Compat::Own => weir_limiter::Compat::Own,
            Compat::Zae => weir_limiter::Compat::Zae,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_domain() {
        let fields = |settings: weir_limiter::Settings| {
            let numbers = (settings.config_ttl_ms, settings.audit_retention_days);
            (settings.table, settings.compat, numbers, settings.archive)
        };
        let configured = Settings::default().to_domain(true, [7; 32]);
        assert_eq!(fields(configured), fields(weir_limiter::Settings::new(true, [7; 32])));
        assert_eq!(Settings::default().problems(), []);
    }

    #[test]
    fn shared_tables_follow_the_names_of_zae_limiter() {
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
}
