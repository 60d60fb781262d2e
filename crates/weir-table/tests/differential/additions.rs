//! Prepared additions: a program has a few and makes each often, so that the embedded store makes them in place.

use proptest::prelude::*;
use proptest::sample::select;
use weir_table::expr::Condition;
use weir_table::{
    Addition, Durability, Guard, Item, Key, Name, ReturnAttributes, TableSpec, Write, Written,
};

use crate::shapes::{EXPIRY, PARTITION};
use crate::values::{self, key};

/// The most additions of a program.
const ADDITIONS_MAX: usize = 3;
/// The most times that a step repeats its addition.
const TIMES_MAX: usize = 5;

/// A step that makes one addition several times.
#[derive(Debug, Clone)]
pub(crate) struct Add {
    /// Number of the addition in its program.
    pub(crate) number: usize,
    pub(crate) addition: Addition,
    pub(crate) key: Key,
    pub(crate) add: Vec<i64>,
    pub(crate) than: Vec<i64>,
    pub(crate) times: usize,
}

impl Add {
    /// The update that the addition stands for.
    pub(crate) fn write(&self) -> Write {
        let (update, conditions) = self.addition.expressions(&self.add, &self.than);
        let write = Write::update(self.addition.table.clone(), self.key.clone(), update);
        let condition = conditions.into_iter().reduce(Condition::and);
        Write { condition, durability: self.addition.durability, ..write }
    }

    /// The answer with those attributes of the new item that the addition asks for; a back-end may return more.
    pub(crate) fn selected(&self, written: Written) -> Written {
        let is_selected = self.addition.returned.0;
        let select = |item: Item| -> Item {
            let attrs = item.attrs().iter().filter(|(name, _)| is_selected(name));
            attrs.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        match written {
            Written::Applied(item) => Written::Applied(item.map(select)),
            refused @ Written::Refused(_) => refused,
        }
    }
}

/// An addition of a program and the table it is for.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    number: usize,
    addition: Addition,
    spec: TableSpec,
}

/// The additions of a program.
pub(crate) fn additions(specs: &[TableSpec]) -> BoxedStrategy<Vec<Planned>> {
    let planned = select(specs.to_vec())
        .prop_flat_map(|spec| (addition(&spec), Just(spec)))
        .prop_map(|(addition, spec)| Planned { number: 0, addition, spec });
    prop::collection::vec(planned, 1..=ADDITIONS_MAX)
        .prop_map(|all| {
            let numbered = all.into_iter().enumerate();
            numbered.map(|(number, planned)| Planned { number, ..planned }).collect()
        })
        .boxed()
}

fn every(_: &str) -> bool {
    true
}

fn count_alone(name: &str) -> bool {
    name == "count"
}

fn addition(spec: &TableSpec) -> BoxedStrategy<Addition> {
    let table = Name::from(spec.name.as_str());
    // Mostly numbers; an addition to a key is refused when it is prepared, one to a text or a set when it is made.
    let plain = select(vec!["n", "count", "n", "count", "n", "count", "odd", EXPIRY, "gn"]);
    let name = prop_oneof![40 => plain, 1 => select(vec!["s", "ns", PARTITION])];
    let adds = prop::collection::vec(name.prop_map(Name::from), 1..4);
    let repeats = prop::bool::weighted(0.03);
    let guards = prop_oneof![1 => Just(Vec::new()), 2 => prop::collection::vec(guard(), 1..3)];
    let durability = prop_oneof![9 => Just(Durability::Flushed), 1 => Just(Durability::Synced)];
    let returned = select(vec![ReturnAttributes(every), ReturnAttributes(count_alone)]);
    (adds, repeats, guards, durability, returned)
        .prop_map(move |(mut adds, repeats, guards, durability, returned)| {
            if !repeats {
                adds.sort_unstable();
                adds.dedup();
            }
            Addition { table: table.clone(), adds, guards, durability, returned }
        })
        .boxed()
}

fn guard() -> BoxedStrategy<Guard> {
    let name = || select(vec!["n", "count", EXPIRY, "gn", "s", "gone"]).prop_map(Name::from);
    let value = || prop_oneof![2 => values::number().prop_map(Into::into), 1 => values::value()];
    prop_oneof![
        4 => name().prop_map(Guard::AtLeast),
        2 => name().prop_map(Guard::AtMost),
        1 => name().prop_map(Guard::Equals),
        2 => name().prop_map(Guard::AbsentOrEquals),
        4 => name().prop_map(Guard::AbsentOrOver),
        2 => Just(Guard::Absent("gone".into())),
        1 => name().prop_map(Guard::Absent),
        1 => (name(), value()).prop_map(|(name, value)| Guard::Is(name, value)),
    ]
    .boxed()
}

/// The number that a guard compares with; mostly one that lets it pass.
fn than(guard: &Guard) -> Option<BoxedStrategy<i64>> {
    let easy = match guard {
        Guard::AtLeast(_) | Guard::AbsentOrOver(_) => i64::MIN,
        Guard::AtMost(_) => i64::MAX,
        Guard::Equals(_) | Guard::AbsentOrEquals(_) => 1,
        Guard::Absent(_) | Guard::Is(..) => return None,
    };
    Some(prop_oneof![5 => Just(easy), 3 => -3i64..12, 1 => any::<i64>()].boxed())
}

impl Planned {
    /// A step that makes the addition.
    pub(crate) fn step(self) -> BoxedStrategy<Add> {
        let Planned { number, addition, spec } = self;
        let added = prop_oneof![
            12 => -3i64..12,
            1 => any::<i64>(),
            1 => select(vec![0, i64::MAX, i64::MIN, 10_000_000_000]),
        ];
        let adds = prop::collection::vec(added, addition.adds.len());
        let than: Vec<BoxedStrategy<i64>> = addition.guards.iter().filter_map(than).collect();
        (key(&spec), adds, than, 1..=TIMES_MAX)
            .prop_map(move |(key, add, than, times)| Add {
                number,
                addition: addition.clone(),
                key,
                add,
                than,
                times,
            })
            .boxed()
    }
}
