//! Small programs that meet each exception, to show that it is recognised, and that nothing else is excused.

#![expect(clippy::unwrap_used, reason = "only tests call these")]

use weir_table::expr::{Term, add, attr, set};
use weir_table::{Get, Item, Key, Number, Query, SortRange, Transaction, Value, Write};

use crate::exceptions::{Endpoint, Exception};
use crate::program::{Program, Setting, Step};
use crate::shapes::{PARTITION, SORT};
use crate::{reference, run};

const TABLE: &str = "t0";
/// The shape of a table with texts as partition and sort key.
const WITH_SORT: usize = 0;
/// The shape of a table with a number as its whole key.
const LONE_NUMBER: usize = 3;

fn key() -> Key {
    Key::new("p", "a")
}

fn item() -> Item {
    let tiny = Value::Ns([Number::new(1, -130).unwrap()].into());
    let item = Item::new().with(PARTITION, "p").with(SORT, "a").with("gs", "p");
    item.with("s", "text").with("ns", tiny)
}

/// The steps that meet an exception, after an item was put.
fn steps(exception: Exception) -> Vec<Step> {
    let refused = || attr("gone").exists();
    match exception {
        Exception::ConditionBeforeRequest => vec![
            Step::Write(Write::update(TABLE, key(), set(PARTITION, "q")).when(refused())),
            Step::Transact(Transaction::new([
                Write::check(TABLE, key(), refused()),
                Write::delete(TABLE, key()),
            ])),
        ],
        Exception::TokenBeforeRequest => {
            let with_token = |key| Transaction::new([Write::delete(TABLE, key)]).token("token");
            let first = Step::Transact(with_token(Key::new("p", "b")));
            vec![first, Step::Transact(with_token(Key::new("p", 1)))]
        }
        Exception::ScanFilterSeesWholeItem => {
            vec![Step::Query(Query::scan(TABLE).index("keys").filter(attr("s").exists()))]
        }
        Exception::EmptyLastPage => {
            let query = Query::partition(TABLE, "p").limit(1);
            vec![Step::Query(query.sort(SortRange::Le("a".into())))]
        }
        // Concurrent programs alone meet it, and not each time.
        Exception::RepeatedDelete => Vec::new(),
        Exception::LonePartitionNeverEnds => {
            let item = Item::new().with(PARTITION, 0);
            let query = Query::partition(TABLE, 0).limit(1);
            vec![Step::Write(Write::put(TABLE, item)), Step::Query(query)]
        }
        Exception::TransactGetProjection => {
            let get = |name: &str| Get::new(TABLE, key()).project([name]);
            vec![Step::TransactGet(vec![get("s")]), Step::TransactGet(vec![get("gone")])]
        }
        Exception::NumberSetByText => {
            let tiny = Value::Ns([Number::new(2, -130).unwrap()].into());
            vec![Step::Write(Write::update(TABLE, key(), add("ns", tiny)))]
        }
        Exception::LazyFallback => {
            let lazy = set("s", Term::path_or("s", Term::path("gone")));
            let update = Write::update(TABLE, key(), lazy);
            vec![Step::Write(update.clone()), Step::Write(update.when(refused()))]
        }
    }
}

fn is_recognised(endpoint: Endpoint, url: &str, exceptions: &[(Exception, u64)]) {
    let (tokio, reference) = reference(endpoint, url);
    for (exception, times) in exceptions {
        assert_eq!(exception.known().oracle, endpoint);
        let is_lone = *exception == Exception::LonePartitionNeverEnds;
        let first = (!is_lone).then(|| Step::Write(Write::put(TABLE, item())));
        let program = Program {
            setting: Setting::Usual,
            shapes: vec![if is_lone { LONE_NUMBER } else { WITH_SORT }],
            steps: first.into_iter().chain(steps(*exception)).collect(),
        };
        let report = tokio.block_on(run::run(&program, &reference)).unwrap();
        assert_eq!(report.excused.counts, [(*exception, *times)].into());
    }
}

#[test]
fn exceptions_of_dynamodb_local_are_recognised() {
    is_recognised(
        Endpoint::DynamoDbLocal,
        weir_testkit::dynamo_local_endpoint().unwrap(),
        &[
            (Exception::ConditionBeforeRequest, 2),
            (Exception::TokenBeforeRequest, 1),
            (Exception::ScanFilterSeesWholeItem, 1),
            (Exception::EmptyLastPage, 1),
        ],
    );
}

#[test]
fn exceptions_of_dynoxide_are_recognised() {
    is_recognised(
        Endpoint::Dynoxide,
        weir_testkit::dynoxide_endpoint().unwrap(),
        &[
            (Exception::LonePartitionNeverEnds, 1),
            (Exception::TransactGetProjection, 2),
            (Exception::NumberSetByText, 1),
            (Exception::LazyFallback, 2),
        ],
    );
}
