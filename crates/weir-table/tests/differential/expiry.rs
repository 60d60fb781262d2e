//! Programs with expiries around now, on the embedded store with a manual clock, against a model.
//!
//! The model holds the items, and the feed that they must have left. A sweep removes exactly the items whose expiry has
//! come, each once, with an entry of the feed that says so; everything else stays, and the indexes agree.

#![expect(clippy::unwrap_used, reason = "only tests are here")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestError;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{Update, attr, remove, set};
use weir_table::feed::Position;
use weir_table::{
    Add, Added, Addition, Durability, Get, IndexSpec, Item, Key, Kind, Number, Prepared, Query,
    ReturnAttributes, Store, TableSpec, Value, Write,
};

use crate::answers::{all_pages, in_any_order};
use crate::run::folder;
use crate::{programs, runner};

/// Programs in a normal run and at full length.
const PROGRAMS: (u32, u32) = (60, 5_000);
/// Seeds of programs that failed once; relative to the package.
const REGRESSIONS: &str = "tests/differential/proptest-regressions/expiry.txt";
const TABLE: &str = "sessions";
const EXPIRY: &str = "ttl";
const KEYS: usize = 5;
const STEPS_MAX: usize = 40;
/// The time at the start, in seconds since 1970.
const START: i64 = 1_770_000_000;
/// An expiry further back than this counts as a mistake, as on DynamoDB.
const AGE_MAX: i64 = 5 * 365 * 24 * 60 * 60;
/// Changes that are read at once.
const PAGE: usize = 1_000;

#[derive(Debug, Clone)]
enum Step {
    Put(usize, Option<Value>),
    /// Sets another attribute.
    Touch(usize, i64),
    SetExpiry(usize, Value),
    RemoveExpiry(usize),
    /// A prepared addition to the expiry, if there is an item.
    AddToExpiry(usize, i64),
    /// A prepared addition to another attribute.
    AddBeside(usize, i64),
    Delete(usize),
    Advance(u64),
    Sweep,
    Fold,
    Reopen,
}

fn expiry() -> impl Strategy<Value = Value> {
    let near = (-4i64..12).prop_map(|seconds| Value::from(START + seconds));
    let ancient = (-2i64..3).prop_map(|seconds| Value::from(START - AGE_MAX + seconds));
    let others = select(vec![
        Value::from(0),
        Value::from(-1),
        Value::from(START.to_string()),
        Value::Null,
        // Not a whole number of seconds, and more than fits 64 bits.
        Value::N(Number::new(i128::from(START) * 10 + 5, -1).unwrap()),
        Value::N(Number::new(1, 30).unwrap()),
    ]);
    prop_oneof![12 => near, 2 => ancient, 2 => others]
}

fn step() -> impl Strategy<Value = Step> {
    let keys = 0..KEYS;
    prop_oneof![
        8 => (keys.clone(), prop::option::weighted(0.9, expiry())).prop_map(|(key, expiry)| Step::Put(key, expiry)),
        4 => (keys.clone(), 0i64..3).prop_map(|(key, to)| Step::Touch(key, to)),
        4 => (keys.clone(), expiry()).prop_map(|(key, expiry)| Step::SetExpiry(key, expiry)),
        2 => keys.clone().prop_map(Step::RemoveExpiry),
        4 => (keys.clone(), -3i64..6).prop_map(|(key, by)| Step::AddToExpiry(key, by)),
        4 => (keys.clone(), 0i64..3).prop_map(|(key, by)| Step::AddBeside(key, by)),
        2 => keys.prop_map(Step::Delete),
        4 => (0u64..4_000).prop_map(Step::Advance),
        6 => Just(Step::Sweep),
        1 => Just(Step::Fold),
        1 => Just(Step::Reopen),
    ]
}

fn spec() -> TableSpec {
    TableSpec::new(TABLE, "pk", Kind::S)
        .attribute("owner", Kind::S)
        .attribute("v", Kind::N)
        .index(IndexSpec::new("by-owner", "owner").sort("v"))
        .index(IndexSpec::new("keys", "owner").keys_only())
        .index(IndexSpec::new("some", "owner").include([EXPIRY]))
        .ttl(EXPIRY)
        .feed()
}

fn key(number: usize) -> Key {
    Key::partition(format!("k{number}"))
}

/// The item at `key` before and after a change, and whether it expired.
type Change = (Key, Option<Item>, Option<Item>, bool);

/// What the store has to hold.
#[derive(Debug, Default)]
struct Model {
    items: BTreeMap<usize, Item>,
    feed: Vec<Change>,
    expired: u64,
}

impl Model {
    fn change(&mut self, number: usize, new: Option<Item>, expired: bool) {
        let old = match new.clone() {
            Some(new) => self.items.insert(number, new),
            None => self.items.remove(&number),
        };
        if old != new {
            self.feed.push((key(number), old, new, expired));
        }
    }

    fn update(&mut self, number: usize, change: impl FnOnce(&mut Item)) {
        let fresh = || Item::new().with("pk", key(number).partition.to_value());
        let mut item = self.items.get(&number).cloned().unwrap_or_else(fresh);
        change(&mut item);
        self.change(number, Some(item), false);
    }

    /// Adds to a number; refused, and `false`, if there is something else.
    fn add(&mut self, number: usize, name: &str, by: i64) -> bool {
        let found = self.items.get(&number).and_then(|item| item.get(name)).cloned();
        let sum = match found {
            None => Value::from(by),
            Some(Value::N(found)) => match found.checked_add(Number::from(by)) {
                Ok(sum) => Value::N(sum),
                Err(_) => return false,
            },
            Some(_) => return false,
        };
        self.update(number, |item| item.set(name, sum));
        true
    }

    /// Removes what has expired.
    fn sweep(&mut self, now_secs: i64) -> u64 {
        let due = now_secs - AGE_MAX..=now_secs;
        let is_due = |item: &Item| item.i64(EXPIRY).is_some_and(|expiry| due.contains(&expiry));
        let gone: Vec<usize> =
            self.items.iter().filter(|(_, item)| is_due(item)).map(|(number, _)| *number).collect();
        for number in &gone {
            self.change(*number, None, true);
        }
        self.expired += gone.len() as u64;
        gone.len() as u64
    }
}

struct Sessions {
    dir: tempfile::TempDir,
    clock: Clock,
    /// The store; `None` while it is reopened.
    open: Option<Store<Embedded>>,
    to_expiry: Arc<Prepared>,
    beside: Arc<Prepared>,
}

fn open(dir: &tempfile::TempDir, clock: &Clock) -> Store<Embedded> {
    let options =
        Options { sweep_interval: None, clock: clock.clone(), ..Options::new(dir.path()) };
    let embedded = Embedded::open(options).unwrap();
    let cursors = embedded.cursor_key();
    Store::new(embedded, cursors)
}

async fn addition(store: &Store<Embedded>, name: &str) -> Arc<Prepared> {
    let addition = Addition {
        table: TABLE.into(),
        adds: vec![name.into()],
        guards: Vec::new(),
        durability: Durability::Flushed,
        returned: ReturnAttributes(|_| true),
    };
    store.prepare(addition).await.unwrap()
}

impl Sessions {
    async fn new() -> Sessions {
        let dir = folder().unwrap();
        let clock = Clock::manual(START.unsigned_abs() * 1000);
        let store = open(&dir, &clock);
        store.create_table(&spec()).await.unwrap();
        let to_expiry = addition(&store, EXPIRY).await;
        let beside = addition(&store, "n").await;
        Sessions { dir, clock, open: Some(store), to_expiry, beside }
    }

    fn store(&self) -> &Store<Embedded> {
        self.open.as_ref().unwrap()
    }

    fn now_secs(&self) -> i64 {
        i64::try_from(self.clock.now_ms() / 1000).unwrap()
    }

    async fn write(&self, write: Write) {
        assert!(self.store().write(write.flushed()).await.unwrap().is_applied());
    }

    async fn update(&self, number: usize, update: Update) {
        self.write(Write::update(TABLE, key(number), update)).await;
    }

    /// Whether the addition was made.
    async fn add(&self, prepared: &Arc<Prepared>, number: usize, by: i64) -> bool {
        let add = Add { prepared, key: &key(number), add: &[by], than: &[] };
        match self.store().add(add, |_| ()).await {
            Ok(Added::Done(())) => true,
            Ok(Added::Refused(_)) => false,
            Err(error) => {
                assert!(error.is_invalid(), "{error:?}");
                false
            }
        }
    }

    /// Does a step here and in the model.
    async fn step(&mut self, step: &Step, model: &mut Model) {
        match step.clone() {
            Step::Put(number, expiry) => {
                let item = Item::new()
                    .with("pk", key(number).partition.to_value())
                    .with("owner", "ada")
                    .with("v", 1);
                let item = match expiry {
                    Some(expiry) => item.with(EXPIRY, expiry),
                    None => item,
                };
                self.write(Write::put(TABLE, item.clone())).await;
                model.change(number, Some(item), false);
            }
            Step::Touch(number, to) => {
                self.update(number, set("v", to)).await;
                model.update(number, |item| item.set("v", to));
            }
            Step::SetExpiry(number, expiry) => {
                self.update(number, set(EXPIRY, expiry.clone())).await;
                model.update(number, |item| item.set(EXPIRY, expiry));
            }
            Step::RemoveExpiry(number) => {
                self.update(number, remove(EXPIRY)).await;
                model.update(number, |item| drop(item.remove(EXPIRY)));
            }
            Step::AddToExpiry(number, by) => {
                let made = self.add(&self.to_expiry, number, by).await;
                assert_eq!(made, model.add(number, EXPIRY, by));
            }
            Step::AddBeside(number, by) => {
                let made = self.add(&self.beside, number, by).await;
                assert_eq!(made, model.add(number, "n", by));
            }
            Step::Delete(number) => {
                self.write(Write::delete(TABLE, key(number))).await;
                model.change(number, None, false);
            }
            Step::Advance(ms) => self.clock.advance_ms(ms),
            Step::Sweep => {
                let removed = self.store().backend().sweep().await.unwrap();
                assert_eq!(removed, model.sweep(self.now_secs()));
            }
            Step::Fold => self.store().backend().checkpoint().await.unwrap(),
            Step::Reopen => {
                self.store().backend().close().await.unwrap();
                self.open = None;
                self.open = Some(open(&self.dir, &self.clock));
            }
        }
    }

    async fn compare(&self, model: &Model) {
        let expected: Vec<Item> = model.items.values().cloned().collect();
        let scan = async |scan: Query| all_pages(self.store(), &scan).await.unwrap().items;
        assert_eq!(in_any_order(&scan(Query::scan(TABLE)).await), in_any_order(&expected));
        let has = |item: &&Item, names: &[&str]| names.iter().all(|name| item.get(name).is_some());
        for (index, keys, held) in [
            ("by-owner", ["owner", "v"].as_slice(), None),
            ("keys", &["owner"], Some(["pk", "owner"].as_slice())),
            ("some", &["owner"], Some(&["pk", "owner", EXPIRY])),
        ] {
            let entry = |item: &Item| match held {
                None => item.clone(),
                Some(names) => {
                    let named =
                        names.iter().filter_map(|name| Some((*name, item.get(name)?.clone())));
                    named.collect()
                }
            };
            let entries: Vec<Item> =
                expected.iter().filter(|item| has(item, keys)).map(entry).collect();
            let found = scan(Query::scan(TABLE).index(index)).await;
            assert_eq!(in_any_order(&found), in_any_order(&entries), "{index}");
        }
        // Items that expire in one sweep are removed in no order.
        let by_item = |mut changes: Vec<Change>| {
            changes.sort_by_key(|(key, ..)| format!("{key:?}"));
            changes
        };
        assert_eq!(by_item(changes(self.store()).await), by_item(model.feed.clone()));
        let verified = self.store().backend().verify().await.unwrap();
        assert!(verified.is_sound(), "{verified:#?}");
    }
}

/// The whole feed.
async fn changes(store: &Store<Embedded>) -> Vec<Change> {
    let shard = store.feed_shards(TABLE).await.unwrap().remove(0).id;
    let (mut changes, mut from) = (Vec::new(), Position::Oldest);
    loop {
        let page = store.feed_read(TABLE, &shard, &from, PAGE).await.unwrap();
        if page.changes.is_empty() {
            return changes;
        }
        changes.extend(page.changes.iter().map(|change| {
            let (old, new) = change.images().unwrap();
            (change.key.clone(), old, new, change.expired)
        }));
        from = page.next;
    }
}

async fn run(steps: &[Step]) -> u64 {
    let mut sessions = Sessions::new().await;
    let mut model = Model::default();
    for step in steps {
        sessions.step(step, &mut model).await;
    }
    sessions.compare(&model).await;
    // What is left to expire goes with one sweep, and the next one finds nothing.
    for step in [Step::Advance(60_000), Step::Sweep, Step::Sweep] {
        sessions.step(&step, &mut model).await;
    }
    sessions.compare(&model).await;
    sessions.step(&Step::Reopen, &mut model).await;
    sessions.compare(&model).await;
    model.expired
}

#[test]
fn sweeps_remove_exactly_what_has_expired() {
    let count = programs(PROGRAMS.0, PROGRAMS.1);
    let tokio = tokio::runtime::Runtime::new().unwrap();
    let (steps_total, expired_total) = (AtomicU64::new(0), AtomicU64::new(0));
    let steps = prop::collection::vec(step(), 1..=STEPS_MAX);
    let outcome = runner(count, REGRESSIONS).run(&steps, |steps| {
        let expired = tokio.block_on(run(&steps));
        steps_total.fetch_add(steps.len() as u64, Ordering::Relaxed);
        expired_total.fetch_add(expired, Ordering::Relaxed);
        Ok(())
    });
    if let Err(TestError::Fail(differs, steps)) = outcome {
        panic!("{differs}: {steps:#?}");
    }
    let (steps, expired) = (steps_total.into_inner(), expired_total.into_inner());
    println!("{count} programs with expiry: {steps} steps, {expired} items expired");
    assert!(expired >= u64::from(count), "only {expired} items expired");
}

/// Items that a sweep finds at once, so that it is at work for a while.
const MANY: usize = 2_000;

#[test]
fn an_item_rewritten_between_scan_and_removal_stays() {
    let tokio = tokio::runtime::Runtime::new().unwrap();
    tokio.block_on(async {
        let sessions = Sessions::new().await;
        let store = sessions.store();
        for number in 0..MANY {
            let item = Item::new().with("pk", key(number).partition.to_value());
            // In the order in which the sweep removes them.
            let item = item.with(EXPIRY, START + i64::try_from(number).unwrap() / 10);
            store.write(Write::put(TABLE, item.with("owner", "ada")).flushed()).await.unwrap();
        }
        sessions.clock.advance_ms(3_600_000);
        let later = sessions.now_secs() + 60;
        let sweeping = {
            let store = store.clone();
            tokio::spawn(async move { store.backend().sweep().await.unwrap() })
        };
        // The scan has ended when the first item is gone; then the last ones are given more time.
        let first = Get::new(TABLE, key(0));
        while store.get(&first).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
        let mut kept = Vec::new();
        for number in (0..MANY).rev() {
            let extend = Write::update(TABLE, key(number), set(EXPIRY, later));
            let extend = extend.when(attr("pk").exists()).flushed();
            if !store.write(extend).await.unwrap().is_applied() {
                break;
            }
            kept.push(number);
        }
        let removed = sweeping.await.unwrap();
        assert!(!kept.is_empty(), "the sweep was over before an item was rewritten");
        println!("{} items were rewritten between scan and removal", kept.len());
        assert_eq!(removed, (MANY - kept.len()) as u64);
        let left = all_pages(store, &Query::scan(TABLE).index("by-owner")).await.unwrap().items;
        assert_eq!(left, [], "no item has a sort value of the index");
        for index in ["keys", "some"] {
            let left = all_pages(store, &Query::scan(TABLE).index(index)).await.unwrap();
            assert_eq!(left.items.len(), kept.len(), "{index}");
        }
        let mut expired = BTreeMap::<String, u32>::new();
        for (key, old, new, _) in changes(store).await.into_iter().filter(|(.., expired)| *expired)
        {
            assert!(old.unwrap().i64(EXPIRY).unwrap() <= sessions.now_secs() && new.is_none());
            *expired.entry(format!("{key:?}")).or_default() += 1;
        }
        assert_eq!(expired.len() as u64, removed);
        for number in 0..MANY {
            let item = store.get(&Get::new(TABLE, key(number))).await.unwrap();
            let is_kept = kept.contains(&number);
            assert_eq!(item.is_some(), is_kept, "{number}");
            let times = expired.get(&format!("{:?}", key(number))).copied().unwrap_or_default();
            assert_eq!(times, u32::from(!is_kept), "{number}");
        }
        sessions.clock.advance_ms(61_000);
        assert_eq!(store.backend().sweep().await.unwrap(), kept.len() as u64);
    });
}
