//! The lock under which a step runs, in the version record.

use std::time::Duration;

use weir_table::expr::{Condition, attr, set};
use weir_table::{Backend, Write};

use crate::bounds::{MIGRATION_LOCK_MS, MIGRATION_RENEW_MS};
use crate::error::{Error, Result};
use crate::keys;
use crate::limiter::Limiter;
use crate::version::{self, SCHEMA_VERSION};

const HOLDER: &str = "migrating_by";
const EXPIRES: &str = "migrating_until";

/// A lock that this instance holds.
pub(super) struct MigrationLock<'a, B> {
    limiter: &'a Limiter<B>,
    from: &'static str,
    /// The holder: a new name each time.
    holder: String,
}

impl<'a, B: Backend> MigrationLock<'a, B> {
    /// Acquires the lock for the step from `from`, if nobody holds it and the schema is still that one.
    pub(super) async fn acquire(
        limiter: &'a Limiter<B>,
        from: &'static str,
    ) -> Result<Option<Self>> {
        let now_ms = limiter.now_ms();
        let holder = format!("{}:{:032x}", version::WEIR, fastrand::u128(..));
        let lock = MigrationLock { limiter, from, holder };
        let free = attr(EXPIRES).absent().or(attr(EXPIRES).lt(now_ms));
        let acquired = lock.write_lock(now_ms, attr(SCHEMA_VERSION).eq(from).and(free)).await?;
        Ok(acquired.then_some(lock))
    }

    async fn write_lock(&self, now_ms: i64, when: Condition) -> Result<bool> {
        let acquired = set(HOLDER, self.holder.as_str()).set(EXPIRES, now_ms + MIGRATION_LOCK_MS);
        let write = Write::update(self.limiter.table(), keys::version(), acquired);
        self.limiter.try_write(write.when(when)).await
    }

    fn is_ours(&self) -> Condition {
        attr(HOLDER).eq(self.holder.as_str()).and(attr(SCHEMA_VERSION).eq(self.from))
    }

    /// Runs `work` and renews the lock meanwhile. Aborts if the lock was lost.
    pub(super) async fn run(&self, work: impl Future<Output = Result<()>>) -> Result<()> {
        let mut renewal = tokio::time::interval(Duration::from_millis(MIGRATION_RENEW_MS));
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                result = &mut work => return result,
                _ = renewal.tick() => {
                    if !self.write_lock(self.limiter.now_ms(), self.is_ours()).await? {
                        return Err(self.lost());
                    }
                }
            }
        }
    }

    /// Writes the schema version `to`, and releases the lock.
    pub(super) async fn finish(self, to: &str) -> Result<()> {
        let result = version::updated(to, self.limiter.now_ms()).remove(HOLDER).remove(EXPIRES);
        let write = Write::update(self.limiter.table(), keys::version(), result);
        if self.limiter.try_write(write.when(self.is_ours())).await? {
            return Ok(());
        }
        Err(self.lost())
    }

    fn lost(&self) -> Error {
        Error::Version(format!(
            "another instance took over the migration from schema {}; start again",
            self.from
        ))
    }
}
