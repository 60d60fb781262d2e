//! Steps of a made-up history, run by one instance and by several.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{add, set};
use weir_table::{Item, Key, Store, Write};

use super::*;
use crate::bounds::MIGRATION_LOCK_MS;
use crate::settings::Settings;
use crate::table;

type Local = Limiter<Embedded>;

/// Where the steps write how often they were run, and by how many at once.
fn trace() -> Key {
    Key::new("_/TRACE", "#TRACE")
}

async fn note(limiter: &Local, what: &'static str) -> Result<()> {
    limiter.try_write(Write::update(limiter.table(), trace(), add(what, 1))).await?;
    Ok(())
}

fn steps() -> [Step<Embedded>; 2] {
    [
        Step { from: "1.0.0", to: "1.1.0", run: |limiter| Box::pin(slow(limiter)) },
        Step { from: "1.1.0", to: "2.0.0", run: |limiter| Box::pin(note(limiter, "second")) },
    ]
}

static INSIDE: AtomicU64 = AtomicU64::new(0);

async fn slow(limiter: &Local) -> Result<()> {
    assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "two run it at the same time");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    note(limiter, "first").await?;
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    Ok(())
}

struct Place {
    clock: Clock,
    store: Store<Embedded>,
    _folder: tempfile::TempDir,
}

impl Place {
    /// A table of the first schema.
    async fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::manual(1_768_478_400_000);
        let options = Options { clock: clock.clone(), ..Options::new(folder.path()) };
        let embedded = Embedded::open(options).unwrap();
        let cursors = embedded.cursor_key();
        let store = Store::new(embedded, cursors);
        store.create_table(&table::spec(table::TABLE_DEFAULT, false)).await.unwrap();
        let place = Place { clock, store, _folder: folder };
        bring_to(&place.limiter(), "1.0.0", &[]).await.unwrap();
        place
    }

    fn limiter(&self) -> Local {
        Limiter::new(self.store.clone(), self.clock.clone(), Settings::new(false, [7; 32]))
    }

    async fn traced(&self) -> Option<Item> {
        self.store.get(&Get::new(table::TABLE_DEFAULT, trace())).await.unwrap()
    }
}

#[tokio::test]
async fn instances_that_start_together_run_each_step_once() {
    let place = Arc::new(Place::new().await);
    let starts = (0..4).map(|_| {
        let limiter = place.limiter();
        tokio::spawn(async move { bring_to(&limiter, "2.0.0", &steps()).await })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap().unwrap();
    }
    let traced = place.traced().await.unwrap();
    assert_eq!((traced.i64("first"), traced.i64("second")), (Some(1), Some(1)));
    let record = place.limiter().version_item().await.unwrap().unwrap();
    assert_eq!(record.s("schema_version"), Some("2.0.0"));
    assert_eq!((record.get("migrating_by"), record.get("migrating_until")), (None, None));
}

#[tokio::test]
async fn a_step_that_failed_gives_way_and_is_run_again() {
    let place = Place::new().await;
    let limiter = place.limiter();
    let failing: [Step<Embedded>; 1] =
        [Step { from: "1.0.0", to: "1.1.0", run: |_| Box::pin(async { Err(Error::Contended) }) }];
    bring_to(&limiter, "1.1.0", &failing).await.unwrap_err();
    assert_eq!(limiter.version().await.unwrap().schema, "1.0.0");
    // It died with the lock; nobody else may run the step while it could be alive.
    assert!(Held::take(&limiter, "1.0.0").await.unwrap().is_none());
    place.clock.advance_ms(u64::try_from(MIGRATION_LOCK_MS).unwrap() + 1);
    let only = [Step::<Embedded> {
        from: "1.0.0",
        to: "1.1.0",
        run: |limiter| Box::pin(note(limiter, "again")),
    }];
    bring_to(&limiter, "1.1.0", &only).await.unwrap();
    assert_eq!(place.traced().await.unwrap().i64("again"), Some(1));
    assert_eq!(limiter.version().await.unwrap().schema, "1.1.0");
}

#[tokio::test]
async fn one_that_lost_its_lock_writes_no_version() {
    let place = Place::new().await;
    let limiter = place.limiter();
    let held = Held::take(&limiter, "1.0.0").await.unwrap().unwrap();
    place.clock.advance_ms(u64::try_from(MIGRATION_LOCK_MS).unwrap() + 1);
    let other = Held::take(&limiter, "1.0.0").await.unwrap().unwrap();
    let error = held.finish("1.1.0").await.unwrap_err();
    assert!(error.to_string().contains("took over"), "{error}");
    other.finish("1.1.0").await.unwrap();
    assert_eq!(limiter.version().await.unwrap().schema, "1.1.0");
}

#[tokio::test]
async fn no_way_to_the_present_schema_is_an_error() {
    let place = Place::new().await;
    let limiter = place.limiter();
    let write = Write::update(limiter.table(), keys::version(), set("schema_version", "1.5.0"));
    limiter.try_write(write).await.unwrap();
    let error = bring_to(&limiter, "2.0.0", &steps()).await.unwrap_err();
    assert!(error.to_string().contains("older weir first"), "{error}");
}
