//! Counts the DynamoDB requests and units of each operation, and compares `docs/cost.md` with them.
//!
//! Units are those that DynamoDB Local reports; those of transactions come from our calculator, because Local reports
//! equal writes only once. `WEIR_TEST_BLESS=1` rewrites the page.

use weir_keeper::aggregate::DirtySet;
use weir_keeper::credentials::RetrievalOutcome;
use weir_keeper::ids::RequestId;
use weir_keeper::{Keeper, keys};
use weir_table::dynamodb::{Dynamo, Verb};
use weir_table::{AnyBackend, Get};
use weir_testkit::ledger::Ledger;
use weir_testkit::page::Page;
use weir_testkit::prices::{OVERHEAD_BYTES, operation_nanousd, stored_nanousd, usd};

use crate::scene::{EndedTokens, Scene, Watched};
use crate::spending::{Spender, day, label, now_ms, org_request, spender, submission, today};

const MONTH_SECONDS: u64 = 30 * 86_400;
/// Longest retention of a deduplication record, in days: its own day and 48 hours.
const RECORD_DAYS: u64 = 3;
/// Instances of an app that select a model, and how often.
const INSTANCES: u64 = 10;
const SELECT_EVERY_SECS: u64 = 300;
/// Interval of the aggregation.
const SUM_EVERY_SECS: u64 = 10;

#[test]
fn the_page_shows_what_operations_cost() {
    crate::scene::dynamodb_local(async |scene| {
        let beside = AnyBackend::Dynamo(weir_testkit::stage::dynamodb(&scene.prefix).await);
        scene.watch.weigh(scene.keeper.tables().specs().to_vec(), beside);
        let mut page = Page::open();
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        let who = spender(scene, "APP").await;
        let record = runtime(scene, &mut ledger, &who).await;
        page.shows("keeper", &ledger.table());
        page.shows("keeper-months", &months(&ledger, record));
        let mut ledger = Ledger::new(&scene.watch, dynamo(scene));
        admin(scene, &mut ledger, &who).await;
        page.shows("keeper-admin", &ledger.table());
        page.close();
    });
}

fn dynamo(scene: &Scene) -> &Dynamo {
    match &scene.store.backend().inner {
        AnyBackend::Dynamo(dynamo) => dynamo,
        _ => panic!("not on DynamoDB"),
    }
}

/// The operations of apps, and the size of a deduplication record.
async fn runtime(scene: &Scene, ledger: &mut Ledger<'_>, who: &Spender) -> usize {
    let keeper = &scene.keeper;
    let first = submission(scene);
    let cold = scene.another().await;
    ledger
        .note("submission, nothing remembered", cold.submit(&who.org, &who.app, &first))
        .await
        .unwrap();
    keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
    let one = submission(scene);
    ledger.note("submission", keeper.submit(&who.org, &who.app, &one)).await.unwrap();
    let row = ledger.row("submission");
    assert_eq!(row.calls(), [(Verb::Get, 1), (Verb::Transact, 1)]);
    assert_eq!((row.table_write(), row.index_write(), row.read()), (4_000, 0, 500));
    let again = ledger.note("the same again", keeper.submit(&who.org, &who.app, &one)).await;
    assert!(again.unwrap().duplicate);
    let shared = spender(scene, "ORG").await;
    keeper.submit(&shared.org, &shared.app, &submission(scene)).await.unwrap();
    let one = submission(scene);
    let name = "submission, the quota is the org's";
    ledger.note(name, keeper.submit(&shared.org, &shared.app, &one)).await.unwrap();
    let hundred: Vec<_> = (0..100).map(|_| submission(scene)).collect();
    let batch = keeper.submit_batch(&who.org, &who.app, &hundred);
    let answers = ledger.note("batch of 100 submissions", batch).await.unwrap();
    assert!(answers.iter().all(Result::is_ok));
    sums(scene, ledger, who).await;
    select(keeper, &cold, ledger, who).await;
    looks(keeper, ledger, who).await;
    // The first shard number has fewer digits than the others.
    let shards = answers.iter().map(|answer| answer.as_ref().unwrap().processing.shard_id);
    let (_, kept) = shards.zip(&hundred).find(|(shard, _)| *shard > 0).unwrap();
    let key = keys::request(&who.org, &who.app, &kept.request_id);
    let get = Get::new(keeper.tables().request_dedup.clone(), key);
    scene.store.get(&get).await.unwrap().unwrap().size()
}

async fn sums(scene: &Scene, ledger: &mut Ledger<'_>, who: &Spender) {
    let mut dirty = DirtySet::default();
    dirty.mark(who.one(), label("premium"), today(), now_ms(scene));
    ledger.note("summing up a model of 8 shards", scene.keeper.aggregate(&dirty)).await.unwrap();
    let again = scene.keeper.aggregate(&dirty);
    ledger.note("summing it up again, nothing new", again).await.unwrap();
}

async fn select(
    keeper: &Keeper<Watched>,
    cold: &Keeper<Watched>,
    ledger: &mut Ledger<'_>,
    who: &Spender,
) {
    let (org, app) = (&who.org, &who.app);
    let name = "model selection, prices not remembered";
    ledger.note(name, cold.select(org, app, false)).await.unwrap();
    keeper.select(org, app, false).await.unwrap();
    ledger.note("model selection", keeper.select(org, app, false)).await.unwrap();
    assert_eq!(ledger.row("model selection").calls(), [(Verb::BatchGet, 1)]);
    let name = "model selection, `force_check`";
    ledger.note(name, keeper.select(org, app, true)).await.unwrap();
}

async fn looks(keeper: &Keeper<Watched>, ledger: &mut Ledger<'_>, who: &Spender) {
    ledger.note("a day's totals of an app", keeper.day_totals(&who.one(), today())).await.unwrap();
    let name = "a day's totals of an org with two apps";
    ledger.note(name, keeper.day_totals(&who.all(), today())).await.unwrap();
    // As after a full pass: ended days are final.
    keeper.full_pass(None, 100).await.unwrap();
    let scope = who.one();
    let month = keeper.series(&scope, day("2036-12-25"), today());
    ledger.note("30 days of an app", month).await.unwrap();
}

/// The operations of administrators.
async fn admin(scene: &Scene, ledger: &mut Ledger<'_>, who: &Spender) {
    let keeper = &scene.keeper;
    let org = crate::scene::org(7);
    let request = org_request("APP", "UTC");
    ledger.note("a new org", keeper.put_org(&org, &request, "test")).await.unwrap();
    let app = crate::scene::app("web");
    let wanted = crate::scene::app_request();
    ledger.note("a new app", keeper.put_app(&org, &app, &wanted, "test")).await.unwrap();
    let scope = who.one();
    let rotation =
        ledger.note("rotation of a secret", keeper.rotate_credentials(&scope, 24, "test")).await;
    let token = rotation.unwrap().retrieval.token;
    let redeemed = ledger
        .note("fetching the secret", keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens))
        .await;
    let RetrievalOutcome::Secret { client_id, client_secret, .. } = redeemed.unwrap() else {
        panic!("no secret")
    };
    let checked = keeper.verify_secret(&client_id, client_secret.expose());
    assert!(ledger.note("a token for a secret", checked).await.unwrap().is_some());
    let unknown = RequestId::new("7c9e6679-7425-40de-944b-e07fc1f90ae7").unwrap();
    let name = "fetching with a token that is none";
    ledger
        .note(name, keeper.retrieve_secret(&scope, unknown.as_str(), &EndedTokens))
        .await
        .unwrap();
    let economy = label("economy");
    let set = keeper.override_sticky(&scope, &economy, "test");
    ledger.note("a fallback set by hand", set).await.unwrap();
}

/// Dollars per month at a rate of submissions per second.
fn months(ledger: &Ledger<'_>, record_bytes: usize) -> Vec<String> {
    let submission = ledger.row("submission");
    let batch = ledger.row("batch of 100 submissions");
    let (select, sum) =
        (ledger.row("model selection"), ledger.row("summing up a model of 8 shards"));
    let mut lines = vec![
        "| submissions a second | counted one by one | in batches of 100 | records kept | selections and sums |".to_owned(),
        "|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for rate in [10, 100, 1_000] {
        let singly = operation_nanousd(submission) * rate * MONTH_SECONDS;
        let batched = operation_nanousd(batch) * rate * MONTH_SECONDS / 100;
        let kept = rate * 86_400 * RECORD_DAYS * (record_bytes as u64 + OVERHEAD_BYTES);
        let selections = operation_nanousd(select) * INSTANCES * MONTH_SECONDS / SELECT_EVERY_SECS;
        let summed = operation_nanousd(sum) * MONTH_SECONDS / SUM_EVERY_SECS;
        lines.push(format!(
            "| {rate} | ${} | ${} | ${} | ${} |",
            usd(singly),
            usd(batched),
            usd(stored_nanousd(kept)),
            usd(selections + summed)
        ));
    }
    lines
}
