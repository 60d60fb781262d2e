//! Model selection and sticky fallbacks.

use weir_keeper::Error;
use weir_keeper::config::{Overrides, PutApp, PutOrg};
use weir_keeper::decide::StickyReason;
use weir_keeper::ids::Scope;
use weir_keeper::select::Selection;
use weir_table::audit::EventRange;
use weir_testkit::watched::Strike;

use crate::scene::Scene;
use crate::spending::{
    CHAIN, QUOTA, Spender, label, now_ms, org_request, spend, spender, spender_in, stated, sum_up,
    today,
};

scenes! {
    a_selection_is_one_read,
    a_fallback_is_sticky_for_the_day,
    without_sticky_fallback_a_raised_quota_reopens_the_model,
    concurrent_fallbacks_agree,
    a_fallback_survives_a_lost_response,
    a_reordered_chain_keeps_its_model,
    a_model_removed_from_the_chain_is_ignored,
    an_administrator_overrides_and_resets,
    a_forced_check_reads_the_shards,
    apps_share_a_chain_or_have_their_own,
    quotas_reset_at_local_midnight,
    the_etag_changes_with_the_decision,
}

async fn select(scene: &Scene, who: &Spender) -> Selection {
    scene.keeper.select(&who.org, &who.app, false).await.unwrap()
}

/// The recommended model and the reason.
async fn choice(scene: &Scene, who: &Spender) -> (String, String) {
    let selected = select(scene, who).await;
    let model = selected.decision.model().map_or("-".into(), |model| model.label.to_string());
    (model, selected.decision.reason.to_string())
}

fn pair(model: &str, reason: &str) -> (String, String) {
    (model.into(), reason.into())
}

async fn a_selection_is_one_read(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", QUOTA / 2).await;
    select(scene, &who).await;
    scene.watch.reset();
    let selected = select(scene, &who).await;
    let calls = scene.watch.calls();
    assert_eq!((calls.batch_gets, calls.gets, calls.queries), (1, 0, 0));
    assert_eq!((calls.writes, calls.transactions), (0, 0));
    let model = selected.response.recommended_model.unwrap();
    assert_eq!(model.label, label("premium"));
    assert_eq!(model.model_id.as_str(), "anthropic.claude-sonnet-4-5-20250929-v1:0");
    assert_eq!(selected.response.quota_status.quota_pct.to_string(), "50.00");
    assert_eq!(selected.response.org_local_time, "2037-01-23T09:00:00-05:00");
    assert!(selected.response.pricing.is_some());
}

async fn a_fallback_is_sticky_for_the_day(scene: &Scene) {
    let who = spender(scene, "APP").await;
    assert_eq!(choice(scene, &who).await, pair("premium", "NORMAL"));
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(choice(scene, &who).await, pair("standard", "STICKY_FALLBACK"));
    // Raising the quota of the first model does not bring it back today.
    let mut request = org_request("APP", "America/New_York");
    request.quotas.insert("premium".into(), 5_000_000);
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    assert_eq!(choice(scene, &who).await, pair("standard", "STICKY_FALLBACK"));
    for model in ["standard", "economy"] {
        spend(scene, &who, model, QUOTA).await;
    }
    let selected = select(scene, &who).await;
    assert_eq!(selected.decision.reason.to_string(), "ALL_QUOTAS_EXCEEDED");
    assert!(selected.response.recommended_model.is_none());
    assert_eq!(selected.retry_after_secs(), 15 * 3_600);
    scene.clock.advance_ms(15 * 3_600_000);
    assert_eq!(choice(scene, &who).await, pair("premium", "NORMAL"));
}

async fn without_sticky_fallback_a_raised_quota_reopens_the_model(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let overrides = Overrides { sticky_fallback_enabled: Some(false), ..Overrides::default() };
    let mut request =
        PutOrg { overrides: Some(overrides), ..org_request("APP", "America/New_York") };
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(choice(scene, &who).await, pair("standard", "QUOTA_EXCEEDED_premium"));
    assert_eq!(scene.keeper.sticky_state(&who.one(), today()).await.unwrap(), None);
    request.quotas.insert("premium".into(), 5_000_000);
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    assert_eq!(choice(scene, &who).await, pair("premium", "NORMAL"));
}

async fn concurrent_fallbacks_agree(scene: &Scene) {
    let who = spender(scene, "APP").await;
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", QUOTA)).await.unwrap();
    // A keeper for each, and no fallback recorded yet: only the shards show it.
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let (keeper, org, app) = (scene.another().await, who.org.clone(), who.app.clone());
        tasks.push(tokio::spawn(async move {
            let selected = keeper.select(&org, &app, true).await.unwrap();
            let model = selected.decision.model().unwrap().label.to_string();
            (model, keeper.metrics().fallbacks)
        }));
    }
    let mut fallbacks = 0;
    for task in tasks {
        let (model, own) = task.await.unwrap();
        assert_eq!(model, "standard");
        fallbacks += own;
    }
    assert_eq!(fallbacks, 1);
}

async fn a_fallback_survives_a_lost_response(scene: &Scene) {
    for strike in [Strike::Before, Strike::After] {
        for skip in 0.. {
            let who = spender(scene, "APP").await;
            scene
                .keeper
                .submit(&who.org, &who.app, &stated(scene, "premium", QUOTA))
                .await
                .unwrap();
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.select(&who.org, &who.app, true).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            assert_eq!(first.is_err(), struck);
            let again = scene.keeper.select(&who.org, &who.app, true).await.unwrap();
            assert_eq!(again.decision.model().unwrap().label, label("standard"));
            let sticky = scene.keeper.sticky_state(&who.one(), today()).await.unwrap().unwrap();
            assert_eq!(sticky.previous, Some(label("premium")));
            if !struck {
                break;
            }
        }
    }
}

async fn a_reordered_chain_keeps_its_model(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", QUOTA).await;
    let mut request = org_request("APP", "America/New_York");
    request.model_ordering = ["economy", "premium", "standard"].map(Into::into).into();
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    // The stored index would now point at `premium`, whose quota is exceeded.
    assert_eq!(choice(scene, &who).await, pair("standard", "STICKY_FALLBACK"));
    request.model_ordering = ["standard", "premium", "economy"].map(Into::into).into();
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    assert_eq!(choice(scene, &who).await, pair("standard", "NORMAL"));
    spend(scene, &who, "standard", QUOTA).await;
    assert_eq!(choice(scene, &who).await, pair("economy", "STICKY_FALLBACK"));
}

async fn a_model_removed_from_the_chain_is_ignored(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(choice(scene, &who).await, pair("standard", "STICKY_FALLBACK"));
    let mut request = org_request("APP", "America/New_York");
    request.model_ordering = ["premium", "economy"].map(Into::into).into();
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    // The search starts over, and its fallback replaces the recorded state.
    assert_eq!(choice(scene, &who).await, pair("economy", "QUOTA_EXCEEDED_premium"));
    let sticky = scene.keeper.sticky_state(&who.one(), today()).await.unwrap().unwrap();
    assert_eq!(sticky.label, label("economy"));
    assert_eq!(choice(scene, &who).await, pair("economy", "STICKY_FALLBACK"));
}

async fn an_administrator_overrides_and_resets(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let sticky = scene.keeper.override_sticky(&who.one(), &label("economy"), "ann").await.unwrap();
    assert_eq!((sticky.reason, sticky.previous), (StickyReason::ManualOverride, None));
    assert_eq!(choice(scene, &who).await, pair("economy", "MANUAL_OVERRIDE"));
    // A concurrent decision does not move the chain back.
    spend(scene, &who, "premium", QUOTA).await;
    assert_eq!(choice(scene, &who).await, pair("economy", "MANUAL_OVERRIDE"));
    assert!(scene.keeper.reset_sticky(&who.one(), "ann").await.unwrap());
    assert!(!scene.keeper.reset_sticky(&who.one(), "ann").await.unwrap());
    assert_eq!(choice(scene, &who).await, pair("standard", "QUOTA_EXCEEDED_premium"));
    // An override to an exceeded model falls back from there.
    scene.keeper.override_sticky(&who.one(), &label("premium"), "ann").await.unwrap();
    assert_eq!(choice(scene, &who).await, pair("standard", "QUOTA_EXCEEDED_premium"));

    let error = scene.keeper.override_sticky(&who.one(), &label("ultra_premium"), "ann").await;
    assert!(matches!(error.unwrap_err(), Error::Label { .. }));
    let error = scene.keeper.override_sticky(&who.all(), &label("economy"), "ann").await;
    assert!(matches!(error.unwrap_err(), Error::Invalid { .. }));
    let events = scene
        .keeper
        .audit_events(&Scope::Org(who.org.clone()), &EventRange::default())
        .await
        .unwrap()
        .items;
    let actions: Vec<&str> = events.iter().take(3).map(|event| event.action.as_str()).collect();
    assert_eq!(actions, ["sticky_overridden", "sticky_reset", "sticky_overridden"]);
    assert!(events.iter().take(3).all(|event| event.actor == "ann"));
}

async fn a_forced_check_reads_the_shards(scene: &Scene) {
    let who = spender(scene, "APP").await;
    for _ in 0..4 {
        let submission = stated(scene, "premium", QUOTA / 4);
        scene.keeper.submit(&who.org, &who.app, &submission).await.unwrap();
    }
    assert_eq!(choice(scene, &who).await, pair("premium", "NORMAL"), "totals know of nothing");
    scene.watch.reset();
    let forced = scene.keeper.select(&who.org, &who.app, true).await.unwrap();
    assert_eq!(forced.decision.reason.to_string(), "QUOTA_EXCEEDED_premium");
    assert_eq!(scene.watch.calls().batch_gets, 1, "25 items");
    assert_eq!(choice(scene, &who).await, pair("standard", "STICKY_FALLBACK"));
}

async fn apps_share_a_chain_or_have_their_own(scene: &Scene) {
    let shared = spender(scene, "ORG").await;
    spend(scene, &shared, "premium", QUOTA).await;
    let other = scene.keeper.select(&shared.org, &shared.other, false).await.unwrap();
    assert_eq!(other.decision.reason.to_string(), "STICKY_FALLBACK");

    let apart = spender(scene, "APP").await;
    spend(scene, &apart, "premium", QUOTA).await;
    let other = scene.keeper.select(&apart.org, &apart.other, false).await.unwrap();
    assert_eq!(other.decision.reason.to_string(), "NORMAL");
    let request = PutApp {
        app_name: "chat".into(),
        model_ordering: Some(vec!["economy".into()]),
        quotas: Some([("economy".to_owned(), 7)].into()),
        overrides: None,
    };
    scene.keeper.put_app(&apart.org, &apart.app, &request, "test").await.unwrap();
    assert_eq!(choice(scene, &apart).await, pair("economy", "NORMAL"));
    spend(scene, &apart, "economy", 7).await;
    assert_eq!(choice(scene, &apart).await, pair("-", "ALL_QUOTAS_EXCEEDED"));
}

async fn quotas_reset_at_local_midnight(scene: &Scene) {
    let zones = ["America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati", "UTC"];
    let mut all = Vec::new();
    for zone in zones {
        let who = spender_in(scene, "ORG", zone).await;
        spend(scene, &who, "premium", QUOTA).await;
        let today = select(scene, &who).await.today;
        all.push((who, today));
    }
    // At each midnight one org resets and the others do not.
    all.sort_by_key(|(_, today)| today.end_ms);
    for begun in 0..all.len() {
        let to_go = all[begun].1.end_ms - now_ms(scene);
        scene.clock.advance_ms(u64::try_from(to_go - 1).unwrap());
        assert_eq!(choice(scene, &all[begun].0).await, pair("standard", "STICKY_FALLBACK"));
        scene.clock.advance_ms(1);
        for (place, (who, _)) in all.iter().enumerate() {
            let model = if place <= begun { "premium" } else { "standard" };
            assert_eq!(choice(scene, who).await.0, model, "{place} at midnight {begun}");
        }
    }
}

async fn the_etag_changes_with_the_decision(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let first = select(scene, &who).await;
    spend(scene, &who, "premium", QUOTA / 10).await;
    scene.clock.advance_ms(60_000);
    let second = select(scene, &who).await;
    assert_eq!(second.etag(), first.etag(), "spend and time are no part of it");
    assert!(first.etag().starts_with("W/\""));
    spend(scene, &who, "premium", QUOTA).await;
    let third = select(scene, &who).await;
    assert_ne!(third.etag(), first.etag());
    // A minute before midnight the cache duration is at most that.
    let left = third.today.end_ms - now_ms(scene) - 60_000;
    scene.clock.advance_ms(u64::try_from(left).unwrap());
    assert_eq!(select(scene, &who).await.max_age_secs(), 60);
    assert_eq!(CHAIN.len(), third.decision.models.len());
    sum_up(&scene.keeper, &who).await;
}
