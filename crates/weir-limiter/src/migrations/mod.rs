//! Migrates the table from an older schema to the present one, step by step.
//!
//! One instance at a time runs a step: it holds a lock in the version record, renews it while the step runs, and writes the
//! new version and releases the lock in one write. A lock that is not renewed is taken over. A step can be repeated from
//! any point, because the instance before may have died there.

mod lock;
mod plan;
#[cfg(test)]
mod tests;

use std::pin::Pin;

use weir_table::{Backend, Get, Value};

use crate::bounds::{MIGRATION_POLL_MS, MIGRATION_POLLS_MAX, MIGRATION_STEPS_MAX};
use crate::error::{Error, Result};
use crate::ids::NamespaceName;
use crate::limiter::Limiter;
use crate::version::{self, SCHEMA, SCHEMA_ZAE, Version};
use crate::{keys, namespaces, shared_table};
use lock::MigrationLock;
use plan::Plan;

/// The work of a step.
type Work<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// One step from a schema to the next. It can be repeated from any point.
pub(crate) struct Step<B> {
    /// The schema before the step.
    pub(crate) from: &'static str,
    /// The schema after the step.
    pub(crate) to: &'static str,
    /// The work of the step.
    pub(crate) run: for<'a> fn(&'a Limiter<B>) -> Work<'a>,
}

/// The steps from the first schema of our own to the present one, in order.
fn steps<B: Backend>() -> &'static [Step<B>] {
    &[]
}

/// Writes the version record of a new table, or migrates an older one.
///
/// # Errors
/// The schema is newer than this code supports, or the store fails.
pub(crate) async fn run<B: Backend>(limiter: &Limiter<B>) -> Result<()> {
    let schema = if limiter.settings().is_shared() { SCHEMA_ZAE } else { SCHEMA };
    migrate_to(limiter, schema, steps()).await
}

/// Migrates the table to `schema` with these steps.
async fn migrate_to<B: Backend>(
    limiter: &Limiter<B>,
    schema: &str,
    steps: &[Step<B>],
) -> Result<()> {
    let mut polls = 0;
    for _ in 0..MIGRATION_STEPS_MAX {
        let Some(item) = limiter.version_item().await? else {
            limiter.try_write(version::first(limiter.table(), schema, limiter.now_ms())).await?;
            continue;
        };
        let found = version::decode(&item);
        if found.schema != schema && is_strict(limiter).await? {
            return Err(plan::strict_version_error(&found.schema, schema));
        }
        if limiter.settings().is_shared() {
            return shared_table::check_version(&item);
        }
        let schemas = steps.iter().map(|step| (step.from, step.to));
        let at = match plan::plan(&found.schema, schema, schemas)? {
            Plan::Supported => return Ok(()),
            Plan::Step(at) => at,
        };
        let Some(step) = steps.get(at) else { return Ok(()) };
        run_step(limiter, &found, step, &mut polls).await?;
    }
    Err(Error::Version("the schema keeps changing; is another version of weir running?".to_owned()))
}

async fn run_step<B: Backend>(
    limiter: &Limiter<B>,
    found: &Version,
    step: &Step<B>,
    polls: &mut u32,
) -> Result<()> {
    let (from, to) = (step.from, step.to);
    loop {
        if let Some(lock) = MigrationLock::acquire(limiter, from).await? {
            tracing::info!(from, to, "changing the schema of the limiter's table");
            lock.run((step.run)(limiter)).await?;
            return lock.finish(to).await;
        }
        // Another instance runs the step, or has completed it.
        let now = limiter.version().await?;
        if now.schema != found.schema {
            return Ok(());
        }
        *polls += 1;
        if *polls > MIGRATION_POLLS_MAX {
            let problem = "another instance has been migrating the table for too long";
            return Err(Error::Version(format!("{problem}: from {from} to {to}; see its log")));
        }
        tokio::time::sleep(std::time::Duration::from_millis(MIGRATION_POLL_MS)).await;
    }
}

/// Whether the system level of `default` sets `strict_version`.
async fn is_strict<B: Backend>(limiter: &Limiter<B>) -> Result<bool> {
    let name = NamespaceName::new(namespaces::DEFAULT)?;
    let Some(default) = limiter.active_namespace(&name).await? else { return Ok(false) };
    let get = Get::new(limiter.table(), keys::system_config(&default.id));
    let level = limiter.store().get(&get).await?;
    let strict = level.as_ref().and_then(|level| level.get("strict_version"));
    Ok(strict.and_then(Value::as_bool).unwrap_or_default())
}
