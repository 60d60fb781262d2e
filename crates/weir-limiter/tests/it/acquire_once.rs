//! Acquires with an idempotency key: however often a request is sent, and whatever fails, it takes once.

use std::collections::{BTreeMap, BTreeSet};

use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::bounds::IDEMPOTENCY_TTL_MS;
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig, OnUnavailable};
use weir_limiter::lease::{Grant, OnExpiry, Settle};
use weir_limiter::{Error, Namespace, Result};
use weir_table::Query;

use crate::acquire::{granted, refused, request};
use crate::cascade::family;
use crate::scene::{Scene, entity, limit_name, per_minute, resource};
use crate::shards;
use crate::watched::{Calls, Strike, Watched};

scenes!(
    a_repeated_acquire_returns_the_same_lease_and_takes_once,
    a_repeated_acquire_returns_its_lease_when_nothing_is_left,
    a_key_serves_one_request,
    a_refusal_is_not_recorded,
    a_degraded_grant_is_not_recorded,
    a_dry_run_is_not_recorded,
    an_acquire_without_a_key_leaves_no_record,
    a_key_is_forgotten_a_day_after_its_lease,
    an_acquire_takes_once_whichever_call_fails,
    retries_of_several_processes_with_lost_answers_take_once,
);

mod sharded {
    #[test]
    fn a_bucket_with_shards_pays_once() {
        crate::scene::dynamodb_local(async |scene| {
            super::a_bucket_with_shards_pays_once(scene).await;
        });
    }
}

fn keyed(acquire: Acquire, key: &str) -> Acquire {
    Acquire { idempotency_key: Some(key.to_owned()), ..acquire }
}

/// A request of `member`, whose parent `team` pays too.
fn ask(rpm: i64, key: &str) -> Acquire {
    keyed(request("member", &[("rpm", rpm)], &[]), key)
}

async fn take(ns: &Namespace<Watched>, acquire: &Acquire) -> Grant {
    granted(ns.acquire(acquire).await.unwrap()).grant
}

/// Tokens left of an entity's `rpm`.
async fn left(scene: &Scene, who: &str) -> i64 {
    let found = scene.ns.availability(&entity(who), &resource("gpt-4"), &[].into()).await.unwrap();
    found.limits.iter().find(|limit| limit.entity == entity(who)).unwrap().available_milli / 1000
}

async fn another(scene: &Scene) -> Namespace<Watched> {
    scene.another().await.namespace(scene.ns.name()).await.unwrap()
}

async fn records(scene: &Scene) -> usize {
    let all = scene.store.query(&Query::scan(scene.limiter.settings().table.as_str())).await;
    let items = all.unwrap().items;
    items.iter().filter(|item| item.s("SK") == Some("#OPERATION")).count()
}

fn ten() -> [Limit; 1] {
    [per_minute("rpm", 10)]
}

async fn a_repeated_acquire_returns_the_same_lease_and_takes_once(scene: &Scene) {
    family(scene, &[per_minute("rpm", 100)], &[per_minute("rpm", 1_000)]).await;
    // The first makes the buckets, the others take from them.
    for (n, on_expiry) in [OnExpiry::Keep, OnExpiry::Keep, OnExpiry::Rollback].iter().enumerate() {
        let ask = Acquire { on_expiry: *on_expiry, ..ask(7, &format!("key-{n}")) };
        let first = granted(scene.ns.acquire(&ask).await.unwrap());
        assert_eq!(first.grant.takes.len(), 2, "child and parent");
        let token = scene.limiter.lease_token(&first.grant);
        for ns in [&scene.ns, &another(scene).await] {
            let again = granted(ns.acquire(&ask).await.unwrap());
            assert_eq!(again.grant, first.grant);
            assert_eq!(scene.limiter.lease_token(&again.grant), token);
            assert_eq!(again.limits, first.limits);
        }
        let taken = 7 * (i64::try_from(n).unwrap() + 1);
        assert_eq!(
            (left(scene, "member").await, left(scene, "team").await),
            (100 - taken, 1_000 - taken)
        );
    }
    let grant = take(&scene.ns, &ask(7, "key-0")).await;
    scene.ns.settle(&grant, &Settle::Rollback, None).await.unwrap();
    assert_eq!(take(&scene.ns, &ask(7, "key-0")).await, grant, "settled or not");
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (86, 986));
}

async fn a_repeated_acquire_returns_its_lease_when_nothing_is_left(scene: &Scene) {
    let level = Level::Resource(resource("gpt-4"));
    let config = LevelConfig { limits: ten().to_vec(), ..LevelConfig::default() };
    scene.ns.set_limits(&level, config, "test").await.unwrap();
    let all = keyed(request("user", &[("rpm", 10)], &[]), "all");
    let grant = take(&scene.ns, &all).await;
    // The process remembers a refusal of the emptied bucket.
    let more = request("user", &[("rpm", 10)], &[]);
    refused(scene.ns.acquire(&more).await.unwrap());
    assert_eq!(take(&scene.ns, &all).await, grant);
    assert_eq!(take(&another(scene).await, &all).await, grant);
    scene.ns.delete_limits(&level, "test").await.unwrap();
    assert_eq!(take(&another(scene).await, &all).await, grant, "limits or none");
}

async fn a_key_serves_one_request(scene: &Scene) {
    let limits = [per_minute("rpm", 100), per_minute("tpm", 100)];
    let ask = |consume: &[(&str, i64)]| keyed(request("user", consume, &limits), "key");
    take(&scene.ns, &ask(&[("rpm", 1)])).await;
    for other in [
        ask(&[("rpm", 2)]),
        ask(&[("rpm", 1), ("tpm", 1)]),
        Acquire { entity: entity("other"), ..ask(&[("rpm", 1)]) },
        Acquire { lease_ttl_ms: 61_000, ..ask(&[("rpm", 1)]) },
        Acquire { on_expiry: OnExpiry::Rollback, ..ask(&[("rpm", 1)]) },
    ] {
        for ns in [&scene.ns, &another(scene).await] {
            let error = ns.acquire(&other).await.unwrap_err();
            assert!(matches!(error, Error::Conflict(_)), "{other:?}: {error}");
        }
    }
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    let reset = scene.ns.reset_bucket(&user, &gpt, Some("key"), "test").await;
    assert!(matches!(reset, Err(Error::Conflict(_))));
    let found = scene.ns.bucket(&user, &gpt).await.unwrap().unwrap();
    assert_eq!(found.limits[0].available_milli, 99_000);
    for wrong in [String::new(), "k".repeat(256)] {
        let error = scene.ns.acquire(&keyed(ask(&[("rpm", 1)]), &wrong)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}

async fn a_refusal_is_not_recorded(scene: &Scene) {
    let six = |key: &str| keyed(request("user", &[("rpm", 6)], &ten()), key);
    take(&scene.ns, &six("first")).await;
    for _ in 0..2 {
        refused(scene.ns.acquire(&six("second")).await.unwrap());
    }
    assert_eq!(records(scene).await, 1);
    scene.clock.advance_ms(12_000);
    let second = take(&scene.ns, &six("second")).await;
    assert_eq!(take(&another(scene).await, &six("second")).await, second);
    assert_eq!(records(scene).await, 2);
}

async fn a_degraded_grant_is_not_recorded(scene: &Scene) {
    let level = Level::Resource(resource("gpt-4"));
    let allow = Some(OnUnavailable::Allow);
    let config =
        LevelConfig { limits: ten().to_vec(), on_unavailable: allow, ..LevelConfig::default() };
    scene.ns.set_limits(&level, config, "test").await.unwrap();
    take(&scene.ns, &request("user", &[("rpm", 1)], &[])).await;
    let ask = keyed(request("user", &[("rpm", 6)], &[]), "key");
    scene.watch.down(Some(Strike::Before));
    let degraded = granted(scene.ns.acquire(&ask).await.unwrap()).grant;
    scene.watch.down(None);
    assert!(degraded.degraded && records(scene).await == 0);
    let grant = take(&scene.ns, &ask).await;
    assert!(!grant.degraded);
    assert_eq!(take(&scene.ns, &ask).await, grant);
}

async fn a_dry_run_is_not_recorded(scene: &Scene) {
    let ask = keyed(request("user", &[("rpm", 6)], &ten()), "key");
    granted(scene.ns.acquire(&Acquire { dry_run: true, ..ask.clone() }).await.unwrap());
    assert_eq!(records(scene).await, 0);
    take(&scene.ns, &ask).await;
}

async fn an_acquire_without_a_key_leaves_no_record(scene: &Scene) {
    let ask = request("user", &[("rpm", 1)], &ten());
    take(&scene.ns, &ask).await;
    scene.watch.reset();
    take(&scene.ns, &ask).await;
    assert_eq!(scene.watch.calls(), Calls { writes: 1, ..Calls::default() });
    scene.watch.reset();
    take(&scene.ns, &keyed(ask, "key")).await;
    let calls = Calls { transactions: 1, batch_gets: 1, gets: 1, ..Calls::default() };
    assert_eq!(scene.watch.calls(), calls);
    assert_eq!(records(scene).await, 1);
}

async fn a_key_is_forgotten_a_day_after_its_lease(scene: &Scene) {
    let ask = keyed(request("user", &[("rpm", 1)], &ten()), "key");
    let first = take(&scene.ns, &ask).await;
    scene.clock.advance_ms(
        (first.expires_ms - first.taken_ms + IDEMPOTENCY_TTL_MS - 1_000).cast_unsigned(),
    );
    assert_eq!(take(&scene.ns, &ask).await, first);
    scene.clock.advance_ms(2_000);
    let second = take(&scene.ns, &ask).await;
    assert_ne!(second.id, first.id);
    assert_eq!(take(&scene.ns, &ask).await, second);
}

/// Most store calls of an acquire, one failure included.
const CALLS_MAX: u64 = 16;

async fn an_acquire_takes_once_whichever_call_fails(scene: &Scene) {
    family(scene, &[per_minute("rpm", 10_000)], &[per_minute("rpm", 10_000)]).await;
    let mut taken = 0;
    for on_expiry in [OnExpiry::Keep, OnExpiry::Rollback] {
        for strike in [Strike::Before, Strike::After, Strike::Conflict] {
            for fresh in [false, true] {
                let mut struck = 0;
                for skip in 0..CALLS_MAX {
                    let why = format!("{on_expiry:?} {strike:?} {fresh} {skip}");
                    // A process that knows the buckets, or one that has just begun.
                    let ns = if fresh { another(scene).await } else { scene.ns.clone() };
                    let ask = Acquire { on_expiry, ..ask(3, &why) };
                    scene.watch.fail_once(skip, strike);
                    let first = ns.acquire(&ask).await;
                    let fault = !scene.watch.is_planned();
                    scene.watch.cancel();
                    let again = take(&ns, &ask).await;
                    if let Ok(first) = first {
                        assert_eq!(granted(first).grant, again, "{why}");
                    }
                    taken += 3;
                    for who in ["member", "team"] {
                        assert_eq!(left(scene, who).await, 10_000 - taken, "{why} {who}");
                    }
                    if !fault {
                        break;
                    }
                    struck += 1;
                }
                assert!((1..CALLS_MAX).contains(&struck), "struck {struck} times");
            }
        }
    }
}

/// Sends a request until it is answered, as a client does whose connection broke.
async fn retried(ns: Namespace<Watched>, ask: Acquire) -> Result<Acquired> {
    for _ in 0..50 {
        match ns.acquire(&ask).await {
            Err(error) if error.is_unavailable() || matches!(error, Error::Contended) => {}
            answer => return answer,
        }
    }
    panic!("never answered")
}

/// 12 requests, each sent by 3 processes at once, while answers of the store are lost. Returns the grants by key.
async fn storm(scene: &Scene, ask: impl Fn(&str) -> Acquire) -> BTreeMap<String, Grant> {
    let processes = [scene.ns.clone(), another(scene).await, another(scene).await];
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..12 {
        for ns in &processes {
            let key = format!("storm-{n}");
            let (ns, ask) = (ns.clone(), ask(&key));
            tasks.spawn(async move { (key, retried(ns, ask).await.unwrap()) });
        }
    }
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut grants = BTreeMap::new();
    loop {
        if !scene.watch.is_planned() {
            let strike = if fastrand::bool() { Strike::After } else { Strike::Before };
            scene.watch.fail_once(fastrand::u64(0..5), strike);
        }
        let wait = std::time::Duration::from_millis(2);
        match tokio::time::timeout(wait, tasks.join_next()).await {
            Err(_) => {}
            Ok(None) => break,
            Ok(Some(answer)) => {
                let (key, answer) = answer.unwrap();
                if let Acquired::Granted(granted) = answer {
                    ids.entry(key.clone()).or_default().insert(granted.grant.id.clone());
                    grants.insert(key, granted.grant);
                }
            }
        }
    }
    scene.watch.cancel();
    assert!(ids.values().all(|ids| ids.len() == 1), "{ids:?}");
    grants
}

async fn retries_of_several_processes_with_lost_answers_take_once(scene: &Scene) {
    family(scene, &[per_minute("rpm", 100)], &[per_minute("rpm", 1_000)]).await;
    // The bucket of 100 serves 10 of the 12.
    let grants = storm(scene, |key| ask(10, key)).await;
    assert_eq!(grants.len(), 10);
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (0, 900));
    for (key, grant) in grants {
        assert_eq!(take(&scene.ns, &ask(10, &key)).await, grant);
    }
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (0, 900));
}

async fn a_bucket_with_shards_pays_once(scene: &Scene) {
    let taken = shards::heat(scene, "hot", 4).await;
    let ask = |amount, key: &str| keyed(request("hot", &[("rpm", amount)], &shards::limits()), key);
    // One shard pays, or several together.
    for (amount, key) in [(10, "one"), (6_000, "several")] {
        let grant = take(&scene.ns, &ask(amount, key)).await;
        assert_eq!(grant.takes[0].shards.len() > 1, amount > 10);
        for ns in [&scene.ns, &another(scene).await] {
            assert_eq!(take(ns, &ask(amount, key)).await, grant);
        }
    }
    let grants = storm(scene, |key| ask(100, key)).await;
    assert_eq!(grants.len(), 12);
    let paid = (taken + 6_010 + 1_200) * 1000;
    let rpm = shards::sum(&shards::shards(scene, "hot").await);
    assert_eq!(rpm, (10_000_000 - paid, paid), "{}", limit_name("rpm"));
}
