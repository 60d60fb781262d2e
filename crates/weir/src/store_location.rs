//! The location of tables: how users name a store, and how it is opened.
//!
//! Only one process can open an embedded store. A command therefore uses the server that has it open, opens it itself if there is
//! none, and waits a moment if another command has it open.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use weir_framework::auth::key_file;
use weir_framework::{ADMIN_KEY_FILE, Client};
use weir_table::cursor::CursorKey;
use weir_table::embedded::{Embedded, Options};
use weir_table::{AnyBackend, Error, Store};

use crate::config::{self, Kind};
use crate::failure::Failure;
use crate::tables::Tables;

/// Maximum wait for another command that has the store open.
const WAIT_MAX: Duration = Duration::from_secs(5);
const WAIT_STEP: Duration = Duration::from_millis(50);

/// The location of tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// In a folder on this machine.
    Embedded(Folder),
    /// On DynamoDB.
    Dynamo(DynamoLocation),
}

/// The folder of an embedded store, and the bounds with which it is opened.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) bounds: Option<config::Bounds>,
}

/// The same folder is the same store, whatever its bounds.
impl PartialEq for Folder {
    fn eq(&self, other: &Folder) -> bool {
        self.path == other.path
    }
}

impl Eq for Folder {}

impl Folder {
    fn options(&self) -> Options {
        match self.bounds {
            Some(bounds) => bounds.options(&self.path),
            None => Options::new(&self.path),
        }
    }
}

/// Endpoint, region and table prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DynamoLocation {
    endpoint: Option<String>,
    region: Option<String>,
    prefix: String,
}

/// The action if the store does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Create it.
    Create,
    /// Fail.
    Refuse,
}

impl StoreLocation {
    /// The configured location.
    pub(crate) fn of(store: &config::Store) -> StoreLocation {
        match store.kind {
            Kind::Embedded => {
                let (path, bounds) = (store.data.clone(), Some(store.bounds()));
                StoreLocation::Embedded(Folder { path, bounds })
            }
            Kind::Dynamo => StoreLocation::Dynamo(DynamoLocation {
                endpoint: store.dynamodb_endpoint.clone(),
                region: store.region.clone(),
                prefix: store.table_prefix.clone().unwrap_or_default(),
            }),
        }
    }

    /// The location, opened with the configured bounds.
    pub(crate) fn bounded(self, store: &config::Store) -> StoreLocation {
        match self {
            StoreLocation::Embedded(folder) => {
                StoreLocation::Embedded(Folder { bounds: Some(store.bounds()), ..folder })
            }
            dynamo @ StoreLocation::Dynamo(_) => dynamo,
        }
    }

    /// The folder of an embedded store.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            StoreLocation::Embedded(folder) => Some(&folder.path),
            StoreLocation::Dynamo(_) => None,
        }
    }

    /// Whether there may be tables: a folder may contain no store.
    pub(crate) fn is_there(&self) -> bool {
        self.folder().is_none_or(holds_something)
    }

    /// Whether the tables are on this machine.
    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self, StoreLocation::Embedded(_))
    }

    /// Opens the tables, runs `act` with them and closes them, even if `act` fails.
    ///
    /// # Errors
    /// The tables cannot be opened or closed, or `act` fails.
    pub(crate) async fn with<T>(
        &self,
        missing: Missing,
        act: impl AsyncFnOnce(&Tables) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.with_cursors(missing, None, act).await
    }

    /// Like [`StoreLocation::with`], but signs cursors, and derives other keys, with `cursors`, as a server with this
    /// key does.
    ///
    /// # Errors
    /// As [`StoreLocation::with`].
    pub(crate) async fn with_cursors<T>(
        &self,
        missing: Missing,
        cursors: Option<CursorKey>,
        act: impl AsyncFnOnce(&Tables) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let tables = self.open(missing, cursors).await?;
        let acted = act(&tables).await;
        let closed = tables.close().await;
        let answer = acted?;
        closed?;
        Ok(answer)
    }

    async fn open(&self, missing: Missing, cursors: Option<CursorKey>) -> Result<Tables, Failure> {
        match self {
            StoreLocation::Dynamo(location) => {
                let cursors = cursors.unwrap_or_else(|| CursorKey::new(COMMAND_CURSORS));
                Ok(Tables::Own(location.connect(cursors).await?))
            }
            StoreLocation::Embedded(folder) => {
                let data = &folder.path;
                if missing == Missing::Refuse && !holds_something(data) {
                    return Err(Failure::refused(format!("no store in {}", data.display())).help(
                        "name its folder with --data; \
                         `weir tables create` and `weir serve` make a new one",
                    ));
                }
                open_embedded(data, folder.options(), cursors).await
            }
        }
    }

    /// Opens the store for a server, which cannot use another process. Its cursors are signed with `cursors`; without it an
    /// embedded store uses its own key.
    ///
    /// # Errors
    /// The store cannot be opened, or another process has it open.
    pub(crate) async fn open_store(
        &self,
        cursors: Option<CursorKey>,
    ) -> Result<Store<AnyBackend>, Failure> {
        let folder = match self {
            StoreLocation::Dynamo(location) => {
                let missing = || Failure::usage("a server on DynamoDB needs auth.cursor_key");
                return location.connect(cursors.ok_or_else(missing)?).await;
            }
            StoreLocation::Embedded(folder) => folder,
        };
        open_for_server(&folder.path, folder.options(), cursors).await
    }
}

/// Opens the embedded store in `data` for a server, which cannot use another process.
///
/// # Errors
/// As [`StoreLocation::open_store`].
pub(crate) async fn open_for_server(
    data: &Path,
    options: Options,
    cursors: Option<CursorKey>,
) -> Result<Store<AnyBackend>, Failure> {
    match open_embedded(data, options, cursors).await? {
        Tables::Own(store) => Ok(store),
        Tables::Server(client) => {
            let about = client.about().await?;
            let message = format!("a server has {} open already", data.display());
            Err(Failure::refused(message).help(format!(
                "it is process {}; stop it, or name another folder with --data",
                about.pid
            )))
        }
    }
}

fn holds_something(data: &Path) -> bool {
    std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some())
}

async fn open_embedded(
    data: &Path,
    options: Options,
    cursors: Option<CursorKey>,
) -> Result<Tables, Failure> {
    let started = Instant::now();
    loop {
        if let Some(client) = Client::find(data).await? {
            return Ok(Tables::Server(client));
        }
        let backup_folders = weir_server::BACKUP_FOLDERS.map(str::to_owned).to_vec();
        let key_files = [key_file::NAME, ADMIN_KEY_FILE].map(str::to_owned).to_vec();
        let options = Options { backup_folders, key_files, ..options.clone() };
        let opened = tokio::task::spawn_blocking(move || Embedded::open(options)).await;
        match opened.map_err(|error| Failure::fault("opening the store").because(error))? {
            Ok(embedded) => {
                let cursors = cursors.unwrap_or_else(|| embedded.cursor_key());
                let store = Store::new(AnyBackend::Embedded(embedded), cursors);
                return Ok(Tables::Own(store));
            }
            Err(Error::InUse { .. }) if started.elapsed() < WAIT_MAX => {
                tokio::time::sleep(WAIT_STEP).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The key that signs the cursors which commands print for DynamoDB. Users of such a command can read the tables anyway, so
/// it only detects mistakes and is the same in every process.
const COMMAND_CURSORS: [u8; 32] = *b"weir: cursors printed by command";

impl DynamoLocation {
    #[cfg(feature = "dynamodb")]
    async fn connect(&self, cursors: CursorKey) -> Result<Store<AnyBackend>, Failure> {
        use weir_table::dynamodb::{Dynamo, Options};
        let options = Options {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            table_prefix: self.prefix.clone(),
            ..Options::default()
        };
        let dynamo = Dynamo::connect(options).await?;
        Ok(Store::new(AnyBackend::Dynamo(dynamo), cursors))
    }

    #[cfg(not(feature = "dynamodb"))]
    #[expect(clippy::unused_async, reason = "the same call as with the feature")]
    async fn connect(&self, _cursors: CursorKey) -> Result<Store<AnyBackend>, Failure> {
        Err(Failure::usage("this build of weir has no DynamoDB back-end")
            .help("build it with the cargo feature `dynamodb`, which is on by default"))
    }
}

impl FromStr for StoreLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<StoreLocation, String> {
        match text.split_once(':') {
            Some(("embedded", "")) => {
                Err("embedded: needs a folder, like embedded:./weir-data".into())
            }
            Some(("embedded", folder)) => {
                Ok(StoreLocation::Embedded(Folder { path: folder.into(), bounds: None }))
            }
            Some(("dynamodb", rest)) => dynamo_location(rest).map(StoreLocation::Dynamo),
            _ => Err(format!(
                "{text:?} is no store; write embedded:DIR or dynamodb:[ENDPOINT][?region=R&prefix=P]"
            )),
        }
    }
}

fn dynamo_location(text: &str) -> Result<DynamoLocation, String> {
    let (endpoint, parameters) = text.split_once('?').unwrap_or((text, ""));
    if !(endpoint.is_empty() || endpoint.starts_with("http://") || endpoint.starts_with("https://"))
    {
        return Err(format!(
            "{endpoint:?} is not an endpoint; it must start with http:// or https://, \
             and is left out for AWS: dynamodb:?region=eu-central-1"
        ));
    }
    let mut location = DynamoLocation {
        endpoint: Some(endpoint.to_owned()).filter(|endpoint| !endpoint.is_empty()),
        ..DynamoLocation::default()
    };
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        match parameter.split_once('=') {
            Some(("prefix", prefix)) => prefix.clone_into(&mut location.prefix),
            Some(("region", region)) => location.region = Some(region.to_owned()),
            _ => {
                return Err(format!("{parameter:?} is unknown; there are region=R and prefix=P"));
            }
        }
    }
    Ok(location)
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreLocation::Embedded(folder) => write!(f, "embedded:{}", folder.path.display()),
            StoreLocation::Dynamo(location) => {
                write!(f, "dynamodb:{}", location.endpoint.as_deref().unwrap_or(""))?;
                let region = location.region.iter().map(|region| format!("region={region}"));
                let prefix = Some(&location.prefix).filter(|prefix| !prefix.is_empty());
                let prefix = prefix.map(|prefix| format!("prefix={prefix}"));
                let parameters: Vec<_> = region.chain(prefix).collect();
                match parameters.as_slice() {
                    [] => Ok(()),
                    some => write!(f, "?{}", some.join("&")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_as_they_are_written() {
        for text in [
            "embedded:./weir-data",
            "embedded:/a:b/c?d",
            "dynamodb:",
            "dynamodb:?region=eu-central-1",
            "dynamodb:http://localhost:8000?region=x&prefix=test-",
            "dynamodb:https://db.example?prefix=p",
        ] {
            assert_eq!(text.parse::<StoreLocation>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn mistakes_in_places_are_told() {
        for (text, expected) in [
            ("./weir-data", "is no store"),
            ("postgres:x", "is no store"),
            ("embedded:", "needs a folder"),
            ("dynamodb:localhost:8000", "is not an endpoint"),
            ("dynamodb:?table=x", "is unknown"),
        ] {
            let problem = text.parse::<StoreLocation>().unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
