//! A task of a concurrent program: random requests, most of which depend on what the task has seen.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "only tests call these")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::expr::{Condition, Term, Update, attr};
use weir_table::{Backend, Get, Item, Key, Prepared, Store, Transaction, Write};

use crate::additions::Add;
use crate::answers::{Answer, ask};
use crate::concurrent::TABLE;
use crate::explain::{Event, Position, position_of};
use crate::memory::name_of;
use crate::program::Step;
use crate::run::make_addition;
use crate::shapes::PARTITION;

/// One of the tasks of a program.
pub(crate) struct Task<B> {
    pub(crate) number: u64,
    pub(crate) store: Store<B>,
    pub(crate) keys: Vec<Key>,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) clock: Arc<AtomicU64>,
    pub(crate) random: fastrand::Rng,
    /// The last position seen of each key.
    pub(crate) seen: BTreeMap<String, Position>,
    pub(crate) events: Vec<Event>,
}

impl<B: Backend> Task<B> {
    /// Makes so many requests, one after the other.
    pub(crate) async fn run(mut self, requests: u64) -> Vec<Event> {
        for request in 0..requests {
            let id = format!("{}x{request}", self.number);
            let (step, checked) = self.step(&id);
            let called = self.clock.fetch_add(1, Ordering::SeqCst);
            let answer = match &step {
                Step::Add(add) => make_addition(&self.store, &self.prepared, add).await,
                step => ask(&self.store, step).await,
            };
            let returned = self.clock.fetch_add(1, Ordering::SeqCst);
            self.note(&answer);
            self.events.push(Event { id, step, checked, answer, called, returned });
        }
        self.events
    }

    fn note(&mut self, answer: &Answer) {
        let images: Vec<&Item> = match answer {
            Answer::Written(written) => written.item().into_iter().collect(),
            Answer::Items(items) => items.iter().flatten().collect(),
            _ => Vec::new(),
        };
        for image in images {
            let key = format!("{:?}", image.get(PARTITION).unwrap());
            self.seen.insert(key, position_of(Some(image)).unwrap());
        }
    }

    fn key(&mut self) -> Key {
        self.keys[self.random.usize(..self.keys.len())].clone()
    }

    /// Two or three different keys.
    fn keys(&mut self) -> Vec<Key> {
        let mut keys = self.keys.clone();
        self.random.shuffle(&mut keys);
        keys.truncate(2 + self.random.usize(..2));
        keys
    }

    /// Whether an item stands where this task saw it last, or is not there if it never saw it.
    fn unchanged(&self, key: &Key) -> (Position, Condition) {
        match self.seen.get(&name_of(key)).cloned().flatten() {
            Some((life, version)) => {
                let condition = attr("life").eq(life.as_str()).and(attr("version").eq(version));
                (Some((life, version)), condition)
            }
            None => (None, attr(PARTITION).absent()),
        }
    }

    /// An update that leaves its mark.
    fn update(&mut self, id: &str) -> Update {
        let update = Update::default()
            .set(format!("w_{id}").as_str(), Term::path_or("version", 0))
            .set_if_absent("life", id)
            .add("version", 1)
            .add("tokens", self.random.i64(0..20))
            .add("n", self.random.i64(-3..4));
        match self.random.u8(..8) {
            0 => update.set("gs", "a"),
            1 => update.set("gs", "b"),
            // An item in no index takes additions in place.
            2..5 => update.remove("gs"),
            _ => update,
        }
    }

    fn item(&mut self, id: &str, key: &Key) -> Item {
        Item::new()
            .with(PARTITION, key.partition.to_value())
            .with(format!("w_{id}").as_str(), 0)
            .with("life", id)
            .with("version", 1)
            .with("tokens", self.random.i64(0..30))
            .with("n", self.random.i64(-3..4))
    }

    fn step(&mut self, id: &str) -> (Step, BTreeMap<String, Position>) {
        let key = self.key();
        let (_, unchanged) = self.unchanged(&key);
        let write = |write: Write| Step::Write(write.flushed());
        let step = match self.random.u8(..100) {
            0..14 => write(Write::update(TABLE, key, self.update(id))),
            14..25 => write(Write::update(TABLE, key, self.update(id)).when(unchanged)),
            25..55 => Step::Add(Add {
                number: 0,
                addition: self.prepared.addition().clone(),
                key,
                add: vec![1, self.random.i64(-9..3)],
                than: vec![1, self.random.i64(0..10)],
                times: 1,
            }),
            55..60 => write(Write::delete(TABLE, key)),
            60..66 => write(Write::delete(TABLE, key).when(unchanged)),
            66..69 => Step::Write(Write::put(TABLE, self.item(id, &key))),
            69..75 => {
                let put = Write::put(TABLE, self.item(id, &key));
                write(put.when(attr(PARTITION).absent()))
            }
            75..90 => return self.transaction(id),
            90..95 => Step::Get(Get::new(TABLE, key)),
            _ => {
                let gets = self.keys().into_iter().map(|key| Get::new(TABLE, key));
                Step::TransactGet(gets.collect())
            }
        };
        (step, BTreeMap::new())
    }

    /// Updates of several items, each conditional now and then, and a check of another.
    fn transaction(&mut self, id: &str) -> (Step, BTreeMap<String, Position>) {
        let mut checked = BTreeMap::new();
        let mut writes = Vec::new();
        for (place, key) in self.keys().into_iter().enumerate() {
            let (position, unchanged) = self.unchanged(&key);
            let update = Write::update(TABLE, key.clone(), self.update(id)).flushed();
            writes.push(match self.random.u8(..10) {
                0..2 if place > 0 => {
                    checked.insert(name_of(&key), position);
                    Write::check(TABLE, key, unchanged)
                }
                2..5 => update.when(unchanged),
                5..7 => update.when(attr("tokens").absent().or(attr("tokens").ge(5))),
                _ => update,
            });
        }
        (Step::Transact(Transaction::new(writes)), checked)
    }
}
