//! How far a table is copied, in our own table. It is written after each batch, so a run that was killed repeats at most one
//! batch, which changes nothing.

use weir_table::{Backend, Write};

use super::Migration;
use super::backfill::Counts;
use super::entity::Entity;
use super::error::{Error, Result};
use super::keys;
use crate::fields::Fields;
use crate::item::{Data, entity as new_item, secs};
use crate::kinds::EntityType;

/// How far a table is copied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Checkpoint {
    /// The database.
    pub(super) source: String,
    /// The last row.
    pub(super) last_id: i64,
    /// The outcomes of the rows so far.
    pub(super) counts: Counts,
    /// Whether all rows were copied that there were.
    pub(super) is_done: bool,
}

impl<B: Backend> Migration<B> {
    /// The checkpoint of a table; `None` before the first batch.
    pub(super) async fn checkpoint(&self, entity: Entity) -> Result<Option<Checkpoint>> {
        let Some(item) = self.practice().item(keys::checkpoint(entity)).await? else {
            return Ok(None);
        };
        let fields = Fields::of(&item)?;
        let count = |name: &str| {
            u64::try_from(fields.optional_number(name).unwrap_or_default()).unwrap_or_default()
        };
        Ok(Some(Checkpoint {
            source: fields.text("source")?.to_owned(),
            last_id: fields.number("last_id")?,
            counts: Counts {
                created: count("created"),
                updated: count("updated"),
                unchanged: count("unchanged"),
                kept: count("kept"),
                bad: count("bad"),
            },
            is_done: fields.flag("done"),
        }))
    }

    /// Where to go on: at the checkpoint, unless it is of another database.
    pub(super) async fn resume(&self, entity: Entity, restart: bool) -> Result<Checkpoint> {
        let source = self.source().name().to_owned();
        // A dry run may be on a table that does not exist yet.
        let stored = if restart { None } else { self.checkpoint(entity).await? };
        match stored {
            Some(checkpoint) if checkpoint.source == source => Ok(checkpoint),
            Some(checkpoint) => Err(Error::State(format!(
                "{entity} was copied from {}, not from {source}; restart to copy it again",
                checkpoint.source
            ))),
            None => Ok(Checkpoint { source, ..Checkpoint::default() }),
        }
    }

    pub(super) async fn save(&self, entity: Entity, checkpoint: &Checkpoint) -> Result<()> {
        let Counts { created, updated, unchanged, kept, bad } = checkpoint.counts;
        let data = Data::new()
            .with("source", checkpoint.source.as_str())
            .with("last_id", checkpoint.last_id)
            .with("created", created)
            .with("updated", updated)
            .with("unchanged", unchanged)
            .with("kept", kept)
            .with("bad", bad)
            .with("done", checkpoint.is_done);
        let practice = self.practice();
        let now_s = secs(practice.now_ms());
        let item = new_item(keys::checkpoint(entity), EntityType::Checkpoint, data, now_s);
        practice.write(Write::put(practice.table().clone(), item)).await?;
        Ok(())
    }
}
