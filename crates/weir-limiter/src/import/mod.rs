//! Copies a table of zae-limiter, of any release, into a table of Weir's own: namespaces, entities with their parents, limits
//! at all levels, live balances and, on request, usage and audit events.
//!
//! Everything is created only where it is missing. So an import that was interrupted continues when it runs again, and a
//! second run changes nothing. What Weir cannot express is reported and left out, never guessed.

mod convert;
mod report;
mod target;

use std::collections::BTreeMap;

use weir_table::{Backend, Get, Item, Name, Query, Store, Write};

pub use report::{Counts, Kind, Problem, Report};

use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::ids::NamespaceId;
use crate::limiter::Limiter;
use crate::{keys, namespaces, version};
use convert::Found;
use report::Outcome;
use target::Target;

/// Items on a page of the source.
const PAGE_ITEMS: u32 = 500;
/// Most namespaces of one import.
const NAMESPACES_MAX: usize = 10_000;

/// The options of an import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Usage and audit events too.
    pub history: bool,
    /// Report what an import would do, without writing.
    pub dry_run: bool,
    /// The actor of the import in the audit trail.
    pub actor: String,
}

/// An import from a table of zae-limiter.
#[derive(Debug)]
pub struct Import<S, B> {
    source: Store<S>,
    table: Name,
    to: Limiter<B>,
    options: ImportOptions,
}

/// The source is read once per pass: parents have to exist before their children, and limits before balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Parents,
    ChildrenAndLevels,
    BucketsAndHistory,
}

impl Pass {
    fn includes(self, found: &Found) -> bool {
        self == match found {
            Found::Entity(entity) if entity.parent.is_none() => Pass::Parents,
            Found::Entity(_) | Found::Level(..) => Pass::ChildrenAndLevels,
            Found::Bucket(_) | Found::Usage | Found::Audit | Found::Other(_) => {
                Pass::BucketsAndHistory
            }
            Found::Nothing => return false,
        }
    }
}

impl<S: Backend, B: Backend> Import<S, B> {
    /// An import from `table` of `source`.
    pub fn new(source: Store<S>, table: &str, to: Limiter<B>, options: ImportOptions) -> Self {
        Import { source, table: table.into(), to, options }
    }

    /// Imports. `seen` is called with the number of items of each page.
    ///
    /// # Errors
    /// The source is no table of zae-limiter, or a store fails. What was imported stays; the next run continues.
    pub async fn run(&self, mut seen: impl FnMut(u64)) -> Result<Report> {
        self.check_source().await?;
        let mut report = Report::default();
        let mut targets = self.targets(&mut report).await?;
        for pass in [Pass::Parents, Pass::ChildrenAndLevels, Pass::BucketsAndHistory] {
            let mut query = Query::scan(self.table.clone()).limit(PAGE_ITEMS);
            loop {
                let page = self.source.query(&query).await?;
                for item in &page.items {
                    self.import_item(pass, item, &mut targets, &mut report).await?;
                }
                seen(page.items.len() as u64);
                query.cursor = page.cursor;
                if query.cursor.is_none() {
                    break;
                }
            }
        }
        for target in targets.values().filter(|target| target.imported > 0) {
            self.record(target).await?;
        }
        Ok(report)
    }

    async fn check_source(&self) -> Result<()> {
        let get = Get::new(self.table.clone(), keys::version());
        let record = self.source.get(&get).await?;
        let schema = record.map(|record| version::decode(&record).schema).unwrap_or_default();
        if schema.starts_with("0.") {
            return Ok(());
        }
        let problem =
            format!("{:?} is not a table of zae-limiter: its schema is {schema:?}", self.table);
        Err(Error::invalid("table", problem))
    }

    /// The namespaces of the source by their id there, created at the destination.
    async fn targets(&self, report: &mut Report) -> Result<BTreeMap<NamespaceId, Target<B>>> {
        let mut query = Query::partition(self.table.clone(), keys::registry_partition())
            .begins_with(keys::NAMESPACE_SK);
        let mut targets = BTreeMap::new();
        loop {
            let page = self.source.query(&query).await?;
            for item in &page.items {
                let Some(record) = namespaces::decode_record(item) else {
                    let name = item.s("SK").unwrap_or_default();
                    report.add(
                        "",
                        Kind::Namespace,
                        name,
                        Outcome::Refused("its name is invalid".to_owned()),
                    );
                    continue;
                };
                let (target, outcome) = Target::open(&self.to, &record, &self.options).await?;
                report.add(record.name.as_str(), Kind::Namespace, record.name.as_str(), outcome);
                if let Some(target) = target {
                    targets.insert(record.id, target);
                }
            }
            query.cursor = page.cursor;
            if query.cursor.is_none() || targets.len() >= NAMESPACES_MAX {
                return Ok(targets);
            }
        }
    }

    async fn import_item(
        &self,
        pass: Pass,
        item: &Item,
        targets: &mut BTreeMap<NamespaceId, Target<B>>,
        report: &mut Report,
    ) -> Result<()> {
        let pk = item.s("PK").unwrap_or_default();
        let ns = pk.split_once('/').map_or(pk, |(ns, _)| ns);
        // Items of the registry and of deleted namespaces have no target.
        let Some(target) = targets.get_mut(&NamespaceId::stored(ns)) else { return Ok(()) };
        let found = match convert::found(item) {
            Ok(found) if pass.includes(&found) => found,
            Ok(_) => return Ok(()),
            Err((kind, problem)) => {
                if pass == Pass::BucketsAndHistory {
                    report.add(
                        target.name.as_str(),
                        kind,
                        &convert::label(item),
                        Outcome::Refused(problem),
                    );
                }
                return Ok(());
            }
        };
        let kind = match &found {
            Found::Entity(_) => Kind::Entity,
            Found::Level(..) => Kind::Level,
            Found::Bucket(_) => Kind::Bucket,
            Found::Usage => Kind::Usage,
            Found::Audit => Kind::Audit,
            Found::Other(_) | Found::Nothing => Kind::Other,
        };
        if matches!(kind, Kind::Usage | Kind::Audit) && !self.options.history {
            return Ok(());
        }
        let outcome = match found {
            Found::Entity(entity) => target.entity(entity, &self.options).await,
            Found::Level(level, config) => target.level(&level, config, &self.options).await,
            Found::Bucket(id) => {
                let shards = self.shards(item, &id).await?;
                target.bucket(id, shards, &self.options).await
            }
            Found::Usage | Found::Audit => target.history(item, ns, &self.options).await,
            Found::Other(problem) => Ok(Outcome::Refused(problem)),
            Found::Nothing => return Ok(()),
        };
        let outcome = match outcome {
            Err(error) if error.is_unavailable() => return Err(error),
            Err(Error::Store(error)) => return Err(error.into()),
            Err(error) => Outcome::Refused(error.to_string()),
            Ok(outcome) => outcome,
        };
        target.imported += u64::from(outcome == Outcome::Imported);
        report.add(target.name.as_str(), kind, &convert::label(item), outcome);
        Ok(())
    }

    /// The shards of a bucket that exist.
    async fn shards(&self, first: &Item, id: &crate::item::BucketId) -> Result<Vec<Item>> {
        let mut shards = vec![first.clone()];
        let others: Vec<Get> = convert::siblings(first)
            .map(|shard| {
                let key = keys::bucket(&id.ns, &id.entity, &id.resource, shard);
                Get::new(self.table.clone(), key)
            })
            .collect();
        if !others.is_empty() {
            shards.extend(self.source.batch_get(&others).await?.into_iter().flatten());
        }
        Ok(shards)
    }

    /// Records the import in the audit trail of a namespace.
    async fn record(&self, target: &Target<B>) -> Result<()> {
        if self.options.dry_run {
            return Ok(());
        }
        let event = NewAuditEvent {
            action: AuditAction::NamespaceImported,
            subject: target.name.as_str(),
            actor: &self.options.actor,
            resource: None,
            before: None,
            after: Some(serde_json::json!({ "from": self.table, "items": target.imported })),
        };
        let Some(id) = target.id() else { return Ok(()) };
        let write: Write = self.to.registry_audit_write(id, event, self.to.now_ms())?;
        self.to.store().write(write).await?;
        Ok(())
    }
}
