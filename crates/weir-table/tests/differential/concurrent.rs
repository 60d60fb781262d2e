//! Programs of several tasks at once on a few shared items: updates, prepared additions, puts, deletes, transactions and
//! reads. All answers are recorded; an order of the requests must explain them ([`explain`](crate::explain)), and the
//! same requests in that order, one by one, give the same answers in [`memory`](crate::memory) and on an oracle.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "only tests are here"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use weir_table::cursor::CursorKey;
use weir_table::embedded::{Embedded, Options};
use weir_table::{
    Addition, Backend, Durability, Get, Guard, IndexSpec, Item, Key, Kind, Query, ReturnAttributes,
    Store, TableSpec, Transacted, Verdict, Written,
};
use weir_testkit::eventually_eq;

use crate::answers::{Answer, all_pages, ask, in_any_order};
use crate::exceptions::{Exception, Excused};
use crate::explain::{self, Event};
use crate::memory::Memory;
use crate::program::Step;
use crate::run::folder;
use crate::shapes::PARTITION;
use crate::sides::{self, Fault};
use crate::task::Task;
use crate::{at_full_length, programs};

/// How much a program does.
#[derive(Debug, Clone, Copy)]
struct Size {
    tasks: u64,
    /// Requests of each task.
    requests: u64,
    keys: usize,
}

/// Many requests at once on few items.
const CROWDED: Size = Size { tasks: 8, requests: 16, keys: 2 };
/// Fewer requests, for oracles that answer slowly.
const SMALL: Size = Size { tasks: 4, requests: 14, keys: 3 };
/// Programs on each embedded store in a normal run: small ones, which an oracle does again, and crowded ones.
const EMBEDDED: (u32, u32) = (4, 40);
/// Programs on DynamoDB Local in a normal run.
const DYNAMODB_LOCAL: u32 = 4;
/// How many times as many run at full length.
const ALL_TIMES: u32 = 50;
pub(crate) const TABLE: &str = "concurrent";

#[test]
fn concurrent_programs_have_an_order_on_the_embedded_store() {
    on_embedded("embedded", |_| {});
}

#[test]
fn concurrent_programs_have_an_order_with_a_tiny_cache() {
    on_embedded("embedded, tiny cache", |options| {
        options.cache_bytes = 1024;
        options.dirty_bytes_max = 8 * 1024;
        options.segment_bytes_max = 8 * 1024;
        options.checkpoint_interval = Duration::from_millis(1);
    });
}

#[test]
fn concurrent_programs_have_an_order_with_delayed_indexes() {
    on_embedded("embedded, delayed indexes", |options| {
        options.index_delay = Some(Duration::from_millis(20));
    });
}

#[test]
fn concurrent_programs_have_an_order_on_dynamodb_local() {
    let dir = folder().unwrap();
    runtime().block_on(async {
        let url = weir_testkit::dynamo_local_endpoint().unwrap();
        let store = Store::new(sides::connect(url).await.unwrap(), CursorKey::new([7; 32]));
        let oracle = open(Options::new(dir.path()));
        let mut run = Run::new("DynamoDB Local", &store, &oracle).await;
        run.forgives_deletes = true;
        run.programs(count(DYNAMODB_LOCAL), SMALL, true).await;
        run.end().await;
        store.delete_table(TABLE).await.unwrap();
    });
}

fn on_embedded(name: &str, tune: impl FnOnce(&mut Options)) {
    let dir = folder().unwrap();
    let mut options = Options { sweep_interval: None, ..Options::new(dir.path()) };
    tune(&mut options);
    runtime().block_on(async {
        let url = weir_testkit::dynoxide_endpoint().unwrap();
        let oracle = Store::new(sides::connect(url).await.unwrap(), CursorKey::new([7; 32]));
        let store = open(options);
        let mut run = Run::new(name, &store, &oracle).await;
        run.programs(count(EMBEDDED.0), SMALL, true).await;
        run.programs(count(EMBEDDED.1), CROWDED, false).await;
        run.end().await;
        let verified = store.backend().verify().await.unwrap();
        assert!(verified.is_sound(), "{verified:#?}");
        let stats = store.backend().stats();
        println!("  {} additions in place", stats.additions_in_place_total);
        assert!(stats.additions_in_place_total > 0, "{stats:?}");
        store.backend().close().await.unwrap();
    });
}

fn count(normal: u32) -> u32 {
    programs(normal, normal * ALL_TIMES)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap()
}

fn open(options: Options) -> Store<Embedded> {
    let embedded = Embedded::open(options).unwrap();
    let cursors = embedded.cursor_key();
    Store::new(embedded, cursors)
}

fn spec() -> TableSpec {
    TableSpec::new(TABLE, PARTITION, Kind::S)
        .attribute("gs", Kind::S)
        .attribute("n", Kind::N)
        .index(IndexSpec::new("all", "gs").sort("n"))
        .index(IndexSpec::new("keys", "gs").keys_only())
}

/// Programs on one store, each with keys of its own.
struct Run<'a, B, O> {
    name: &'a str,
    store: &'a Store<B>,
    oracle: &'a Store<O>,
    /// Whether the store is DynamoDB Local, where deletes at the same time may each return the item.
    forgives_deletes: bool,
    memory: Memory,
    number: u64,
    excused: Excused,
    applied: u64,
    refused: u64,
    conflicts: u64,
}

impl<'a, B: Backend, O: Backend> Run<'a, B, O> {
    async fn new(name: &'a str, store: &'a Store<B>, oracle: &'a Store<O>) -> Run<'a, B, O> {
        store.create_table(&spec()).await.unwrap();
        oracle.create_table(&spec()).await.unwrap();
        Run {
            name,
            store,
            oracle,
            forgives_deletes: false,
            memory: Memory::default(),
            number: 0,
            excused: Excused::default(),
            applied: 0,
            refused: 0,
            conflicts: 0,
        }
    }

    async fn programs(&mut self, count: u32, size: Size, with_oracle: bool) {
        for _ in 0..count {
            let number = self.number;
            self.number += 1;
            let seed = if at_full_length() { fastrand::u64(..) } else { number };
            let mut events = record(self.store, size, number, seed).await;
            if let Err(problem) = self.explain(&mut events, with_oracle).await {
                panic!("program {number} of seed {seed} on {}: {problem}", self.name);
            }
            self.excused.steps += events.len() as u64;
            for Event { answer, .. } in &events {
                match answer {
                    Answer::Written(Written::Applied(_))
                    | Answer::Transacted(Transacted::Applied) => self.applied += 1,
                    Answer::Written(_) | Answer::Transacted(_) => self.refused += 1,
                    Answer::Failed(..) => self.conflicts += 1,
                    _ => {}
                }
            }
        }
    }

    /// Finds the order of the events, and makes the same requests in that order in memory, and of the oracle if it is to
    /// be asked too.
    async fn explain(&mut self, events: &mut [Event], with_oracle: bool) -> Result<(), String> {
        let mut moves = explain::moves(events)?;
        if self.forgives_deletes {
            for _ in 0..explain::forgive_repeated_deletes(events, &mut moves) {
                self.excused.count(Exception::RepeatedDelete);
            }
        }
        for place in explain::order(events, &moves)? {
            let event = &events[place];
            if matches!(event.answer, Answer::Failed(Fault::Conflict, ..)) {
                continue;
            }
            let expected = self.memory.ask(&event.step)?;
            if !is_same(&event.answer, &expected) {
                return Err(format!("{event:#?}\nexpected {expected:#?}"));
            }
            if with_oracle {
                let theirs = ask(self.oracle, &event.step).await;
                if !is_same(&event.answer, &theirs) {
                    return Err(format!("{event:#?}\nthe oracle answers {theirs:#?}"));
                }
            }
        }
        Ok(())
    }

    /// Compares what the table and its indexes hold in the end.
    async fn end(&self) {
        let Run { name, number, excused, applied, refused, conflicts, .. } = self;
        println!("{number} concurrent programs on {name}: {excused}");
        println!("  {applied} writes applied, {refused} refused, {conflicts} in conflict");
        assert_eq!(excused.over_cap(), [], "deletes return an item more often than is known");
        assert!(*applied > refused / 4 && *refused > 0, "{applied} applied, {refused} refused");
        let items: Vec<Item> = self.memory.items.values().cloned().collect();
        let has = |item: &&Item, names: &[&str]| names.iter().all(|name| item.get(name).is_some());
        let entry = |item: &Item| -> Item {
            let key = |name: &'static str| (name, item.get(name).unwrap().clone());
            [key(PARTITION), key("gs")].into_iter().collect()
        };
        let all: Vec<Item> = items.iter().filter(|item| has(item, &["gs", "n"])).cloned().collect();
        let keys: Vec<Item> = items.iter().filter(|item| has(item, &["gs"])).map(entry).collect();
        for (scan, expected) in [
            (Query::scan(TABLE), items.clone()),
            (Query::scan(TABLE).index("all"), all),
            (Query::scan(TABLE).index("keys"), keys),
        ] {
            let found = async || {
                let pages = all_pages(self.store, &scan).await.unwrap();
                in_any_order(&pages.items)
            };
            eventually_eq(in_any_order(&expected), found).await;
        }
    }
}

/// Whether two answers are the same. Of a refused transaction only those writes are compared that were refused, because
/// the others show no image by which they could be ordered.
fn is_same(ours: &Answer, theirs: &Answer) -> bool {
    let (
        Answer::Transacted(Transacted::Refused(ours)),
        Answer::Transacted(Transacted::Refused(theirs)),
    ) = (ours, theirs)
    else {
        return ours == theirs;
    };
    let mut pairs = ours.iter().zip(theirs);
    ours.len() == theirs.len()
        && pairs.all(|(ours, theirs)| *ours == Verdict::Held || ours == theirs)
}

/// Runs the tasks of a program to their end, then reads all its items.
async fn record<B: Backend>(store: &Store<B>, size: Size, program: u64, seed: u64) -> Vec<Event> {
    let clock = Arc::new(AtomicU64::new(0));
    let addition = Addition {
        table: TABLE.into(),
        adds: vec!["version".into(), "tokens".into()],
        guards: vec![Guard::AtLeast("version".into()), Guard::AtLeast("tokens".into())],
        durability: Durability::Flushed,
        returned: ReturnAttributes(|_| true),
    };
    let prepared = store.prepare(addition).await.unwrap();
    let keys: Vec<Key> =
        (0..size.keys).map(|number| Key::partition(format!("{program}-{number}"))).collect();
    let mut tasks = JoinSet::new();
    for number in 0..size.tasks {
        let task = Task {
            number,
            store: store.clone(),
            keys: keys.clone(),
            prepared: Arc::clone(&prepared),
            clock: Arc::clone(&clock),
            random: fastrand::Rng::with_seed(seed.wrapping_mul(size.tasks).wrapping_add(number)),
            seen: BTreeMap::new(),
            events: Vec::new(),
        };
        tasks.spawn(task.run(size.requests));
    }
    let mut events: Vec<Event> = tasks.join_all().await.into_iter().flatten().collect();
    for (number, key) in keys.into_iter().enumerate() {
        let step = Step::Get(Get::new(TABLE, key));
        let called = clock.fetch_add(1, Ordering::SeqCst);
        let answer = ask(store, &step).await;
        let returned = clock.fetch_add(1, Ordering::SeqCst);
        let (id, checked) = (format!("end-{number}"), BTreeMap::new());
        events.push(Event { id, step, checked, answer, called, returned });
    }
    events
}
