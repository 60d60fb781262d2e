//! Daily limits, and the rollups of what was used.

use weir_practice::ids::{PlanId, ProblemId};
use weir_practice::keys;
use weir_practice::kinds::Action;
use weir_practice::list::PageRequest;
use weir_practice::usage::{Repair, UsageRequest};
use weir_practice::users::User;
use weir_table::dynamodb::Verb;
use weir_table::{Get, Query, Value};
use weir_testkit::ledger::Ledger;

use super::item_bytes;
use super::month::{ROLLUP_USERS, Stored};
use crate::scene::Scene;
use crate::stats::{dirty, today};
use crate::usage::DAY_MS;
use crate::users::sign_up;

/// Executions of a day on the plan Free.
const EXECUTIONS: usize = 50;

fn execution() -> UsageRequest {
    UsageRequest {
        problem_id: Some(ProblemId::new("1000").unwrap()),
        metadata: Some(Value::map([("language", "python"), ("client", "web")])),
        ..UsageRequest::new(Action::Execution)
    }
}

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>, stored: &mut Stored) {
    let user = sign_up(scene, "counted", PlanId::FREE).await;
    rollups(scene, ledger).await;
    limits(scene, ledger, &user).await;
    audits(scene, ledger, &user).await;
    sizes(scene, stored, &user).await;
}

async fn limits(scene: &Scene, ledger: &mut Ledger<'_>, user: &User) {
    let (practice, request) = (&scene.practice, execution());
    let take = |request| async move { practice.take_usage(&user.id, request).await.unwrap() };
    let first = ledger.note("usage, the first of a user", take(&request)).await;
    assert!(first.allowed);
    ledger.note("usage", take(&request)).await;
    let row = ledger.row("usage");
    assert_eq!(row.calls(), [(Verb::BatchGet, 1), (Verb::Transact, 1)]);
    assert_eq!((row.table_write(), row.index_write(), row.read()), (8_000, 0, 4_000));
    let keyed = crate::usage::keyed("k-1");
    ledger.note("usage, with an idempotency key", take(&keyed)).await;
    assert!(ledger.note("the same request again", take(&keyed)).await.is_replay);
    scene.clock.advance_ms(DAY_MS);
    ledger.note("usage, the first of a day", take(&request)).await;
    for _ in 1..EXECUTIONS {
        take(&request).await;
    }
    let refused = ledger.note("usage, refused", take(&request)).await;
    assert!(!refused.allowed);
    assert_eq!(ledger.row("usage, refused").calls(), [(Verb::BatchGet, 1)]);
    let cold = scene.another(scene.clock.clone(), practice.settings().clone());
    let pro = sign_up(scene, "cold", PlanId::new(2).unwrap()).await;
    practice.take_usage(&pro.id, &request).await.unwrap();
    let name = "usage, the plan not remembered";
    ledger.note(name, cold.take_usage(&pro.id, &request)).await.unwrap();
}

async fn audits(scene: &Scene, ledger: &mut Ledger<'_>, user: &User) {
    let practice = &scene.practice;
    let day = practice.day_of(practice.now_ms());
    ledger.note("usage of a day", practice.usage(&user.id, None)).await.unwrap();
    let whole = PageRequest::default();
    let log = practice.usage_log(&user.id, day, &whole);
    let log = ledger.note("usage log of a day, 50 entries", log).await.unwrap();
    assert_eq!(log.items.len(), EXECUTIONS);
    let count = practice.logged_count(&user.id, day, Action::Execution);
    assert_eq!(ledger.note("count by the log, 50 entries", count).await.unwrap(), 50);
    let recount = practice.recount(&user.id, day, Repair::No);
    let recount = ledger.note("recount of a day, 50 entries", recount).await.unwrap();
    assert_eq!(recount.differences, []);
}

/// Rollups of as many users as one transaction has.
async fn rollups(scene: &Scene, ledger: &mut Ledger<'_>) {
    let mut users = Vec::new();
    for number in 0..ROLLUP_USERS {
        users.push(sign_up(scene, &format!("active-{number}"), PlanId::FREE).await);
    }
    let (practice, all) = (&scene.practice, dirty(&users.iter().collect::<Vec<_>>()));
    let use_all = async || {
        for user in &users {
            practice.take_usage(&user.id, &execution()).await.unwrap();
        }
    };
    use_all().await;
    let name = "rollup of 33 users, their first of the day";
    ledger.note(name, practice.roll_up(&all)).await.unwrap();
    use_all().await;
    let written = ledger.note("rollup of 33 users", practice.roll_up(&all)).await.unwrap().written;
    assert_eq!(written, ROLLUP_USERS);
    let name = "rollup of 33 users, nothing new";
    assert_eq!(ledger.note(name, practice.roll_up(&all)).await.unwrap().written, 0);
    let month = practice.stats(today().plus_days(-29), today());
    ledger.note("statistics of 30 days, 1 of them used", month).await.unwrap();
}

/// Sizes of what a user leaves behind on a day.
async fn sizes(scene: &Scene, stored: &mut Stored, user: &User) {
    let practice = &scene.practice;
    let partition = keys::usage_partition(&user.id, today());
    let day = scene.all(Query::partition(practice.table().clone(), partition)).await;
    let of_sort = |prefix: &str| {
        let found = day.iter().find(|item| item.s("SK").unwrap().starts_with(prefix)).unwrap();
        item_bytes(found)
    };
    (stored.log_entry, stored.counter) = (of_sort("ULOG#"), of_sort("COUNT#execution"));
    let active = practice.user_by_email(&crate::users::email("active-0@example.com")).await;
    let key = keys::user_rollup(today(), &active.unwrap().id);
    let rollup = scene.store.get(&Get::new(practice.table().clone(), key)).await.unwrap();
    stored.rollup = item_bytes(&rollup.unwrap());
}
