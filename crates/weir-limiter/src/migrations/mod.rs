//! From an older schema to the present one, step by step.
//!
//! A step is run by one instance at a time: whoever runs it holds a lock in the version record, renews it while the step
//! runs, and writes the new version and gives the lock back in one write. A lock that is not renewed is taken over. Steps can be run
//! again from anywhere in their middle, because the one before may have died there.

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
use crate::{keys, namespaces};
use lock::Held;
use plan::Verdict;

/// The work of a step.
type Work<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// One step from a schema to the next. It can be run again from anywhere in its middle.
pub(crate) struct Step<B> {
    /// The schema it begins with.
    pub(crate) from: &'static str,
    /// The schema it ends with.
    pub(crate) to: &'static str,
    /// What it does.
    pub(crate) run: for<'a> fn(&'a Limiter<B>) -> Work<'a>,
}

/// The steps from the first schema of our own to the present one, in order.
fn steps<B: Backend>() -> &'static [Step<B>] {
    &[]
}

/// Writes the version record of a new table, or brings an older one up to date.
///
/// # Errors
/// The schema is newer than this code, or the store fails.
pub(crate) async fn run<B: Backend>(limiter: &Limiter<B>) -> Result<()> {
    let schema = if limiter.settings().is_shared() { SCHEMA_ZAE } else { SCHEMA };
    bring_to(limiter, schema, steps()).await
}

/// Brings the table to `schema` by these steps.
async fn bring_to<B: Backend>(limiter: &Limiter<B>, schema: &str, steps: &[Step<B>]) -> Result<()> {
    let mut polls = 0;
    for _ in 0..MIGRATION_STEPS_MAX {
        let Some(item) = limiter.version_item().await? else {
            limiter.try_write(version::first(limiter.table(), schema, limiter.now_ms())).await?;
            continue;
        };
        let found = version::decode(&item);
        if found.schema != schema && is_strict(limiter).await? {
            return Err(plan::strict(&found.schema, schema));
        }
        let shared = limiter.settings().is_shared();
        let edges = steps.iter().map(|step| (step.from, step.to));
        let at = match plan::verdict(&found.schema, schema, shared, edges)? {
            Verdict::Fine => return Ok(()),
            Verdict::Step(at) => at,
        };
        let Some(step) = steps.get(at) else { return Ok(()) };
        run_step(limiter, &found, step, &mut polls).await?;
    }
    Err(Error::Version("the schema changes all the time; is another version running?".to_owned()))
}

async fn run_step<B: Backend>(
    limiter: &Limiter<B>,
    found: &Version,
    step: &Step<B>,
    polls: &mut u32,
) -> Result<()> {
    let (from, to) = (step.from, step.to);
    loop {
        if let Some(held) = Held::take(limiter, from).await? {
            tracing::info!(from, to, "changing the schema of the limiter's table");
            held.during((step.run)(limiter)).await?;
            return held.finish(to).await;
        }
        // Another instance is at it, or is done.
        let now = limiter.version().await?;
        if now.schema != found.schema {
            return Ok(());
        }
        *polls += 1;
        if *polls > MIGRATION_POLLS_MAX {
            let problem = "another instance has been changing the table's schema for too long";
            return Err(Error::Version(format!("{problem}: from {from} to {to}; see its log")));
        }
        tokio::time::sleep(std::time::Duration::from_millis(MIGRATION_POLL_MS)).await;
    }
}

/// Whether the system level of `default` wants no other version than exactly this.
async fn is_strict<B: Backend>(limiter: &Limiter<B>) -> Result<bool> {
    let name = NamespaceName::new(namespaces::DEFAULT)?;
    let Some(default) = limiter.active_namespace(&name).await? else { return Ok(false) };
    let get = Get::new(limiter.table(), keys::system_config(&default.id));
    let level = limiter.store().get(&get).await?;
    let strict = level.as_ref().and_then(|level| level.get("strict_version"));
    Ok(strict.and_then(Value::as_bool).unwrap_or_default())
}
