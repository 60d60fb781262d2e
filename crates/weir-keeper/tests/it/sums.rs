//! A sum never leaves a budget open: it stops at its bound, and what cannot be summed is closed.

use std::collections::BTreeMap;

use weir_keeper::Error;
use weir_keeper::aggregate::AggregateReport;
use weir_keeper::bounds::{SUBMISSION_USD_MICROS_MAX, TOKENS_MAX};
use weir_keeper::counters::Counters;
use weir_keeper::decide::{Reason, Status};
use weir_keeper::keys;
use weir_keeper::money::{MicroUsd, TokenUse};
use weir_keeper::submit::Submission;
use weir_table::expr::Update;
use weir_table::{Key, Write};

use crate::scene::Scene;
use crate::spending::{
    Spender, day, dirty, label, org_request, spender, stated, submission, sum_up, today, total,
};

scenes! {
    a_sum_beyond_its_bound_exceeds_the_largest_quota,
    the_cost_of_a_submission_is_bounded,
    a_chain_that_cannot_be_summed_is_closed_until_it_can,
    a_past_day_that_cannot_be_summed_is_reported_and_not_final,
}

async fn select(scene: &Scene, who: &Spender, force: bool) -> weir_keeper::select::Selection {
    scene.another().await.select(&who.org, &who.app, force).await.unwrap()
}

/// Adds to a shard of the first app's `premium`, as very many submissions would.
async fn add_to_shard(scene: &Scene, who: &Spender, shard: u8, counters: Counters) {
    let table = scene.keeper.tables().usage_agg_sharded.clone();
    let key = keys::usage(&who.one(), &label("premium"), shard, today());
    let (now_ms, hours) = (scene.keeper.now_ms(), BTreeMap::new());
    let add = counters.add_to_shard(table, key, now_ms, 4_000_000_000_000, &hours);
    scene.store.write(add).await.unwrap();
}

async fn a_sum_beyond_its_bound_exceeds_the_largest_quota(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let largest = weir_keeper::bounds::USD_MICROS_MAX.cast_signed();
    let mut request = org_request("APP", "America/New_York");
    request.quotas.values_mut().for_each(|quota| *quota = largest);
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    let tokens = TokenUse { input: u64::MAX / 3, ..TokenUse::default() };
    for shard in 0..8 {
        let counters = Counters { cost: MicroUsd(u64::MAX / 4), tokens, requests: u64::MAX / 4 };
        add_to_shard(scene, &who, shard, counters).await;
    }
    for force in [true, false] {
        let selection = select(scene, &who, force).await;
        let premium = &selection.decision.models[0];
        assert_eq!((premium.status, premium.spend), (Status::Exceeded, MicroUsd::SATURATED));
        assert_eq!(selection.decision.model().unwrap().label, label("standard"));
        let report = scene.keeper.aggregate(&dirty(&scene.keeper, &who).await).await.unwrap();
        assert_eq!((report.failed, report.first_failure), (0, None));
    }
    assert_eq!(
        total(scene, &who.one(), "premium", today()).await,
        (u64::MAX, 1_000_000_000_000_000)
    );
    // The total of all models does not wrap either.
    let totals = scene.keeper.day_totals(&who.all(), today()).await.unwrap();
    assert_eq!(totals.totals.cost_usd_micros, MicroUsd::SATURATED);
}

async fn the_cost_of_a_submission_is_bounded(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let most = stated(scene, "premium", SUBMISSION_USD_MICROS_MAX);
    let more = stated(scene, "premium", SUBMISSION_USD_MICROS_MAX + 1);
    // Twelve dollars for each of them: more than the bound, by the price.
    let tokens = TokenUse { output: TOKENS_MAX, ..TokenUse::default() };
    let computed = Submission { tokens, ..submission(scene) };
    scene.keeper.submit(&who.org, &who.app, &most).await.unwrap();
    for wrong in [&more, &computed] {
        let error = scene.keeper.submit(&who.org, &who.app, wrong).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid { field, .. } if field == "cost_usd_micros"));
        assert!(error.to_string().contains("at most 1000000000000 micro-USD"), "{error}");
    }
    let batch = [more, stated(scene, "premium", 7)];
    let results = scene.keeper.submit_batch(&who.org, &who.app, &batch).await.unwrap();
    assert!(results[0].is_err() && results[1].is_ok());
    sum_up(&scene.keeper, &who).await;
    let expected = (2, SUBMISSION_USD_MICROS_MAX + 7);
    assert_eq!(total(scene, &who.one(), "premium", today()).await, expected);
}

/// Replaces the spend of a shard.
async fn damage(scene: &Scene, key: &Key, spend: impl Into<weir_table::Value>) {
    let table = scene.keeper.tables().usage_agg_sharded.clone();
    let update = Update::default().set("cost_usd_micros", spend);
    scene.store.write(Write::update(table, key.clone(), update)).await.unwrap();
}

async fn aggregate(scene: &Scene, who: &Spender) -> AggregateReport {
    scene.keeper.aggregate(&dirty(&scene.keeper, who).await).await.unwrap()
}

async fn a_chain_that_cannot_be_summed_is_closed_until_it_can(scene: &Scene) {
    let (who, well) = (spender(scene, "APP").await, spender(scene, "APP").await);
    for spender in [&who, &well] {
        let submission = stated(scene, "standard", 5);
        scene.keeper.submit(&spender.org, &spender.app, &submission).await.unwrap();
    }
    let key = keys::usage(&who.one(), &label("standard"), 3, today());
    damage(scene, &key, "a lot").await;
    let closed = async |force| {
        let selection = select(scene, &who, force).await;
        assert_eq!(selection.decision.reason, Reason::AllQuotasExceeded, "{force}");
        let statuses = selection.decision.models.iter().map(|model| model.status);
        assert!(statuses.into_iter().all(|status| status == Status::Exceeded));
    };
    closed(true).await;
    for _ in 0..2 {
        let report = aggregate(scene, &who).await;
        assert_eq!((report.failed, report.fallbacks, report.notifications), (1, 0, 0));
        let why = report.first_failure.unwrap();
        assert!(why.starts_with(&who.one().client_id()), "{why}");
        assert_eq!(scene.keeper.metrics().unsummed_totals, 1);
        closed(false).await;
    }
    // Others are served, and totals are read.
    assert_eq!(aggregate(scene, &well).await.failed, 0);
    assert_eq!(select(scene, &well, false).await.decision.reason, Reason::Normal);
    let totals = scene.keeper.day_totals(&who.one(), today()).await.unwrap();
    assert_eq!(totals.models["standard"].quota_status, Status::Exceeded);
    let passed = scene.keeper.full_pass(None, 100).await.unwrap();
    assert_eq!((passed.report.failed, passed.next), (1, None));
    let summary = scene.keeper.unsummed_totals().unwrap();
    assert!(summary.contains(&who.one().client_id()), "{summary}");
    // After the repair the same sum opens the chain again.
    damage(scene, &key, 0).await;
    closed(false).await;
    assert_eq!(aggregate(scene, &who).await.failed, 0);
    assert_eq!(scene.keeper.unsummed_totals(), None);
    let open = select(scene, &who, false).await;
    assert_eq!(open.decision.reason, Reason::Normal, "no fallback was recorded");
    assert_eq!(total(scene, &who.one(), "standard", today()).await.0, 1);
}

async fn a_past_day_that_cannot_be_summed_is_reported_and_not_final(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let spent = stated(scene, "premium", 5);
    scene.keeper.submit(&who.org, &who.app, &spent).await.unwrap();
    let key = keys::usage(&who.one(), &label("premium"), (spent.shard(8) + 1) % 8, today());
    damage(scene, &key, -1).await;
    scene.clock.advance_ms(3 * 86_400_000);
    for _ in 0..2 {
        let passed = scene.keeper.full_pass(None, 100).await.unwrap();
        assert_eq!(passed.report.failed, 1, "it is tried again, because the day is not final");
    }
    let totals = scene.keeper.day_totals(&who.one(), today()).await.unwrap();
    assert_eq!(totals.models["premium"].quota_status, Status::Exceeded);
    damage(scene, &key, 0).await;
    assert_eq!(scene.keeper.full_pass(None, 100).await.unwrap().report.failed, 0);
    let totals = scene.keeper.day_totals(&who.one(), day("2037-01-23")).await.unwrap();
    assert_eq!(totals.models["premium"].sum.cost_usd_micros, MicroUsd(5));
}
