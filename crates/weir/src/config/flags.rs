//! The layer over all others: flags.
//!
//! Flags have no default and no variable of their own, because the layers below do. Their help names both, and a test checks
//! it.

use clap::{Args, ValueEnum};

use super::Kind;
use super::keys::Key;
use super::load::{Findings, Origin, Setting};

/// The keys that flags set.
pub(super) const FLAGS: [(&str, &str); 7] = [
    ("store.kind", "--store"),
    ("store.data", "--data"),
    ("store.dynamodb_endpoint", "--dynamodb-endpoint"),
    ("store.region", "--region"),
    ("store.table_prefix", "--table-prefix"),
    ("server.listen", "--listen"),
    ("jobs.aggregate_interval_secs", "--aggregate-interval"),
];

/// The store that a command works on.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct StoreFlags {
    /// Kind of store [default: embedded] [env: WEIR_STORE]
    #[arg(long, value_enum, global = true)]
    store: Option<Kind>,
    /// Folder of the embedded store [default: ./weir-data] [env: WEIR_DATA]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<String>,
    /// Endpoint of DynamoDB, instead of that of the AWS region [env: WEIR_DYNAMODB_ENDPOINT]
    #[arg(long, value_name = "URL", global = true)]
    dynamodb_endpoint: Option<String>,
    /// AWS region, instead of that of the AWS environment variables and profiles [env: WEIR_REGION]
    #[arg(long, global = true)]
    region: Option<String>,
    /// Prefix of all table names in DynamoDB [env: WEIR_TABLE_PREFIX]
    #[arg(long, value_name = "P", global = true)]
    table_prefix: Option<String>,
}

/// Flags of `weir serve`, and of the commands that inspect its configuration.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeFlags {
    /// Address to listen on; port 0 selects a free port [default: 127.0.0.1:8080] [env: WEIR_LISTEN]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Seconds between two runs of the aggregators [default: 10] [env: WEIR_AGGREGATE_INTERVAL]
    #[arg(long, value_name = "SECS")]
    aggregate_interval: Option<String>,
    #[command(flatten)]
    store: StoreFlags,
}

/// The flags that were given: keys and the text of their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given(Vec<(&'static str, String)>);

impl Given {
    fn with(mut self, key: &'static str, text: Option<&str>) -> Given {
        self.0.extend(text.map(|text| (key, text.to_owned())));
        self
    }

    /// A folder for the embedded store, for commands that take no other flag of a store.
    pub(crate) fn data(folder: Option<&str>) -> Given {
        Given::default().with("store.data", folder)
    }

    /// The same flags with this folder, unless a folder was given.
    pub(crate) fn or_data(self, folder: &str) -> Given {
        match self.0.iter().any(|(key, _)| *key == "store.data") {
            true => self,
            false => self.with("store.data", Some(folder)),
        }
    }

    /// A flag that names a store, if one was given.
    pub(super) fn names_store(&self) -> Option<&'static str> {
        let given = self.0.iter().find(|(key, _)| key.starts_with("store."))?;
        FLAGS.iter().find(|(key, _)| *key == given.0).map(|(_, flag)| *flag)
    }

    /// The layer.
    pub(super) fn settings(&self, keys: &[Key]) -> Findings {
        let mut findings = Findings::default();
        for (path, text) in &self.0 {
            let key = keys.iter().find(|key| key.path() == *path);
            let Some((key, flag)) = key.and_then(|key| Some((*key, key.flag()?))) else {
                continue;
            };
            let origin = Origin::Flag(flag);
            match key.parse(text) {
                Ok(value) => findings.settings.push(Setting { key, value, origin }),
                Err(problem) => findings.wrong(path, &problem, &origin),
            }
        }
        findings
    }
}

impl StoreFlags {
    /// The flags that were given.
    pub(crate) fn given(&self) -> Given {
        let kind = self.store.and_then(|kind| kind.to_possible_value());
        Given::data(self.data.as_deref())
            .with("store.kind", kind.as_ref().map(|kind| kind.get_name()))
            .with("store.dynamodb_endpoint", self.dynamodb_endpoint.as_deref())
            .with("store.region", self.region.as_deref())
            .with("store.table_prefix", self.table_prefix.as_deref())
    }
}

impl ServeFlags {
    /// The flags that were given.
    pub(crate) fn given(&self) -> Given {
        self.store
            .given()
            .with("server.listen", self.listen.as_deref())
            .with("jobs.aggregate_interval_secs", self.aggregate_interval.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys;

    #[test]
    fn help_tells_the_default_and_the_variable_of_every_flag() {
        let mut command = ServeFlags::augment_args(clap::Command::new("serve"));
        let help = command.render_long_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for key in keys::all() {
            let Some(flag) = key.flag() else { continue };
            assert!(help.contains(&format!("{flag} <")), "{flag} is missing in {help}");
            assert!(help.contains(&format!("[env: {}]", key.variable)), "{key:?}");
            if let Some(default) = key.default() {
                let default = default.to_string().replace('"', "");
                assert!(help.contains(&format!("[default: {default}]")), "{key:?}");
            }
        }
    }
}
