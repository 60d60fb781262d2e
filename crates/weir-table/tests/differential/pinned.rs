//! Shows of every exception that its oracle still answers as it says.

#![expect(clippy::unwrap_used, reason = "only tests call these")]

use weir_table::dynamodb::Dynamo;
use weir_table::expr::{Term, add, attr, delete_from, set};
use weir_table::request::RawPage;
use weir_table::{
    Backend as _, Error, Get, Item, Key, Number, Query, SortRange, Transacted, Transaction, Value,
    Write, Written,
};

use crate::shapes::{PARTITION, SORT, shape};
use crate::sides::connect;

/// The shape of a table with a number as its whole key.
const LONE_NUMBER: usize = 3;
/// The shape of a table with texts as partition and sort key.
const WITH_SORT: usize = 0;
const TABLE: &str = "pinned";

async fn dynoxide() -> Dynamo {
    with_table(weir_testkit::dynoxide_endpoint().unwrap()).await
}

async fn dynamodb_local() -> Dynamo {
    with_table(weir_testkit::dynamo_local_endpoint().unwrap()).await
}

/// A connection to a table with one item.
async fn with_table(endpoint: &str) -> Dynamo {
    let dynamo = connect(endpoint).await.unwrap();
    dynamo.create_table(&shape(LONE_NUMBER, TABLE)).await.unwrap();
    let item = Item::new().with(PARTITION, 1).with("flag", true).with("gs", "a").with("gn", 1);
    dynamo.write(Write::put(TABLE, item)).await.unwrap();
    dynamo
}

async fn one_item_pages(dynamo: &Dynamo) -> (RawPage, Option<RawPage>) {
    let query = Query::partition(TABLE, 1).limit(1);
    let first = dynamo.page(&query, None).await.unwrap();
    let second = match &first.last {
        Some(last) => Some(dynamo.page(&query, Some(last)).await.unwrap()),
        None => None,
    };
    (first, second)
}

#[tokio::test]
async fn dynamodb_local_looks_at_the_condition_before_a_key_change() {
    let dynamo = dynamodb_local().await;
    let change = Write::update(TABLE, Key::partition(1), set(PARTITION, 2));
    let refused = dynamo.write(change.clone().when(attr("gone").exists())).await;
    assert!(matches!(refused, Ok(Written::Refused(_))), "{refused:?}");
    assert!(dynamo.write(change).await.unwrap_err().is_invalid());
}

#[tokio::test]
async fn dynamodb_local_looks_at_conditions_before_an_item_named_twice() {
    let dynamo = dynamodb_local().await;
    let delete = Write::delete(TABLE, Key::partition(1));
    let both = |condition| Transaction::new([delete.clone().when(condition), delete.clone()]);
    let refused = dynamo.transact(both(attr("gone").exists())).await.unwrap();
    assert!(!refused.is_applied());
    let refused = dynamo.transact(both(attr("gone").absent())).await;
    assert!(refused.unwrap_err().is_invalid());
}

#[tokio::test]
async fn dynamodb_local_looks_at_the_token_before_the_request() {
    let dynamo = dynamodb_local().await;
    let token = weir_testkit::unique_prefix("t");
    let delete = |key: Key| Transaction::new([Write::delete(TABLE, key)]).token(token.as_str());
    let done = dynamo.transact(delete(Key::partition(1))).await.unwrap();
    assert_eq!(done, Transacted::Applied);
    let refused = dynamo.transact(delete(Key::partition("text"))).await;
    assert!(matches!(refused, Err(Error::TokenReused)), "{refused:?}");
}

#[tokio::test]
async fn dynamodb_local_filters_a_scan_by_attributes_the_index_does_not_project() {
    let scan = Query::scan(TABLE).index("keys");
    let filtered = scan.filter(attr("flag").exists());
    let page = dynamodb_local().await.page(&filtered, None).await.unwrap();
    assert_eq!((page.count, page.items[0].get("flag")), (1, None));
}

#[tokio::test]
async fn dynamodb_local_ends_a_lone_partition_with_its_item() {
    let (first, second) = one_item_pages(&dynamodb_local().await).await;
    assert_eq!((first.count, second), (1, None));
}

#[tokio::test]
async fn dynamodb_local_ends_at_the_far_bound() {
    let dynamo = dynamodb_local().await;
    let spec = shape(WITH_SORT, "pinned-sorted");
    dynamo.create_table(&spec).await.unwrap();
    let item = Item::new().with(PARTITION, "p").with(SORT, "a");
    dynamo.write(Write::put("pinned-sorted", item)).await.unwrap();
    for (range, ends) in [
        (SortRange::Le("a".into()), true),
        (SortRange::Le("b".into()), false),
        (SortRange::Eq("a".into()), false),
    ] {
        let query = Query::partition("pinned-sorted", "p").limit(1).sort(range);
        let page = dynamo.page(&query, None).await.unwrap();
        assert_eq!((page.count, page.last.is_none()), (1, ends), "{query:?}");
    }
}

#[tokio::test]
async fn dynoxide_never_ends_a_lone_partition() {
    let (first, second) = one_item_pages(&dynoxide().await).await;
    assert_eq!(Some(first), second);
}

#[tokio::test]
async fn dynoxide_projects_transactional_reads_its_own_way() {
    let dynamo = dynoxide().await;
    let get = || Get::new(TABLE, Key::partition(1));
    let read = |get: Get| {
        let dynamo = &dynamo;
        async move { dynamo.transact_get(&[get]).await.unwrap() }
    };
    let with_key = Item::new().with(PARTITION, Number::from(1)).with("flag", true);
    assert_eq!(read(get().project(["flag"])).await, [Some(with_key)]);
    assert_eq!(read(get().project(["gone"])).await, [None]);
}

#[tokio::test]
async fn dynoxide_takes_number_sets_for_texts() {
    let dynamo = dynoxide().await;
    let tiny = Value::Ns([Number::new(1, -130).unwrap()].into());
    let item = Item::new().with(PARTITION, 2).with("ns", tiny.clone());
    dynamo.batch_write(vec![Write::put(TABLE, item)]).await.unwrap();
    let again = Write::update(TABLE, Key::partition(2), add("ns", tiny.clone()));
    assert!(dynamo.write(again).await.unwrap_err().is_invalid());
    let gone = Write::update(TABLE, Key::partition(2), delete_from("ns", tiny.clone()));
    let kept = dynamo.write(gone).await.unwrap();
    assert_eq!(kept.item().unwrap().get("ns"), Some(&tiny));
}

#[tokio::test]
async fn dynoxide_skips_an_attribute_that_dynamodb_local_reads() {
    let fallback = Term::path_or("flag", Term::path("gone"));
    let update = Write::update(TABLE, Key::partition(1), set("s", fallback));
    let written = dynoxide().await.write(update.clone()).await.unwrap();
    assert!(written.is_applied());
    let refused = dynamodb_local().await.write(update).await.unwrap_err();
    assert_eq!(refused.field(), Some("gone"));
}

#[tokio::test]
async fn dynoxide_accepts_requests_that_dynamodb_local_refuses() {
    let delete = Write::delete(TABLE, Key::partition(1)).when(attr("flag").lt(true));
    let taken = dynoxide().await.write(delete.clone()).await.unwrap();
    assert!(!taken.is_applied());
    let refused = dynamodb_local().await.write(delete).await.unwrap_err();
    assert!(refused.is_invalid());
}
