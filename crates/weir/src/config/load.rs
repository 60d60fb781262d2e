//! Merges the layers and records the origin of each value.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use confique::{Config as _, Layer as _};
use toml::{Table, Value};
use weir_framework::client::RemoteSettings;

use super::keys::{self, Key};
use super::{Config, Given, check, environment, file};
use crate::failure::Failure;
use crate::remote::{RemoteFlags, needs_store};

type Layer = <Config as confique::Config>::Layer;

/// The source of the layers below the flags. It has no `Debug`, because variables may be secrets.
pub(crate) struct Source {
    /// The file given with `--config`.
    file: Option<PathBuf>,
    /// The flags that name a server elsewhere.
    remote: RemoteFlags,
    variables: Vec<(OsString, OsString)>,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The default.
    Default,
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// A flag.
    Flag(&'static str),
}

/// One value of one key, from one layer. It has no `Debug`, because the value may be a secret.
pub(super) struct Setting {
    pub(super) key: Key,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// The settings and problems of one layer.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) settings: Vec<Setting>,
    pub(super) problems: Vec<String>,
}

/// The configuration in effect, with the origins of its values.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The values.
    pub(crate) config: Config,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// The server elsewhere that the command is for, instead of a store.
    pub(crate) remote: Option<RemoteSettings>,
    origins: BTreeMap<String, Origin>,
}

impl Source {
    /// The file given with `--config`, if any, the flags of a server elsewhere, and this process's environment.
    pub(crate) fn new(file: Option<PathBuf>, remote: RemoteFlags) -> Source {
        Source { file, remote, variables: std::env::vars_os().collect() }
    }

    /// Loads and validates the configuration.
    ///
    /// # Errors
    /// The file cannot be read, a key or variable is unknown, or a value is invalid.
    pub(crate) fn load(&self, given: &Given) -> Result<Loaded, Failure> {
        let (loaded, problems) = self.gather(given)?;
        match check::failure(&problems) {
            None => Ok(loaded),
            Some(failure) => Err(failure),
        }
    }

    /// As [`Source::load`], with the server elsewhere that the user named.
    ///
    /// # Errors
    /// As [`Source::load`], or the flags and variables of the server contradict each other.
    pub(crate) fn load_for_api(&self, given: &Given) -> Result<Loaded, Failure> {
        Ok(Loaded { remote: self.remote(given)?, ..self.load(given)? })
    }

    /// As [`Source::load`], for a command that works on a store and on no server elsewhere.
    ///
    /// # Errors
    /// As [`Source::load`], or the user named a server.
    pub(crate) fn load_for_store(&self, given: &Given) -> Result<Loaded, Failure> {
        self.load_for_api(given)?.local()
    }

    /// The server elsewhere that the command is for. A flag that names a store wins over a variable that names a server.
    fn remote(&self, given: &Given) -> Result<Option<RemoteSettings>, Failure> {
        match (given.names_store(), self.remote.names_server()) {
            (Some(flag), true) => {
                Err(Failure::usage(format!("{flag} and --url exclude each other"))
                    .help("a command works on a store or calls a server elsewhere"))
            }
            (Some(_), false) => Ok(None),
            (None, _) => self.remote.settings(&self.variables),
        }
    }

    /// Loads the valid part of the configuration, with all problems.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn gather(&self, given: &Given) -> Result<(Loaded, Vec<String>), Failure> {
        let keys = keys::all();
        let file = self.file();
        let mut layers = Vec::new();
        if let Some(path) = &file {
            layers.push(file::settings(path, &file::read(path)?, &keys));
        }
        layers.push(environment::settings(self.variables.iter().cloned(), &keys));
        layers.push(given.settings(&keys));
        let (mut loaded, mut problems) = lay(layers)?;
        loaded.file = file;
        problems.extend(check::values(&loaded));
        if problems.is_empty() {
            problems = check::together(&loaded);
        }
        Ok((loaded, problems))
    }

    /// The file to read. A file given with `--config` must exist; the default one is optional.
    fn file(&self) -> Option<PathBuf> {
        let variable = self.variables.iter().find(|(name, _)| name == environment::FILE);
        let named = variable.filter(|(_, path)| !path.is_empty());
        let named = named.map(|(_, path)| PathBuf::from(path));
        let usual = || Some(PathBuf::from(file::USUAL)).filter(|file| file.exists());
        self.file.clone().or(named).or_else(usual)
    }
}

/// Merges the layers, in order.
fn lay(layers: Vec<Findings>) -> Result<(Loaded, Vec<String>), Failure> {
    let mut whole = Layer::default_values();
    let mut origins = BTreeMap::new();
    let mut problems = Vec::new();
    for findings in layers {
        problems.extend(findings.problems);
        for setting in findings.settings {
            let (path, origin) = (setting.key.path(), setting.origin);
            match layer_of(setting.key, setting.value) {
                Ok(layer) => {
                    whole = layer.with_fallback(whole);
                    origins.insert(path, origin);
                }
                Err(problem) => problems.push(about(&path, &problem, &origin)),
            }
        }
    }
    let config = Config::from_layer(whole)
        .map_err(|error| Failure::fault("making the configuration").because(error))?;
    let loaded = Loaded { config, file: None, remote: None, origins };
    Ok((loaded, problems))
}

/// A layer with one value in it.
fn layer_of(key: Key, value: Value) -> Result<Layer, String> {
    key.check_kind(&value)?;
    // An empty prefix is valid; any other empty text is probably a mistake.
    if value.as_str() == Some("") && key.path() != "store.table_prefix" {
        return Err("is empty; leave it out to use the default".to_owned());
    }
    let section = Table::from_iter([(key.name.to_owned(), value)]);
    let whole = Table::from_iter([(key.section.to_owned(), Value::Table(section))]);
    Value::Table(whole).try_into().map_err(|error: toml::de::Error| {
        let message = error.message();
        message.replace("unknown variant", "has the unknown value")
    })
}

/// The message for a problem of a key, with the layer that set it.
pub(super) fn about(key: &str, problem: &str, origin: &Origin) -> String {
    format!("{key} {problem} (from {origin})")
}

impl Findings {
    pub(super) fn wrong(&mut self, key: &str, problem: &str, origin: &Origin) {
        self.problems.push(about(key, problem, origin));
    }
}

impl Loaded {
    /// The same, unless the user named a server elsewhere.
    ///
    /// # Errors
    /// The user did, and the command works on a store only.
    pub(crate) fn local(self) -> Result<Loaded, Failure> {
        match &self.remote {
            None => Ok(self),
            Some(remote) => Err(needs_store(&remote.url)),
        }
    }

    /// The origin of the value of `section.name`.
    pub(crate) fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// Whether the file contains a secret.
    pub(crate) fn has_secret_from_file(&self) -> bool {
        let auth = &self.config.auth;
        let secrets = [
            ("auth.admin_key", &auth.admin_key),
            ("auth.signing_key", &auth.signing_key),
            ("auth.previous_signing_key", &auth.previous_signing_key),
            ("auth.cursor_key", &auth.cursor_key),
        ];
        secrets
            .iter()
            .any(|(key, secret)| secret.is_some() && matches!(self.origin(key), Origin::File(_)))
    }

    /// The message for a problem of a key, with the layer that set it.
    pub(super) fn wrong(&self, key: &str, problem: impl AsRef<str>) -> String {
        about(key, problem.as_ref(), self.origin(key))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Variable(name) | Origin::Flag(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(variables: &[(&str, &str)]) -> Source {
        let pair = |(name, text): &(&str, &str)| (name.into(), text.into());
        let variables = variables.iter().map(pair).collect();
        Source { file: None, remote: RemoteFlags::default(), variables }
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        let loaded = source(&[]).load(&Given::default()).unwrap();
        for key in keys::all() {
            assert_eq!(loaded.origin(&key.path()), &Origin::Default);
        }
        assert_eq!(loaded.config.server.listen, "127.0.0.1:8080");
        assert_eq!(loaded.config.auth.refresh_token_secs, 30 * 86_400);
    }

    #[test]
    fn a_loaded_secret_is_not_in_debug_output() {
        let variables = [("WEIR_ADMIN_KEY", "hunter2-hunter2-hunter2")];
        let loaded = source(&variables).load(&Given::default()).unwrap();
        let shown = format!("{loaded:?}");
        assert!(shown.contains("admin_key: Some(•••)"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_right_value_is_taken_and_not_only_shown() {
        let given = Given::data(Some("flag"));
        let variables = [("WEIR_DATA", "variable"), ("WEIR_JOBS_ENABLED", "0")];
        let loaded = source(&variables).load(&given).unwrap();
        assert_eq!(loaded.config.store.data, PathBuf::from("flag"));
        assert!(!loaded.config.jobs.enabled);
        assert_eq!(loaded.origin("store.data"), &Origin::Flag("--data"));
    }
}
