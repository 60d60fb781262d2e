//! Cascade: child and parent both pay, or neither does.

use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::lease::OnExpiry;

use crate::acquire::{granted, refused, request};
use crate::scene::{Scene, entity, per_minute};
use crate::watched::{Calls, Strike};

scenes!(
    the_parent_pays_too,
    a_parent_that_refuses_refunds_the_child,
    a_child_that_refuses_refunds_the_parent,
    a_parent_pays_only_for_limits_it_has,
    a_warm_cascade_is_two_writes_or_one_transaction,
    another_parent_pays_from_then_on,
    a_lease_that_rolls_back_is_stored_with_the_take,
    a_fault_anywhere_leaves_no_child_ahead_of_its_parent,
);

pub(crate) async fn family(scene: &Scene, child: &[Limit], parent: &[Limit]) {
    let person = NewEntity::default();
    scene.ns.put_entity(&entity("team"), person.clone(), "test").await.unwrap();
    scene.ns.put_entity(&entity("other"), person.clone(), "test").await.unwrap();
    let member = NewEntity { parent: Some(entity("team")), cascade: true, ..person };
    scene.ns.put_entity(&entity("member"), member, "test").await.unwrap();
    for (who, limits) in [("member", child), ("team", parent), ("other", parent)] {
        let config = LevelConfig { limits: limits.to_vec(), ..LevelConfig::default() };
        let level = Level::Entity(entity(who), None);
        scene.ns.set_limits(&level, config, "test").await.unwrap();
    }
    scene.watch.reset();
}

fn ask(amount: i64) -> Acquire {
    request("member", &[("rpm", amount)], &[])
}

/// Waits until the index shows the bucket: a change is applied at once to buckets that it shows, and to the rest by
/// propagation.
async fn seen(scene: &Scene, who: &str) {
    crate::scene::eventually(async || {
        (!scene.ns.buckets(&entity(who)).await.unwrap().is_empty()).then_some(())
    })
    .await;
}

async fn left(scene: &Scene, who: &str) -> i64 {
    let found = scene.ns.availability(&entity(who), &ask(1).resource, &[].into()).await.unwrap();
    found.limits.iter().find(|limit| limit.entity == entity(who)).unwrap().available_milli / 1000
}

async fn the_parent_pays_too(scene: &Scene) {
    family(scene, &[per_minute("rpm", 10)], &[per_minute("rpm", 100)]).await;
    for taken in 1..=3 {
        let answer = granted(scene.ns.acquire(&ask(1)).await.unwrap());
        let limits: Vec<(&str, i64)> =
            answer.limits.iter().map(|l| (l.entity.as_str(), l.available_milli / 1000)).collect();
        assert_eq!(limits, [("member", 10 - taken), ("team", 100 - taken)]);
        assert_eq!(answer.grant.takes.len(), 2);
    }
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (7, 97));
}

async fn a_parent_that_refuses_refunds_the_child(scene: &Scene) {
    family(scene, &[per_minute("rpm", 10)], &[per_minute("rpm", 4)]).await;
    for _ in 0..4 {
        granted(scene.ns.acquire(&ask(1)).await.unwrap());
    }
    for _ in 0..3 {
        let no = refused(scene.ns.acquire(&ask(1)).await.unwrap());
        let parent = no.limits.iter().find(|limit| limit.entity == entity("team")).unwrap();
        assert_eq!((parent.deficit_milli, no.retry_after_ms), (1000, 15_000));
    }
    let process = scene.another().await;
    let ns = process.namespace(scene.ns.name()).await.unwrap();
    refused(ns.acquire(&ask(1)).await.unwrap());
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (6, 0));
    scene.clock.advance_ms(15_000);
    granted(scene.ns.acquire(&ask(1)).await.unwrap());
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (7, 0));
}

async fn a_child_that_refuses_refunds_the_parent(scene: &Scene) {
    family(scene, &[per_minute("rpm", 2)], &[per_minute("rpm", 100)]).await;
    granted(scene.ns.acquire(&ask(2)).await.unwrap());
    let no = refused(scene.ns.acquire(&ask(1)).await.unwrap());
    let names: Vec<&str> = no.limits.iter().map(|limit| limit.entity.as_str()).collect();
    assert_eq!(names, ["member", "team"], "a refusal names every limit");
    let process = scene.another().await;
    let ns = process.namespace(scene.ns.name()).await.unwrap();
    refused(ns.acquire(&ask(1)).await.unwrap());
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (0, 98));
}

async fn a_parent_pays_only_for_limits_it_has(scene: &Scene) {
    let child = [per_minute("rpm", 10), per_minute("tpm", 1000)];
    family(scene, &child, &[per_minute("tpm", 5000)]).await;
    let both = request("member", &[("rpm", 1), ("tpm", 100)], &[]);
    for _ in 0..3 {
        granted(scene.ns.acquire(&both).await.unwrap());
    }
    assert_eq!(left(scene, "team").await, 4700);
    seen(scene, "team").await;
    // A limit that the parent gets binds from then on.
    let limits = vec![per_minute("rpm", 1), per_minute("tpm", 5000)];
    let config = LevelConfig { limits, ..LevelConfig::default() };
    scene.ns.set_limits(&Level::Entity(entity("team"), None), config, "test").await.unwrap();
    granted(scene.ns.acquire(&both).await.unwrap());
    refused(scene.ns.acquire(&both).await.unwrap());
}

async fn a_warm_cascade_is_two_writes_or_one_transaction(scene: &Scene) {
    family(scene, &[per_minute("rpm", 100)], &[per_minute("rpm", 100)]).await;
    granted(scene.ns.acquire(&ask(1)).await.unwrap());
    scene.watch.reset();
    for _ in 0..5 {
        granted(scene.ns.acquire(&ask(1)).await.unwrap());
    }
    let expected = if scene.sharded {
        Calls { writes: 10, ..Calls::default() }
    } else {
        // Child and parent are read from memory.
        Calls { transactions: 5, batch_gets: 10, ..Calls::default() }
    };
    assert_eq!(scene.watch.calls(), expected);
}

async fn another_parent_pays_from_then_on(scene: &Scene) {
    family(scene, &[per_minute("rpm", 100)], &[per_minute("rpm", 50)]).await;
    granted(scene.ns.acquire(&ask(1)).await.unwrap());
    seen(scene, "member").await;
    // Another process changes the parent; this one remembers the old one.
    let process = scene.another().await;
    let ns = process.namespace(scene.ns.name()).await.unwrap();
    ns.set_parent(&entity("member"), Some(&entity("other")), "test").await.unwrap();
    crate::scene::eventually(async || {
        let buckets = ns.buckets(&entity("member")).await.unwrap();
        (buckets.first()?.parent == Some(entity("other"))).then_some(())
    })
    .await;
    granted(scene.ns.acquire(&ask(2)).await.unwrap());
    assert_eq!(left(scene, "team").await, 49);
    assert_eq!(left(scene, "other").await, 48);
    assert_eq!(left(scene, "member").await, 97);
}

async fn a_lease_that_rolls_back_is_stored_with_the_take(scene: &Scene) {
    family(scene, &[per_minute("rpm", 10)], &[per_minute("rpm", 10)]).await;
    let held = Acquire { on_expiry: OnExpiry::Rollback, ..ask(4) };
    granted(scene.ns.acquire(&held).await.unwrap());
    granted(scene.ns.acquire(&held).await.unwrap());
    refused(scene.ns.acquire(&held).await.unwrap());
    crate::scene::eventually(async || {
        (scene.limiter.open_leases().await.unwrap() == 2).then_some(())
    })
    .await;
    scene.clock.advance_ms(60_001);
    let mut rolled_back = 0;
    while rolled_back < 2 {
        rolled_back += scene.limiter.roll_back_expired(10).await.unwrap().0;
    }
    assert_eq!((left(scene, "member").await, left(scene, "team").await), (10, 10));
}

/// Fails every store call of an acquire in turn, before and after it took effect, then compares child and parent.
async fn a_fault_anywhere_leaves_no_child_ahead_of_its_parent(scene: &Scene) {
    family(scene, &[per_minute("rpm", 1000)], &[per_minute("rpm", 1000)]).await;
    let (mut granted, mut in_flight) = (0, 0);
    for strike in [Strike::Before, Strike::After] {
        for cold in [true, false] {
            for skip in 0..12 {
                let process = scene.another().await;
                let ns = process.namespace(scene.ns.name()).await.unwrap();
                if !cold {
                    granted +=
                        i64::from(matches!(ns.acquire(&ask(1)).await, Ok(Acquired::Granted(_))));
                }
                scene.watch.fail_once(skip, strike);
                match ns.acquire(&ask(1)).await {
                    Ok(Acquired::Granted(_)) => granted += 1,
                    Ok(Acquired::Refused(refused)) => panic!("{refused:?}"),
                    Err(_) => in_flight += 1,
                }
                scene.watch.cancel();
            }
        }
    }
    let (child, parent) = (1000 - left(scene, "member").await, 1000 - left(scene, "team").await);
    assert!(child >= granted && parent >= granted, "{child} and {parent} of {granted} granted");
    assert!(child <= granted + in_flight && parent <= granted + in_flight);
    if !scene.sharded {
        assert_eq!(child, parent, "one transaction");
    }
    assert!(in_flight > 0, "some calls failed");
}
