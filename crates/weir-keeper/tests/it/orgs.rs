//! Orgs: put, get, list.

use weir_calendar::Zone;
use weir_keeper::Error;
use weir_keeper::config::{Overrides, PendingChange, PutApp, PutOrg, QuotaScope};
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::Scope;
use weir_testkit::watched::{Calls, Strike};

use crate::credentials::{fetched, secret_of};
use crate::scene::{Scene, app, app_request, org, org_request};

scenes!(
    an_org_is_created_once_and_then_changed,
    an_equal_put_writes_nothing,
    a_new_time_zone_or_quota_scope_waits_for_midnight,
    the_shard_count_never_changes,
    invalid_configurations_write_nothing,
    orgs_are_listed_page_by_page,
    concurrent_puts_lose_nothing,
    apps_with_own_chains_prevent_a_shared_chain,
    an_own_chain_and_a_switch_to_a_shared_one_exclude_each_other,
    a_failed_put_can_be_retried,
);

const HOUR_MS: u64 = 3_600_000;

async fn an_org_is_created_once_and_then_changed(scene: &Scene) {
    let keeper = &scene.keeper;
    let made = keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    assert!(made.created && made.retrieval.is_some());
    assert_eq!(made.effective.config_version, 1);
    let calls = Calls { gets: 1, transactions: 1, ..Calls::default() };
    assert_eq!(scene.watch.calls(), calls);
    let wanted = PutOrg { org_name: "other".into(), ..org_request() };
    let changed = keeper.put_org(&org(1), &wanted, "admin").await.unwrap();
    assert!(!changed.created && changed.retrieval.is_none());
    assert_eq!(changed.effective.config_version, 2);
    assert_eq!(keeper.get_org(&org(1)).await.unwrap(), changed.effective);
    let error = keeper.get_org(&org(2)).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { what: "org", .. }), "{error}");
}

async fn an_equal_put_writes_nothing(scene: &Scene) {
    let keeper = &scene.keeper;
    let wanted = PutOrg { timezone: "Asia/Tokyo".into(), ..org_request() };
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let changed = keeper.put_org(&org(1), &wanted, "admin").await.unwrap();
    scene.watch.reset();
    // Both while the new time zone is pending, and after it took effect.
    for _ in 0..2 {
        let same = keeper.put_org(&org(1), &wanted, "admin").await.unwrap();
        assert_eq!(same.effective.config_version, changed.effective.config_version);
        scene.clock.advance_ms(24 * HOUR_MS);
    }
    assert_eq!(scene.watch.calls(), Calls { gets: 2, ..Calls::default() });
}

async fn a_new_time_zone_or_quota_scope_waits_for_midnight(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let wanted =
        PutOrg { timezone: "Asia/Tokyo".into(), quota_scope: "ORG".into(), ..org_request() };
    let put = keeper.put_org(&org(1), &wanted, "admin").await.unwrap();
    let in_force = async || {
        let found = keeper.effective_config(&org(1), None).await.unwrap();
        (found.timezone.name().to_owned(), found.quota_scope.as_str())
    };
    let (old, new) = (("America/New_York".to_owned(), "APP"), ("Asia/Tokyo".to_owned(), "ORG"));
    assert_eq!(
        (put.effective.timezone.name(), in_force().await),
        ("America/New_York", old.clone())
    );
    let pending = PendingChange {
        timezone: Zone::new("Asia/Tokyo").unwrap(),
        quota_scope: QuotaScope::Org,
        at_ms: keeper.now_ms() + 15 * HOUR_MS.cast_signed(),
    };
    keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    let waits = async || {
        let whole = keeper.get_org(&org(1)).await.unwrap();
        let one = keeper.get_app(&org(1), &app("a")).await.unwrap();
        let all = keeper.list_orgs(9, None, Deleted::Hidden).await.unwrap().items.remove(0);
        [whole.pending, one.pending, all.pending]
    };
    assert_eq!(waits().await, [(); 3].map(|()| Some(pending.clone())));
    // It is nine in the morning in New York.
    scene.clock.advance_ms(15 * HOUR_MS - 1);
    assert_eq!(in_force().await, old);
    scene.clock.advance_ms(1);
    assert_eq!(in_force().await, new, "though it was remembered a millisecond ago");
    assert_eq!(waits().await, [None, None, None]);
    // Changed back: pending until the next midnight in Tokyo, where it is two in the afternoon.
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    scene.clock.advance_ms(10 * HOUR_MS - 1);
    assert_eq!(in_force().await, new);
    scene.clock.advance_ms(1);
    assert_eq!(in_force().await, old);
}

async fn the_shard_count_never_changes(scene: &Scene) {
    let with = |count| PutOrg {
        overrides: Some(Overrides { agg_shard_count: count, ..Overrides::default() }),
        ..org_request()
    };
    let put = scene.keeper.put_org(&org(1), &with(Some(16)), "admin").await.unwrap();
    assert_eq!(put.effective.agg_shard_count, 16);
    let error = scene.keeper.put_org(&org(1), &with(Some(32)), "admin").await.unwrap_err();
    assert!(matches!(error, Error::Config { .. }));
    for same in [None, Some(16)] {
        let put = scene.keeper.put_org(&org(1), &with(same), "admin").await.unwrap();
        assert_eq!((put.effective.agg_shard_count, put.effective.config_version), (16, 1));
    }
}

async fn invalid_configurations_write_nothing(scene: &Scene) {
    let wrong = PutOrg { timezone: "Mars/Olympus".into(), ..org_request() };
    let error = scene.keeper.put_org(&org(1), &wrong, "admin").await.unwrap_err();
    assert!(matches!(error, Error::Config { .. }));
    for actor in ["", "a\nb", &"x".repeat(257)] {
        let error = scene.keeper.put_org(&org(1), &org_request(), actor).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }));
    }
    assert!(scene.keeper.get_org(&org(1)).await.is_err());
    assert_eq!(scene.watch.calls().transactions, 0);
}

async fn orgs_are_listed_page_by_page(scene: &Scene) {
    let keeper = &scene.keeper;
    assert!(keeper.list_orgs(10, None, Deleted::Hidden).await.unwrap().items.is_empty());
    for number in 0..5 {
        keeper.put_org(&org(number), &org_request(), "admin").await.unwrap();
    }
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = keeper.list_orgs(2, cursor, Deleted::Hidden).await.unwrap();
        assert!(page.items.len() <= 2);
        found.extend(page.items.into_iter().map(|effective| effective.org_id));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, [0, 1, 2, 3, 4].map(org));
    let error = keeper.list_orgs(2, Some("x".into()), Deleted::Hidden).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }));
}

async fn concurrent_puts_lose_nothing(scene: &Scene) {
    let other = scene.another().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let keeper = if number % 2 == 0 { scene.keeper.clone() } else { other.clone() };
        tasks.spawn(async move {
            let wanted = PutOrg { org_name: format!("name {number}"), ..org_request() };
            keeper.put_org(&org(1), &wanted, "admin").await.unwrap()
        });
    }
    let puts = tasks.join_all().await;
    assert_eq!(puts.iter().filter(|put| put.created).count(), 1);
    let mut versions: Vec<u64> = puts.iter().map(|put| put.effective.config_version).collect();
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(scene.keeper.list_orgs(10, None, Deleted::Hidden).await.unwrap().items.len(), 1);
}

fn own_quotas() -> PutApp {
    let quotas = [("premium".into(), 1), ("economy".into(), 2)].into();
    PutApp { quotas: Some(quotas), ..app_request() }
}

async fn apps_with_own_chains_prevent_a_shared_chain(scene: &Scene) {
    let keeper = &scene.keeper;
    keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    keeper.put_app(&org(1), &app("plain"), &app_request(), "admin").await.unwrap();
    for name in ["one", "two"] {
        keeper.put_app(&org(1), &app(name), &own_quotas(), "admin").await.unwrap();
    }
    let shared = PutOrg { quota_scope: "ORG".into(), ..org_request() };
    let error = keeper.put_org(&org(1), &shared, "admin").await.unwrap_err();
    assert!(matches!(error, Error::Config { .. }));
    assert!(error.to_string().contains("of their own: one, two;"), "{error}");
    for name in ["one", "two"] {
        keeper.put_app(&org(1), &app(name), &app_request(), "admin").await.unwrap();
    }
    keeper.put_org(&org(1), &shared, "admin").await.unwrap();
    // From now on no app may get its own chain, though the scope changes only at midnight.
    let error = keeper.put_app(&org(1), &app("one"), &own_quotas(), "admin").await.unwrap_err();
    assert!(error.to_string().starts_with("quotas: cannot be set for an app"), "{error}");
}

async fn an_own_chain_and_a_switch_to_a_shared_one_exclude_each_other(scene: &Scene) {
    let keeper = &scene.keeper;
    for number in 0..8 {
        keeper.put_org(&org(number), &org_request(), "admin").await.unwrap();
        let (id, one, two) = (org(number), keeper.clone(), scene.another().await);
        let put_app = tokio::spawn(async move {
            one.put_app(&id, &app("one"), &own_quotas(), "admin").await.is_ok()
        });
        let shared = PutOrg { quota_scope: "ORG".into(), ..org_request() };
        let put_org = two.put_org(&org(number), &shared, "admin").await.is_ok();
        assert!(put_app.await.unwrap() != put_org, "exactly one of them wins");
    }
}

async fn a_failed_put_can_be_retried(scene: &Scene) {
    let keeper = &scene.keeper;
    let mut number = 0;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0..20 {
            number += 1;
            let scope = Scope::Org(org(number));
            scene.watch.fail_once(skip, strike);
            let first = keeper.put_org(&org(number), &org_request(), "admin").await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            let put = match first {
                Ok(put) => put,
                Err(error) => {
                    assert!(error.is_unavailable(), "{error}");
                    keeper.put_org(&org(number), &org_request(), "admin").await.unwrap()
                }
            };
            assert!(put.created, "a lost answer is asked for again: {skip} {strike:?}");
            assert_eq!(put.effective.config_version, 1);
            let secret = fetched(scene, &scope, put.retrieval.unwrap().token.reveal()).await;
            let found = keeper.verify_secret(&scope.client_id(), &secret).await.unwrap();
            assert_eq!(found, Some(scope));
            if !struck {
                break;
            }
        }
    }
    // The store stays unavailable after applying the write: the org exists, and a rotation retrieves the secret.
    scene.watch.fail(1, 3, Strike::After);
    let error = keeper.put_org(&org(99), &org_request(), "admin").await.unwrap_err();
    assert!(error.is_unavailable());
    let put = keeper.put_org(&org(99), &org_request(), "admin").await.unwrap();
    assert!(!put.created && put.retrieval.is_none());
    let secret = secret_of(scene, &Scope::Org(org(99)), 0).await;
    let found = keeper.verify_secret(&Scope::Org(org(99)).client_id(), &secret).await.unwrap();
    assert_eq!(found, Some(Scope::Org(org(99))));
}
