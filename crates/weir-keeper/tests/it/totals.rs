//! Totals of a day and of a series of days.

use weir_keeper::Error;
use weir_keeper::decide::Status;
use weir_keeper::money::MicroUsd;

use crate::scene::Scene;
use crate::spending::{
    COST, QUOTA, day, label, org_request, spend, spender, stated, submission, sum_up, today,
};

scenes! {
    a_day_has_totals_by_model,
    an_org_with_quotas_per_app_is_the_sum_of_its_apps,
    an_app_under_a_shared_quota_has_its_own_totals,
    future_days_and_days_without_usage_are_errors,
    a_series_has_every_day,
    an_org_switched_to_a_shared_quota_keeps_its_history,
}

async fn a_day_has_totals_by_model(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    scene.keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
    scene.keeper.submit(&who.org, &who.other, &stated(scene, "premium", 5)).await.unwrap();
    spend(scene, &who, "standard", QUOTA).await;
    let totals = scene.keeper.day_totals(&who.all(), today()).await.unwrap();
    assert_eq!(totals.models.len(), 3, "each of the chain");
    let premium = &totals.models[&label("premium")];
    assert_eq!(premium.sum.cost_usd_micros, MicroUsd(COST + 5));
    assert_eq!((premium.sum.requests, premium.sum.input_tokens), (2, 2_000));
    assert_eq!(premium.average_cost_per_request, MicroUsd(5_253));
    assert_eq!(premium.quota_pct.to_string(), "1.05");
    assert!(premium.model_id.is_some());
    assert_eq!(totals.models[&label("standard")].quota_status, Status::Exceeded);
    assert_eq!(totals.models[&label("economy")].sum.requests, 0);
    assert_eq!(totals.totals.cost_usd_micros, MicroUsd(COST + 5 + QUOTA));
    assert_eq!(totals.sticky, None, "the first model is open");
    assert_eq!(totals.updated_at.as_deref(), Some("2037-01-23T14:00:00Z"));
    spend(scene, &who, "premium", QUOTA).await;
    let totals = scene.keeper.day_totals(&who.all(), today()).await.unwrap();
    assert_eq!(totals.sticky.unwrap().active_model_label, label("economy"));
}

async fn an_org_with_quotas_per_app_is_the_sum_of_its_apps(scene: &Scene) {
    let who = spender(scene, "APP").await;
    for (app, micros) in [(&who.app, 3), (&who.other, 4), (&who.other, 5)] {
        let submission = stated(scene, "premium", micros);
        scene.keeper.submit(&who.org, app, &submission).await.unwrap();
    }
    sum_up(&scene.keeper, &who).await;
    let totals = scene.keeper.day_totals(&who.all(), today()).await.unwrap();
    let premium = &totals.models[&label("premium")];
    assert_eq!((premium.sum.requests, premium.sum.cost_usd_micros), (3, MicroUsd(12)));
    assert_eq!(premium.quota_usd_micros, MicroUsd(2 * QUOTA), "what both may spend");
    let totals = scene.keeper.day_totals(&who.two(), today()).await.unwrap();
    assert_eq!(totals.totals.cost_usd_micros, MicroUsd(9));
    let days = scene.keeper.series(&who.all(), day("2037-01-20"), today()).await.unwrap();
    assert_eq!(days.len(), 4);
    assert_eq!(days[3].totals.cost_usd_micros, MicroUsd(12));
}

async fn an_app_under_a_shared_quota_has_its_own_totals(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 3)).await.unwrap();
    scene.keeper.submit(&who.org, &who.other, &stated(scene, "premium", 4)).await.unwrap();
    sum_up(&scene.keeper, &who).await;
    for (scope, micros) in [(who.all(), 7), (who.one(), 3), (who.two(), 4)] {
        let totals = scene.keeper.day_totals(&scope, today()).await.unwrap();
        assert_eq!(totals.totals.cost_usd_micros, MicroUsd(micros));
    }
}

async fn future_days_and_days_without_usage_are_errors(scene: &Scene) {
    let who = spender(scene, "APP").await;
    for scope in [who.all(), who.one()] {
        let error = scene.keeper.day_totals(&scope, day("2037-01-24")).await.unwrap_err();
        assert_eq!(error.to_string(), "date: 2037-01-24 is in the future; today is 2037-01-23");
        let error = scene.keeper.day_totals(&scope, today()).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }));
    }
    let (from, to) = (day("2037-01-02"), day("2037-01-01"));
    assert!(scene.keeper.series(&who.one(), from, to).await.is_err());
    let error = scene.keeper.series(&who.one(), day("2036-10-01"), to).await.unwrap_err();
    assert_eq!(error.to_string(), "to: the range has 93 days; at most 92 allowed");
}

async fn a_series_has_every_day(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    for (model, micros) in [("premium", 3), ("standard", 4)] {
        spend(scene, &who, model, micros).await;
        scene.clock.advance_ms(2 * 86_400_000);
    }
    let (from, to) = (today(), day("2037-01-31"));
    scene.watch.reset();
    let days = scene.keeper.series(&who.all(), from, to).await.unwrap();
    // It is the 27th now.
    assert_eq!(scene.watch.calls().queries, 4, "one for each configured label");
    let totals: Vec<(String, u64)> = days
        .iter()
        .map(|totals| (totals.date.to_string(), totals.totals.cost_usd_micros.0))
        .collect();
    let expected = [("23", 3), ("24", 0), ("25", 4), ("26", 0), ("27", 0)];
    let expected: Vec<(String, u64)> =
        expected.iter().map(|(day, micros)| (format!("2037-01-{day}"), *micros)).collect();
    assert_eq!(totals, expected);
    assert_eq!(days[2].models[&label("standard")].sum.requests, 1);
}

async fn an_org_switched_to_a_shared_quota_keeps_its_history(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", 3).await;
    let request = org_request("ORG", "America/New_York");
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    scene.clock.advance_ms(86_400_000);
    spend(scene, &who, "premium", 4).await;
    let days = scene.keeper.series(&who.all(), today(), day("2037-01-24")).await.unwrap();
    let totals: Vec<u64> = days.iter().map(|day| day.totals.cost_usd_micros.0).collect();
    assert_eq!(totals, [3, 4]);
    let totals = scene.keeper.day_totals(&who.all(), today()).await.unwrap();
    assert_eq!(totals.totals.cost_usd_micros, MicroUsd(3));
}
