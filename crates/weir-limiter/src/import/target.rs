//! A namespace at the destination, and what is created in it.

use weir_table::expr::attr;
use weir_table::{Backend, Get, Item, Write};

use super::ImportOptions;
use super::convert;
use super::report::Outcome;
use crate::config::{Level, LevelConfig};
use crate::entities::{Entity, NewEntity};
use crate::error::{Error, Result};
use crate::ids::{NamespaceId, NamespaceName};
use crate::item::BucketId;
use crate::limiter::{Limiter, Namespace};
use crate::namespaces::Record;
use crate::{keys, writes};

/// A namespace at the destination.
#[derive(Debug)]
pub(super) struct Target<B> {
    pub(super) name: NamespaceName,
    limiter: Limiter<B>,
    /// None, if a dry run would create it.
    namespace: Option<Namespace<B>>,
    /// Items created, or that would be.
    pub(super) imported: u64,
}

impl<B: Backend> Target<B> {
    /// Opens the namespace, and creates it if it is missing. None, if it cannot be used.
    pub(super) async fn open(
        limiter: &Limiter<B>,
        record: &Record,
        options: &ImportOptions,
    ) -> Result<(Option<Target<B>>, Outcome)> {
        let name = &record.name;
        let created = match limiter.namespace(name).await {
            Ok(_) => Ok(false),
            // A dry run does not create the table either.
            Err(Error::NotFound { .. } | Error::Store(weir_table::Error::NoSuchTable(_)))
                if options.dry_run =>
            {
                Ok(true)
            }
            Err(Error::NotFound { .. }) => {
                limiter.create_namespace(name, &options.actor).await.map(|(_, created)| created)
            }
            Err(error) => Err(error),
        };
        let created = match created {
            Ok(created) => created,
            Err(Error::Conflict(problem)) => return Ok((None, Outcome::Refused(problem))),
            Err(error) => return Err(error),
        };
        let is_missing = created && options.dry_run;
        let namespace = if is_missing { None } else { Some(limiter.namespace(name).await?) };
        let outcome = if created { Outcome::Imported } else { Outcome::Unchanged };
        let limiter = limiter.clone();
        let target =
            Target { name: name.clone(), limiter, namespace, imported: u64::from(created) };
        Ok((Some(target), outcome))
    }

    /// The id, unless a dry run would create the namespace.
    pub(super) fn id(&self) -> Option<&NamespaceId> {
        self.namespace.as_ref().map(Namespace::id)
    }

    pub(super) async fn entity(&self, entity: Entity, options: &ImportOptions) -> Result<Outcome> {
        let Some(ns) = &self.namespace else { return Ok(Outcome::Imported) };
        match ns.entity(&entity.id).await {
            Ok(found) if (&found.parent, found.cascade) == (&entity.parent, entity.cascade) => {
                return Ok(Outcome::Unchanged);
            }
            Ok(_) => {
                let problem = "it exists with another parent or cascade, and stays as it is";
                return Ok(Outcome::Refused(problem.to_owned()));
            }
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        if !options.dry_run {
            let Entity { id, name, parent, cascade, metadata, .. } = entity;
            let new = NewEntity { name, parent, cascade, metadata };
            ns.put_entity(&id, new, &options.actor).await?;
        }
        Ok(Outcome::Imported)
    }

    pub(super) async fn level(
        &self,
        level: &Level,
        config: LevelConfig,
        options: &ImportOptions,
    ) -> Result<Outcome> {
        // What these two say concerns zae-limiter's own tables.
        let config = LevelConfig { auto_update: None, strict_version: None, ..config };
        let Some(ns) = &self.namespace else { return Ok(Outcome::Imported) };
        if let Some(found) = ns.limits(level).await? {
            let same =
                found.limits == config.limits && found.on_unavailable == config.on_unavailable;
            let problem = "the level has other limits here, and stays as it is";
            return Ok(if same {
                Outcome::Unchanged
            } else {
                Outcome::Refused(problem.to_owned())
            });
        }
        if !options.dry_run {
            ns.set_limits(level, config, &options.actor).await?;
        }
        Ok(Outcome::Imported)
    }

    pub(super) async fn bucket(
        &self,
        id: BucketId,
        shards: Vec<Item>,
        options: &ImportOptions,
    ) -> Result<Outcome> {
        let meters_writes = self.limiter.settings().sharded;
        let bucket = match convert::whole_bucket(&shards, meters_writes, self.limiter.now_ms()) {
            Err(problem) => return Ok(Outcome::Refused(problem)),
            Ok(None) => return Ok(Outcome::Unchanged),
            Ok(Some(bucket)) => bucket,
        };
        let Some(ns) = &self.namespace else { return Ok(Outcome::Imported) };
        let id = BucketId { ns: ns.id().clone(), ..id };
        let write = writes::create(self.limiter.table(), &id, &bucket);
        let key = keys::bucket(&id.ns, &id.entity, &id.resource, 0);
        self.create(Get::new(self.limiter.table(), key), write, options).await
    }

    /// Copies a snapshot of usage or an audit event.
    pub(super) async fn history(
        &self,
        item: &Item,
        from: &str,
        options: &ImportOptions,
    ) -> Result<Outcome> {
        let Some(ns) = &self.namespace else { return Ok(Outcome::Imported) };
        let mut moved = convert::moved(item, from, ns.id().as_str());
        if let Some(id) = item.s("event_id") {
            moved.set("GSI1PK", keys::gsi1_audit(ns.id().as_str()));
            moved.set("GSI1SK", id);
        }
        let Some(key) = crate::namespaces::key_of(&moved) else { return Ok(Outcome::Unchanged) };
        let write = Write::put(self.limiter.table(), moved).when(attr("PK").absent());
        self.create(Get::new(self.limiter.table(), key), write, options).await
    }

    /// Creates an item that is missing.
    async fn create(&self, get: Get, write: Write, options: &ImportOptions) -> Result<Outcome> {
        let created = if options.dry_run {
            self.limiter.store().get(&get).await?.is_none()
        } else {
            self.limiter.try_write(write).await?
        };
        Ok(if created { Outcome::Imported } else { Outcome::Unchanged })
    }
}
