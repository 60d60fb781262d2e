//! What the tasks of a run write. Every step follows from the seed, the task and the step's number,
//! so whoever knows which steps were done knows what the store must hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{add, attr, set};
use weir_table::feed::{POSITIONS_TABLE, positions_spec};
use weir_table::{
    Error, IndexSpec, Item, Key, Kind, Result, Store, TableSpec, Transacted, Transaction, Write,
    Written,
};

use crate::seed::Random;

/// Tasks of each kind.
pub(crate) const TASKS: usize = 4;
pub(crate) const ACCOUNTS: u64 = 10;
pub(crate) const BALANCE: i64 = 1000;
pub(crate) const MAIN: &str = "main";
pub(crate) const ACCOUNT_TABLE: &str = "accounts";
/// Keys of items that have expired already begin with this; the sweeper may take them.
pub(crate) const EXPIRED: &str = "E";
const NOW_MS: u64 = 1_770_000_000_000;
const EXPIRED_AT: i64 = 1_760_000_000;
const FAR_AWAY: i64 = 4_000_000_000;

pub(crate) fn specs() -> [TableSpec; 3] {
    [
        TableSpec::new(MAIN, "PK", Kind::S)
            .sort("SK", Kind::S)
            .attribute("G1", Kind::S)
            .attribute("G1S", Kind::N)
            .attribute("G2", Kind::S)
            .attribute("G3", Kind::S)
            .attribute("G3S", Kind::S)
            .index(IndexSpec::new("all", "G1").sort("G1S"))
            .index(IndexSpec::new("keys", "G2").keys_only())
            .index(IndexSpec::new("some", "G3").sort("G3S").include(["v", "n"]))
            .ttl("ttl")
            .feed(),
        TableSpec::new(ACCOUNT_TABLE, "PK", Kind::S)
            .attribute("band", Kind::S)
            .index(IndexSpec::new("bands", "band").keys_only())
            .feed(),
        positions_spec(POSITIONS_TABLE),
    ]
}

/// Options small enough that files rotate and commits are folded all the time, or the usual ones.
pub(crate) fn options(dir: &std::path::Path, random: &mut Random) -> Options {
    let kib = 1024;
    let mut options = Options::new(dir);
    options.segment_bytes_max = random.one_of(&[64 * kib, 256 * kib, 32 * kib * kib]);
    options.dirty_bytes_max = random.one_of(&[256 * kib, kib * kib, 64 * kib * kib]);
    options.replay_bytes_max = random.one_of(&[128 * kib, kib * kib, 128 * kib * kib]);
    options.cache_bytes = random.one_of(&[0, 64 * kib, 64 * kib * kib]);
    options.checkpoint_interval = Duration::from_millis(random.one_of(&[5, 50, 5_000]));
    options.sweep_interval =
        random.one_of(&[None, Some(20), Some(10_000)]).map(Duration::from_millis);
    options.sync_interval = Duration::from_millis(random.one_of(&[5, 100]));
    options.clock = Clock::manual(NOW_MS);
    options
}

/// Opens a store. A process that another test is just starting may hold the folder's lock for a
/// moment longer than its last owner did.
pub(crate) fn open(options: Options) -> Result<Store<Embedded>> {
    let mut opened = Embedded::open(options.clone());
    for _ in 0..100 {
        if !matches!(opened, Err(Error::InUse { .. })) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        opened = Embedded::open(options.clone());
    }
    let embedded = opened?;
    let key = embedded.cursor_key();
    Ok(Store::new(embedded, key))
}

/// Makes what the tasks rely on; what is there stays.
pub(crate) async fn prepare(store: &Store<Embedded>) -> Result<()> {
    for spec in specs() {
        store.create_table(&spec).await?;
    }
    // A consumer that has read nothing keeps the whole feed.
    let write = Write::put(POSITIONS_TABLE, consumer("checker")).when(attr("PK").absent());
    store.write(write).await?;
    let accounts = (0..ACCOUNTS).map(|number| {
        let account =
            Item::new().with("PK", account(number)).with("band", "new").with("bal", BALANCE);
        Write::put(ACCOUNT_TABLE, account).when(attr("PK").absent())
    });
    store.transact(Transaction::new(accounts)).await?;
    Ok(())
}

/// The item that keeps where a consumer of the main table's feed stands.
pub(crate) fn consumer(name: &str) -> Item {
    Item::new().with("PK", format!("FEED#{MAIN}#{name}")).with("SK", "SHARD#log")
}

pub(crate) fn account(number: u64) -> String {
    format!("ACCT#{number}")
}

/// The last step that each task has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) counters: [u64; TASKS],
    pub(crate) items: [u64; TASKS],
    pub(crate) transfers: [u64; TASKS],
}

impl Progress {
    pub(crate) fn to_text(&self) -> String {
        let all = self.counters.iter().chain(&self.items).chain(&self.transfers);
        all.map(u64::to_string).collect::<Vec<_>>().join(",")
    }

    pub(crate) fn from_text(text: &str) -> Progress {
        let all: Vec<u64> = text.split(',').map(|part| part.parse().unwrap()).collect();
        Progress {
            counters: all[..TASKS].try_into().unwrap(),
            items: all[TASKS..2 * TASKS].try_into().unwrap(),
            transfers: all[2 * TASKS..].try_into().unwrap(),
        }
    }

    /// Counts an acknowledged step.
    pub(crate) fn note(&mut self, ack: Ack) {
        match ack.kind {
            Work::Counter => self.counters[ack.task] = ack.step,
            Work::Items => self.items[ack.task] = ack.step,
            Work::Transfer => self.transfers[ack.task] = ack.step,
            Work::Shared => {}
        }
    }
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Counter,
    Shared,
    Items,
    Transfer,
}

/// A step that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) kind: Work,
    pub(crate) task: usize,
    pub(crate) step: u64,
    pub(crate) applied: bool,
    /// It was a commit of its own that was synced, so all commits before it are too.
    pub(crate) synced: bool,
}

impl Ack {
    pub(crate) fn to_text(self) -> String {
        let kind = match self.kind {
            Work::Counter => 'c',
            Work::Shared => 's',
            Work::Items => 'i',
            Work::Transfer => 't',
        };
        let (applied, synced) = (u8::from(self.applied), u8::from(self.synced));
        format!("{kind} {} {} {applied} {synced}", self.task, self.step)
    }

    pub(crate) fn from_text(text: &str) -> Option<Ack> {
        let mut parts = text.split(' ');
        let kind = match parts.next()? {
            "c" => Work::Counter,
            "s" => Work::Shared,
            "i" => Work::Items,
            "t" => Work::Transfer,
            _ => return None,
        };
        let mut number = || parts.next()?.parse::<u64>().ok();
        Some(Ack {
            kind,
            task: usize::try_from(number()?).ok()?,
            step: number()?,
            applied: number()? == 1,
            synced: number()? == 1,
        })
    }
}

pub(crate) fn counter_key(task: usize) -> Key {
    Key::new(format!("COUNTER#{task}"), "n")
}

pub(crate) fn shared_key() -> Key {
    Key::new("COUNTER#shared", "n")
}

fn durable(seed: u64, kind: Work, task: usize, step: u64) -> bool {
    Random::of(&[seed, 77, kind as u64, task as u64, step]).below(6) == 0
}

fn with_durability(write: Write, synced: bool) -> Write {
    if synced { write } else { write.flushed() }
}

fn counter_write(task: usize, step: u64, synced: bool) -> Write {
    let condition = if step == 1 { attr("n").absent() } else { attr("n").eq(step - 1) };
    let update = add("n", 1)
        .set("G1", "counters")
        .set("G1S", step)
        .set("G3", format!("c{}", step % 5))
        .set("G3S", "x");
    with_durability(Write::update(MAIN, counter_key(task), update).when(condition), synced)
}

/// A step of a task that writes items of its own.
#[derive(Debug, Clone)]
pub(crate) enum ItemStep {
    Put(Item),
    Delete(String),
    Update(String, u64),
}

pub(crate) fn items_partition(task: usize) -> String {
    format!("ITEMS#{task}")
}

pub(crate) fn item_step(seed: u64, task: usize, step: u64) -> ItemStep {
    let mut random = Random::of(&[seed, 1, task as u64, step]);
    let slot = format!("K{:02}", random.below(12));
    match random.below(10) {
        0..=4 => {
            let mut item = Item::new()
                .with("PK", items_partition(task))
                .with("SK", slot)
                .with("v", step)
                .with("pad", "x".repeat(random.below(300) as usize));
            if random.coin() {
                item.set("G1", random.one_of(&["a", "b", "c"]));
                item.set("G1S", random.below(100));
            }
            if random.coin() {
                item.set("G2", random.one_of(&["x", "y"]));
            }
            if random.coin() {
                item.set("G3", "g");
                item.set("G3S", format!("{:03}", random.below(1000)));
            }
            if random.coin() {
                item.set("ttl", FAR_AWAY + random.below(1000) as i64);
            }
            ItemStep::Put(item)
        }
        5 | 6 => ItemStep::Delete(slot),
        7 => ItemStep::Put(
            Item::new()
                .with("PK", items_partition(task))
                .with("SK", format!("{EXPIRED}{}", random.below(3)))
                .with("v", step)
                .with("G1", "expired")
                .with("G1S", step)
                .with("ttl", EXPIRED_AT),
        ),
        _ => ItemStep::Update(slot, step),
    }
}

fn item_write(task: usize, step: ItemStep, synced: bool) -> Write {
    let key = |slot: String| Key::new(items_partition(task), slot);
    let write = match step {
        ItemStep::Put(item) => Write::put(MAIN, item),
        ItemStep::Delete(slot) => Write::delete(MAIN, key(slot)),
        ItemStep::Update(slot, number) => {
            let update = set("v", number)
                .set("G1", "moved")
                .set("G1S", number)
                .set("G3", "moved")
                .set("G3S", format!("{number:09}"))
                .remove("G2")
                .set("ttl", FAR_AWAY - number as i64);
            Write::update(MAIN, key(slot), update)
        }
    };
    with_durability(write, synced)
}

/// Does a step on what a task's items would be, by sort key.
pub(crate) fn imagine(items: &mut BTreeMap<String, Item>, task: usize, step: ItemStep) {
    match step {
        ItemStep::Put(item) => {
            items.insert(item.s("SK").unwrap().to_owned(), item);
        }
        ItemStep::Delete(slot) => {
            items.remove(&slot);
        }
        ItemStep::Update(slot, number) => {
            let fresh = Item::new().with("PK", items_partition(task)).with("SK", slot.clone());
            let item = items.entry(slot).or_insert(fresh);
            item.set("v", number);
            item.set("G1", "moved");
            item.set("G1S", number);
            item.set("G3", "moved");
            item.set("G3S", format!("{number:09}"));
            item.remove("G2");
            item.set("ttl", FAR_AWAY - number as i64);
        }
    }
}

/// Money moved between two accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) amount: i64,
    pub(crate) has_token: bool,
}

pub(crate) fn transfer(seed: u64, task: usize, step: u64) -> Transfer {
    let mut random = Random::of(&[seed, 2, task as u64, step]);
    let from = random.below(ACCOUNTS);
    Transfer {
        from,
        to: (from + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS,
        amount: 1 + random.below(5) as i64,
        has_token: random.coin(),
    }
}

pub(crate) fn ledger_partition(task: usize) -> String {
    format!("LEDGER#{task}")
}

pub(crate) fn transfer_writes(seed: u64, task: usize, step: u64) -> Transaction {
    let Transfer { from, to, amount, has_token } = transfer(seed, task, step);
    let synced = durable(seed, Work::Transfer, task, step);
    let band = format!("b{}", step % 3);
    let take = Write::update(
        ACCOUNT_TABLE,
        Key::partition(account(from)),
        add("bal", -amount).set("band", band.clone()),
    )
    .when(attr("bal").ge(amount));
    let give = Write::update(
        ACCOUNT_TABLE,
        Key::partition(account(to)),
        add("bal", amount).set("band", band),
    );
    let line = Item::new()
        .with("PK", ledger_partition(task))
        .with("SK", format!("{step:09}"))
        .with("step", step)
        .with("G2", "ledger")
        .with("from", from)
        .with("to", to)
        .with("amount", amount);
    let note = Write::put(MAIN, line).when(attr("PK").absent());
    let writes = [take, give, note].map(|write| with_durability(write, synced));
    let transaction = Transaction::new(writes);
    if has_token { transaction.token(format!("{seed}-{task}-{step}")) } else { transaction }
}

/// How often and how long a run writes.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) done: Progress,
    pub(crate) stop: Arc<AtomicBool>,
    /// Steps of each task at most.
    pub(crate) steps_max: u64,
}

impl Run {
    pub(crate) fn new(seed: u64, done: Progress) -> Run {
        Run { seed, done, stop: Arc::default(), steps_max: u64::MAX }
    }

    /// Writes until told to stop, or until a write fails; returns the failures.
    pub(crate) async fn go(
        &self,
        store: &Store<Embedded>,
        report: impl Fn(Ack) + Clone + Send + Sync + 'static,
    ) -> Vec<Error> {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..TASKS {
            for kind in [Work::Counter, Work::Items, Work::Transfer] {
                let (run, store, report) = (self.clone(), store.clone(), report.clone());
                tasks.spawn(async move { run.task(&store, kind, task, report).await });
            }
        }
        let ends = tasks.join_all().await;
        ends.into_iter().filter_map(Result::err).collect()
    }

    async fn task(
        &self,
        store: &Store<Embedded>,
        kind: Work,
        task: usize,
        report: impl Fn(Ack),
    ) -> Result<()> {
        let done = match kind {
            Work::Counter | Work::Shared => self.done.counters[task],
            Work::Items => self.done.items[task],
            Work::Transfer => self.done.transfers[task],
        };
        for step in (done + 1..).take(usize::try_from(self.steps_max).unwrap()) {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let synced = durable(self.seed, kind, task, step);
            let (applied, committed) = self.step(store, kind, task, step, synced).await?;
            report(Ack { kind, task, step, applied, synced: synced && committed });
            if kind == Work::Counter {
                let write = Write::update(MAIN, shared_key(), add("n", 1)).flushed();
                store.write(write).await?;
                report(Ack { kind: Work::Shared, task, step, applied: true, synced: false });
            }
        }
        Ok(())
    }

    async fn step(
        &self,
        store: &Store<Embedded>,
        kind: Work,
        task: usize,
        step: u64,
        synced: bool,
    ) -> Result<(bool, bool)> {
        match kind {
            Work::Counter | Work::Shared => {
                let written = store.write(counter_write(task, step, synced)).await?;
                let count = written.item().and_then(|item| item.i64("n"));
                // A step that a crash has hidden the answer of is refused: it is there.
                assert_eq!(count, Some(step as i64), "counter {task}: {written:?}");
                Ok((true, written.is_applied()))
            }
            Work::Items => {
                let item = item_step(self.seed, task, step);
                let is_delete = matches!(item, ItemStep::Delete(_));
                let written = store.write(item_write(task, item, synced)).await?;
                assert!(matches!(written, Written::Applied(_)));
                // Nothing to delete, nothing to commit.
                Ok((true, !is_delete || written.item().is_some()))
            }
            Work::Transfer => {
                let done = store.transact(transfer_writes(self.seed, task, step)).await?;
                let applied = matches!(done, Transacted::Applied);
                Ok((applied, applied))
            }
        }
    }
}
