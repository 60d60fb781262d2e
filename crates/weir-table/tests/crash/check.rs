//! What a store must hold after a crash, given what was answered before it.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::embedded::Embedded;
use weir_table::feed::Position;
use weir_table::{Error, Get, IndexSpec, Item, Key, Projection, Query, Store, TableSpec};

use crate::workload::{
    self, ACCOUNT_TABLE, ACCOUNTS, Ack, BALANCE, EXPIRED, MAIN, Progress, TASKS, Work,
};

/// What is known of a store from the answers it gave.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) seed: u64,
    /// What was there when the run began.
    start: Progress,
    shared: u64,
    items: [BTreeMap<String, Item>; TASKS],
    ledger: [BTreeSet<u64>; TASKS],
    feed: BTreeMap<&'static str, Feed>,
    /// Answers of this run.
    acks: Vec<Ack>,
    /// Answers that were checked, of all runs.
    pub(crate) checked: u64,
    /// Changes that the feed told of.
    pub(crate) changes: u64,
}

/// A reader of a table's feed who remembers every item as the feed has told it.
#[derive(Debug, Clone, Default)]
struct Feed {
    from: Option<Position>,
    last: (u64, u64),
    images: BTreeMap<Key, Item>,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Model {
        Model {
            seed,
            start: Progress::default(),
            shared: 0,
            items: Default::default(),
            ledger: Default::default(),
            feed: BTreeMap::from([(MAIN, Feed::default()), (ACCOUNT_TABLE, Feed::default())]),
            acks: Vec::new(),
            checked: 0,
            changes: 0,
        }
    }

    /// The last step of each task that is in the store.
    pub(crate) fn done(&self) -> Progress {
        self.start.clone()
    }

    pub(crate) fn note(&mut self, acks: impl IntoIterator<Item = Ack>) {
        self.acks.extend(acks);
    }

    /// For a store whose feed does not begin with its first change.
    pub(crate) fn forget_feed(&mut self) {
        self.feed.clear();
    }

    /// After a crash of the process: every answered step is there, and of each task at most the one
    /// step that had no answer yet.
    pub(crate) async fn check(&mut self, store: &Store<Embedded>) {
        let kept = self.acks.clone();
        self.check_with(store, &kept).await;
    }

    /// After a power cut: the `kept` answers are there, others may be.
    pub(crate) async fn check_with(&mut self, store: &Store<Embedded>, kept: &[Ack]) {
        let main = scan(store, Query::scan(MAIN)).await;
        let accounts = scan(store, Query::scan(ACCOUNT_TABLE)).await;
        let by_key: BTreeMap<(String, String), Item> = main
            .iter()
            .map(|item| {
                let part = |name| item.s(name).unwrap().to_owned();
                ((part("PK"), part("SK")), item.clone())
            })
            .collect();
        assert_eq!(by_key.len(), main.len(), "an item is there twice");
        let (mut least, mut most) = (self.start.clone(), self.start.clone());
        kept.iter().for_each(|ack| least.note(*ack));
        self.acks.iter().for_each(|ack| most.note(*ack));
        let mut found = Progress::default();
        for task in 0..TASKS {
            found.counters[task] = check_counter(&by_key, task, &least, &most);
            found.items[task] = self.check_items(&by_key, task, &least, &most);
            found.transfers[task] = self.check_ledger(&by_key, task, &least, &most);
        }
        self.check_shared(&by_key, kept);
        self.check_balances(&accounts);
        self.check_views(store, &main, &accounts).await;
        self.checked += self.acks.len() as u64;
        self.acks.clear();
        self.start = found;
    }

    /// Gets, indexes and the feed say the same as the scan.
    async fn check_views(&mut self, store: &Store<Embedded>, main: &[Item], accounts: &[Item]) {
        let [main_spec, account_spec, _] = workload::specs();
        for (spec, items) in [(&main_spec, main), (&account_spec, accounts)] {
            for index in &spec.indexes {
                check_index(store, spec, index, items).await;
            }
            for item in items.iter().step_by(7) {
                let key = spec.key_of(item).unwrap();
                let got = store.get(&Get::new(spec.name.as_str(), key)).await.unwrap();
                assert_eq!(got.as_ref(), Some(item));
            }
        }
        for (spec, items) in [(&main_spec, main), (&account_spec, accounts)] {
            let Some(feed) = self.feed.get_mut(spec.name.as_str()) else {
                continue;
            };
            self.changes += feed.follow(store, &spec.name).await;
            let current: BTreeMap<Key, Item> =
                items.iter().map(|item| (spec.key_of(item).unwrap(), item.clone())).collect();
            assert_eq!(feed.images, current, "the feed's last images are the items");
        }
        match store.backend().verify().await {
            Ok(sound) => {
                assert!(sound.is_sound(), "{sound:?}");
                assert!(sound.items as usize >= main.len() + accounts.len());
            }
            // It folds first.
            Err(error) => {
                assert!(matches!(error, Error::ReadOnly { .. } | Error::DiskFull), "{error:?}")
            }
        }
    }

    /// The whole feed, read anew, tells the same as it was told piece by piece.
    pub(crate) async fn check_feed_from_the_start(&self, store: &Store<Embedded>) {
        for (table, known) in &self.feed {
            let mut anew = Feed::default();
            anew.follow(store, table).await;
            assert_eq!(anew.images, known.images);
            assert_eq!(anew.last, known.last);
        }
    }

    fn check_items(
        &mut self,
        found: &BTreeMap<(String, String), Item>,
        task: usize,
        least: &Progress,
        most: &Progress,
    ) -> u64 {
        let partition = workload::items_partition(task);
        let there: BTreeMap<String, Item> = found
            .iter()
            .filter(|((pk, _), _)| *pk == partition)
            .map(|((_, sk), item)| (sk.clone(), item.clone()))
            .collect();
        let fits = |imagined: &BTreeMap<String, Item>| {
            let lasting = |items: &BTreeMap<String, Item>| -> BTreeMap<String, Item> {
                let mut items = items.clone();
                items.retain(|slot, _| !slot.starts_with(EXPIRED));
                items
            };
            // The sweeper may have taken what had expired.
            let expired_fit = there
                .iter()
                .filter(|(slot, _)| slot.starts_with(EXPIRED))
                .all(|(slot, item)| imagined.get(slot) == Some(item));
            lasting(&there) == lasting(imagined) && expired_fit
        };
        let mut imagined = self.items[task].clone();
        let mut last_fit = None;
        for step in self.start.items[task]..=most.items[task] + 1 {
            if step > self.start.items[task] {
                let next = workload::item_step(self.seed, task, step);
                workload::imagine(&mut imagined, task, next);
            }
            if step >= least.items[task] && fits(&imagined) {
                last_fit = Some((step, imagined.clone()));
            }
        }
        let (least, most) = (least.items[task], most.items[task] + 1);
        let Some((step, items)) = last_fit else {
            panic!("items of task {task}: no step from {least} to {most} leaves {there:#?}")
        };
        self.items[task] = items;
        step
    }

    fn check_ledger(
        &mut self,
        found: &BTreeMap<(String, String), Item>,
        task: usize,
        least: &Progress,
        most: &Progress,
    ) -> u64 {
        let partition = workload::ledger_partition(task);
        let there: BTreeSet<u64> = found
            .iter()
            .filter(|((pk, _), _)| *pk == partition)
            .map(|(_, item)| item.i64("step").unwrap() as u64)
            .collect();
        assert!(
            there.is_superset(&self.ledger[task]),
            "transfers of task {task} that were there are gone"
        );
        let (least, most) = (least.transfers[task], most.transfers[task]);
        let reached = there.last().copied().unwrap_or(0).max(least);
        assert!(reached <= most + 1, "transfers of task {task}: {reached} was never asked for");
        for ack in &self.acks {
            if (ack.kind, ack.task) == (Work::Transfer, task) && ack.step <= reached {
                // A step that a crash had hidden the answer of is refused when it is asked again.
                let is_there = there.contains(&ack.step);
                assert!(is_there || !ack.applied, "transfer {} of task {task} is gone", ack.step);
                assert!(
                    !is_there || ack.applied || self.ledger[task].contains(&ack.step),
                    "transfer {} of task {task} was refused and is there",
                    ack.step
                );
            }
        }
        self.ledger[task] = there;
        reached
    }

    fn check_shared(&mut self, found: &BTreeMap<(String, String), Item>, kept: &[Ack]) {
        let key = ("COUNTER#shared".to_owned(), "n".to_owned());
        let count = found.get(&key).map_or(0, |item| item.i64("n").unwrap() as u64);
        let of = |acks: &[Ack]| acks.iter().filter(|ack| ack.kind == Work::Shared).count() as u64;
        let (least, most) = (self.shared + of(kept), self.shared + of(&self.acks) + TASKS as u64);
        assert!(
            (least..=most).contains(&count),
            "the shared counter is {count}, not {least} to {most}"
        );
        self.shared = count;
    }

    /// Every balance is what the ledger says, so no half of a transfer is there.
    fn check_balances(&self, accounts: &[Item]) {
        let mut expected = vec![BALANCE; ACCOUNTS as usize];
        for task in 0..TASKS {
            for step in &self.ledger[task] {
                let transfer = workload::transfer(self.seed, task, *step);
                expected[transfer.from as usize] -= transfer.amount;
                expected[transfer.to as usize] += transfer.amount;
            }
        }
        assert_eq!(accounts.len(), expected.len());
        for (number, balance) in (0..).zip(expected) {
            let name = workload::account(number);
            let account = accounts.iter().find(|item| item.s("PK") == Some(name.as_str())).unwrap();
            assert_eq!(
                account.i64("bal"),
                Some(balance),
                "{name} does not have what the ledger says"
            );
        }
    }

    /// A transaction with a token, asked again after the crash, is there once.
    pub(crate) async fn retry_tokens(&mut self, store: &Store<Embedded>) {
        for task in 0..TASKS {
            let reached = self.start.transfers[task];
            for step in [reached, reached + 1] {
                if step == 0 || !workload::transfer(self.seed, task, step).has_token {
                    continue;
                }
                let is_there = self.ledger[task].contains(&step);
                let before = store.backend().stats().last_seq;
                let transaction = workload::transfer_writes(self.seed, task, step);
                let applied = store.transact(transaction).await.unwrap().is_applied();
                let grown = store.backend().stats().last_seq - before;
                if is_there {
                    assert!(applied, "a repeated token is answered as the first time");
                    assert_eq!(grown, 0, "a repeated token changes nothing");
                } else if applied {
                    self.ledger[task].insert(step);
                    self.start.transfers[task] = step;
                } else {
                    assert_eq!(grown, 0);
                }
            }
        }
        let accounts = scan(store, Query::scan(ACCOUNT_TABLE)).await;
        self.check_balances(&accounts);
    }
}

fn check_counter(
    found: &BTreeMap<(String, String), Item>,
    task: usize,
    least: &Progress,
    most: &Progress,
) -> u64 {
    let key = (format!("COUNTER#{task}"), "n".to_owned());
    let count = found.get(&key).map_or(0, |item| item.i64("n").unwrap() as u64);
    let (least, most) = (least.counters[task], most.counters[task] + 1);
    assert!((least..=most).contains(&count), "counter {task} is {count}, not {least} to {most}");
    count
}

pub(crate) async fn scan(store: &Store<Embedded>, mut query: Query) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        let page = store.query(&query).await.unwrap();
        items.extend(page.items);
        match page.cursor {
            Some(cursor) => query = query.after(cursor),
            None => return items,
        }
    }
}

/// What an index must hold of an item.
fn projected(spec: &TableSpec, index: &IndexSpec, item: &Item) -> Option<Item> {
    let keys = [Some(&index.partition), index.sort.as_ref()];
    if keys.iter().flatten().any(|name| item.get(name).is_none()) {
        return None;
    }
    let of_table = [Some(&spec.partition), spec.sort.as_ref()];
    let included = match &index.projection {
        Projection::All => return Some(item.clone()),
        Projection::KeysOnly => None,
        Projection::Include(names) => Some(names),
    };
    let names = keys.into_iter().chain(of_table).flatten().chain(included.into_iter().flatten());
    Some(names.filter_map(|name| Some((name.clone(), item.get(name)?.clone()))).collect())
}

async fn check_index(store: &Store<Embedded>, spec: &TableSpec, index: &IndexSpec, items: &[Item]) {
    let sorted = |items: Vec<Item>| {
        let mut texts: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
        texts.sort();
        texts
    };
    let query = Query::scan(spec.name.as_str()).index(index.name.as_str());
    let found = scan(store, query).await;
    let expected = items.iter().filter_map(|item| projected(spec, index, item)).collect();
    assert_eq!(
        sorted(found),
        sorted(expected),
        "index {} does not agree with the items",
        index.name
    );
}

impl Feed {
    /// Reads on to the end; every change must follow the one before of the same item.
    async fn follow(&mut self, store: &Store<Embedded>, table: &str) -> u64 {
        let shards = store.feed_shards(table).await.unwrap();
        assert_eq!(shards.len(), 1);
        let mut count = 0;
        loop {
            let from = self.from.clone().unwrap_or(Position::Oldest);
            let page = store.feed_read(table, &shards[0].id, &from, 500).await;
            let page = page.unwrap();
            for change in &page.changes {
                let position = place(&change.position);
                assert!(position > self.last, "the feed goes back at {position:?}");
                self.last = position;
                let (old, new) = change.images().unwrap();
                assert_ne!(old, new, "a change that changes nothing");
                let before = match &new {
                    Some(new) => self.images.insert(change.key.clone(), new.clone()),
                    None => self.images.remove(&change.key),
                };
                assert_eq!(
                    old, before,
                    "the change of {} at {position:?} does not follow the one before",
                    change.key
                );
                if change.expired {
                    assert_eq!(new, None);
                    assert!(change.key.sort.as_ref().unwrap().to_string().starts_with('E'));
                }
            }
            count += page.changes.len() as u64;
            let is_end = page.changes.is_empty();
            self.from = Some(page.next);
            if is_end {
                return count;
            }
        }
    }
}

pub(crate) fn place(position: &str) -> (u64, u64) {
    let (seq, number) = position.split_once('-').unwrap();
    (seq.parse().unwrap(), number.parse().unwrap())
}
