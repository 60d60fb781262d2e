//! Lost answers, throttling and accidents: what is sent again, and what is never done twice.

use std::time::Duration;

use weir_table::dynamodb::{Dynamo, Options, Verb};
use weir_table::expr::{add, attr, set};
use weir_table::feed::Position;
use weir_table::{Error, Get, Key, Query, Store, Transacted, Transaction, Verdict, Write, Written};

use crate::connected::{self, TABLE, thing, things};
use crate::proxy::Proxy;
use crate::proxy::Reaction::{self, Answer, Hang, LoseAnswer, LoseRequest, Pass, Refuse};

const THROTTLED: Reaction = Refuse(400, "ProvisionedThroughputExceededException");
const ACCIDENT: Reaction = Refuse(500, "InternalServerError");

async fn behind_proxy(change: impl Fn(&mut Options)) -> (Proxy, Store<Dynamo>) {
    let proxy = Proxy::start().await;
    let prefix = weir_testkit::unique_prefix("faults");
    let mut options = connected::options(&proxy.endpoint, prefix);
    change(&mut options);
    let store = connected::store(options).await;
    store.create_table(&things()).await.unwrap();
    (proxy, store)
}

fn key() -> Key {
    Key::new("a", 1)
}

fn count() -> Write {
    Write::update(TABLE, key(), add("n", 1))
}

async fn counted(store: &Store<Dynamo>) -> Option<i64> {
    let found = store.get(&Get::new(TABLE, key())).await.unwrap();
    found.and_then(|item| item.i64("n"))
}

#[tokio::test]
async fn throttling_and_accidents_are_tried_again() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    proxy.script([THROTTLED, Refuse(400, "ThrottlingException"), ACCIDENT]);
    let get = Get::new(TABLE, key());
    assert_eq!(store.get(&get).await.unwrap(), None);
    assert_eq!(proxy.seen().len(), 4);
    let usage = store.backend().capacity().verbs[&Verb::Get];
    assert_eq!((usage.calls, usage.retries, usage.throttles), (1, 3, 2));
    assert_eq!(store.backend().capacity().tables[TABLE].throttles, 2, "also counted by table");
}

#[tokio::test]
async fn lasting_throttling_is_its_own_error() {
    let (proxy, store) = behind_proxy(|options| options.retry.attempts_max = 3).await;
    proxy.script([THROTTLED, THROTTLED, THROTTLED, THROTTLED]);
    let error = store.write(count()).await.unwrap_err();
    assert!(matches!(error, Error::Throttled), "{error:?}");
    assert_eq!(proxy.seen().len(), 3);
}

#[tokio::test]
async fn a_throttled_count_is_tried_again_because_it_was_not_done() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    proxy.script([THROTTLED, THROTTLED]);
    assert!(store.write(count()).await.unwrap().is_applied());
    assert_eq!(counted(&store).await, Some(1));
}

#[tokio::test]
async fn a_count_whose_response_was_lost_is_not_repeated() {
    let (proxy, store) = behind_proxy(|options| {
        options.timeouts.attempt = Duration::from_millis(700);
    })
    .await;
    for (number, lost) in [LoseAnswer, Hang].into_iter().enumerate() {
        proxy.script([lost]);
        let error = store.write(count()).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        assert_eq!(proxy.seen().len(), 1);
        assert_eq!(counted(&store).await, Some(number as i64 + 1));
    }
    proxy.script([ACCIDENT]);
    let error = store.write(count()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert_eq!(counted(&store).await, Some(2));
}

#[tokio::test]
async fn a_conditional_write_whose_response_was_lost_is_not_reported_as_refused() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    proxy.script([LoseAnswer]);
    let write = Write::put(TABLE, thing("a", 1)).when(attr("pk").absent());
    let error = store.write(write).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn idempotent_writes_are_repeated_after_a_lost_response() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    proxy.script([LoseRequest, ACCIDENT]);
    let put = Write::put(TABLE, thing("a", 1).with("x", 1));
    assert_eq!(store.write(put).await.unwrap(), Written::Applied(None));
    assert_eq!(proxy.seen().len(), 3);
    proxy.script([LoseAnswer]);
    let set = Write::update(TABLE, key(), set("x", 2));
    let set = store.write(set).await.unwrap();
    assert_eq!(set, Written::Applied(Some(thing("a", 1).with("x", 2))));
    proxy.script([LoseAnswer]);
    let writes = vec![Write::put(TABLE, thing("b", 1))];
    store.batch_write(writes).await.unwrap();
}

#[tokio::test]
async fn the_item_that_a_lost_put_or_delete_replaced_is_not_invented() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    let old = thing("a", 1).with("x", "old");
    store.write(Write::put(TABLE, old)).await.unwrap();
    proxy.script([LoseAnswer]);
    let put = Write::put(TABLE, thing("a", 1).with("x", "new"));
    let error = store.write(put).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    proxy.script([LoseAnswer]);
    let error = store.write(Write::delete(TABLE, key())).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_transaction_whose_response_was_lost_on_the_wire_is_applied_once() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    proxy.script([LoseAnswer, LoseAnswer, ACCIDENT, THROTTLED]);
    let transaction = Transaction::new([count(), Write::put(TABLE, thing("b", 1))]);
    assert!(store.transact(transaction.clone()).await.unwrap().is_applied());
    assert_eq!(counted(&store).await, Some(1));
    let tokens: Vec<_> =
        proxy.seen().iter().map(|(_, body)| body["ClientRequestToken"].clone()).take(5).collect();
    assert_eq!(tokens.len(), 5);
    assert!(tokens.iter().all(|token| *token == tokens[0]));
    assert!(store.transact(transaction).await.unwrap().is_applied());
    assert_eq!(counted(&store).await, Some(2), "another call, another token");
}

fn canceled(reasons: &[(&str, Option<&str>)]) -> Reaction {
    let reasons: Vec<_> = reasons
        .iter()
        .map(|(code, item)| match item {
            Some(item) => format!("{{\"Code\":\"{code}\",\"Message\":\"m\",\"Item\":{item}}}"),
            None => format!("{{\"Code\":\"{code}\",\"Message\":\"m\"}}"),
        })
        .collect();
    Answer(
        400,
        format!(
            "{{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionCanceledException\",\
             \"Message\":\"canceled\",\"CancellationReasons\":[{}]}}",
            reasons.join(",")
        ),
    )
}

#[tokio::test]
async fn reasons_of_a_canceled_transaction_are_distinguished() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    let transaction = || Transaction::new([count(), Write::put(TABLE, thing("b", 1))]);
    let item = r#"{"pk":{"S":"b"},"sk":{"N":"1"}}"#;

    proxy.script([canceled(&[("None", None), ("ConditionalCheckFailed", Some(item))])]);
    let verdicts = vec![Verdict::Held, Verdict::Failed(Some(thing("b", 1)))];
    let refused = store.transact(transaction()).await.unwrap();
    assert_eq!(refused, Transacted::Refused(verdicts));

    proxy.script([canceled(&[("ConditionalCheckFailed", None), ("TransactionConflict", None)])]);
    let error = store.transact(transaction()).await.unwrap_err();
    assert!(error.is_conflict(), "{error:?}");
    assert_eq!(proxy.seen().len(), 1, "a conflict is the caller's to retry");

    proxy.script([canceled(&[("ThrottlingError", None), ("None", None)])]);
    assert!(store.transact(transaction()).await.unwrap().is_applied());

    proxy.script([canceled(&[("None", None), ("ValidationError", None)])]);
    assert!(store.transact(transaction()).await.unwrap_err().is_invalid());

    let too_large = ("ItemCollectionSizeLimitExceeded", None);
    proxy.script([canceled(&[("None", None), too_large])]);
    let error = store.transact(transaction()).await.unwrap_err();
    assert_eq!(error.field(), Some("item"));

    proxy.script([Refuse(400, "IdempotentParameterMismatchException")]);
    let error = store.transact(transaction()).await.unwrap_err();
    assert!(matches!(error, Error::TokenReused), "{error:?}");
}

#[tokio::test]
async fn a_transaction_still_running_is_waited_for() {
    let (proxy, store) = behind_proxy(|options| options.retry.attempts_max = 3).await;
    let running = || Refuse(400, "TransactionInProgressException");
    let transaction = || Transaction::new([count()]);
    proxy.script([running(), running()]);
    assert!(store.transact(transaction()).await.unwrap().is_applied());
    proxy.script([running(), running(), running()]);
    let error = store.transact(transaction()).await.unwrap_err();
    assert!(error.is_conflict(), "{error:?}");
    proxy.script([LoseAnswer, running(), running()]);
    let error = store.transact(transaction()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "our own may be running");
}

#[tokio::test]
async fn a_write_in_a_transactions_way_is_a_conflict() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    proxy.script([Refuse(400, "TransactionConflictException")]);
    assert!(store.write(count()).await.unwrap_err().is_conflict());
    assert_eq!(proxy.seen().len(), 1);
    proxy.script([canceled(&[("TransactionConflict", None)])]);
    let gets = [Get::new(TABLE, key())];
    assert!(store.transact_get(&gets).await.unwrap_err().is_conflict());
}

fn unprocessed_keys(table: &str) -> Reaction {
    Answer(
        200,
        format!(
            "{{\"Responses\":{{}},\"UnprocessedKeys\":{{\"{table}\":{{\"ConsistentRead\":true,\
             \"Keys\":[{{\"pk\":{{\"S\":\"a\"}},\"sk\":{{\"N\":\"1\"}}}}]}}}}}}"
        ),
    )
}

fn unprocessed_items(table: &str) -> Reaction {
    Answer(
        200,
        format!(
            "{{\"UnprocessedItems\":{{\"{table}\":[{{\"PutRequest\":{{\"Item\":\
             {{\"pk\":{{\"S\":\"a\"}},\"sk\":{{\"N\":\"1\"}}}}}}}}]}}}}"
        ),
    )
}

async fn wire_table(proxy: &Proxy, store: &Store<Dynamo>) -> String {
    proxy.script([Pass]);
    store.query(&Query::scan(TABLE)).await.unwrap();
    let (_, body) = proxy.seen().remove(0);
    body["TableName"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_unprocessed_part_of_a_batch_is_sent_again() {
    let (proxy, store) = behind_proxy(|options| options.retry.attempts_max = 4).await;
    let table = wire_table(&proxy, &store).await;
    let undone = || unprocessed_items(&table);
    proxy.script([undone(), undone(), undone()]);
    let put = || vec![Write::put(TABLE, thing("a", 1))];
    store.batch_write(put()).await.unwrap();
    assert_eq!(proxy.seen().len(), 4);

    let left = || unprocessed_keys(&table);
    proxy.script([left(), left()]);
    let found = store.batch_get(&[Get::new(TABLE, key())]).await.unwrap();
    assert_eq!(found, [Some(thing("a", 1))]);

    proxy.script([undone(), undone(), undone(), undone()]);
    assert!(matches!(store.batch_write(put()).await.unwrap_err(), Error::Throttled));
    proxy.script([left(), left(), left(), left()]);
    let gets = [Get::new(TABLE, key())];
    assert!(matches!(store.batch_get(&gets).await.unwrap_err(), Error::Throttled));
}

#[tokio::test]
async fn the_budget_bounds_retries_of_all_calls_together() {
    let (proxy, store) = behind_proxy(|options| options.retry.budget = 5).await;
    proxy.script(std::iter::repeat_n(THROTTLED, 100));
    let get = Get::new(TABLE, key());
    for _ in 0..10 {
        assert!(matches!(store.get(&get).await.unwrap_err(), Error::Throttled));
    }
    assert_eq!(proxy.seen().len(), 10 + 5);
    proxy.script([]);
    for _ in 0..10 {
        store.get(&get).await.unwrap();
    }
    proxy.script([THROTTLED]);
    store.get(&get).await.unwrap();
}

#[tokio::test]
async fn a_call_ends_in_time_whatever_happens() {
    let (proxy, store) = behind_proxy(|options| {
        options.timeouts.attempt = Duration::from_millis(200);
        options.timeouts.total = Duration::from_secs(2);
    })
    .await;
    // The first request of a connection finds the endpoint and warms the proxy up.
    store.get(&Get::new(TABLE, key())).await.ok();
    proxy.script(std::iter::repeat_n(Hang, 20));
    let error = store.get(&Get::new(TABLE, key())).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    // Each attempt lasts as long as it may, so no more than ten fit into the total.
    assert!((2..=10).contains(&proxy.seen().len()), "{} attempts", proxy.seen().len());
}

#[tokio::test]
async fn counts_are_exact_through_a_bad_connection() {
    let (proxy, store) = behind_proxy(|options| options.retry.budget = 10_000).await;
    let bad = [Pass, THROTTLED, LoseAnswer, Pass, ACCIDENT, LoseRequest];
    proxy.script(bad.into_iter().cycle().take(600));
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut done = 0;
                for number in 0..12 {
                    let once = format!("{task}-{number}");
                    let transaction = Transaction::new([count()]).token(once);
                    for _ in 0..20 {
                        match store.transact(transaction.clone()).await {
                            Ok(_) => {
                                done += 1;
                                break;
                            }
                            Err(error) => assert!(error.is_transient(), "{error:?}"),
                        }
                    }
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    proxy.script([]);
    assert_eq!(done, 8 * 12);
    assert_eq!(counted(&store).await, Some(done));
}

async fn first_shard(store: &Store<Dynamo>) -> String {
    store.feed_shards(TABLE).await.unwrap().remove(0).id
}

#[tokio::test]
async fn an_expired_iterator_is_replaced_and_a_throttled_feed_is_retried() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    let shard = first_shard(&store).await;
    store.write(Write::put(TABLE, thing("a", 1))).await.unwrap();
    let oldest = Position::Oldest;
    let page = store.feed_read(TABLE, &shard, &oldest, 10).await.unwrap();
    assert_eq!(page.changes.len(), 1);
    store.write(Write::put(TABLE, thing("a", 2))).await.unwrap();
    let over = Refuse(400, "ExpiredIteratorException");
    proxy.script([over, Pass, Refuse(400, "LimitExceededException")]);
    let next = store.feed_read(TABLE, &shard, &page.next, 10).await.unwrap();
    assert_eq!(next.changes.len(), 1);
    let requested: Vec<_> = proxy.seen().into_iter().map(|(name, _)| name).collect();
    let fresh = ["GetRecords", "GetShardIterator", "GetRecords", "GetRecords"];
    assert_eq!(requested, fresh);
    proxy.script([]);
    store.feed_read(TABLE, &shard, &next.next, 10).await.unwrap();
    assert_eq!(proxy.seen().len(), 1, "the iterator was remembered");
}

#[tokio::test]
async fn a_position_the_stream_no_longer_has_is_trimmed() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    let shard = first_shard(&store).await;
    proxy.script([Refuse(400, "TrimmedDataAccessException")]);
    let old = Position::After("1".into());
    let error = store.feed_read(TABLE, &shard, &old, 10).await.unwrap_err();
    assert!(matches!(error, Error::Trimmed), "{error:?}");
    proxy.script([Refuse(400, "ResourceNotFoundException")]);
    let gone = Position::Oldest;
    let error = store.feed_read(TABLE, "gone", &gone, 10).await.unwrap_err();
    assert!(matches!(error, Error::Trimmed), "{error:?}");
    let latest = Position::Latest;
    let page = store.feed_read(TABLE, &shard, &latest, 10).await.unwrap();
    proxy.script([Refuse(400, "ExpiredIteratorException")]);
    let error = store.feed_read(TABLE, &shard, &page.next, 10).await;
    assert!(matches!(error, Err(Error::Trimmed)), "{error:?}");
}

#[tokio::test]
async fn removals_by_expiry_are_marked() {
    let (proxy, store) = behind_proxy(|_| {}).await;
    let shard = first_shard(&store).await;
    let record = |identity: &str| {
        format!(
            "{{\"eventName\":\"REMOVE\",{identity}\"dynamodb\":{{\"SequenceNumber\":\"7\",\
             \"ApproximateCreationDateTime\":1700000000,\"Keys\":{{\"pk\":{{\"S\":\"a\"}},\
             \"sk\":{{\"N\":\"1\"}}}}}}}}"
        )
    };
    let by_expiry =
        "\"userIdentity\":{\"PrincipalId\":\"dynamodb.amazonaws.com\",\"Type\":\"Service\"},";
    let body = format!("{{\"Records\":[{},{}]}}", record(by_expiry), record(""));
    proxy.script([Pass, Answer(200, body)]);
    let oldest = Position::Oldest;
    let page = store.feed_read(TABLE, &shard, &oldest, 10).await.unwrap();
    let expired: Vec<_> = page.changes.iter().map(|change| change.expired).collect();
    assert_eq!(expired, [true, false]);
    assert_eq!(page.changes[0].at_ms, 1_700_000_000_000);
    assert_eq!(page.next, Position::After("7".into()));
    assert!(page.ended);
}
