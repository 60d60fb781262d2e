//! The practice service on the configured store.

use std::path::Path;

use clap::Args;
use weir_framework::objects as object_storage;
use weir_practice::Practice;
use weir_practice::objects::Objects;
use weir_server::practice::{OBJECTS_FOLDER, Settings};
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Store};

use crate::config::Loaded;
use crate::failure::Failure;
use crate::store_location::{Missing, StoreLocation};
use crate::tables::Tables;

/// The table of the practice service.
#[derive(Debug, Args)]
#[command(next_help_heading = "Practice")]
pub(super) struct PracticeFlags {
    /// Table of the practice service, without the prefix of all tables [default: practice.table]
    #[arg(long, value_name = "NAME", global = true)]
    table: Option<String>,
    /// Time zone of the days that limits count in [default: practice.timezone]
    #[arg(long, value_name = "ZONE", global = true)]
    timezone: Option<String>,
    /// Object storage of large texts, like s3://BUCKET/PREFIX [default: practice.objects, or a folder beside an
    /// embedded store]
    #[arg(long, value_name = "URL", global = true)]
    objects: Option<String>,
}

impl PracticeFlags {
    /// Opens the service, and closes the store when `act` is done. Without `creates` a missing table stays missing.
    pub(super) async fn with<T>(
        &self,
        loaded: &Loaded,
        creates: bool,
        act: impl AsyncFnOnce(Practice<AnyBackend>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let location = StoreLocation::of(&loaded.config.store);
        let settings = self.settings(&loaded.config.practice);
        let objects = objects(&settings, location.folder())?;
        let settings = settings.to_domain().map_err(failure)?;
        location
            .with(Missing::Create, async |tables| {
                let store = own(tables)?;
                let opened = if creates {
                    Practice::open(store, objects, Clock::System, settings).await
                } else {
                    Practice::new(store, objects, Clock::System, settings)
                };
                act(opened.map_err(failure)?).await
            })
            .await
    }

    /// The configured settings, with what the flags say.
    fn settings(&self, configured: &Settings) -> Settings {
        let mut settings = configured.clone();
        settings.table = self.table.clone().unwrap_or(settings.table);
        settings.timezone = self.timezone.clone().unwrap_or(settings.timezone);
        settings.objects = self.objects.clone().or(settings.objects);
        settings
    }
}

fn objects(settings: &Settings, data: Option<&Path>) -> Result<Objects, Failure> {
    match (&settings.objects, data) {
        (Some(url), _) => {
            let (store, prefix) = object_storage::open("--objects", url)?;
            Ok(Objects::new(store, &prefix))
        }
        (None, Some(data)) => {
            let folder = std::path::absolute(data.join(OBJECTS_FOLDER)).map_err(|error| {
                Failure::usage(format!("{} is not a folder", data.display())).because(error)
            })?;
            Ok(Objects::new(object_storage::open_folder("--objects", &folder)?, ""))
        }
        (None, None) => Ok(Objects::unavailable()),
    }
}

/// A store that this process opened: a server has no interface for a migration.
fn own(tables: &Tables) -> Result<Store<AnyBackend>, Failure> {
    match tables {
        Tables::Own(store) => Ok(store.clone()),
        Tables::Server(_) => Err(Failure::refused("a server has the store open")
            .help(
                "stop it for this command, and start it again afterwards; for dual writes while it runs, \
                 set practice.dual_write_from_file",
            )),
    }
}

fn failure(error: weir_practice::Error) -> Failure {
    match error {
        weir_practice::Error::Store(error) => error.into(),
        error => Failure::usage(error.to_string()),
    }
}
