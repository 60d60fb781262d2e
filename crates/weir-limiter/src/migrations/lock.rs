//! The lock under which a step runs, in the version record.

use std::time::Duration;

use weir_table::expr::{Condition, attr, set};
use weir_table::{Backend, Write};

use crate::bounds::{MIGRATION_LOCK_MS, MIGRATION_RENEW_MS};
use crate::error::{Error, Result};
use crate::keys;
use crate::limiter::Limiter;
use crate::version::{self, SCHEMA_VERSION};

const BY: &str = "migrating_by";
const UNTIL: &str = "migrating_until";

/// A lock that is held.
pub(super) struct Held<'a, B> {
    limiter: &'a Limiter<B>,
    from: &'static str,
    /// Who holds it: a new name each time.
    holder: String,
}

impl<'a, B: Backend> Held<'a, B> {
    /// Takes the lock for the step from `from`, if nobody holds it and the schema is still that one.
    pub(super) async fn take(limiter: &'a Limiter<B>, from: &'static str) -> Result<Option<Self>> {
        let now_ms = limiter.now_ms();
        let holder = format!("{}:{:032x}", version::WEIR, fastrand::u128(..));
        let held = Held { limiter, from, holder };
        let free = attr(UNTIL).absent().or(attr(UNTIL).lt(now_ms));
        let taken = held.write_until(now_ms, attr(SCHEMA_VERSION).eq(from).and(free)).await?;
        Ok(taken.then_some(held))
    }

    async fn write_until(&self, now_ms: i64, when: Condition) -> Result<bool> {
        let taken = set(BY, self.holder.as_str()).set(UNTIL, now_ms + MIGRATION_LOCK_MS);
        let write = Write::update(self.limiter.table(), keys::version(), taken);
        self.limiter.try_write(write.when(when)).await
    }

    fn is_ours(&self) -> Condition {
        attr(BY).eq(self.holder.as_str()).and(attr(SCHEMA_VERSION).eq(self.from))
    }

    /// Does `work` and renews the lock meanwhile. Stops it when the lock was lost.
    pub(super) async fn during(&self, work: impl Future<Output = Result<()>>) -> Result<()> {
        let mut beat = tokio::time::interval(Duration::from_millis(MIGRATION_RENEW_MS));
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = beat.tick() => {
                    if !self.write_until(self.limiter.now_ms(), self.is_ours()).await? {
                        return Err(self.lost());
                    }
                }
            }
        }
    }

    /// Writes down that the table has schema `to`, and gives the lock back.
    pub(super) async fn finish(self, to: &str) -> Result<()> {
        let done = version::updated(to, self.limiter.now_ms()).remove(BY).remove(UNTIL);
        let write = Write::update(self.limiter.table(), keys::version(), done);
        if self.limiter.try_write(write.when(self.is_ours())).await? {
            return Ok(());
        }
        Err(self.lost())
    }

    fn lost(&self) -> Error {
        Error::Version(format!(
            "another instance took over changing the table's schema from {}; start again",
            self.from
        ))
    }
}
