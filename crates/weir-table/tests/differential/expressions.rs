//! Paths, conditions and updates.

use proptest::prelude::*;
use proptest::sample::select;
use weir_table::expr::{Change, Compare, Condition, Operand, Path, Step, Term, Update};
use weir_table::{Kind, Name, TableSpec, Value};

use crate::shapes::{INDEX_KEYS, PARTITION, SORT};
use crate::values::{self, ATTRIBUTES};

/// A plain attribute with the kind it mostly holds.
fn plain() -> impl Strategy<Value = (Path, Kind)> + Clone {
    select(ATTRIBUTES.as_slice()).prop_map(|(name, kind)| (Path::new(name), kind))
}

/// A place in a map or list, often one that is there.
fn nested() -> impl Strategy<Value = (Path, Kind)> + Clone {
    let field = |name: &str| Step::Field(name.into());
    let steps = select(vec![
        ("m", vec![field("x")], Kind::N),
        ("m", vec![field("y")], Kind::S),
        ("m", vec![field("l")], Kind::L),
        ("m", vec![field("m")], Kind::M),
        ("m", vec![field("gone")], Kind::N),
        ("m", vec![field("l"), Step::Element(0)], Kind::N),
        ("m", vec![field("m"), field("x")], Kind::N),
        ("m", vec![field("gone"), field("x")], Kind::N),
        ("m", vec![Step::Element(0)], Kind::S),
        ("l", vec![Step::Element(0)], Kind::N),
        ("l", vec![Step::Element(1)], Kind::S),
        ("l", vec![Step::Element(2)], Kind::N),
        ("l", vec![Step::Element(7)], Kind::N),
        ("l", vec![Step::Element(9)], Kind::N),
        ("l", vec![Step::Element(1), field("x")], Kind::N),
        ("s", vec![field("x")], Kind::S),
        ("ss", vec![Step::Element(0)], Kind::S),
    ]);
    steps.prop_map(|(name, steps, kind)| {
        let attribute = Name::from(name);
        (Path { attribute, steps }, kind)
    })
}

/// A key of the table or of an index.
fn keyed() -> impl Strategy<Value = (Path, Kind)> + Clone {
    let keys = [(PARTITION, Kind::S), (SORT, Kind::S)];
    let all: Vec<_> = INDEX_KEYS.into_iter().chain(keys).collect();
    select(all).prop_map(|(name, kind)| (Path::new(name), kind))
}

/// A place that an update changes; rarely a key, which is refused.
fn target() -> impl Strategy<Value = (Path, Kind)> + Clone {
    prop_oneof![60 => plain(), 20 => nested(), 1 => keyed()]
}

fn kinded_path() -> impl Strategy<Value = (Path, Kind)> + Clone {
    prop_oneof![6 => plain(), 3 => nested(), 1 => keyed()]
}

/// A path.
pub(crate) fn path() -> impl Strategy<Value = Path> + Clone {
    kinded_path().prop_map(|(path, _)| path)
}

/// Paths to return.
pub(crate) fn projection() -> impl Strategy<Value = Option<Vec<Path>>> + Clone {
    prop::option::weighted(0.3, prop::collection::vec(path(), 1..4))
}

/// A condition of up to three levels.
pub(crate) fn condition() -> BoxedStrategy<Condition> {
    leaf()
        .prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::And),
                prop::collection::vec(inner.clone(), 1..4).prop_map(Condition::Or),
                inner.prop_map(|inner| !inner),
            ]
        })
        .boxed()
}

fn leaf() -> BoxedStrategy<Condition> {
    prop_oneof![
        8 => comparison(),
        2 => sized(),
        2 => between(),
        2 => is_in(),
        2 => path().prop_map(Condition::Exists),
        2 => path().prop_map(Condition::Absent),
        1 => (path(), values::kind()).prop_map(|(path, kind)| Condition::IsKind(path, kind)),
        2 => begins_with(),
        3 => contains(),
    ]
    .boxed()
}

/// An operator for values of `kind`; an order between kinds that have none is refused.
fn compare(kind: Kind) -> impl Strategy<Value = Compare> + Clone {
    use Compare::{Eq, Ge, Gt, Le, Lt, Ne};
    let any = select(vec![Eq, Ne, Lt, Le, Gt, Ge]);
    let unordered = if is_ordered(kind) { 0 } else { 20 };
    prop_oneof![unordered => select(vec![Eq, Ne]), 1 => any]
}

fn is_ordered(kind: Kind) -> bool {
    matches!(kind, Kind::S | Kind::N | Kind::B)
}

/// What a path of mostly this kind is compared with.
fn other(kind: Kind) -> BoxedStrategy<Operand> {
    prop_oneof![
        8 => values::mostly(kind).prop_map(Operand::Value),
        2 => path().prop_map(Operand::Path),
        1 => path().prop_map(Operand::Size),
    ]
    .boxed()
}

fn comparison() -> BoxedStrategy<Condition> {
    let of_path = kinded_path()
        .prop_flat_map(|(path, kind)| (Just(Operand::Path(path)), compare(kind), other(kind)));
    let turned = (of_path.clone(), any::<bool>()).prop_map(|((left, compare, right), turn)| {
        let (left, right) = if turn { (right, left) } else { (left, right) };
        Condition::Compare(left, compare, right)
    });
    let any = (other(Kind::N), compare(Kind::N), other(Kind::N))
        .prop_map(|(left, compare, right)| Condition::Compare(left, compare, right));
    prop_oneof![
        7 => of_path.prop_map(|(left, compare, right)| Condition::Compare(left, compare, right)),
        2 => turned,
        1 => any,
    ]
    .boxed()
}

fn sized() -> BoxedStrategy<Condition> {
    (path(), compare(Kind::N), other_size())
        .prop_map(|(path, compare, size)| Condition::Compare(Operand::Size(path), compare, size))
        .boxed()
}

fn other_size() -> BoxedStrategy<Operand> {
    prop_oneof![
        8 => (0i64..4).prop_map(Operand::from),
        1 => other(Kind::N),
    ]
    .boxed()
}

fn between() -> BoxedStrategy<Condition> {
    let texts = [("s", Kind::S), ("n", Kind::N), ("count", Kind::N), ("b", Kind::B)];
    let likely = select(texts.to_vec()).prop_map(|(name, kind)| (Path::new(name), kind));
    prop_oneof![20 => likely, 1 => kinded_path()]
        .prop_flat_map(|(path, kind)| {
            let operand = prop_oneof![
                8 => Just(Operand::Path(path)),
                1 => other(kind),
            ];
            (operand, other(kind), other(kind))
        })
        .prop_map(|(operand, low, high)| {
            let (low, high) = ordered(low, high);
            Condition::Between(operand, low, high)
        })
        .boxed()
}

/// Bounds mostly stand the right way round, or every second one would be refused.
fn ordered(low: Operand, high: Operand) -> (Operand, Operand) {
    let turned = match (&low, &high) {
        (Operand::Value(Value::N(low)), Operand::Value(Value::N(high))) => low > high,
        (Operand::Value(Value::S(low)), Operand::Value(Value::S(high))) => low > high,
        (Operand::Value(Value::B(low)), Operand::Value(Value::B(high))) => low > high,
        _ => false,
    };
    if turned { (high, low) } else { (low, high) }
}

fn is_in() -> BoxedStrategy<Condition> {
    kinded_path()
        .prop_flat_map(|(path, kind)| {
            let any = prop::collection::vec(other(kind), 1..4);
            (Just(Operand::Path(path)), any)
        })
        .prop_map(|(operand, any)| Condition::In(operand, any))
        .boxed()
}

fn begins_with() -> BoxedStrategy<Condition> {
    let prefix = prop_oneof![
        8 => values::text().prop_map(|text| Operand::Value(Value::S(text))),
        2 => values::bytes().prop_map(|bytes| Operand::Value(Value::B(bytes))),
        1 => other(Kind::S),
    ];
    let texts = select(vec!["s", "odd name.x", "b", SORT]).prop_map(Path::new);
    (prop_oneof![3 => texts, 1 => path()], prefix)
        .prop_map(|(path, prefix)| Condition::BeginsWith(path, prefix))
        .boxed()
}

fn contains() -> BoxedStrategy<Condition> {
    let part = prop_oneof![
        4 => values::text().prop_map(|text| Operand::Value(Value::S(text))),
        4 => values::number().prop_map(|number| Operand::Value(Value::N(number))),
        2 => values::bytes().prop_map(|bytes| Operand::Value(Value::B(bytes))),
        2 => values::value().prop_map(Operand::Value),
        1 => path().prop_map(Operand::Path),
    ];
    let whole = select(vec!["s", "l", "ss", "ns", "bs", "b"]).prop_map(Path::new);
    (prop_oneof![4 => whole, 1 => path()], part)
        .prop_map(|(path, part)| Condition::Contains(path, part))
        .boxed()
}

/// An update of up to four changes; rarely two that overlap, which is refused.
pub(crate) fn update(spec: &TableSpec) -> BoxedStrategy<Update> {
    let change = change(spec);
    let keep_overlaps = prop::bool::weighted(0.03);
    (prop::collection::vec(change, 0..5), keep_overlaps)
        .prop_map(|(all, keep_overlaps)| {
            let mut changes: Vec<Change> = Vec::new();
            for change in all {
                let apart = |other: &Change| !other.path().overlaps(change.path());
                if keep_overlaps || changes.iter().all(apart) {
                    changes.push(change);
                }
            }
            Update { changes }
        })
        .boxed()
}

fn change(spec: &TableSpec) -> BoxedStrategy<Change> {
    let index_key = {
        let spec = spec.clone();
        select(INDEX_KEYS.as_slice()).prop_flat_map(move |(name, _)| {
            let term = values::index_key(&spec, name).prop_map(Term::Value);
            (Just(Path::new(name)), term)
        })
    };
    let number = select(vec![Path::new("n"), Path::new("count"), Path::new("m").field("x")]);
    let sets = select(vec![("ss", Kind::Ss), ("ns", Kind::Ns), ("bs", Kind::Bs)])
        .prop_flat_map(|(name, kind)| (Just(Path::new(name)), values::mostly(kind)));
    prop_oneof![
        16 => target().prop_flat_map(|(path, kind)| (Just(path), term(kind)))
            .prop_map(|(path, term)| Change::Set(path, term)),
        4 => index_key.prop_map(|(path, term)| Change::Set(path, term)),
        6 => target().prop_map(|(path, _)| Change::Remove(path)),
        6 => (number, values::mostly(Kind::N)).prop_map(|(path, value)| Change::Add(path, value)),
        4 => sets.clone().prop_map(|(path, set)| Change::Add(path, set)),
        4 => sets.prop_map(|(path, set)| Change::Delete(path, set)),
        1 => (path(), values::value()).prop_map(|(path, value)| Change::Add(path, value)),
        1 => (path(), values::value()).prop_map(|(path, value)| Change::Delete(path, value)),
    ]
    .boxed()
}

fn term(kind: Kind) -> BoxedStrategy<Term> {
    let simple = prop_oneof![
        10 => values::mostly(kind).prop_map(Term::Value),
        2 => path().prop_map(Term::Path),
        6 => (path(), values::mostly(kind))
            .prop_map(|(path, value)| Term::path_or(path, value)),
    ];
    let sum =
        (operand(Kind::N), operand(Kind::N), any::<bool>()).prop_map(|(left, right, plus)| {
            if plus { left.plus(right) } else { left.minus(right) }
        });
    let append = (operand(Kind::L), operand(Kind::L)).prop_map(|(left, right)| left.append(right));
    let nested = (path(), operand(kind), operand(kind), 0..6).prop_map(
        |(path, left, right, way)| match way {
            0 => Term::path_or(path, left.plus(right)),
            1 => left.clone().plus(right).minus(left),
            _ => Term::path_or(path, Term::path_or("n", left)),
        },
    );
    let (sums, appends) = match kind {
        Kind::N => (6, 1),
        Kind::L => (1, 6),
        _ => (1, 1),
    };
    prop_oneof![12 => simple, 2 * sums => sum, 2 * appends => append, 1 => nested].boxed()
}

fn operand(kind: Kind) -> BoxedStrategy<Term> {
    let likely = select(if kind == Kind::L {
        vec![Path::new("l"), Path::new("m").field("l")]
    } else {
        vec![Path::new("n"), Path::new("count"), Path::new("m").field("x")]
    });
    prop_oneof![
        4 => likely.clone().prop_map(Term::Path),
        5 => values::mostly(kind).prop_map(Term::Value),
        6 => (likely, values::mostly(kind)).prop_map(|(path, value)| Term::path_or(path, value)),
        1 => path().prop_map(Term::Path),
    ]
    .boxed()
}
