//! Submissions are metered exactly once.

use std::collections::BTreeMap;

use weir_keeper::config::{PutApp, PutOrg};
use weir_keeper::ids::{AppId, ModelId, OrgId};
use weir_keeper::money::MicroUsd;
use weir_keeper::submit::{Accepted, CallStatus, Submission};
use weir_keeper::{Error, Keeper};
use weir_testkit::watched::Strike;

use crate::scene::{Scene, Watched};
use crate::spending::{
    COST, counted, day, now_ms, org_request, spender, spent, stated, submission, today,
};

scenes! {
    a_submission_is_metered_and_returns_the_total,
    an_org_quota_is_charged_and_the_app_is_metered_too,
    a_duplicate_gets_the_first_response,
    a_stated_cost_overrides_the_price,
    a_model_without_a_price_is_not_free,
    the_timestamp_picks_the_day,
    a_submission_with_a_lost_response_is_not_metered_twice,
    concurrent_submissions_meter_each_id_once,
    a_new_time_zone_waits_for_midnight,
    a_late_submission_uses_the_time_zone_of_its_time,
    a_profile_requires_a_region,
}

async fn a_submission_is_metered_and_returns_the_total(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let first = submission(scene);
    let answer = scene.keeper.submit(&who.org, &who.app, &first).await.unwrap();
    assert_eq!((answer.duplicate, answer.status), (false, "ACCEPTED"));
    assert_eq!(answer.processing.cost_usd_micros, MicroUsd(COST));
    assert_eq!(answer.processing.org_day, today());
    assert_eq!(answer.processing.shard_id, first.shard(8));
    assert_eq!(answer.daily_total.cost_usd_micros, MicroUsd::ZERO, "it is not summed up yet");
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (1, COST));
    assert_eq!(spent(scene, &who.all(), "premium", today()).await, (0, 0));

    scene.watch.reset();
    let before = scene.watch.written_together();
    let mut second = submission(scene);
    second.status = CallStatus::Error;
    second.tokens.cached_read = 1_000;
    scene.keeper.submit(&who.org, &who.app, &second).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.transactions, calls.gets), (1, 1));
    assert_eq!((calls.batch_gets, calls.writes, calls.queries), (0, 0, 0));
    assert_eq!(scene.watch.written_together() - before, 2);
    let counters = counted(scene, &who.one(), "premium", today()).await;
    assert_eq!((counters.requests, counters.cost), (2, MicroUsd(2 * COST + 300)));
    assert_eq!((counters.tokens.input, counters.tokens.cached_read), (2_000, 1_000));

    let unknown = AppId::new("nobody").unwrap();
    let error = scene.keeper.submit(&who.org, &unknown, &first).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
    // A label of the catalog outside the chain has no quota, so it is refused like one that does not exist.
    for label in ["cheap", "ultra_premium"] {
        let wrong = Submission { label: label.into(), ..submission(scene) };
        let error = scene.keeper.submit(&who.org, &who.app, &wrong).await.unwrap_err();
        assert!(matches!(error, Error::Label { .. }));
        let expected = format!(
            "model_label: {label:?} is not in the chain of the app; use one of premium, standard, economy"
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(spent(scene, &who.one(), label, today()).await, (0, 0));
    }
}

async fn an_org_quota_is_charged_and_the_app_is_metered_too(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    scene.keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
    scene.watch.reset();
    let before = scene.watch.written_together();
    scene.keeper.submit(&who.org, &who.other, &stated(scene, "premium", 7)).await.unwrap();
    assert_eq!(scene.watch.written_together() - before, 3);
    let calls = scene.watch.calls();
    // The second app's configuration is read once.
    assert_eq!((calls.transactions, calls.gets, calls.writes), (1, 1, 0));
    assert_eq!(spent(scene, &who.all(), "premium", today()).await, (2, COST + 7));
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (1, COST));
    assert_eq!(spent(scene, &who.two(), "premium", today()).await, (1, 7));
}

async fn a_duplicate_gets_the_first_response(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let submitted = submission(scene);
    let first = scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
    let another = scene.another().await;
    for keeper in [&scene.keeper, &another] {
        let again = keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
        assert!(again.duplicate);
        assert_eq!(again.processing, first.processing);
    }
    scene.watch.reset();
    scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.transactions, calls.gets, calls.batch_gets), (1, 1, 0));
    // A client that builds its request again sets a new timestamp.
    let rebuilt = Submission { at_ms: submitted.at_ms - 5_000, ..submitted.clone() };
    let again = scene.keeper.submit(&who.org, &who.app, &rebuilt).await.unwrap();
    assert_eq!((again.duplicate, again.processing), (true, first.processing));
    let both = [rebuilt.clone(), submitted.clone()];
    for again in scene.keeper.submit_batch(&who.org, &who.app, &both).await.unwrap() {
        assert_eq!(again.unwrap().processing, first.processing);
    }
    let mut other = submitted.clone();
    other.tokens.output += 1;
    let error = scene.keeper.submit(&who.org, &who.app, &other).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists(_)));
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (1, COST));
    // Request ids are per app: another app may use the same one.
    assert!(!scene.keeper.submit(&who.org, &who.other, &submitted).await.unwrap().duplicate);

    // Two days later the timestamp would be rejected, but this is a duplicate.
    scene.clock.advance_ms(2 * 86_400_000);
    let late = scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
    assert!(late.duplicate);
    assert_eq!(late.processing, first.processing);
    let error = scene.keeper.submit(&who.org, &who.app, &other).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }));
}

async fn a_stated_cost_overrides_the_price(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let answer =
        scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 3)).await.unwrap();
    assert_eq!(answer.processing.cost_usd_micros, MicroUsd(3));
    assert_eq!(answer.processing.computed_cost_usd_micros, Some(MicroUsd(COST)));
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (1, 3));
}

async fn a_model_without_a_price_is_not_free(scene: &Scene) {
    let who = spender(scene, "APP").await;
    // Its label has no price either.
    let keeper = scene
        .another_with(|settings| {
            let defs = settings.labels.iter().map(|(label, def)| {
                let mut def = def.clone();
                def.price = None;
                (label.clone(), def)
            });
            let defs: BTreeMap<_, _> = defs.collect();
            settings.labels = weir_keeper::catalog::ModelCatalog::new(defs).unwrap();
        })
        .await;
    let model = ModelId::new("acme.unheard-of-v1").unwrap();
    let unpriced = Submission { model: model.clone(), ..submission(scene) };
    let error = keeper.submit(&who.org, &who.app, &unpriced).await.unwrap_err();
    assert!(matches!(error, Error::UnknownPrice { .. }), "{error}");
    let submitted = Submission { model, ..stated(scene, "premium", 5) };
    let answer = keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
    assert_eq!(answer.processing.computed_cost_usd_micros, None);
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (1, 5));

    let request =
        PutOrg { unpriced: Some("zero".into()), ..org_request("APP", "America/New_York") };
    keeper.put_org(&who.org, &request, "test").await.unwrap();
    keeper.submit(&who.org, &who.app, &unpriced).await.unwrap();
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (2, 5));
}

async fn the_timestamp_picks_the_day(scene: &Scene) {
    let who = spender(scene, "APP").await;
    // It is 09:00; the day began nine hours ago.
    let began_ms = now_ms(scene) - 9 * 3_600_000;
    let yesterday = day("2037-01-22");
    for (at_ms, on) in [
        (now_ms(scene) + 60_000, today()),
        (began_ms, today()),
        (began_ms - 1, yesterday),
        (began_ms - 86_400_000, yesterday),
    ] {
        let submitted = Submission { at_ms, ..submission(scene) };
        let answer = scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
        assert_eq!(answer.processing.org_day, on, "{at_ms}");
    }
    for at_ms in [now_ms(scene) + 60_001, began_ms - 86_400_001] {
        let submitted = Submission { at_ms, ..submission(scene) };
        let error = scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap_err();
        assert!(error.to_string().starts_with("timestamp: is "), "{error}");
    }
    assert_eq!(spent(scene, &who.one(), "premium", today()).await.0, 2);
    assert_eq!(spent(scene, &who.one(), "premium", yesterday).await.0, 2);
}

async fn a_submission_with_a_lost_response_is_not_metered_twice(scene: &Scene) {
    for quota_scope in ["APP", "ORG"] {
        let who = spender(scene, quota_scope).await;
        scene.keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
        let mut sent = 1;
        for strike in [Strike::Before, Strike::After] {
            for skip in 0.. {
                let submitted = submission(scene);
                scene.watch.fail_once(skip, strike);
                let first = scene.keeper.submit(&who.org, &who.app, &submitted).await;
                let struck = !scene.watch.is_planned();
                scene.watch.cancel();
                assert_eq!(first.is_err(), struck);
                let again = scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
                assert_eq!(again.processing.cost_usd_micros, MicroUsd(COST));
                sent += 1;
                assert_eq!(spent(scene, &who.one(), "premium", today()).await, (sent, sent * COST));
                if !struck {
                    assert!(again.duplicate && skip == 2, "a submission is two calls");
                    break;
                }
            }
        }
    }
}

async fn concurrent_submissions_meter_each_id_once(scene: &Scene) {
    crowd(scene, 6).await;
}

/// More concurrency than an emulator of DynamoDB handles, which runs one transaction at a time.
mod crowded {
    use crate::scene::Scene;

    scenes!(@on embedded sixty_four_at_once_count_each_id_once);

    async fn sixty_four_at_once_count_each_id_once(scene: &Scene) {
        super::crowd(scene, 64).await;
    }
}

/// This many tasks submit the same ids, three each.
async fn crowd(scene: &Scene, tasks_max: usize) {
    const EACH: usize = 3;
    let who = spender(scene, "ORG").await;
    let another = scene.another().await;
    let ids: Vec<Submission> = (0..tasks_max).map(|_| submission(scene)).collect();
    let (org, app) = (&who.org, &who.app);
    let tasks = (0..tasks_max).map(|task| {
        let keeper = if task % 2 == 0 { scene.keeper.clone() } else { another.clone() };
        let submissions: Vec<Submission> =
            (0..EACH).map(|n| ids[(task * 7 + n * 11) % tasks_max].clone()).collect();
        let (org, app) = (org.clone(), app.clone());
        tokio::spawn(async move {
            let mut first = Vec::new();
            for submission in submissions {
                if !insist(&keeper, &org, &app, &submission).await.duplicate {
                    first.push(submission.request_id);
                }
            }
            first
        })
    });
    let mut first = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        first.extend(task.await.unwrap());
    }
    let new = first.len();
    first.sort();
    first.dedup();
    assert_eq!(new, first.len(), "an id was new twice");
    // Three tasks submit each id, so all ids are submitted.
    let count = u64::try_from(tasks_max).unwrap();
    for scope in [who.all(), who.one()] {
        assert_eq!(spent(scene, &scope, "premium", today()).await, (count, count * COST));
    }
}

/// Submits until there is a response, as clients do: a busy store may not respond.
async fn insist(
    keeper: &Keeper<Watched>,
    org: &OrgId,
    app: &AppId,
    submitted: &Submission,
) -> Accepted {
    const TRIES: u64 = 40;
    for attempt in 0..TRIES {
        // Random backoff, so that competing tasks do not meet again.
        let longest = 20 * attempt + 1;
        tokio::time::sleep(std::time::Duration::from_millis(fastrand::u64(..longest))).await;
        match keeper.submit(org, app, submitted).await {
            Err(error) if error.is_unavailable() => {}
            done => return done.unwrap(),
        }
    }
    panic!("the store never answered");
}

async fn a_new_time_zone_waits_for_midnight(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let request = org_request("ORG", "Asia/Tokyo");
    scene.keeper.put_org(&who.org, &request, "test").await.unwrap();
    let now = submission(scene);
    let answer = scene.keeper.submit(&who.org, &who.app, &now).await.unwrap();
    assert_eq!(answer.processing.org_day, today(), "Tokyo is on the 23rd too, but in the evening");

    // New York's midnight comes at 05:00 UTC, when it is the 24th, 14:00, in Tokyo.
    scene.clock.advance_ms(15 * 3_600_000);
    let midnight_ms = now_ms(scene);
    let after = submission(scene);
    let answer = scene.keeper.submit(&who.org, &who.app, &after).await.unwrap();
    assert_eq!(answer.processing.org_day, day("2037-01-24"));
    let late = Submission { at_ms: midnight_ms - 1, ..submission(scene) };
    let answer = scene.keeper.submit(&who.org, &who.app, &late).await.unwrap();
    assert_eq!(answer.processing.org_day, today(), "it happened while New York's time held");
    assert_eq!(spent(scene, &who.one(), "premium", today()).await.0, 2);
    assert_eq!(spent(scene, &who.all(), "premium", today()).await.0, 0);
    assert_eq!(spent(scene, &who.all(), "premium", day("2037-01-24")).await.0, 1);
    assert_eq!(spent(scene, &who.one(), "premium", day("2037-01-24")).await.0, 1);
    // The day in Tokyo ends ten hours later.
    scene.clock.advance_ms(10 * 3_600_000);
    let answer = scene.keeper.submit(&who.org, &who.app, &submission(scene)).await.unwrap();
    assert_eq!(answer.processing.org_day, day("2037-01-25"));
}

async fn a_late_submission_uses_the_time_zone_of_its_time(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let put = async |request: PutOrg| scene.keeper.put_org(&who.org, &request, "test").await;
    let tell = async |at_ms: i64| {
        let late = Submission { at_ms, ..submission(scene) };
        scene.keeper.submit(&who.org, &who.app, &late).await.unwrap().processing.org_day.to_string()
    };
    put(org_request("ORG", "Asia/Tokyo")).await.unwrap();
    // New York's midnight comes at 05:00 UTC, when it is the 24th, 14:00, in Tokyo.
    scene.clock.advance_ms(15 * 3_600_000);
    let tokyo_ms = now_ms(scene);
    assert_eq!([tell(tokyo_ms - 1).await, tell(tokyo_ms).await], ["2037-01-23", "2037-01-24"]);
    // Another name, then another time zone from Tokyo's midnight on: the New York period is retained.
    put(PutOrg { org_name: "New".into(), ..org_request("ORG", "Asia/Tokyo") }).await.unwrap();
    assert_eq!(tell(tokyo_ms - 1).await, "2037-01-23");
    put(org_request("APP", "Pacific/Auckland")).await.unwrap();
    assert_eq!(tell(tokyo_ms - 1).await, "2037-01-23");
    // At 15:00 UTC it is the 25th in Tokyo and, four hours on, in Auckland.
    scene.clock.advance_ms(10 * 3_600_000);
    let auckland_ms = now_ms(scene);
    put(PutOrg { org_name: "Newer".into(), ..org_request("APP", "Pacific/Auckland") })
        .await
        .unwrap();
    for (at_ms, day) in [
        (tokyo_ms - 1, "2037-01-23"),
        (tokyo_ms, "2037-01-24"),
        (auckland_ms - 1, "2037-01-24"),
        (auckland_ms, "2037-01-25"),
    ] {
        assert_eq!(tell(at_ms).await, day, "{at_ms}");
    }
    assert_eq!(spent(scene, &who.all(), "premium", day("2037-01-23")).await.0, 0);
    assert_eq!(spent(scene, &who.one(), "premium", day("2037-01-23")).await.0, 4);
    assert_eq!(spent(scene, &who.all(), "premium", day("2037-01-24")).await.0, 3);
    assert_eq!(spent(scene, &who.all(), "premium", day("2037-01-25")).await.0, 0);
    assert_eq!(spent(scene, &who.one(), "premium", day("2037-01-25")).await.0, 1);
}

async fn a_profile_requires_a_region(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let profile = weir_keeper::profiles::PutProfile {
        profile_label: "ours".into(),
        inference_profile_arn:
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3".into(),
        model_id: Some("amazon.nova-lite-v1:0".into()),
        description: String::new(),
    };
    scene.keeper.put_profile(&who.org, &who.app, &profile, "test").await.unwrap();
    let chain = PutApp {
        app_name: "Chat".into(),
        model_ordering: Some(vec!["ours".into()]),
        quotas: Some([("ours".into(), 5_000_000)].into()),
        ..PutApp::default()
    };
    scene.keeper.put_app(&who.org, &who.app, &chain, "test").await.unwrap();
    let submitted = Submission { label: "ours".into(), ..submission(scene) };
    let error = scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap_err();
    assert!(error.to_string().starts_with("calling_region: is required"), "{error}");
    let submitted = Submission { region: Some("us-east-1".into()), ..submitted };
    scene.keeper.submit(&who.org, &who.app, &submitted).await.unwrap();
    assert_eq!(spent(scene, &who.one(), "ours", today()).await, (1, COST));
    let error = scene.keeper.submit(&who.org, &who.other, &submitted).await.unwrap_err();
    assert!(matches!(error, Error::Label { .. }), "it is the other app's");
}
