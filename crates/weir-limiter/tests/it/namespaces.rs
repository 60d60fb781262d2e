//! Namespaces: created, used, deleted, recovered, purged.

use weir_limiter::Error;
use weir_limiter::audit::AuditAction;
use weir_limiter::bounds::{NAMESPACE_TTL_MS, PURGE_QUIET_MS};
use weir_limiter::entities::NewEntity;
use weir_limiter::ids::NamespaceName;
use weir_limiter::namespaces::{Record, State};
use weir_table::audit::EventRange;
use weir_table::retry::Listed;
use weir_table::{Item, Query, Write};

use crate::scene::{Scene, entity, eventually};
use crate::watched::{Calls, Strike};

scenes!(
    a_namespace_is_created_once,
    concurrent_creates_return_the_same_namespace,
    a_cached_namespace_costs_no_call,
    a_deleted_namespace_works_while_it_is_cached,
    a_deleted_namespace_is_recovered_with_its_data,
    the_default_namespace_always_exists,
    namespaces_in_every_state_are_listed,
    a_purge_ends_when_nobody_can_write_any_more,
    a_purge_removes_a_bounded_number_at_a_time,
    every_failed_call_can_be_repeated,
    a_purge_that_fails_anywhere_continues_later,
);

fn name(text: &str) -> NamespaceName {
    NamespaceName::new(text).unwrap()
}

async fn made(scene: &Scene, text: &str) -> Record {
    scene.limiter.create_namespace(&name(text), "ann").await.unwrap().0
}

fn is_missing<T: std::fmt::Debug>(answer: Result<T, Error>) -> bool {
    matches!(answer, Err(Error::NotFound { kind: "namespace", .. }))
}

fn conflict<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::Conflict(problem)) => problem,
        other => panic!("no conflict: {other:?}"),
    }
}

async fn a_namespace_is_created_once(scene: &Scene) {
    let team = name("team");
    let error = scene.limiter.namespace(&team).await.unwrap_err();
    assert_eq!(error.to_string(), "namespace not found: \"team\"");
    let (record, new) = scene.limiter.create_namespace(&team, "ann").await.unwrap();
    assert!(new);
    let (again, new) = scene.another().await.create_namespace(&team, "bob").await.unwrap();
    assert!(!new);
    assert_eq!(again, record);
    assert_eq!(scene.limiter.namespace_record(&team).await.unwrap(), record);
    let used = scene.limiter.namespace(&team).await.unwrap();
    assert_eq!((used.id(), used.name()), (&record.id, &team));
}

async fn concurrent_creates_return_the_same_namespace(scene: &Scene) {
    let (one, other) = (scene.another().await, scene.another().await);
    for round in 0..5 {
        let team = name(&format!("team{round}"));
        let (a, b) =
            tokio::join!(one.create_namespace(&team, "ann"), other.create_namespace(&team, "bob"));
        let ((a, a_new), (b, b_new)) = (a.unwrap(), b.unwrap());
        assert_eq!(a, b);
        assert!(a_new != b_new);
    }
}

async fn a_cached_namespace_costs_no_call(scene: &Scene) {
    made(scene, "team").await;
    scene.limiter.namespace(&name("team")).await.unwrap();
    scene.watch.reset();
    for _ in 0..10 {
        scene.limiter.namespace(&name("team")).await.unwrap();
    }
    assert_eq!(scene.watch.calls(), Calls::default());
}

async fn a_deleted_namespace_works_while_it_is_cached(scene: &Scene) {
    let team = name("team");
    let record = made(scene, "team").await;
    let other = scene.another().await;
    other.namespace(&team).await.unwrap();
    scene.limiter.namespace(&team).await.unwrap();
    let deleted = scene.limiter.delete_namespace(&team, "ann").await.unwrap();
    assert_eq!((deleted.state, deleted.deleted_ms), (State::Deleted, Some(scene.now_ms())));
    assert!(is_missing(scene.limiter.namespace(&team).await));
    assert_eq!(*other.namespace(&team).await.unwrap().id(), record.id);
    scene.clock.advance_ms(u64::try_from(NAMESPACE_TTL_MS).unwrap());
    assert!(is_missing(other.namespace(&team).await));
    assert!(is_missing(scene.limiter.delete_namespace(&name("none"), "ann").await));
    assert_eq!(scene.limiter.delete_namespace(&team, "ann").await.unwrap(), deleted);
}

async fn a_deleted_namespace_is_recovered_with_its_data(scene: &Scene) {
    let team = name("team");
    let record = made(scene, "team").await;
    let used = scene.limiter.namespace(&team).await.unwrap();
    let user = entity("user-1");
    used.put_entity(&user, NewEntity::default(), "ann").await.unwrap();
    assert!(
        conflict(scene.limiter.recover_namespace(&team, "ann").await).contains("is not deleted")
    );
    scene.limiter.delete_namespace(&team, "ann").await.unwrap();
    let problem = conflict(scene.limiter.create_namespace(&team, "ann").await);
    assert!(problem.contains("recover it, or purge it"), "{problem}");
    assert_eq!(scene.limiter.recover_namespace(&team, "ann").await.unwrap(), record);
    let used = scene.limiter.namespace(&team).await.unwrap();
    used.entity(&user).await.unwrap();
    assert!(is_missing(scene.limiter.recover_namespace(&name("none"), "ann").await));
    let events = scene.limiter.registry_audit("team", &EventRange::default()).await.unwrap().items;
    let actions: Vec<_> = events.iter().map(|event| event.action).collect();
    use AuditAction::{NamespaceCreated, NamespaceDeleted, NamespaceRecovered};
    assert_eq!(actions, [NamespaceRecovered, NamespaceDeleted, NamespaceCreated]);
}

async fn the_default_namespace_always_exists(scene: &Scene) {
    let default = name("default");
    let problem = conflict(scene.limiter.delete_namespace(&default, "ann").await);
    assert!(problem.contains("cannot be deleted"), "{problem}");
    let again = scene.another().await.namespace(&default).await.unwrap();
    assert_eq!(again.id(), scene.ns.id());
}

async fn namespaces_in_every_state_are_listed(scene: &Scene) {
    for text in ["a", "b", "c", "d"] {
        made(scene, text).await;
    }
    for text in ["b", "c"] {
        scene.limiter.delete_namespace(&name(text), "ann").await.unwrap();
    }
    scene.limiter.purge_namespace(&name("c"), "ann").await.unwrap();
    // zae-limiter takes any name.
    let odd = Item::new()
        .with("PK", "_/SYSTEM#")
        .with("SK", "#NSID#-odd-odd-od")
        .with("namespace_id", "-odd-odd-od")
        .with("namespace_name", "tenant a/b")
        .with("status", "active");
    scene.store.write(Write::put(scene.limiter.settings().table.as_str(), odd)).await.unwrap();
    let (mut found, mut cursor) = (Vec::new(), None);
    for _ in 0..10 {
        let Listed { items: page, cursor: next } =
            scene.limiter.namespaces(2, cursor).await.unwrap();
        found.extend(page.into_iter().map(|record| (record.name.to_string(), record.state)));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        ("a", State::Active),
        ("b", State::Deleted),
        ("c", State::Purging),
        ("d", State::Active),
        ("default", State::Active),
    ];
    assert_eq!(found, expected.map(|(name, state)| (name.to_owned(), state)));
    let error = scene.limiter.namespaces(2, Some("forged".to_owned())).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { ref field, .. } if field == "cursor"), "{error:?}");
}

/// The items of a namespace, by their keys.
async fn items_of(scene: &Scene, record: &Record) -> Vec<Item> {
    let scan = Query::scan(scene.limiter.settings().table.as_str());
    let page = scene.store.query(&scan).await.unwrap();
    let prefix = format!("{}/", record.id);
    page.items.into_iter().filter(|item| item.s("PK").unwrap().starts_with(&prefix)).collect()
}

/// Runs purge steps until neither the table nor the index shows anything of the namespace.
async fn step_until_empty(scene: &Scene, record: &Record) {
    eventually(async || {
        let (removed, _) = scene.limiter.purge_step(1000).await.unwrap();
        (removed == 0 && items_of(scene, record).await.is_empty()).then_some(())
    })
    .await;
}

async fn a_purge_ends_when_nobody_can_write_any_more(scene: &Scene) {
    let team = name("team");
    let record = made(scene, "team").await;
    assert!(
        conflict(scene.limiter.purge_namespace(&team, "ann").await).contains("delete it first")
    );
    assert!(is_missing(scene.limiter.purge_namespace(&name("none"), "ann").await));
    let late = scene.another().await;
    let used = late.namespace(&team).await.unwrap();
    for n in 0..30 {
        let id = entity(&format!("user-{n}"));
        used.put_entity(&id, NewEntity::default(), "ann").await.unwrap();
    }
    scene.limiter.delete_namespace(&team, "ann").await.unwrap();
    let purging = scene.limiter.purge_namespace(&team, "ann").await.unwrap();
    assert_eq!(purging.state, State::Purging);
    assert_eq!(scene.limiter.purge_namespace(&team, "ann").await.unwrap(), purging);
    assert!(conflict(scene.limiter.recover_namespace(&team, "ann").await).contains("purged"));
    assert!(conflict(scene.limiter.create_namespace(&team, "ann").await).contains("purged"));
    step_until_empty(scene, &record).await;

    // An instance that remembers the name writes once more.
    scene.clock.advance_ms(59_000);
    let used = late.namespace(&team).await.unwrap();
    used.put_entity(&entity("late"), NewEntity::default(), "ann").await.unwrap();
    scene.clock.advance_ms(1_000);
    assert!(is_missing(late.namespace(&team).await));
    step_until_empty(scene, &record).await;

    // Less than the quiet time after that the record is still there, later it goes.
    let quiet = u64::try_from(PURGE_QUIET_MS).unwrap();
    scene.clock.advance_ms(quiet - 1);
    scene.limiter.purge_step(1000).await.unwrap();
    assert_eq!(scene.limiter.namespace_record(&team).await.unwrap().state, State::Purging);
    scene.clock.advance_ms(quiet);
    eventually(async || {
        scene.limiter.purge_step(1000).await.unwrap();
        is_missing(scene.limiter.namespace_record(&team).await).then_some(())
    })
    .await;
    assert_eq!(scene.limiter.purge_step(1000).await.unwrap(), (0, false));
    let (again, new) = scene.limiter.create_namespace(&team, "ann").await.unwrap();
    assert!(new && again.id != record.id);
}

async fn a_purge_removes_a_bounded_number_at_a_time(scene: &Scene) {
    let record = made(scene, "team").await;
    let used = scene.limiter.namespace(&name("team")).await.unwrap();
    for n in 0..6 {
        let id = entity(&format!("user-{n}"));
        used.put_entity(&id, NewEntity::default(), "ann").await.unwrap();
    }
    scene.limiter.delete_namespace(&name("team"), "ann").await.unwrap();
    scene.limiter.purge_namespace(&name("team"), "ann").await.unwrap();
    // Six entities and their six events.
    let before = items_of(scene, &record).await.len();
    assert_eq!(before, 12);
    let first = eventually(async || {
        let step = scene.limiter.purge_step(5).await.unwrap();
        (step.0 > 0).then_some(step)
    })
    .await;
    assert_eq!(first, (5, true));
    assert_eq!(items_of(scene, &record).await.len(), before - 5);
    step_until_empty(scene, &record).await;
}

async fn every_failed_call_can_be_repeated(scene: &Scene) {
    const CALLS_MAX: u64 = 40;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..CALLS_MAX {
            let text = format!("n{skip}{}", if strike == Strike::Before { "b" } else { "a" });
            let id = name(&text);
            scene.watch.fail_once(skip, strike);
            let done = live_through(scene, &id).await;
            if scene.watch.is_planned() {
                scene.watch.fail_once(0, Strike::Before);
                scene.limiter.namespace_record(&id).await.unwrap_err();
                assert!(skip > 10, "few calls: {skip}");
                break;
            }
            assert!(done, "{text}");
        }
    }
}

/// Creates, deletes, recovers, deletes and purges a namespace, each until it succeeds.
async fn live_through(scene: &Scene, id: &NamespaceName) -> bool {
    let limiter = &scene.limiter;
    let at = async |wanted: Option<State>| {
        let found = limiter.namespace_record(id).await;
        match (wanted, found) {
            (Some(wanted), Ok(record)) => record.state == wanted,
            (None, Err(Error::NotFound { .. })) => true,
            _ => false,
        }
    };
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        if limiter.create_namespace(id, "ann").await.is_ok() {
            break;
        }
    }
    let record = limiter.namespace_record(id).await;
    let record = if record.is_err() { limiter.namespace_record(id).await } else { record }.unwrap();
    for state in [State::Deleted, State::Active, State::Deleted, State::Purging] {
        for _ in 0..TRIES {
            let _ = match state {
                State::Deleted => limiter.delete_namespace(id, "ann").await,
                State::Active => limiter.recover_namespace(id, "ann").await,
                State::Purging => limiter.purge_namespace(id, "ann").await,
            };
            if at(Some(state)).await {
                break;
            }
        }
        assert!(at(Some(state)).await || at(Some(state)).await, "{id} {state:?}");
        let usable = limiter.namespace(id).await;
        let usable = if matches!(usable, Err(Error::Store(_))) {
            limiter.namespace(id).await
        } else {
            usable
        };
        assert_eq!(usable.is_ok(), state == State::Active, "{id} {state:?}");
    }
    record.state == State::Active
}

async fn a_purge_that_fails_anywhere_continues_later(scene: &Scene) {
    const CALLS_MAX: u64 = 12;
    let quiet = u64::try_from(PURGE_QUIET_MS).unwrap();
    for (skip, strike) in (0..CALLS_MAX).flat_map(|n| [(n, Strike::Before), (n, Strike::After)]) {
        let team = name(&format!("team{skip}{strike:?}"));
        let record = made(scene, team.as_str()).await;
        let item = Item::new()
            .with("PK", format!("{}/ENTITY#x", record.id))
            .with("SK", "#META")
            .with("GSI4PK", record.id.as_str())
            .with("GSI4SK", "x");
        scene.store.write(Write::put(scene.limiter.settings().table.as_str(), item)).await.unwrap();
        scene.limiter.delete_namespace(&team, "ann").await.unwrap();
        scene.limiter.purge_namespace(&team, "ann").await.unwrap();
        scene.watch.fail_once(skip, strike);
        eventually(async || {
            for _ in 0..4 {
                let _ = scene.limiter.purge_step(10).await;
                scene.clock.advance_ms(quiet);
            }
            is_missing(scene.limiter.namespace_record(&team).await).then_some(())
        })
        .await;
        if scene.watch.is_planned() {
            assert!(skip > 6, "few calls: {skip}");
            return;
        }
        assert!(items_of(scene, &record).await.is_empty());
    }
}
