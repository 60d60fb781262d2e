//! Writes: lock, read, evaluate, append, publish.
//!
//! A commit locks the stripes of its items in order. Then, holding the gate for reading, it finds the old items, evaluates
//! conditions and updates, appends one record and puts its entries into the active generation. All of that is in memory.
//! An old item that is not in memory is loaded beforehand, off the async threads, and the commit starts again; after a few
//! attempts it runs off-thread as a whole. Only an item that is probably new is looked up inline.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog::Table;
use super::change::{self, Before, Image, ItemChange, MetaChange};
use super::dirty::{Entry, Generations, Payload, Space};
use super::disk_space;
use super::engine::{Barrier, Engine};
use super::keys;
use super::partial_item::RequiredAttrs;
use super::read::{self, Loaded, Lookup, MissingItems};
use super::token::Token;
use crate::check;
use crate::error::{Error, Result};
use crate::expr::{self, Condition};
use crate::item::Item;
use crate::key::Key;
use crate::request::{Action, Durability, Transacted, Transaction, Verdict, Write, Written};

/// Decoded attributes are cached while the active generation holds less than this part of its bound.
const CACHED_SHARE: u64 = 8;

/// Attempts of a commit with preloaded items.
const TRIES: usize = 3;

/// A write, with its table and storage key.
#[derive(Debug)]
pub(super) struct Target {
    table: Arc<Table>,
    pub(super) key: keys::Bytes,
    item_key: Key,
    write: Write,
}

impl Target {
    /// Whether it most likely creates an item.
    fn is_probably_new(&self) -> bool {
        let requires_missing = |condition: &Condition| match condition {
            Condition::Absent(path) => {
                path.steps.is_empty() && path.attribute == self.table.spec.partition
            }
            _ => false,
        };
        match &self.write.condition {
            // No item, or one that has expired.
            Some(Condition::Or(either)) => either.iter().any(requires_missing),
            Some(condition) => requires_missing(condition),
            None => false,
        }
    }
}

/// An item before and after a write; the old item of an update is left out.
type Images = (Option<Item>, Option<Image>);

/// The outcome of one attempt of a commit.
pub(super) enum CommitOutcome {
    /// All writes were applied; the item before and after each.
    Applied(Vec<Images>, Barrier),
    /// A transaction with this token was applied before.
    Repeated(Barrier),
    /// At least one condition was false.
    Refused(Vec<Verdict>, Barrier),
    /// An item must be loaded from the base store first.
    NotLoaded,
}

impl Engine {
    /// Puts, updates or deletes an item.
    pub(super) async fn write(self: &Arc<Self>, write: Write) -> Result<Written> {
        let is_update = matches!(write.action, Action::Update(..));
        let returned = write.returned;
        let target = self.target(write)?;
        let (round, _) = self.commit(vec![target], None).await?;
        let (written, barrier) = match round {
            CommitOutcome::Applied(items, barrier) => {
                let (old, new) = items.into_iter().next().unwrap_or_default();
                let new = new.filter(|_| is_update).map(|new| new.returned(returned)).transpose();
                let new = new.map_err(read::undecodable)?;
                (Written::Applied(if is_update { new } else { old }), barrier)
            }
            CommitOutcome::Refused(verdicts, barrier) => match verdicts.into_iter().next() {
                Some(Verdict::Failed(item)) => (Written::Refused(item), barrier),
                _ => (Written::Refused(None), barrier),
            },
            CommitOutcome::Repeated(barrier) => (Written::Applied(None), barrier),
            CommitOutcome::NotLoaded => return Err(undecided()),
        };
        self.wait_durable(barrier).await?;
        Ok(written)
    }

    /// Does all writes or none.
    pub(super) async fn transact(self: &Arc<Self>, transaction: Transaction) -> Result<Transacted> {
        let token = Token::of(&transaction)?;
        let targets = transaction
            .writes
            .into_iter()
            .map(|write| self.target(write))
            .collect::<Result<_>>()?;
        let (round, _) = self.commit(targets, token).await?;
        let (transacted, barrier) = match round {
            CommitOutcome::Applied(_, barrier) | CommitOutcome::Repeated(barrier) => {
                (Transacted::Applied, barrier)
            }
            CommitOutcome::Refused(verdicts, barrier) => (Transacted::Refused(verdicts), barrier),
            CommitOutcome::NotLoaded => return Err(undecided()),
        };
        self.wait_durable(barrier).await?;
        Ok(transacted)
    }

    /// Puts and deletes items, each on its own.
    pub(super) async fn batch_write(self: &Arc<Self>, writes: Vec<Write>) -> Result<()> {
        let mut barrier = Barrier::default();
        for write in writes {
            let target = self.target(write)?;
            if let (CommitOutcome::Applied(_, own), _) = self.commit(vec![target], None).await? {
                barrier = barrier.and(own);
            }
        }
        self.wait_durable(barrier).await
    }

    pub(super) fn target(&self, write: Write) -> Result<Target> {
        let table = self.table(&write.table)?;
        let item_key = match &write.action {
            Action::Put(item) => table.spec.key_of(item)?,
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => key.clone(),
        };
        let key = keys::item(table.id, &item_key);
        Ok(Target { table, key, item_key, write })
    }

    async fn commit(
        self: &Arc<Self>,
        targets: Vec<Target>,
        token: Option<Token>,
    ) -> Result<(CommitOutcome, Vec<Target>)> {
        let writes = targets.iter().map(|target| &target.write);
        self.disk_space.check(|| disk_space::is_essential(writes))?;
        self.admit().await?;
        let mut loaded = self.preload_new(&targets, token.as_ref())?;
        for _ in 0..TRIES {
            match self.commit_once(&targets, token.as_ref(), &loaded, Lookup::Memory)? {
                CommitOutcome::NotLoaded => {}
                round => return Ok((round, targets)),
            }
            let wanted = self.not_in_memory(targets.iter());
            let token_key = token.as_ref().map(|token| token.key.clone());
            // Boxed, as below, so that the future of a commit in memory stays small.
            loaded = Box::pin(self.load(wanted, token_key, MissingItems::Skip)).await?;
        }
        let engine = Arc::clone(self);
        let commit = move || {
            let loaded = Loaded::default();
            let round = engine.commit_once(&targets, token.as_ref(), &loaded, Lookup::Disk)?;
            Ok((round, targets))
        };
        Box::pin(self.readers.run(commit)).await
    }

    /// Looks up items that are probably new on this thread, unless the base store is about to block its readers. Its
    /// filters show in memory that a key is missing; handing the lookup to another thread costs many times as much.
    fn preload_new(&self, targets: &[Target], token: Option<&Token>) -> Result<Loaded> {
        let is_new = |target: &&Target| target.is_probably_new();
        if token.is_none() && !targets.iter().any(|target| is_new(&target)) {
            return Ok(Loaded::default());
        }
        let wanted = self.not_in_memory(targets.iter().filter(is_new));
        if (wanted.is_empty() && token.is_none()) || !self.base.is_calm() {
            return Ok(Loaded::default());
        }
        let token = token.map(|token| token.key.clone());
        let load = || self.load_now(wanted, token, MissingItems::Skip);
        self.readers.run_inline(load).unwrap_or_else(|| Ok(Loaded::default()))
    }

    /// Keys of the items that are not in memory.
    fn not_in_memory<'t>(&self, targets: impl Iterator<Item = &'t Target>) -> Vec<keys::Bytes> {
        let gate = self.generations.read();
        let is_in_memory = |key: &keys::Bytes| {
            gate.get(Space::Items, key).is_some() || self.cache.get(key).is_some()
        };
        targets
            .filter(|target| !is_in_memory(&target.key))
            .map(|target| target.key.clone())
            .collect()
    }

    pub(super) fn commit_once(
        &self,
        targets: &[Target],
        token: Option<&Token>,
        loaded: &Loaded,
        lookup: Lookup,
    ) -> Result<CommitOutcome> {
        let _locked = self.lock_targets(targets, token);
        let gate = self.generations.read();
        let now_ms = self.options.clock.now_ms();
        if let Some(token) = token {
            match self.find_meta(&gate, &token.key, loaded, lookup)? {
                None => return Ok(CommitOutcome::NotLoaded),
                Some((Some(stored), barrier)) if token.was_used(&stored, now_ms)? => {
                    return Ok(CommitOutcome::Repeated(barrier));
                }
                Some(_) => {}
            }
        }
        // All are found before the first is decoded, because one that is not loaded restarts the commit.
        let mut found = Vec::with_capacity(targets.len());
        for target in targets {
            match self.find_item(&gate, &target.key, loaded, lookup)? {
                Some(one) => found.push(one),
                None => return Ok(CommitOutcome::NotLoaded),
            }
        }
        let seen =
            targets.iter().zip(found).map(|(target, found)| CurrentItem::decode(target, found));
        let seen = seen.collect::<Result<Vec<_>>>()?;
        if let Some(refused) = refuse(targets, &seen)? {
            return Ok(refused);
        }
        let mut changes = Vec::with_capacity(targets.len());
        let mut results = Vec::with_capacity(targets.len());
        let mut barrier = Barrier::default();
        for (target, seen) in targets.iter().zip(seen) {
            barrier = barrier.and(seen.barrier);
            let (old, new) = apply(target, seen)?;
            results.push(match &old {
                Before::Whole(old) => (Some(old.item.clone()), new.clone()),
                Before::Nothing | Before::Delta(_) => (None, new.clone()),
            });
            if !same(&old, &new) {
                let (table, key) = (Arc::clone(&target.table), target.key.clone());
                changes.push(ItemChange { table, key, old, new, expired: false });
            }
        }
        let meta: Vec<MetaChange> = token.iter().map(|token| token.change(now_ms)).collect();
        let durability = targets.iter().map(|t| t.write.durability).max().unwrap_or_default();
        if changes.is_empty() && meta.is_empty() {
            // Nothing changes, but the current item may be less durable than requested.
            return Ok(CommitOutcome::Applied(results, barrier.at_least(durability)));
        }
        let barrier = self.publish(&gate, &changes, &meta, durability, barrier, now_ms)?;
        Ok(CommitOutcome::Applied(results, barrier))
    }

    /// Locks the stripes of all items and of the token, in order, each once.
    fn lock_targets(
        &self,
        targets: &[Target],
        token: Option<&Token>,
    ) -> Vec<parking_lot::MutexGuard<'_, ()>> {
        let items = targets.iter().map(|target| Engine::stripe_of(&target.key));
        self.lock_stripes(items.chain(token.map(|token| Engine::stripe_of(&token.key))))
    }

    /// Appends a commit to the log and publishes it to readers. The caller holds the items' stripes.
    ///
    /// A commit that depends on items of `seen` is acknowledged only when they are synced, even if its own durability
    /// requires less.
    pub(super) fn publish(
        &self,
        gate: &Generations,
        changes: &[ItemChange],
        meta: &[MetaChange],
        durability: Durability,
        seen: Barrier,
        now_ms: u64,
    ) -> Result<Barrier> {
        let body = change::body(changes, meta, durability);
        let seq = self.log.append(&body, now_ms)?;
        let barrier = Barrier { flushed: seq, synced: seen.synced }.at_least(durability);
        let synced = barrier.synced;
        self.appended.fetch_add(body.len() as u64, Ordering::Relaxed);
        for change in meta {
            let payload = change.value.clone().map_or(Payload::Gone, Payload::Bytes);
            gate.active.insert(Space::Meta, &change.key, Entry::new(seq, synced, payload));
        }
        let caches_attrs =
            (gate.active.bytes() as u64) < self.options.dirty_bytes_max / CACHED_SHARE;
        for change in changes {
            change::apply_item(&gate.active, change, seq, synced, caches_attrs);
            change::side_entries(change, |(space, key, payload)| {
                if space == Space::Index {
                    self.delayed.apply(&gate.active, seq, synced, (space, key, payload));
                } else {
                    gate.active.insert(space, &key, Entry::new(seq, synced, payload));
                }
            });
        }
        Ok(barrier)
    }
}

fn undecided() -> Error {
    Error::backend("writing", "the item could not be read")
}

/// An item as a commit finds it.
struct CurrentItem {
    old: Option<Image>,
    barrier: Barrier,
}

impl CurrentItem {
    /// Decodes as much of an item as its write needs.
    fn decode(target: &Target, found: read::FoundItem) -> Result<CurrentItem> {
        let read::FoundItem { stored, cached, barrier } = found;
        let decode = |stored| match &target.write.action {
            Action::Update(_, update) => {
                match RequiredAttrs::of(&target.table.spec, update, &target.write) {
                    Some(required) => required.read(stored, cached),
                    None => Image::decode(stored),
                }
            }
            Action::Put(_) | Action::Delete(_) | Action::Check(_) => Image::decode(stored),
        };
        let old = stored.map(decode).transpose().map_err(read::undecodable)?;
        Ok(CurrentItem { old, barrier })
    }

    /// The whole item.
    fn whole(&self) -> Result<Option<Item>> {
        self.old.as_ref().map(Image::whole).transpose().map_err(read::undecodable)
    }
}

fn same(old: &Before, new: &Option<Image>) -> bool {
    match (old, new) {
        (Before::Nothing, None) => true,
        (Before::Whole(old), Some(new)) => old.bytes == new.bytes,
        (Before::Delta(before), Some(_)) => before.is_empty(),
        _ => false,
    }
}

/// The verdicts if a condition is false. As on DynamoDB, an update beside it that cannot be applied is an error, unless its
/// own condition is false.
fn refuse(targets: &[Target], seen: &[CurrentItem]) -> Result<Option<CommitOutcome>> {
    let nothing = Item::new();
    let holds = |target: &Target, seen: &CurrentItem| {
        let item = seen.old.as_ref().map_or(&nothing, |old| &old.item);
        target.write.condition.as_ref().is_none_or(|condition| expr::eval::holds(condition, item))
    };
    if targets.iter().zip(seen).all(|(target, seen)| holds(target, seen)) {
        return Ok(None);
    }
    let mut barrier = Barrier::default();
    let mut verdicts = Vec::with_capacity(targets.len());
    for (target, seen) in targets.iter().zip(seen) {
        verdicts.push(if holds(target, seen) {
            stage(target, seen)?;
            Verdict::Held
        } else {
            barrier = barrier.and(seen.barrier);
            Verdict::Failed(seen.whole()?)
        });
    }
    Ok(Some(CommitOutcome::Refused(verdicts, barrier)))
}

/// Applies a write to the current item. Returns the item before and after.
fn apply(target: &Target, mut seen: CurrentItem) -> Result<(Before, Option<Image>)> {
    // Nearly every update changes a few whole attributes; then the others are neither copied, compared nor checked.
    if let (Action::Update(_, update), Some(old)) = (&target.write.action, &mut seen.old)
        && let Some(before) = expr::apply::apply_in_place(update, &mut old.item)?
    {
        if old.is_whole() {
            let changed = before.iter().map(|(name, _)| name);
            check::changed_attributes(&target.table.spec, changed, &old.item)?;
        } else {
            // No changed attribute is part of a key.
            check::set_attributes(update, &old.item)?;
        }
        let new = old.changed(&before).map_err(read::undecodable)?;
        if check::may_be_too_large(new.bytes.len()) {
            check::size(&new.whole().map_err(read::undecodable)?)?;
        }
        return Ok((Before::Delta(before), Some(new)));
    }
    let new = stage(target, &seen)?;
    Ok((seen.old.into(), new))
}

/// The item that a write makes of the current one.
fn stage(target: &Target, seen: &CurrentItem) -> Result<Option<Image>> {
    Ok(match &target.write.action {
        Action::Check(_) => seen.old.clone(),
        Action::Delete(_) => None,
        Action::Put(item) => Some(Image::of(item.clone())),
        Action::Update(_, update) => {
            let spec = &target.table.spec;
            let new = match seen.whole()? {
                Some(old) => {
                    let new = expr::apply::apply(update, &old)?;
                    check::updated_item(spec, &old, &new)?;
                    new
                }
                None => {
                    let new = expr::apply::apply(update, &target.item_key.to_item(spec))?;
                    check::item(spec, &new)?;
                    new
                }
            };
            Some(Image::of(new))
        }
    })
}
