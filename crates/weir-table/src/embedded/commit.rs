//! Writes: lock, look, decide, append, show.
//!
//! A commit takes the locks of its items' stripes in order and then, holding the gate for reading,
//! finds the old items, evaluates, appends one record and puts its entries into the active
//! generation. All of that is in memory. An old item that is not in memory is read beforehand, off
//! the async threads, and the commit starts over; after a few rounds it runs off-thread as a whole.
//! Only an item that is meant to be new is looked for at once, if the store is calm.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog::Table;
use super::change::{self, Before, Image, ItemChange, MetaChange};
use super::dirty::{Entry, Generations, Payload, Space};
use super::engine::{Engine, Rests};
use super::keys;
use super::partial::Needs;
use super::read::{self, Absent, Loaded, Patience};
use super::token::Token;
use crate::check;
use crate::error::{Error, Result};
use crate::expr::{self, Condition};
use crate::item::Item;
use crate::key::Key;
use crate::request::{Action, Durability, Transacted, Transaction, Verdict, Write, Written};

/// How full the active generation may be for items to be kept as updates have read them: a part of what all may hold.
const WARM_SHARE: u64 = 8;

/// How often a commit is tried with what was read beforehand.
const TRIES: usize = 3;

/// A write and where it goes.
#[derive(Debug)]
pub(super) struct Target {
    table: Arc<Table>,
    pub(super) key: keys::Bytes,
    item_key: Key,
    write: Write,
}

impl Target {
    /// Whether it most likely writes an item where there is none.
    fn is_meant_new(&self) -> bool {
        let wants_nothing = |condition: &Condition| match condition {
            Condition::Absent(path) => {
                path.steps.is_empty() && path.attribute == self.table.spec.partition
            }
            _ => false,
        };
        match &self.write.condition {
            // Nothing there, or something that is over.
            Some(Condition::Or(either)) => either.iter().any(wants_nothing),
            Some(condition) => wants_nothing(condition),
            None => false,
        }
    }
}

/// An item before and after a write; what an update found is not told.
type Images = (Option<Item>, Option<Image>);

/// What one round of a commit came to.
pub(super) enum Round {
    /// It was done; for each write the item before and after.
    Applied(Vec<Images>, Rests),
    /// A transaction with this token was done before.
    Repeated(Rests),
    /// At least one condition failed.
    Refused(Vec<Verdict>, Rests),
    /// Something must be read from the store first.
    Unknown,
}

impl Engine {
    /// Puts, updates or deletes an item.
    pub(super) async fn write(self: &Arc<Self>, write: Write) -> Result<Written> {
        let is_update = matches!(write.action, Action::Update(..));
        let told = write.told;
        let target = self.target(write)?;
        let (round, _) = self.commit(vec![target], None).await?;
        let (written, rests) = match round {
            Round::Applied(items, rests) => {
                let (old, new) = items.into_iter().next().unwrap_or_default();
                let new = new.filter(|_| is_update).map(|new| new.told(told)).transpose();
                let new = new.map_err(read::undecodable)?;
                (Written::Applied(if is_update { new } else { old }), rests)
            }
            Round::Refused(verdicts, rests) => match verdicts.into_iter().next() {
                Some(Verdict::Failed(item)) => (Written::Refused(item), rests),
                _ => (Written::Refused(None), rests),
            },
            Round::Repeated(rests) => (Written::Applied(None), rests),
            Round::Unknown => return Err(undecided()),
        };
        self.settle(rests).await?;
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
        let (transacted, rests) = match round {
            Round::Applied(_, rests) | Round::Repeated(rests) => (Transacted::Applied, rests),
            Round::Refused(verdicts, rests) => (Transacted::Refused(verdicts), rests),
            Round::Unknown => return Err(undecided()),
        };
        self.settle(rests).await?;
        Ok(transacted)
    }

    /// Puts and deletes items, each on its own.
    pub(super) async fn batch_write(self: &Arc<Self>, writes: Vec<Write>) -> Result<()> {
        let mut rests = Rests::default();
        for write in writes {
            let target = self.target(write)?;
            if let (Round::Applied(_, own), _) = self.commit(vec![target], None).await? {
                rests = rests.and(own);
            }
        }
        self.settle(rests).await
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
    ) -> Result<(Round, Vec<Target>)> {
        self.admit().await?;
        let mut loaded = self.look_ahead(&targets, token.as_ref())?;
        for _ in 0..TRIES {
            match self.commit_once(&targets, token.as_ref(), &loaded, Patience::Memory)? {
                Round::Unknown => {}
                round => return Ok((round, targets)),
            }
            let wanted = self.unknown(targets.iter());
            let token_key = token.as_ref().map(|token| token.key.clone());
            // In boxes, as below: a commit that finds all in memory has a small future.
            loaded = Box::pin(self.load(wanted, token_key, Absent::Forget)).await?;
        }
        let engine = Arc::clone(self);
        let commit = move || {
            let loaded = Loaded::default();
            let round = engine.commit_once(&targets, token.as_ref(), &loaded, Patience::Disk)?;
            Ok((round, targets))
        };
        Box::pin(self.readers.run(commit)).await
    }

    /// Looks for items that are meant to be new on this thread, if the store is not about to stop its readers. That
    /// something is not there it knows by its filters, in memory; to have another thread look costs many times as much.
    fn look_ahead(&self, targets: &[Target], token: Option<&Token>) -> Result<Loaded> {
        let is_new = |target: &&Target| target.is_meant_new();
        if token.is_none() && !targets.iter().any(|target| is_new(&target)) {
            return Ok(Loaded::default());
        }
        let wanted = self.unknown(targets.iter().filter(is_new));
        if (wanted.is_empty() && token.is_none()) || !self.base.is_calm() {
            return Ok(Loaded::default());
        }
        let token = token.map(|token| token.key.clone());
        let load = || self.load_now(wanted, token, Absent::Forget);
        self.readers.here(load).unwrap_or_else(|| Ok(Loaded::default()))
    }

    /// Those of the items that are not in memory.
    fn unknown<'t>(&self, targets: impl Iterator<Item = &'t Target>) -> Vec<keys::Bytes> {
        let gate = self.generations.read();
        let is_known = |key: &keys::Bytes| {
            gate.get(Space::Items, key).is_some() || self.cache.get(key).is_some()
        };
        targets.filter(|target| !is_known(&target.key)).map(|target| target.key.clone()).collect()
    }

    pub(super) fn commit_once(
        &self,
        targets: &[Target],
        token: Option<&Token>,
        loaded: &Loaded,
        patience: Patience,
    ) -> Result<Round> {
        let _locked = self.lock_targets(targets, token);
        let gate = self.generations.read();
        let now_ms = self.options.clock.now_ms();
        if let Some(token) = token {
            match self.find_meta(&gate, &token.key, loaded, patience)? {
                None => return Ok(Round::Unknown),
                Some((Some(stored), rests)) if token.was_used(&stored, now_ms)? => {
                    return Ok(Round::Repeated(rests));
                }
                Some(_) => {}
            }
        }
        // All are found before the first is decoded: when one is unknown the others are looked for again.
        let mut found = Vec::with_capacity(targets.len());
        for target in targets {
            match self.find_item(&gate, &target.key, loaded, patience)? {
                Some(one) => found.push(one),
                None => return Ok(Round::Unknown),
            }
        }
        let seen = targets.iter().zip(found).map(|(target, found)| Seen::decode(target, found));
        let seen = seen.collect::<Result<Vec<_>>>()?;
        if let Some(refused) = refuse(targets, &seen)? {
            return Ok(refused);
        }
        let mut changes = Vec::with_capacity(targets.len());
        let mut results = Vec::with_capacity(targets.len());
        let mut rests = Rests::default();
        for (target, seen) in targets.iter().zip(seen) {
            rests = rests.and(seen.rests);
            let (old, new) = make(target, seen)?;
            results.push(match &old {
                Before::Whole(old) => (Some(old.item.clone()), new.clone()),
                Before::Nothing | Before::Different(_) => (None, new.clone()),
            });
            if !same(&old, &new) {
                let (table, key) = (Arc::clone(&target.table), target.key.clone());
                changes.push(ItemChange { table, key, old, new, expired: false });
            }
        }
        let meta: Vec<MetaChange> = token.iter().map(|token| token.change(now_ms)).collect();
        let durability = targets.iter().map(|t| t.write.durability).max().unwrap_or_default();
        if changes.is_empty() && meta.is_empty() {
            // What the write asks for is there already, but perhaps not yet as safe as it asks.
            return Ok(Round::Applied(results, rests.at_least(durability)));
        }
        let rests = self.publish(&gate, &changes, &meta, durability, rests, now_ms)?;
        Ok(Round::Applied(results, rests))
    }

    /// The stripes of all items (and the token), in order, each once.
    fn lock_targets(
        &self,
        targets: &[Target],
        token: Option<&Token>,
    ) -> Vec<parking_lot::MutexGuard<'_, ()>> {
        let mut stripes: Vec<usize> = targets
            .iter()
            .map(|target| Engine::stripe_of(&target.key))
            .chain(token.map(|token| Engine::stripe_of(&token.key)))
            .collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().filter_map(|stripe| self.lock_stripe(stripe)).collect()
    }

    /// Appends a commit to the log and shows it to readers. The caller holds the items' stripes.
    ///
    /// A commit made of what was `seen` rests on it: while that has yet to be synced, so has an
    /// answer from this commit, although its own durability may ask for less.
    pub(super) fn publish(
        &self,
        gate: &Generations,
        changes: &[ItemChange],
        meta: &[MetaChange],
        durability: Durability,
        seen: Rests,
        now_ms: u64,
    ) -> Result<Rests> {
        let body = change::body(changes, meta, durability);
        let seq = self.log.append(&body, now_ms)?;
        let rests = Rests { flushed: seq, synced: seen.synced }.at_least(durability);
        let synced = rests.synced;
        self.appended.fetch_add(body.len() as u64, Ordering::Relaxed);
        for change in meta {
            let payload = change.value.clone().map_or(Payload::Gone, Payload::Bytes);
            gate.active.insert(Space::Meta, &change.key, Entry::new(seq, synced, payload));
        }
        let keeps_warm = (gate.active.bytes() as u64) < self.options.dirty_bytes_max / WARM_SHARE;
        for change in changes {
            change::apply_item(&gate.active, change, seq, synced, keeps_warm);
            change::side_entries(change, |(space, key, payload)| {
                if space == Space::Index {
                    self.delayed.apply(&gate.active, seq, synced, (space, key, payload));
                } else {
                    gate.active.insert(space, &key, Entry::new(seq, synced, payload));
                }
            });
        }
        Ok(rests)
    }
}

fn undecided() -> Error {
    Error::backend("writing", "the item could not be read")
}

/// An item as a commit finds it.
struct Seen {
    old: Option<Image>,
    rests: Rests,
}

impl Seen {
    /// As much of an item as its write needs.
    fn decode(target: &Target, found: read::Seen) -> Result<Seen> {
        let read::Seen { stored, warm, rests } = found;
        let decode = |stored| match &target.write.action {
            Action::Update(_, update) => {
                match Needs::of(&target.table.spec, update, &target.write) {
                    Some(needs) => needs.read(stored, warm),
                    None => Image::decode(stored),
                }
            }
            Action::Put(_) | Action::Delete(_) | Action::Check(_) => Image::decode(stored),
        };
        let old = stored.map(decode).transpose().map_err(read::undecodable)?;
        Ok(Seen { old, rests })
    }

    /// All of the item.
    fn whole(&self) -> Result<Option<Item>> {
        self.old.as_ref().map(Image::whole).transpose().map_err(read::undecodable)
    }
}

fn same(old: &Before, new: &Option<Image>) -> bool {
    match (old, new) {
        (Before::Nothing, None) => true,
        (Before::Whole(old), Some(new)) => old.bytes == new.bytes,
        (Before::Different(before), Some(_)) => before.is_empty(),
        _ => false,
    }
}

/// The verdicts when a condition fails. An update beside it that cannot be done is an error, as on
/// DynamoDB; one whose own condition fails is not looked at.
fn refuse(targets: &[Target], seen: &[Seen]) -> Result<Option<Round>> {
    let nothing = Item::new();
    let holds = |target: &Target, seen: &Seen| {
        let item = seen.old.as_ref().map_or(&nothing, |old| &old.item);
        target.write.condition.as_ref().is_none_or(|condition| expr::eval::holds(condition, item))
    };
    if targets.iter().zip(seen).all(|(target, seen)| holds(target, seen)) {
        return Ok(None);
    }
    let mut rests = Rests::default();
    let mut verdicts = Vec::with_capacity(targets.len());
    for (target, seen) in targets.iter().zip(seen) {
        verdicts.push(if holds(target, seen) {
            stage(target, seen)?;
            Verdict::Held
        } else {
            rests = rests.and(seen.rests);
            Verdict::Failed(seen.whole()?)
        });
    }
    Ok(Some(Round::Refused(verdicts, rests)))
}

/// What a write makes of what it has seen, and that before it.
fn make(target: &Target, mut seen: Seen) -> Result<(Before, Option<Image>)> {
    // Nearly every update changes a few whole attributes; then nothing else is copied, compared or checked again.
    if let (Action::Update(_, update), Some(old)) = (&target.write.action, &mut seen.old)
        && let Some(before) = expr::apply::apply_in_place(update, &mut old.item)?
    {
        if old.is_whole() {
            let changed = before.iter().map(|(name, _)| name);
            check::changed_attributes(&target.table.spec, changed, &old.item)?;
        } else {
            // None of them is part of a key.
            check::set_attributes(update, &old.item)?;
        }
        let new = old.changed(&before).map_err(read::undecodable)?;
        if check::may_be_too_large(new.bytes.len()) {
            check::size(&new.whole().map_err(read::undecodable)?)?;
        }
        return Ok((Before::Different(before), Some(new)));
    }
    let new = stage(target, &seen)?;
    Ok((seen.old.into(), new))
}

/// The item that a write makes of what it has seen.
fn stage(target: &Target, seen: &Seen) -> Result<Option<Image>> {
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
