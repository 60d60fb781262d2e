//! Invented migration steps, run by one instance and by several.

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

/// Where the steps count their runs.
fn trace() -> Key {
    Key::new("_/TRACE", "#TRACE")
}

async fn count_run(limiter: &Local, what: &'static str) -> Result<()> {
    limiter.try_write(Write::update(limiter.table(), trace(), add(what, 1))).await?;
    Ok(())
}

fn steps() -> [Step<Embedded>; 2] {
    [
        Step { from: "1.0.0", to: "1.1.0", run: |limiter| Box::pin(slow(limiter)) },
        Step { from: "1.1.0", to: "2.0.0", run: |limiter| Box::pin(count_run(limiter, "second")) },
    ]
}

static INSIDE: AtomicU64 = AtomicU64::new(0);

async fn slow(limiter: &Local) -> Result<()> {
    assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "two run it at the same time");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    count_run(limiter, "first").await?;
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    Ok(())
}

struct Fixture {
    clock: Clock,
    store: Store<Embedded>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    /// A table of the first schema.
    async fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::manual(1_768_478_400_000);
        let options = Options { clock: clock.clone(), ..Options::new(folder.path()) };
        let embedded = Embedded::open(options).unwrap();
        let cursors = embedded.cursor_key();
        let store = Store::new(embedded, cursors);
        store.create_table(&table::spec(table::TABLE_DEFAULT, false)).await.unwrap();
        let fixture = Fixture { clock, store, _folder: folder };
        migrate_to(&fixture.limiter(), "1.0.0", &[]).await.unwrap();
        fixture
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
    let fixture = Arc::new(Fixture::new().await);
    let starts = (0..4).map(|_| {
        let limiter = fixture.limiter();
        tokio::spawn(async move { migrate_to(&limiter, "2.0.0", &steps()).await })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap().unwrap();
    }
    let traced = fixture.traced().await.unwrap();
    assert_eq!((traced.i64("first"), traced.i64("second")), (Some(1), Some(1)));
    let record = fixture.limiter().version_item().await.unwrap().unwrap();
    assert_eq!(record.s("schema_version"), Some("2.0.0"));
    assert_eq!((record.get("migrating_by"), record.get("migrating_until")), (None, None));
}

#[tokio::test]
async fn a_failed_step_is_repeated_after_its_lock_expires() {
    let fixture = Fixture::new().await;
    let limiter = fixture.limiter();
    let failing: [Step<Embedded>; 1] =
        [Step { from: "1.0.0", to: "1.1.0", run: |_| Box::pin(async { Err(Error::Contended) }) }];
    migrate_to(&limiter, "1.1.0", &failing).await.unwrap_err();
    assert_eq!(limiter.version().await.unwrap().schema, "1.0.0");
    // The instance died with the lock; nobody else may run the step while it could be alive.
    assert!(MigrationLock::acquire(&limiter, "1.0.0").await.unwrap().is_none());
    fixture.clock.advance_ms(u64::try_from(MIGRATION_LOCK_MS).unwrap() + 1);
    let only = [Step::<Embedded> {
        from: "1.0.0",
        to: "1.1.0",
        run: |limiter| Box::pin(count_run(limiter, "again")),
    }];
    migrate_to(&limiter, "1.1.0", &only).await.unwrap();
    assert_eq!(fixture.traced().await.unwrap().i64("again"), Some(1));
    assert_eq!(limiter.version().await.unwrap().schema, "1.1.0");
}

#[tokio::test]
async fn an_instance_that_lost_its_lock_writes_no_version() {
    let fixture = Fixture::new().await;
    let limiter = fixture.limiter();
    let lock = MigrationLock::acquire(&limiter, "1.0.0").await.unwrap().unwrap();
    fixture.clock.advance_ms(u64::try_from(MIGRATION_LOCK_MS).unwrap() + 1);
    let other = MigrationLock::acquire(&limiter, "1.0.0").await.unwrap().unwrap();
    let error = lock.finish("1.1.0").await.unwrap_err();
    assert!(error.to_string().contains("took over"), "{error}");
    other.finish("1.1.0").await.unwrap();
    assert_eq!(limiter.version().await.unwrap().schema, "1.1.0");
}

#[tokio::test]
async fn a_schema_without_a_migration_path_is_an_error() {
    let fixture = Fixture::new().await;
    let limiter = fixture.limiter();
    let write = Write::update(limiter.table(), keys::version(), set("schema_version", "1.5.0"));
    limiter.try_write(write).await.unwrap();
    let error = migrate_to(&limiter, "2.0.0", &steps()).await.unwrap_err();
    assert!(error.to_string().contains("older weir first"), "{error}");
}
