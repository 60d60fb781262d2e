//! Programs: tables, a way to open the embedded store, and steps.

use proptest::prelude::*;
use proptest::sample::select;
use weir_table::expr::check;
use weir_table::request::{Action, Extent};
use weir_table::{
    Consistency, Get, Name, Projection, Query, SortRange, TableSpec, Transaction, Write,
};

use crate::additions::{Add, additions};
use crate::expressions::{condition, projection, update};
use crate::shapes::{self, shape};
use crate::values::{item, key, partition_value, sort_value};

/// The most steps of a program.
const STEPS_MAX: usize = 40;
/// The most items that are put before, so that there is something to find.
const FIRST_MAX: usize = 12;

/// How the embedded store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// As usual.
    Usual,
    /// Almost no memory, so that reads go to the disk and folds happen all the time.
    Tiny,
}

/// One step of a program. Tables are called `t0` and `t1`.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Write(Write),
    /// The embedded store makes a prepared addition, the oracle the update that it stands for.
    Add(Add),
    BatchWrite(Vec<Write>),
    Transact(Transaction),
    /// The last transaction that had a token, once more.
    Again,
    Get(Get),
    BatchGet(Vec<Get>),
    TransactGet(Vec<Get>),
    /// All pages, to the end.
    Query(Query),
    /// The embedded store folds its log.
    Checkpoint,
    /// The embedded store is closed and opened again.
    Reopen,
}

/// A random program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) setting: Setting,
    /// The shape of each table.
    pub(crate) shapes: Vec<usize>,
    pub(crate) steps: Vec<Step>,
}

/// What the table at `place` is called in steps.
pub(crate) fn table_name(place: usize) -> String {
    format!("t{place}")
}

/// Any program.
pub(crate) fn program() -> impl Strategy<Value = Program> {
    let setting = select(vec![Setting::Usual, Setting::Tiny]);
    let shapes = prop::collection::vec(0..shapes::COUNT, 1..3);
    (setting, shapes).prop_flat_map(|(setting, shapes)| {
        let specs: Vec<TableSpec> = shapes
            .iter()
            .enumerate()
            .map(|(place, number)| shape(*number, table_name(place)))
            .collect();
        let first = put(&specs).prop_map(|put| Step::Write(put.flushed()));
        let first = prop::collection::vec(first, 0..FIRST_MAX);
        let steps = additions(&specs).prop_flat_map(move |additions| {
            let add =
                select(additions).prop_flat_map(|addition| addition.step()).prop_map(Step::Add);
            let step = prop_oneof![10 => step(&specs), 1 => add];
            prop::collection::vec(step, 1..=STEPS_MAX)
        });
        (first, steps).prop_map(move |(first, steps)| Program {
            setting,
            shapes: shapes.clone(),
            steps: first.into_iter().chain(steps).collect(),
        })
    })
}

fn step(specs: &[TableSpec]) -> BoxedStrategy<Step> {
    let plain = prop_oneof![3 => put(specs), 1 => delete(specs)];
    prop_oneof![
        20 => write(specs).prop_map(Step::Write),
        2 => apart(plain, 1..6).prop_map(Step::BatchWrite),
        5 => transaction(specs).prop_map(Step::Transact),
        1 => Just(Step::Again),
        3 => get(specs).prop_map(Step::Get),
        2 => prop::collection::vec(get(specs), 1..5).prop_map(once_each).prop_map(Step::BatchGet),
        2 => prop::collection::vec(get(specs), 1..4).prop_map(Step::TransactGet),
        8 => query(specs).prop_map(Step::Query),
        2 => scan(specs).prop_map(Step::Query),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
    ]
    .boxed()
}

fn of_table<T: std::fmt::Debug + 'static>(
    specs: &[TableSpec],
    make: impl Fn(&TableSpec) -> BoxedStrategy<T> + 'static,
) -> BoxedStrategy<T> {
    select(specs.to_vec()).prop_flat_map(move |spec| make(&spec)).boxed()
}

fn put(specs: &[TableSpec]) -> BoxedStrategy<Write> {
    of_table(specs, |spec| {
        let table = spec.name.clone();
        item(spec).prop_map(move |item| Write::put(table.as_str(), item)).boxed()
    })
}

fn delete(specs: &[TableSpec]) -> BoxedStrategy<Write> {
    of_table(specs, |spec| {
        let table = spec.name.clone();
        key(spec).prop_map(move |key| Write::delete(table.as_str(), key)).boxed()
    })
}

fn updating(specs: &[TableSpec]) -> BoxedStrategy<Write> {
    of_table(specs, |spec| {
        let table = spec.name.clone();
        (key(spec), update(spec))
            .prop_map(move |(key, update)| Write::update(table.as_str(), key, update))
            .boxed()
    })
}

fn checking(specs: &[TableSpec]) -> BoxedStrategy<Write> {
    of_table(specs, |spec| {
        let table = spec.name.clone();
        (key(spec), condition())
            .prop_map(move |(key, condition)| Write::check(table.as_str(), key, condition))
            .boxed()
    })
}

/// A put, update or delete; every other one has a condition, and few wait for the disk.
fn write(specs: &[TableSpec]) -> BoxedStrategy<Write> {
    let action = prop_oneof![4 => put(specs), 8 => updating(specs), 2 => delete(specs)];
    let synced = prop::bool::weighted(0.05);
    (action, prop::option::of(condition()), synced)
        .prop_map(|(write, condition, synced)| {
            let write = if synced { write } else { write.flushed() };
            match condition {
                Some(condition) => write.when(condition),
                None => write,
            }
        })
        .boxed()
}

/// Writes of which mostly no two name the same item.
fn apart(
    write: impl Strategy<Value = Write> + 'static,
    count: std::ops::Range<usize>,
) -> BoxedStrategy<Vec<Write>> {
    (prop::collection::vec(write, count), prop::bool::weighted(0.03))
        .prop_map(|(all, keep)| {
            let mut seen: Vec<String> = Vec::new();
            let fresh = |write: &Write| {
                let place = format!("{} {}", write.table, item_named(write));
                let fresh = keep || !seen.contains(&place);
                seen.push(place);
                fresh
            };
            all.into_iter().filter(fresh).map(Write::flushed).collect()
        })
        .boxed()
}

fn item_named(write: &Write) -> String {
    match &write.action {
        Action::Put(item) => {
            let part = |name: &str| item.get(name).map(|value| format!("{value:?}"));
            format!("{:?} {:?}", part(shapes::PARTITION), part(shapes::SORT))
        }
        Action::Update(key, _) | Action::Delete(key) | Action::Check(key) => {
            let sort = key.sort.as_ref().map(|sort| format!("{:?}", sort.to_value()));
            format!("{:?} {sort:?}", Some(format!("{:?}", key.partition.to_value())))
        }
    }
}

fn transaction(specs: &[TableSpec]) -> BoxedStrategy<Transaction> {
    let one = prop_oneof![4 => write(specs), 1 => checking(specs)];
    let token = prop::option::weighted(0.4, select(vec!["one", "two", "three"]));
    (apart(one, 1..5), token)
        .prop_map(|(writes, token)| Transaction { writes, token: token.map(str::to_owned) })
        .boxed()
}

fn consistency() -> impl Strategy<Value = Consistency> + Clone {
    select(vec![Consistency::Strong, Consistency::Eventual])
}

fn get(specs: &[TableSpec]) -> BoxedStrategy<Get> {
    of_table(specs, |spec| {
        let table = Name::from(spec.name.as_str());
        (key(spec), consistency(), projection())
            .prop_map(move |(key, consistency, projection)| Get {
                table: table.clone(),
                key,
                consistency,
                projection,
            })
            .boxed()
    })
}

/// A batch that names an item twice is refused, and with few keys most would be.
fn once_each(gets: Vec<Get>) -> Vec<Get> {
    let mut kept: Vec<Get> = Vec::new();
    for get in gets {
        let same = |other: &Get| other.table == get.table && other.key == get.key;
        if !kept.iter().any(same) {
            kept.push(get);
        }
    }
    kept
}

/// What queries and scans have in common; `base` names table, index and extent.
fn dressed(specs: &[TableSpec], base: BoxedStrategy<Query>) -> BoxedStrategy<Query> {
    let specs = specs.to_vec();
    let filter = prop::option::weighted(0.4, condition());
    let limit = prop::option::of(1u32..5);
    let (counting, as_it_is) = (prop::bool::weighted(0.15), prop::bool::weighted(0.1));
    let flags = (counting, as_it_is);
    (base, filter, projection(), limit, flags, consistency())
        .prop_map(move |(base, filter, projection, limit, flags, consistency)| {
            let (counting, as_it_is) = flags;
            let consistency = match base.index {
                Some(_) => Consistency::Eventual,
                None => consistency,
            };
            let plain = Query { count_only: counting, limit, consistency, ..base };
            let projection = projection.filter(|_| !counting);
            let full = Query { filter, projection, ..plain.clone() };
            if as_it_is || index_holds(&specs, &full) { full } else { plain }
        })
        .boxed()
}

/// Whether the index that is read holds all that the query names; another query is refused.
pub(crate) fn index_holds(specs: &[TableSpec], query: &Query) -> bool {
    let spec = specs.iter().find(|spec| query.table == spec.name);
    let index = spec.zip(query.index.as_ref()).and_then(|(spec, name)| spec.find_index(name).ok());
    let Some((spec, index)) = spec.zip(index) else {
        return true;
    };
    let included = match &index.projection {
        Projection::All => return true,
        Projection::KeysOnly => None,
        Projection::Include(names) => Some(names),
    };
    let mut named = Vec::new();
    query.filter.iter().for_each(|filter| check::attributes(filter, &mut named));
    named.extend(query.projection.iter().flatten().map(|path| &path.attribute));
    named.iter().all(|name| {
        spec.is_key(name)
            || index.partition == **name
            || index.sort.as_ref() == Some(name)
            || included.is_some_and(|names| names.contains(*name))
    })
}

/// The table itself or one of its indexes: name and key attributes.
fn places(spec: &TableSpec) -> Vec<(Option<String>, Name, Option<Name>)> {
    let indexes = spec
        .indexes
        .iter()
        .map(|index| (Some(index.name.clone()), index.partition.clone(), index.sort.clone()));
    [(None, spec.partition.clone(), spec.sort.clone())].into_iter().chain(indexes).collect()
}

fn query(specs: &[TableSpec]) -> BoxedStrategy<Query> {
    let base = of_table(specs, |spec| {
        let spec = spec.clone();
        select(places(&spec))
            .prop_flat_map(move |(index, partition, sort)| {
                let table = Name::from(spec.name.as_str());
                let range = match &sort {
                    Some(name) => sort_range(&spec, name),
                    None => Just(SortRange::All).boxed(),
                };
                (partition_value(&spec, &partition), range, any::<bool>()).prop_map(
                    move |(partition, sort, reverse)| Query {
                        index: index.clone(),
                        extent: Extent::Partition { partition, sort, reverse },
                        ..Query::scan(table.clone())
                    },
                )
            })
            .boxed()
    });
    dressed(specs, base)
}

fn sort_range(spec: &TableSpec, name: &str) -> BoxedStrategy<SortRange> {
    let value = sort_value(spec, name);
    let bounds = (value.clone(), value.clone(), prop::bool::weighted(0.05));
    prop_oneof![
        3 => Just(SortRange::All),
        1 => value.clone().prop_map(SortRange::Eq),
        1 => value.clone().prop_map(SortRange::Lt),
        1 => value.clone().prop_map(SortRange::Le),
        1 => value.clone().prop_map(SortRange::Gt),
        1 => value.clone().prop_map(SortRange::Ge),
        2 => bounds.prop_map(|(low, high, any)| {
            if any || low <= high {
                SortRange::Between(low, high)
            } else {
                SortRange::Between(high, low)
            }
        }),
        2 => value.prop_map(SortRange::BeginsWith),
    ]
    .boxed()
}

fn scan(specs: &[TableSpec]) -> BoxedStrategy<Query> {
    let base = of_table(specs, |spec| {
        let table = Name::from(spec.name.as_str());
        select(places(spec))
            .prop_map(move |(index, _, _)| Query { index, ..Query::scan(table.clone()) })
            .boxed()
    });
    dressed(specs, base)
}
