//! A store in memory with faults: the [`Backend`] that every instance of a run shares.
//!
//! A call waits for the scheduler first, which decides which of several requests goes on. Then chance decides: the
//! call fails before it does anything, does its work, or does its work and loses the response. What was written is
//! recorded as a [`Commit`], which the checks compare with the model.

mod table;

use std::collections::{BTreeMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use parking_lot::Mutex;
use weir_table::expr::apply::apply;
use weir_table::expr::eval::holds;
use weir_table::feed::{FeedPage, FeedShard, Position};
use weir_table::request::{Action, Query, RawPage};
use weir_table::{
    Backend, Consistency, Durability, Error, Get, Item, Key, Result, TableSpec, Transacted,
    Transaction, Verdict, Write, Written,
};

use crate::random::Random;
use table::Table;

/// The feed has one shard.
const SHARD: &str = "0";

/// The instance that looks at the store for the checks: its calls neither wait nor fail.
pub const OBSERVER: usize = usize::MAX;

/// One item that was written.
#[derive(Debug, Clone)]
pub struct ItemChange {
    /// The table.
    pub table: String,
    /// The item's key.
    pub key: Key,
    /// The item before.
    pub old: Option<Item>,
    /// The item after.
    pub new: Option<Item>,
}

/// Items that were written together.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The task whose call it was.
    pub task: u64,
    /// The changed items.
    pub changes: Vec<ItemChange>,
    /// Whether a power cut cannot undo it.
    pub is_synced: bool,
}

/// How often calls fail, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// The call does nothing and is not answered.
    pub before: u32,
    /// The call takes effect and is not answered.
    pub after: u32,
    /// The call meets another writer.
    pub conflict: u32,
    /// An eventually consistent read returns the item before its last change.
    pub stale: u32,
    /// Changes that the indexes do not show yet.
    pub index_lag: usize,
}

impl FaultRates {
    /// A store that works, or one that fails in some ways. `index_lags` are the possible lags of indexes.
    pub fn random(random: &mut Random, index_lags: &[usize]) -> FaultRates {
        if random.percent(50) {
            return FaultRates::default();
        }
        FaultRates {
            before: *random.pick(&[0, 5, 30]),
            after: *random.pick(&[0, 5, 20]),
            conflict: *random.pick(&[0, 5, 20]),
            stale: *random.pick(&[0, 30]),
            index_lag: *random.pick(index_lags),
        }
    }
}

/// The state of the store.
#[derive(Debug)]
pub struct StoreState {
    tables: BTreeMap<String, Table>,
    tokens: HashSet<String>,
    random: Random,
    /// How often calls fail.
    pub rates: FaultRates,
    /// No call waits or fails: an instance starts.
    pub is_calm: bool,
    /// The store's own clock, in milliseconds since 1970.
    pub now_ms: u64,
    /// The task that is being polled.
    pub task: u64,
    /// Whether the task that is being polled waits for the scheduler.
    pub is_waiting: bool,
    /// Calls of the task that is being polled.
    pub calls: u64,
    /// Faults that struck the task that is being polled.
    pub faults: u64,
    /// What was written and not checked yet.
    pub commits: Vec<Commit>,
    /// What was written since the last sync, in order, with the idempotency token of each transaction.
    unsynced: Vec<(Vec<ItemChange>, Option<String>)>,
}

/// A store. Clones share it.
#[derive(Debug, Clone)]
pub struct Memory {
    state: Arc<Mutex<StoreState>>,
    instance: usize,
}

/// How a call ends that the store executes.
enum CallOutcome {
    Fine,
    LosesResponse,
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new(seed: u64, now_ms: u64) -> Memory {
        let state = StoreState {
            tables: BTreeMap::new(),
            tokens: HashSet::new(),
            random: Random::new(seed),
            rates: FaultRates::default(),
            is_calm: false,
            now_ms,
            task: 0,
            is_waiting: false,
            calls: 0,
            faults: 0,
            commits: Vec::new(),
            unsynced: Vec::new(),
        };
        Memory { state: Arc::new(Mutex::new(state)), instance: OBSERVER }
    }

    /// The store as this instance calls it.
    #[must_use]
    pub fn of_instance(&self, instance: usize) -> Memory {
        Memory { state: Arc::clone(&self.state), instance }
    }

    /// Looks at or changes the state, outside of any call.
    pub fn with<T>(&self, look: impl FnOnce(&mut StoreState) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// An item as it is stored.
    #[must_use]
    pub fn item(&self, table: &str, key: &Key) -> Option<Item> {
        self.state.lock().tables.get(table)?.get(key).cloned()
    }

    /// All items of a partition.
    #[must_use]
    pub fn partition(&self, table: &str, partition: &str) -> Vec<(Key, Item)> {
        let state = self.state.lock();
        let items =
            state.tables.get(table).into_iter().flat_map(|table| table.partition(partition));
        items.map(|(key, item)| (key.clone(), item.clone())).collect()
    }

    /// All items of a table.
    #[must_use]
    pub fn items(&self, table: &str) -> Vec<(Key, Item)> {
        let state = self.state.lock();
        let items = state.tables.get(table).into_iter().flat_map(Table::items);
        items.map(|(key, item)| (key.clone(), item.clone())).collect()
    }

    /// Deletes up to `max` items of a table that have expired by `now_ms`, and returns them.
    pub fn sweep(&self, table: &str, now_ms: i64, max: usize) -> Vec<ItemChange> {
        let mut state = self.state.lock();
        let at_ms = state.now_ms;
        let Some(stored) = state.tables.get_mut(table) else { return Vec::new() };
        let expired = stored.expired(now_ms.div_euclid(1000)).into_iter().take(max);
        let mut swept = Vec::new();
        for key in expired {
            let old = stored.set(&key, None, at_ms);
            swept.push(ItemChange { table: table.to_owned(), key, old, new: None });
        }
        if !swept.is_empty() {
            state.unsynced.push((swept.clone(), None));
        }
        swept
    }

    /// Syncs what was written so far.
    pub fn sync(&self) {
        self.state.lock().unsynced.clear();
    }

    /// Number of writes that a power cut may undo.
    #[must_use]
    pub fn unsynced(&self) -> usize {
        self.state.lock().unsynced.len()
    }

    /// Undoes all writes since the last sync but the first `kept`, as a power cut does to the end of the log.
    pub fn cut_power(&self, kept: usize) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let lost = state.unsynced.split_off(kept.min(state.unsynced.len()));
        for (changes, token) in lost.into_iter().rev() {
            for change in changes.into_iter().rev() {
                if let Some(table) = state.tables.get_mut(&change.table) {
                    table.undo(&change.key, change.old);
                }
            }
            if let Some(token) = token {
                state.tokens.remove(&token);
            }
        }
        // What is left was read back from the disk.
        state.unsynced.clear();
    }

    /// A call of something beside the store, with the same waits and faults.
    ///
    /// # Errors
    /// The call failed, before or after it did its work.
    pub async fn call_beside<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let outcome = self.begin_call().await?;
        let done = work.await;
        self.end_call(outcome, Ok(done)).await
    }

    /// Waits for the scheduler, and decides how the call ends.
    async fn begin_call(&self) -> Result<CallOutcome> {
        if self.is_calm() {
            return Ok(CallOutcome::Fine);
        }
        self.pause().await;
        let mut state = self.state.lock();
        let state = &mut *state;
        state.calls += 1;
        let rates = state.rates;
        if rates.before + rates.after + rates.conflict == 0 {
            return Ok(CallOutcome::Fine);
        }
        let lost = Error::Unavailable("simulated".to_owned());
        let chance = state.random.index(100) as u32;
        state.faults += 1;
        if chance < rates.before {
            Err(lost)
        } else if chance < rates.before + rates.conflict {
            Err(Error::Conflict)
        } else if chance < rates.before + rates.conflict + rates.after {
            Ok(CallOutcome::LosesResponse)
        } else {
            state.faults -= 1;
            Ok(CallOutcome::Fine)
        }
    }

    fn is_calm(&self) -> bool {
        self.instance == OBSERVER || self.state.lock().is_calm
    }

    async fn pause(&self) {
        let mut has_waited = false;
        poll_fn(|_| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            self.state.lock().is_waiting = true;
            Poll::Pending
        })
        .await;
    }

    /// Ends a call that took effect: sometimes others go on before its response arrives, and sometimes it never does.
    async fn end_call<T>(&self, outcome: CallOutcome, done: Result<T>) -> Result<T> {
        match outcome {
            CallOutcome::LosesResponse => {
                done?;
                Err(Error::Unavailable("simulated, after it was done".to_owned()))
            }
            CallOutcome::Fine => {
                if !self.is_calm() && self.state.lock().random.percent(10) {
                    self.pause().await;
                }
                done
            }
        }
    }

    fn read(&self, get: &Get) -> Result<Option<Item>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let table = state.tables.get(get.table.as_str()).ok_or_else(|| no_table(&get.table))?;
        let may_lag = get.consistency == Consistency::Eventual && self.instance != OBSERVER;
        if may_lag && state.rates.stale > 0 && state.random.percent(state.rates.stale) {
            return Ok(table.get_before(&get.key).cloned());
        }
        Ok(table.get(&get.key).cloned())
    }
}

fn no_table(name: &str) -> Error {
    Error::NoSuchTable(name.to_owned())
}

impl StoreState {
    fn table(&self, name: &str) -> Result<&Table> {
        self.tables.get(name).ok_or_else(|| no_table(name))
    }

    fn key_of(&self, write: &Write) -> Result<Key> {
        match &write.action {
            Action::Put(item) => self.table(&write.table)?.spec.key_of(item),
            Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => Ok(key.clone()),
        }
    }

    /// Whether a write's condition is true; the present item otherwise.
    fn verdict(&self, write: &Write) -> Result<Verdict> {
        let old = self.table(&write.table)?.get(&self.key_of(write)?);
        let empty = Item::new();
        let is_true = |condition| holds(condition, old.unwrap_or(&empty));
        Ok(match &write.condition {
            Some(condition) if !is_true(condition) => Verdict::Failed(old.cloned()),
            _ => Verdict::Held,
        })
    }

    /// What a write changes.
    fn change(&self, write: &Write) -> Result<Option<ItemChange>> {
        let table = self.table(&write.table)?;
        let key = self.key_of(write)?;
        let old = table.get(&key).cloned();
        let new = match &write.action {
            Action::Put(item) => Some(item.clone()),
            Action::Update(key, update) => {
                let base = old.clone().unwrap_or_else(|| key.to_item(&table.spec));
                Some(apply(update, &base)?)
            }
            Action::Delete(_) => None,
            Action::Check(_) => return Ok(None),
        };
        Ok(Some(ItemChange { table: write.table.to_string(), key, old, new }))
    }

    fn commit(&mut self, writes: &[Write], token: Option<&String>) -> Result<Vec<ItemChange>> {
        let mut changes = Vec::with_capacity(writes.len());
        for write in writes {
            changes.extend(self.change(write)?);
        }
        let at_ms = self.now_ms;
        let lag = self.rates.index_lag;
        for change in &changes {
            if let Some(table) = self.tables.get_mut(&change.table) {
                table.set(&change.key, change.new.clone(), at_ms);
                table.index(lag);
            }
        }
        let is_synced = writes.iter().any(|write| write.durability == Durability::Synced);
        if is_synced {
            self.unsynced.clear();
        } else {
            self.unsynced.push((changes.clone(), token.cloned()));
        }
        self.commits.push(Commit { task: self.task, changes: changes.clone(), is_synced });
        Ok(changes)
    }
}

impl Backend for Memory {
    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        let mut state = self.state.lock();
        state.tables.entry(spec.name.clone()).or_insert_with(|| Table::new(spec.clone()));
        Ok(())
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.state.lock().tables.remove(table);
        Ok(())
    }

    async fn describe(&self, table: &str) -> Result<Option<TableSpec>> {
        Ok(self.state.lock().tables.get(table).map(|table| table.spec.clone()))
    }

    async fn table_names(&self) -> Result<Vec<String>> {
        Ok(self.state.lock().tables.keys().cloned().collect())
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        let outcome = self.begin_call().await?;
        let found = self.read(get);
        self.end_call(outcome, found).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let outcome = self.begin_call().await?;
        let found = gets.iter().map(|get| self.read(get)).collect();
        self.end_call(outcome, found).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        let outcome = self.begin_call().await?;
        let done = {
            let mut state = self.state.lock();
            match state.verdict(&write)? {
                Verdict::Failed(item) => Ok(Written::Refused(item)),
                Verdict::Held => state.commit(std::slice::from_ref(&write), None).map(|changes| {
                    let change = changes.into_iter().next();
                    Written::Applied(change.and_then(|change| match write.action {
                        Action::Update(..) => change.new,
                        _ => change.old,
                    }))
                }),
            }
        };
        self.end_call(outcome, done).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        let outcome = self.begin_call().await?;
        let done = self.state.lock().commit(&writes, None).map(|_| ());
        self.end_call(outcome, done).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        let outcome = self.begin_call().await?;
        let done = self.state.lock().transact(&transaction);
        self.end_call(outcome, done).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.batch_get(gets).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        let outcome = self.begin_call().await?;
        let page = {
            let mut state = self.state.lock();
            let lag = if self.instance == OBSERVER { 0 } else { state.rates.index_lag };
            let table = state.tables.get_mut(query.table.as_str());
            let table = table.ok_or_else(|| no_table(&query.table))?;
            // A query of the table says nothing of its indexes, which go on lagging.
            if query.index.is_some() {
                table.index(lag);
            }
            Ok(table.page(query, after))
        };
        self.end_call(outcome, page).await
    }

    async fn feed_shards(&self, _table: &str) -> Result<Vec<FeedShard>> {
        Ok(vec![FeedShard { id: SHARD.to_owned(), parent: None }])
    }

    async fn feed_read(
        &self,
        table: &str,
        _shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        let outcome = self.begin_call().await?;
        let page = self.state.lock().table(table).and_then(|table| table.changes(from, limit));
        self.end_call(outcome, page).await
    }
}

impl StoreState {
    fn transact(&mut self, transaction: &Transaction) -> Result<Transacted> {
        if transaction.token.as_ref().is_some_and(|token| self.tokens.contains(token)) {
            return Ok(Transacted::Applied);
        }
        let verdicts: Vec<Verdict> =
            transaction.writes.iter().map(|write| self.verdict(write)).collect::<Result<_>>()?;
        if verdicts.iter().any(|verdict| matches!(verdict, Verdict::Failed(_))) {
            return Ok(Transacted::Refused(verdicts));
        }
        self.commit(&transaction.writes, transaction.token.as_ref())?;
        self.tokens.extend(transaction.token.clone());
        Ok(Transacted::Applied)
    }
}
