//! Differences that random programs found once, kept as small programs that do not depend on seeds.

use weir_table::expr::{Condition, Operand, Path, Term, Update, attr, delete_from, set, size};
use weir_table::{Get, Item, Key, Kind, Query, Transaction, Value, Write};

use crate::program::{Program, Setting, Step};
use crate::shapes::{PARTITION, SORT};

const TABLE: &str = "t0";

fn key(sort: &str) -> Key {
    Key::new("p", sort)
}

fn put(sort: &str) -> Step {
    let item = Item::new()
        .with(PARTITION, "p")
        .with(SORT, sort)
        .with("gs", "p")
        .with("s", "é𝄞")
        .with("m", Value::map([("x", 1)]))
        .with("l", Value::list([1, 2]));
    Step::Write(Write::put(TABLE, item))
}

fn update(sort: &str, update: Update) -> Write {
    Write::update(TABLE, key(sort), update)
}

fn deleted_when(condition: Condition) -> Step {
    Step::Write(Write::delete(TABLE, key("a")).when(condition))
}

type Found = (&'static str, Vec<Step>);

/// Every program, with what it once found.
pub(crate) fn programs() -> Vec<(&'static str, Program)> {
    let all = conditions().into_iter().chain(updates()).chain(others());
    all.map(|(found, steps)| (found, program(steps))).collect()
}

fn conditions() -> [Found; 5] {
    [
        ("a size is compared with a text", vec![deleted_when(size("s").lt("3"))]),
        (
            "a boolean is between paths",
            vec![deleted_when(Operand::from(true).between(attr("l"), attr("s")))],
        ),
        (
            "a path is compared with itself",
            vec![
                deleted_when(attr("s").eq(attr("s"))),
                deleted_when(attr("s").contains(attr("s"))),
            ],
        ),
        ("a size is a prefix", vec![deleted_when(attr("s").begins_with(size("l")))]),
        (
            "text is counted in UTF-16 units",
            vec![deleted_when(size("s").eq(2)), deleted_when(size("s").eq(3))],
        ),
    ]
}

fn updates() -> [Found; 6] {
    let m = || Path::new("m");
    let gone = || Path::new("gone").field("x");
    let sum = || Term::path("n").plus(1);
    let own = |update: Update| Step::Write(self::update("a", update));
    let without = |path: Path| own(delete_from(path, Value::strings(["a"])));
    let refused = || update("b", set(gone(), 1)).when(attr("gone").exists());
    [
        ("a path stands in for itself", vec![own(set("n", Term::path_or("n", Term::path("n"))))]),
        (
            "what stands in is missing and not needed",
            vec![own(set("n", Term::path_or("s", Term::path("gone"))))],
        ),
        (
            "a sum is inside a term",
            vec![own(set("n", sum().plus(1))), own(set("n", Term::path_or("n", sum())))],
        ),
        ("elements are deleted inside nothing", vec![without(m().field("y")), without(gone())]),
        (
            "a bad update stands beside a refused write",
            vec![Step::Transact(Transaction::new([
                refused(),
                update("c", set(Path::new("nil").field("y"), 1)),
            ]))],
        ),
        (
            "a refused write hides its own bad update",
            vec![Step::Transact(Transaction::new([refused()]))],
        ),
    ]
}

fn others() -> [Found; 3] {
    let m = || Path::new("m");
    let query = || Query::partition(TABLE, "p").index("keys");
    let scan = || Query::scan(TABLE).index("keys");
    [
        (
            "a path takes a map for a list",
            vec![
                Step::Write(update("a", set(m().field("x"), 1).remove(m().element(0)))),
                Step::Get(Get::new(TABLE, key("a")).project([m().field("x"), m().element(0)])),
            ],
        ),
        (
            "a transaction reads a key of the wrong kind",
            vec![Step::TransactGet(vec![Get::new(TABLE, Key::new("p", 1))])],
        ),
        (
            "a query names what its index does not hold",
            vec![
                Step::Query(query().project(["s"])),
                Step::Query(query().filter(attr("s").exists())),
                Step::Query(scan().project(["s"])),
                Step::Query(scan().filter(attr("gs").is_kind(Kind::S))),
            ],
        ),
    ]
}

fn program(steps: Vec<Step>) -> Program {
    Program {
        setting: Setting::Tiny,
        shapes: vec![0],
        steps: [put("a"), Step::Checkpoint].into_iter().chain(steps).collect(),
    }
}
