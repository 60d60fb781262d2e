//! Additions against the updates they stand for: random steps on two embedded stores, one of which makes additions and
//! the other the equivalent updates. All responses, items, index entries and feed records agree, also after both stores
//! were reopened.

#![cfg(feature = "embedded")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "only tests are here")]

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{Update, attr};
use weir_table::feed::Position;
use weir_table::{
    Add, Added, Addition, Durability, Guard, IndexSpec, Item, Key, Kind, Prepared, Query,
    ReturnAttributes, Store, TableSpec, Value, Write,
};

/// Seeds of cases that failed once; relative to the package.
const REGRESSIONS: &str = "tests/proptest-regressions/additions.txt";
const TABLE: &str = "tallies";
const KEYS: usize = 3;
/// Attributes that steps write: `owner` and `team` are keys of indexes, `ttl` is when the item expires.
const NAMES: [&str; 7] = ["a", "b", "c", "longer_than_others", "owner", "team", "ttl"];
/// Changes that are read at once.
const PAGE: usize = 1_000;

#[derive(Debug, Clone)]
enum Step {
    /// Which addition, to which item, with which numbers, and how often.
    Add(usize, usize, [i64; 2], [i64; 2], usize),
    Put(usize, Vec<(usize, Value)>),
    Set(usize, usize, Value),
    Remove(usize, usize),
    Delete(usize),
    Fold,
}

fn additions() -> Vec<Addition> {
    let returned = ReturnAttributes(|name| name == "b");
    let of = |adds: [&str; 2], guards: Vec<Guard>, durability| Addition {
        table: TABLE.into(),
        adds: adds.map(Into::into).to_vec(),
        guards,
        durability,
        returned,
    };
    let at_least = |name: &str| Guard::AtLeast(name.into());
    let lives = || Guard::AbsentOrOver("ttl".into());
    let is_x = || Guard::Is("c".into(), "x".into());
    let at_most = |name: &str| Guard::AtMost(name.into());
    let equals = |name: &str| Guard::Equals(name.into());
    let absent_or_equals = |name: &str| Guard::AbsentOrEquals(name.into());
    let no_team = || Guard::Absent("team".into());
    vec![
        of(["a", "b"], vec![at_least("a"), lives()], Durability::Flushed),
        of(["longer_than_others", "a"], vec![is_x(), at_least("b"), lives()], Durability::Flushed),
        of(["b", "c"], vec![at_least("b"), at_least("c")], Durability::Synced),
        of(["ttl", "a"], vec![lives(), at_least("a")], Durability::Flushed),
        of(["a", "b"], vec![at_most("a"), absent_or_equals("c"), no_team()], Durability::Flushed),
        of(["a", "b"], vec![equals("a"), at_most("b")], Durability::Flushed),
    ]
}

fn spec() -> TableSpec {
    TableSpec::new(TABLE, "pk", Kind::S)
        .attribute("owner", Kind::S)
        .attribute("team", Kind::S)
        .index(IndexSpec::new("by-owner", "owner").include(["a"]))
        .index(IndexSpec::new("by-team", "team").keys_only())
        .ttl("ttl")
        .feed()
}

fn value() -> impl Strategy<Value = Value> {
    // Far in the future, so that nothing expires meanwhile.
    let numbers = prop_oneof![-5i64..5, -5_000i64..5_000, Just(99_999_999_999), Just(999)];
    prop_oneof![8 => numbers.prop_map(Value::from), 1 => Just(Value::from("x")), 1 => Just(Value::Null)]
}

fn named() -> impl Strategy<Value = (usize, Value)> {
    // Keys of indexes are texts.
    (0..NAMES.len(), value()).prop_map(|(name, value)| match NAMES[name] {
        "owner" | "team" => (name, Value::from("x")),
        _ => (name, value),
    })
}

fn step() -> impl Strategy<Value = Step> {
    let number = || prop_oneof![6 => -3i64..4, 3 => -100_000i64..100_000, 1 => Just(i64::MAX)];
    let than = || prop_oneof![4 => Just(i64::MIN), 2 => Just(i64::MAX), 2 => -3i64..4];
    let numbers = ([number(), number()], [than(), than()]);
    let add = (0..6usize, 0..KEYS, numbers, 1..6usize);
    prop_oneof![
        30 => add.prop_map(|(which, key, (add, than), often)| Step::Add(which, key, add, than, often)),
        6 => (0..KEYS, prop::collection::vec(named(), 0..6)).prop_map(|(key, all)| Step::Put(key, all)),
        6 => (0..KEYS, named()).prop_map(|(key, (name, value))| Step::Set(key, name, value)),
        2 => (0..KEYS, 0..NAMES.len()).prop_map(|(key, name)| Step::Remove(key, name)),
        1 => (0..KEYS).prop_map(Step::Delete),
        1 => Just(Step::Fold),
    ]
}

fn key(number: usize) -> Key {
    Key { partition: format!("item-{number}").into(), sort: None }
}

struct Side {
    folder: tempfile::TempDir,
    store: Store<Embedded>,
    additions: Vec<Arc<Prepared>>,
    /// Whether it is asked for additions as such.
    adds: bool,
}

impl Side {
    async fn new(adds: bool) -> Side {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.create_table(&spec()).await.unwrap();
        for number in 0..KEYS {
            let item = Item::new()
                .with("pk", key(number).partition.to_value())
                .with("a", 1)
                .with("b", -7)
                .with("c", "x")
                .with("longer_than_others", 999_999);
            store.write(Write::put(TABLE, item)).await.unwrap();
        }
        let mut prepared = Vec::new();
        for addition in additions() {
            prepared.push(store.prepare(addition).await.unwrap());
        }
        Side { folder, store, additions: prepared, adds }
    }

    /// What it answers, as far as that is promised.
    async fn ask(&self, step: &Step) -> String {
        let write = match step {
            Step::Fold => {
                self.store.backend().checkpoint().await.unwrap();
                return String::new();
            }
            Step::Add(which, item, add, than, often) => {
                let mut answers = String::new();
                for _ in 0..*often {
                    answers += &self.add(&self.additions[*which], &key(*item), add, than).await;
                }
                return answers;
            }
            Step::Put(item, all) => {
                let all = all.iter().map(|(name, value)| (NAMES[*name], value.clone()));
                let item = all.collect::<Item>().with("pk", key(*item).partition.to_value());
                Write::put(TABLE, item)
            }
            Step::Set(item, name, value) => {
                Write::update(TABLE, key(*item), Update::default().set(NAMES[*name], value.clone()))
            }
            Step::Remove(item, name) => {
                let gone = Update::default().remove(NAMES[*name]);
                Write::update(TABLE, key(*item), gone).when(attr("pk").exists())
            }
            Step::Delete(item) => Write::delete(TABLE, key(*item)),
        };
        format!("{:?}", self.store.write(write.flushed()).await.map_err(|error| error.to_string()))
    }

    async fn add(&self, prepared: &Arc<Prepared>, key: &Key, add: &[i64], than: &[i64]) -> String {
        let compared = prepared
            .addition()
            .guards
            .iter()
            .filter(|g| !matches!(g, Guard::Is(..) | Guard::Absent(_)));
        let add = Add { prepared, key, add, than: &than[..compared.count()] };
        let returned = |item: &Item| item.get("b").cloned();
        let added = if self.adds {
            self.store.add(add, returned).await
        } else {
            let written = self.store.write(add.write()).await;
            written.map(|written| match written.is_applied() {
                true => Added::Done(returned(written.item().unwrap())),
                false => Added::Refused(written.item().cloned()),
            })
        };
        format!("{:?}", added.map_err(|error| error.to_string()))
    }

    /// Everything there is to be seen: items, both indexes, all changes.
    async fn all(&self) -> String {
        let mut all = Vec::new();
        for query in [
            Query::scan(TABLE),
            Query::scan(TABLE).index("by-owner"),
            Query::scan(TABLE).index("by-team"),
        ] {
            all.push(format!("{:?}", self.store.query(&query).await.unwrap().items));
        }
        let shard = self.store.feed_shards(TABLE).await.unwrap().remove(0).id;
        let page = self.store.feed_read(TABLE, &shard, &Position::Oldest, PAGE).await.unwrap();
        let images = page.changes.iter().map(|change| (&change.key, change.images().unwrap()));
        all.push(format!("{:?}", images.collect::<Vec<_>>()));
        let verified = self.store.backend().verify().await.unwrap();
        all.push(format!("{verified:?}"));
        all.join("\n")
    }

    /// Opens it again, after whatever has been written so far; what was not folded is replayed.
    async fn again(self) -> Side {
        let Side { folder, store, additions, adds } = self;
        drop(store);
        let store = open(folder.path());
        store.verify_table(&spec()).await.unwrap();
        Side { folder, store, additions, adds }
    }
}

fn open(folder: &std::path::Path) -> Store<Embedded> {
    let options = Options { sweep_interval: None, ..Options::new(folder.join("data")) };
    let embedded = Embedded::open(options).unwrap();
    let cursors = embedded.cursor_key();
    Store::new(embedded, cursors)
}

/// Additions that were made in place, and those that fell back to an update.
fn additions_of(side: &Side) -> (u64, u64) {
    let stats = side.store.backend().stats();
    (stats.additions_in_place_total, stats.additions_fallback_total)
}

#[tokio::test]
async fn plain_additions_are_made_in_place() {
    let (adding, updating) = (Side::new(true).await, Side::new(false).await);
    for item in 0..KEYS {
        // The first one reads the item, as an update; the others find the numbers where it left them.
        let step = Step::Add(0, item, [1, 3], [i64::MIN; 2], 10);
        assert_eq!(adding.ask(&step).await, updating.ask(&step).await);
    }
    assert_eq!(additions_of(&adding), (27, 3));
    assert_eq!(additions_of(&updating), (0, 0));
    // A guard that is false, sums that change nothing and an attribute that an index or the expiry depends on are not plain.
    for step in [
        Step::Add(0, 0, [1, 3], [i64::MAX; 2], 2),
        Step::Add(0, 1, [0, 0], [i64::MIN; 2], 2),
        Step::Add(3, 2, [1, 1], [i64::MIN; 2], 2),
    ] {
        let before = additions_of(&adding);
        assert_eq!(adding.ask(&step).await, updating.ask(&step).await);
        assert_eq!(additions_of(&adding), (before.0, before.1 + 2), "{step:?}");
    }
    // Any other write of the item, and a fold, are followed by one addition that reads the item again.
    for step in [Step::Set(0, 0, 5.into()), Step::Fold] {
        adding.ask(&step).await;
        updating.ask(&step).await;
        let before = additions_of(&adding);
        let adds = Step::Add(0, 0, [2, -2], [i64::MIN; 2], 5);
        assert_eq!(adding.ask(&adds).await, updating.ask(&adds).await);
        assert_eq!(additions_of(&adding), (before.0 + 4, before.1 + 1), "{step:?}");
    }
    assert_eq!(adding.all().await, updating.all().await);
    let (adding, updating) = (adding.again().await, updating.again().await);
    assert_eq!(adding.all().await, updating.all().await);
}

async fn compare(steps: Vec<Step>) {
    let (adding, updating) = (Side::new(true).await, Side::new(false).await);
    for (number, step) in steps.iter().enumerate() {
        let answers = (adding.ask(step).await, updating.ask(step).await);
        assert_eq!(answers.0, answers.1, "step {number}: {step:?}");
    }
    assert_eq!(adding.all().await, updating.all().await);
    let (adding, updating) = (adding.again().await, updating.again().await);
    assert_eq!(adding.all().await, updating.all().await);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1") { 5_000 } else { 50 },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn additions_do_what_their_updates_do(steps in prop::collection::vec(step(), 1..60)) {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio.block_on(compare(steps));
    }
}
