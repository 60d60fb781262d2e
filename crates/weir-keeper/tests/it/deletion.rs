//! Deletion of orgs, apps and inference profiles: what ends, what stays, and how it is undone.

use weir_keeper::Error;
use weir_keeper::config::PutApp;
use weir_keeper::credentials::RetrievalOutcome;
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::{AppId, OrgId, Scope};
use weir_keeper::money::MicroUsd;
use weir_keeper::profiles::PutProfile;
use weir_table::Get;
use weir_table::audit::EventRange;

use crate::credentials::{client, fetched, works};
use crate::scene::{EndedTokens, Scene, app, app_request, org, org_request};
use crate::spending::{label, spend, spender, stated, submission, today};

scenes!(
    a_deleted_app_is_like_an_unknown_one,
    a_deleted_app_is_restored_with_its_secret,
    a_deleted_org_takes_its_apps_with_it,
    restoring_an_org_restores_exactly_the_apps_that_it_had,
    totals_of_deleted_apps_stay,
    the_id_of_a_deleted_app_is_taken,
    an_app_is_purged_after_thirty_days,
    an_app_after_a_purge_inherits_nothing,
    an_org_is_purged_with_everything_below_it,
    another_instance_follows_when_its_cache_expires,
    an_org_with_a_name_works,
    a_profile_is_deleted_and_registered_again,
    a_profile_in_the_chain_stays,
    the_usage_of_a_deleted_profile_stays_in_totals,
    changes_race_a_deletion,
);

const DAY_MS: u64 = 86_400_000;

async fn delete(scene: &Scene, scope: &Scope) -> weir_keeper::deletion::Deletion {
    scene.keeper.delete(scope, "admin", &EndedTokens).await.unwrap()
}

async fn listed(scene: &Scene, deleted: Deleted) -> Vec<(String, bool)> {
    let apps = scene.keeper.list_apps(&org(1), 10, None, deleted).await.unwrap().items;
    let entry = |app: weir_keeper::config::EffectiveConfig| {
        (app.app_id.unwrap().to_string(), app.deleted_at_epoch.is_some())
    };
    apps.into_iter().map(entry).collect()
}

fn is_missing<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    match result {
        Err(Error::NotFound { .. }) => true,
        other => panic!("{other:?}"),
    }
}

/// Every way to use an app ends as if it did not exist.
async fn assert_gone(scene: &Scene, org: &OrgId, app: &AppId) {
    let (keeper, scope) = (&scene.keeper, Scope::App(org.clone(), app.clone()));
    assert!(is_missing(keeper.select(org, app, false).await));
    assert!(is_missing(keeper.select(org, app, true).await));
    assert!(is_missing(keeper.submit(org, app, &submission(scene)).await));
    assert!(is_missing(keeper.submit_batch(org, app, &[submission(scene)]).await));
    assert!(is_missing(keeper.get_app(org, app).await));
    assert!(is_missing(keeper.list_profiles(org, app, 9, None).await));
    assert!(is_missing(keeper.rotate_credentials(&scope, 1, "admin").await));
    assert!(is_missing(keeper.cancel_rotation(&scope, "admin").await));
    assert!(is_missing(keeper.override_sticky(&scope, &label("economy"), "admin").await));
    let profile = PutProfile {
        profile_label: "ours".into(),
        inference_profile_arn:
            "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3".into(),
        model_id: None,
        description: String::new(),
    };
    assert!(is_missing(keeper.put_profile(org, app, &profile, "admin").await));
    assert!(is_missing(keeper.delete_profile(org, app, &label("ours"), "admin").await));
}

async fn a_deleted_app_is_like_an_unknown_one(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    scene.keeper.put_app(&org(1), &app("b"), &app_request(), "admin").await.unwrap();
    let token = scene.keeper.rotate_credentials(&scope, 1, "admin").await.unwrap().retrieval.token;
    scene.keeper.submit(&org(1), &app("a"), &submission(scene)).await.unwrap();
    let before = EndedTokens.count(scene, &scope).await;
    let deletion = delete(scene, &scope).await;
    assert_eq!(deletion.deleted_at_ms, scene.keeper.now_ms());
    assert_eq!(deletion.restorable_until_ms, scene.keeper.now_ms() + 30 * 86_400_000);
    assert_gone(scene, &org(1), &app("a")).await;
    assert!(!works(&scene.keeper, &scope, &secret).await);
    assert_eq!(EndedTokens.count(scene, &scope).await, before + 1);
    let redeemed = scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await;
    assert_eq!(redeemed.unwrap(), RetrievalOutcome::Unknown);
    assert_eq!(listed(scene, Deleted::Hidden).await, [("b".into(), false)]);
    let all = [("a".into(), true), ("b".into(), false)];
    assert_eq!(listed(scene, Deleted::Included).await, all);
    // Again, it is the same deletion.
    scene.clock.advance_ms(5_000);
    assert_eq!(delete(scene, &scope).await, deletion);
    scene.keeper.select(&org(1), &app("b"), false).await.unwrap();
    let events = scene.keeper.audit_events(&scope, &EventRange::default()).await.unwrap();
    assert_eq!(events.items[0].action.as_str(), "app_deleted");
    for nobody in [Scope::App(org(1), app("c")), Scope::App(org(2), app("a")), Scope::Org(org(2))] {
        assert!(is_missing(scene.keeper.delete(&nobody, "admin", &EndedTokens).await));
        assert!(is_missing(scene.keeper.restore(&nobody, "admin", &EndedTokens).await));
    }
}

async fn a_deleted_app_is_restored_with_its_secret(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let before = scene.keeper.get_app(&org(1), &app("a")).await.unwrap();
    delete(scene, &scope).await;
    scene.clock.advance_ms(30 * DAY_MS - 1);
    let ended = EndedTokens.count(scene, &scope).await;
    let restored = scene.keeper.restore(&scope, "admin", &EndedTokens).await.unwrap();
    assert_eq!(EndedTokens.count(scene, &scope).await, ended + 1, "old tokens stay dead");
    let version = before.config_version;
    assert!(restored.config_version > version);
    assert_eq!(
        restored,
        weir_keeper::config::EffectiveConfig { config_version: restored.config_version, ..before }
    );
    assert!(works(&scene.keeper, &scope, &secret).await);
    scene.keeper.select(&org(1), &app("a"), false).await.unwrap();
    scene.keeper.submit(&org(1), &app("a"), &submission(scene)).await.unwrap();
    // Again, nothing changes; and nothing is left to purge.
    let again = scene.keeper.restore(&scope, "admin", &EndedTokens).await.unwrap();
    assert_eq!(again.config_version, restored.config_version);
    scene.clock.advance_ms(60 * DAY_MS);
    assert_eq!(scene.keeper.purge_deleted(10, &EndedTokens).await.unwrap().purged, 0);
    scene.keeper.get_app(&org(1), &app("a")).await.unwrap();
}

async fn a_deleted_org_takes_its_apps_with_it(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let all = Scope::Org(org(1));
    let ended = EndedTokens.count(scene, &scope).await;
    delete(scene, &all).await;
    assert_gone(scene, &org(1), &app("a")).await;
    assert!(!works(&scene.keeper, &scope, &secret).await);
    assert_eq!(EndedTokens.count(scene, &scope).await, ended + 1);
    assert_eq!(EndedTokens.count(scene, &all).await, 1);
    assert!(is_missing(scene.keeper.get_org(&org(1)).await));
    assert!(is_missing(scene.keeper.list_apps(&org(1), 9, None, Deleted::Hidden).await));
    assert!(is_missing(scene.keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await));
    assert!(is_missing(scene.keeper.put_app(&org(1), &app("z"), &app_request(), "admin").await));
    assert!(is_missing(scene.keeper.restore(&scope, "admin", &EndedTokens).await));
    assert!(scene.keeper.list_orgs(9, None, Deleted::Hidden).await.unwrap().items.is_empty());
    let orgs = scene.keeper.list_orgs(9, None, Deleted::Included).await.unwrap().items;
    assert_eq!(orgs[0].deleted_at_epoch, Some(scene.keeper.now_ms() / 1000));
    let error = scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::AlreadyExists(_)) && text.contains("org restore"), "{text}");
}

async fn restoring_an_org_restores_exactly_the_apps_that_it_had(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    for name in ["b", "c"] {
        scene.keeper.put_app(&org(1), &app(name), &app_request(), "admin").await.unwrap();
    }
    delete(scene, &Scope::App(org(1), app("b"))).await;
    scene.clock.advance_ms(DAY_MS);
    delete(scene, &Scope::Org(org(1))).await;
    scene.keeper.restore(&Scope::Org(org(1)), "admin", &EndedTokens).await.unwrap();
    assert_eq!(listed(scene, Deleted::Hidden).await, [("a".into(), false), ("c".into(), false)]);
    assert!(works(&scene.keeper, &scope, &secret).await);
    scene.keeper.select(&org(1), &app("a"), false).await.unwrap();
    // The one that was deleted by itself is restored by itself.
    let b = Scope::App(org(1), app("b"));
    scene.keeper.restore(&b, "admin", &EndedTokens).await.unwrap();
    assert_eq!(listed(scene, Deleted::Hidden).await.len(), 3);
}

async fn totals_of_deleted_apps_stay(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", 3).await;
    // A submission whose total is not summed yet when its app is deleted.
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 4)).await.unwrap();
    scene.keeper.submit(&who.org, &who.other, &stated(scene, "premium", 5)).await.unwrap();
    delete(scene, &who.one()).await;
    assert!(scene.keeper.full_pass(None, 100).await.unwrap().next.is_none());
    let micros = async |scope: &Scope| {
        scene.keeper.day_totals(scope, today()).await.unwrap().totals.cost_usd_micros
    };
    assert_eq!(micros(&who.one()).await, MicroUsd(7));
    assert_eq!(micros(&who.all()).await, MicroUsd(12), "the org's history loses nothing");
    // After its purge too, as long as totals are retained.
    scene.clock.advance_ms(31 * DAY_MS);
    assert_eq!(scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap().purged, 1);
    assert_eq!(micros(&who.all()).await, MicroUsd(12));
    delete(scene, &who.all()).await;
    assert_eq!(micros(&who.all()).await, MicroUsd(12));
    assert_eq!(micros(&who.two()).await, MicroUsd(5));
}

async fn the_id_of_a_deleted_app_is_taken(scene: &Scene) {
    let (scope, _) = client(scene).await;
    delete(scene, &scope).await;
    let error = scene.keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await;
    let error = error.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists(_)), "{error}");
    assert!(error.to_string().contains("2037-02-22T14:00:00Z"), "{error}");
}

async fn an_app_is_purged_after_thirty_days(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    delete(scene, &scope).await;
    scene.clock.advance_ms(30 * DAY_MS);
    assert!(is_missing(scene.keeper.restore(&scope, "admin", &EndedTokens).await));
    // Not before every clock agrees that it cannot be restored.
    assert_eq!(scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap().purged, 0);
    scene.clock.advance_ms(3_600_001);
    assert_eq!(scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap().purged, 1);
    assert_eq!(scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap().purged, 0);
    assert!(listed(scene, Deleted::Included).await.is_empty());
    assert!(is_missing(scene.keeper.delete(&scope, "admin", &EndedTokens).await));
    assert!(!works(&scene.keeper, &scope, &secret).await);
    let get = Get::new(scene.keeper.tables().config.clone(), weir_keeper::keys::config(&scope));
    let left = scene.store.get(&get).await.unwrap().unwrap();
    assert!(left.get("expires_at_epoch").is_some());
    assert!(!format!("{left:?}").contains("secret"), "{left:?}");
}

async fn an_app_after_a_purge_inherits_nothing(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let profile = PutProfile {
        profile_label: "ours".into(),
        inference_profile_arn:
            "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3".into(),
        model_id: Some("amazon.nova-lite-v1:0".into()),
        description: String::new(),
    };
    scene.keeper.put_profile(&org(1), &app("a"), &profile, "admin").await.unwrap();
    delete(scene, &scope).await;
    scene.clock.advance_ms(31 * DAY_MS);
    let ended = EndedTokens.count(scene, &scope).await;
    scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap();
    assert_eq!(EndedTokens.count(scene, &scope).await, ended + 1);
    let put = scene.keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    assert!(put.created);
    assert!(!works(&scene.keeper, &scope, &old).await);
    let profiles = scene.keeper.list_profiles(&org(1), &app("a"), 9, None).await.unwrap();
    assert!(profiles.items.is_empty());
    let new = fetched(scene, &scope, put.retrieval.unwrap().token.reveal()).await;
    assert!(works(&scene.keeper, &scope, &new).await);
    assert_eq!(listed(scene, Deleted::Included).await, [("a".into(), false)]);
    // The new item does not expire with the old one.
    let get = Get::new(scene.keeper.tables().config.clone(), weir_keeper::keys::config(&scope));
    assert_eq!(scene.store.get(&get).await.unwrap().unwrap().get("expires_at_epoch"), None);
}

async fn an_org_is_purged_with_everything_below_it(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    scene.keeper.put_app(&org(1), &app("b"), &app_request(), "admin").await.unwrap();
    // The marker of an app that its org's purge overtakes.
    delete(scene, &Scope::App(org(1), app("b"))).await;
    let all = Scope::Org(org(1));
    delete(scene, &all).await;
    scene.clock.advance_ms(31 * DAY_MS);
    assert_eq!(scene.keeper.purge_deleted(9, &EndedTokens).await.unwrap().purged, 2);
    assert!(scene.keeper.list_orgs(9, None, Deleted::Included).await.unwrap().items.is_empty());
    assert!(is_missing(scene.keeper.restore(&all, "admin", &EndedTokens).await));
    assert!(is_missing(scene.keeper.today(&scope).await));
    let put = scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    assert!(put.created);
    assert!(listed(scene, Deleted::Included).await.is_empty());
    assert!(!works(&scene.keeper, &scope, &secret).await);
}

async fn another_instance_follows_when_its_cache_expires(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let other = scene.another().await;
    other.submit(&org(1), &app("a"), &submission(scene)).await.unwrap();
    delete(scene, &scope).await;
    assert!(!works(&other, &scope, &secret).await, "signing in is never cached");
    scene.clock.advance_ms(10_000);
    assert!(is_missing(other.submit(&org(1), &app("a"), &submission(scene)).await));
    assert!(is_missing(other.select(&org(1), &app("a"), false).await));
}

async fn an_org_with_a_name_works(scene: &Scene) {
    let acme = OrgId::new("acme-2").unwrap();
    let put = scene.keeper.put_org(&acme, &org_request(), "admin").await.unwrap();
    let scope = Scope::Org(acme.clone());
    assert_eq!(scope.client_id(), "org-acme-2");
    let secret = fetched(scene, &scope, put.retrieval.unwrap().token.reveal()).await;
    assert!(works(&scene.keeper, &scope, &secret).await);
    scene.keeper.put_app(&acme, &app("app-x"), &app_request(), "admin").await.unwrap();
    scene.keeper.submit(&acme, &app("app-x"), &stated(scene, "premium", 3)).await.unwrap();
    scene.keeper.full_pass(None, 100).await.unwrap();
    let totals = scene.keeper.day_totals(&scope, today()).await.unwrap();
    assert_eq!(totals.totals.cost_usd_micros, MicroUsd(3));
    let orgs = scene.keeper.list_orgs(9, None, Deleted::Hidden).await.unwrap().items;
    assert_eq!(orgs[0].org_id, acme);
    delete(scene, &scope).await;
    scene.keeper.restore(&scope, "admin", &EndedTokens).await.unwrap();
}

fn profile(name: &str) -> PutProfile {
    PutProfile {
        profile_label: name.into(),
        inference_profile_arn:
            "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3".into(),
        model_id: Some("amazon.nova-lite-v1:0".into()),
        description: String::new(),
    }
}

async fn a_profile_is_deleted_and_registered_again(scene: &Scene) {
    client(scene).await;
    let (keeper, id, a, ours) = (&scene.keeper, org(1), app("a"), label("ours"));
    assert!(is_missing(keeper.delete_profile(&id, &a, &ours, "admin").await));
    keeper.put_profile(&id, &a, &profile("ours"), "admin").await.unwrap();
    keeper.put_profile(&id, &a, &profile("other"), "admin").await.unwrap();
    keeper.delete_profile(&id, &a, &ours, "admin").await.unwrap();
    assert_eq!(keeper.profile(&id, &a, &ours).await.unwrap(), None);
    assert_eq!(keeper.list_profiles(&id, &a, 9, None).await.unwrap().items.len(), 1);
    assert!(is_missing(keeper.delete_profile(&id, &a, &ours, "admin").await));
    let scope = Scope::App(id.clone(), a.clone());
    let events = keeper.audit_events(&scope, &EventRange::default()).await.unwrap();
    assert_eq!(events.items[0].action.as_str(), "profile_deleted");
    let (_, is_new) = keeper.put_profile(&id, &a, &profile("ours"), "admin").await.unwrap();
    assert!(is_new);
    assert_eq!(keeper.list_profiles(&id, &a, 9, None).await.unwrap().items.len(), 2);
    let key = weir_keeper::keys::profile(&id, &a, &ours);
    let item = scene.store.get(&Get::new(keeper.tables().config.clone(), key)).await.unwrap();
    assert_eq!(item.unwrap().get("expires_at_epoch"), None, "it does not expire any more");
}

fn with_ours() -> PutApp {
    PutApp {
        app_name: "A".into(),
        model_ordering: Some(vec!["ours".into()]),
        quotas: Some([("ours".into(), 10)].into()),
        ..PutApp::default()
    }
}

async fn a_profile_in_the_chain_stays(scene: &Scene) {
    client(scene).await;
    let (keeper, id, a, ours) = (&scene.keeper, org(1), app("a"), label("ours"));
    keeper.put_profile(&id, &a, &profile("ours"), "admin").await.unwrap();
    keeper.put_app(&id, &a, &with_ours(), "admin").await.unwrap();
    let error = keeper.delete_profile(&id, &a, &ours, "admin").await.unwrap_err();
    assert!(error.to_string().contains("is in the model_ordering"), "{error}");
    keeper.put_app(&id, &a, &app_request(), "admin").await.unwrap();
    // A put that takes it back into the chain at the same time fails, or comes first.
    let other = scene.another().await;
    let wanted = with_ours();
    let (deleted, put) = tokio::join!(
        keeper.delete_profile(&id, &a, &ours, "admin"),
        other.put_app(&id, &a, &wanted, "admin"),
    );
    assert_ne!(deleted.is_ok(), put.is_ok(), "{deleted:?} {put:?}");
}

async fn the_usage_of_a_deleted_profile_stays_in_totals(scene: &Scene) {
    client(scene).await;
    let (keeper, id, a) = (&scene.keeper, org(1), app("a"));
    keeper.put_profile(&id, &a, &profile("ours"), "admin").await.unwrap();
    keeper.put_app(&id, &a, &with_ours(), "admin").await.unwrap();
    let used = weir_keeper::submit::Submission {
        region: Some("eu-west-1".into()),
        ..stated(scene, "ours", 7)
    };
    keeper.submit(&id, &a, &used).await.unwrap();
    keeper.put_app(&id, &a, &app_request(), "admin").await.unwrap();
    keeper.delete_profile(&id, &a, &label("ours"), "admin").await.unwrap();
    keeper.full_pass(None, 100).await.unwrap();
    for scope in [Scope::Org(id.clone()), Scope::App(id, a)] {
        let totals = keeper.day_totals(&scope, today()).await.unwrap();
        assert_eq!(totals.totals.cost_usd_micros, MicroUsd(7), "{scope:?}");
    }
}

async fn changes_race_a_deletion(scene: &Scene) {
    let (scope, _) = client(scene).await;
    let other = scene.another().await;
    for number in 0..6 {
        let token =
            scene.keeper.rotate_credentials(&scope, 1, "admin").await.unwrap().retrieval.token;
        let wanted = PutApp { app_name: format!("name {number}"), ..app_request() };
        let (id, a) = (org(1), app("a"));
        let (deleted, put, redeemed, rotated) = tokio::join!(
            scene.keeper.delete(&scope, "admin", &EndedTokens),
            other.put_app(&id, &a, &wanted, "admin"),
            other.retrieve_secret(&scope, token.reveal(), &EndedTokens),
            other.rotate_credentials(&scope, 1, "admin"),
        );
        deleted.unwrap();
        assert!(matches!(put, Ok(_) | Err(Error::AlreadyExists(_))), "{put:?}");
        assert!(matches!(rotated, Ok(_) | Err(Error::NotFound { .. })), "{rotated:?}");
        // Whatever came first, it is deleted now.
        assert!(is_missing(scene.keeper.get_app(&org(1), &app("a")).await));
        let restored = scene.keeper.restore(&scope, "admin", &EndedTokens).await.unwrap();
        if put.is_ok() {
            assert_eq!(restored.app_name.as_deref(), Some(wanted.app_name.as_str()));
        }
        if let RetrievalOutcome::Secret { client_secret, .. } = redeemed.unwrap() {
            assert!(works(&scene.keeper, &scope, client_secret.expose()).await);
        }
    }
}
