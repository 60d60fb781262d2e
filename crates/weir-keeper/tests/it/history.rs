//! The past is judged by what held then, and no change of zone or scope hides a submission.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;
use object_store::path::Path;
use weir_keeper::Error;
use weir_keeper::aggregate::DirtySet;
use weir_keeper::config::{PutApp, PutOrg};
use weir_keeper::day::OrgDay;
use weir_keeper::export::ExportTarget;
use weir_keeper::ids::{AppId, Scope};
use weir_keeper::keys;
use weir_keeper::money::MicroUsd;
use weir_keeper::submit::Submission;
use weir_keeper::totals::DayTotals;
use weir_table::clock::Clock;
use weir_table::{Query, Write};

use crate::scene::Scene;
use crate::spending::{
    QUOTA, Spender, label, now_ms, org_request, spend, spender, spender_in, stated, sum_up, today,
};

scenes! {
    a_day_that_is_over_keeps_its_quotas,
    a_day_keeps_the_quotas_of_its_end,
    a_day_that_is_over_keeps_its_chain_and_zone,
    a_day_of_apps_keeps_their_quotas,
    a_change_that_left_no_record_is_marked,
    zone_and_scope_changed_together_hide_nothing,
    a_change_dropped_by_a_late_clock_hides_nothing,
    totals_that_lack_nothing_have_no_lag,
    no_sequence_of_changes_hides_a_submission,
}

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// An org whose quotas are all `quota`.
fn with_quota(scope: &str, zone: &str, quota: u64) -> PutOrg {
    let mut request = org_request(scope, zone);
    request.quotas.values_mut().for_each(|one| *one = quota.cast_signed());
    request
}

async fn put(scene: &Scene, who: &Spender, request: &PutOrg) {
    scene.keeper.put_org(&who.org, request, "test").await.unwrap();
}

/// Quota and used percentage of `premium` on a day, which the series and the day agree on.
async fn judged(scene: &Scene, scope: &Scope, on: OrgDay) -> (u64, String) {
    let totals = scene.keeper.day_totals(scope, on).await.unwrap();
    let series = scene.keeper.series(scope, on, on.next().unwrap()).await.unwrap();
    assert_eq!(series[0], totals);
    let premium = &totals.models[&label("premium")];
    (premium.quota_usd_micros.0, premium.quota_pct.to_string())
}

async fn a_day_that_is_over_keeps_its_quotas(scene: &Scene) {
    for scope in ["ORG", "APP"] {
        let who = spender(scene, scope).await;
        let first = scene.keeper.today(&who.one()).await.unwrap();
        spend(scene, &who, "premium", QUOTA / 10 * 9).await;
        scene.clock.advance_ms(DAY_MS);
        put(scene, &who, &with_quota(scope, "America/New_York", QUOTA / 2)).await;
        spend(scene, &who, "premium", QUOTA / 4).await;
        // On the next day, and after the day was finalized.
        for quota in 1..4 {
            assert_eq!(judged(scene, &who.one(), first).await, (QUOTA, "90.00".into()), "{scope}");
            let second = first.next().unwrap();
            let expected = (QUOTA / 2, "50.00".into());
            assert_eq!(judged(scene, &who.one(), second).await, expected, "{scope}");
            scene.clock.advance_ms(2 * DAY_MS);
            put(scene, &who, &with_quota(scope, "America/New_York", quota)).await;
        }
    }
}

async fn a_day_keeps_the_quotas_of_its_end(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    spend(scene, &who, "premium", QUOTA / 2).await;
    // Twice on one day: the second holds when the day ends.
    for quota in [QUOTA * 7, QUOTA * 5] {
        scene.clock.advance_ms(HOUR_MS);
        put(scene, &who, &with_quota("ORG", "America/New_York", quota)).await;
        assert_eq!(judged(scene, &who.all(), today()).await.0, quota, "the day lasts");
    }
    scene.clock.advance_ms(DAY_MS);
    for quota in [QUOTA * 3, QUOTA * 2] {
        put(scene, &who, &with_quota("ORG", "America/New_York", quota)).await;
        assert_eq!(judged(scene, &who.all(), today()).await, (QUOTA * 5, "10.00".into()));
    }
    // The same from another process.
    let totals = scene.another().await.day_totals(&who.all(), today()).await.unwrap();
    assert_eq!(totals.models[&label("premium")].quota_usd_micros, MicroUsd(QUOTA * 5));
    assert_eq!(totals.total_quota_usd_micros, MicroUsd(3 * QUOTA * 5));
    assert!(totals.is_config_recorded);
}

async fn a_day_that_is_over_keeps_its_chain_and_zone(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", QUOTA).await;
    let mut request = org_request("ORG", "Asia/Kolkata");
    request.model_ordering = vec!["economy".into()];
    request.quotas = [("economy".to_owned(), 7)].into();
    scene.clock.advance_ms(DAY_MS);
    put(scene, &who, &request).await;
    scene.clock.advance_ms(DAY_MS);
    let totals = scene.keeper.day_totals(&who.one(), today()).await.unwrap();
    let chain: Vec<&str> = totals.model_ordering.iter().map(AsRef::as_ref).collect();
    assert_eq!(chain, ["premium", "standard", "economy"]);
    assert_eq!(totals.timezone.name(), "America/New_York");
    assert_eq!(totals.quota_scope.as_str(), "APP");
    assert_eq!(totals.current_active_model, Some(label("standard")), "premium was spent");
    assert!(totals.sticky_fallback_active && totals.is_config_recorded);
    // The zone took effect a day later.
    spend(scene, &who, "economy", 1).await;
    let now = scene.keeper.today(&who.all()).await.unwrap();
    let totals = scene.keeper.day_totals(&who.all(), now).await.unwrap();
    assert_eq!((totals.timezone.name(), totals.quota_scope.as_str()), ("Asia/Kolkata", "ORG"));
    assert_eq!(totals.total_quota_usd_micros, MicroUsd(7));
}

async fn a_day_of_apps_keeps_their_quotas(scene: &Scene) {
    let who = spender(scene, "APP").await;
    spend(scene, &who, "premium", QUOTA).await;
    scene.clock.advance_ms(DAY_MS);
    let request = PutApp {
        app_name: "chat".into(),
        model_ordering: Some(vec!["premium".into()]),
        quotas: Some([("premium".to_owned(), 1)].into()),
        overrides: None,
    };
    scene.keeper.put_app(&who.org, &who.app, &request, "test").await.unwrap();
    let third = AppId::new("third").unwrap();
    let request = PutApp { app_name: "third".into(), ..PutApp::default() };
    scene.keeper.put_app(&who.org, &third, &request, "test").await.unwrap();
    assert_eq!(judged(scene, &who.one(), today()).await, (QUOTA, "100.00".into()));
    let expected = (2 * QUOTA, "50.00".into());
    assert_eq!(judged(scene, &who.all(), today()).await, expected, "what two apps had");
    spend(scene, &who, "premium", 1).await;
    let now = today().next().unwrap();
    assert_eq!(judged(scene, &who.all(), now).await.0, 2 * QUOTA + 1, "what three have");
}

async fn a_change_that_left_no_record_is_marked(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    spend(scene, &who, "premium", QUOTA / 2).await;
    scene.clock.advance_ms(DAY_MS);
    put(scene, &who, &with_quota("ORG", "America/New_York", 10 * QUOTA)).await;
    // As if a version had made the change that kept no records.
    let table = scene.keeper.tables().daily_total.clone();
    let all = Query::partition(table.clone(), keys::scope_prefix(&who.all()));
    let kept = all.between(keys::revision_sort(0), keys::revision_sort(i64::MAX));
    let kept = scene.store.query(&kept).await.unwrap().items;
    assert_eq!(kept.len(), 1);
    let key = keys::item_key(&kept[0]).unwrap();
    scene.store.write(Write::delete(table, key)).await.unwrap();
    assert_eq!(judged(scene, &who.all(), today()).await, (10 * QUOTA, "5.00".into()));
    let totals = scene.keeper.day_totals(&who.all(), today()).await.unwrap();
    assert!(!totals.is_config_recorded);
    assert_eq!(totals.totals.requests, 1);
}

async fn zone_and_scope_changed_together_hide_nothing(scene: &Scene) {
    // The day in Honolulu goes on where that of Auckland ended.
    let before = [("APP", "Pacific/Auckland"), ("ORG", "UTC")];
    let after = [("ORG", "Pacific/Honolulu"), ("APP", "Asia/Tokyo")];
    for ((scope, zone), (new_scope, new_zone)) in before.into_iter().zip(after) {
        let who = spender_in(scene, scope, zone).await;
        let mut history = History::default();
        for step in 0..9 {
            if step == 3 {
                put(scene, &who, &org_request(new_scope, new_zone)).await;
            }
            history.submit(scene, &who, 0).await;
            scene.clock.advance_ms(7 * HOUR_MS);
        }
        history.check(scene, &who, &format!("{scope} {zone}, {new_scope} {new_zone}")).await;
        assert_eq!(history.requests.iter().sum::<u64>(), 9);
    }
}

async fn a_change_dropped_by_a_late_clock_hides_nothing(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    let mut history = History::default();
    history.submit(scene, &who, 0).await;
    put(scene, &who, &org_request("APP", "America/New_York")).await;
    // By this clock the change has taken effect, so this is counted for the app alone.
    scene.clock.advance_ms(DAY_MS);
    history.submit(scene, &who, 0).await;
    // By that of another instance it is still pending, and is dropped.
    if let Clock::Manual(now) = &scene.clock {
        now.fetch_sub(DAY_MS - HOUR_MS, Ordering::SeqCst);
    }
    let other = scene.another().await;
    let request = org_request("ORG", "America/New_York");
    other.put_org(&who.org, &request, "test").await.unwrap();
    scene.clock.advance_ms(DAY_MS + HOUR_MS);
    history.submit(scene, &who, 0).await;
    history.check(scene, &who, "a change was dropped").await;
    assert_eq!(history.requests.iter().sum::<u64>(), 3);
}

async fn totals_that_lack_nothing_have_no_lag(scene: &Scene) {
    for scope in ["ORG", "APP"] {
        let who = spender(scene, scope).await;
        let on = scene.keeper.today(&who.one()).await.unwrap();
        let since = async |of: &Scope| {
            scene.keeper.day_totals(of, on).await.unwrap().outstanding_since_epoch
        };
        spend(scene, &who, "premium", 1).await;
        scene.clock.advance_ms(60_000);
        assert_eq!((since(&who.one()).await, since(&who.all()).await), (None, None), "idle");
        let at = now_ms(scene) / 1000;
        let more = stated(scene, "standard", 1);
        scene.keeper.submit(&who.org, &who.app, &more).await.unwrap();
        scene.clock.advance_ms(60_000);
        assert_eq!((since(&who.one()).await, since(&who.all()).await), (Some(at), Some(at)));
        let series = scene.keeper.series(&who.one(), on.previous().unwrap(), on).await.unwrap();
        assert_eq!(series[1].outstanding_since_epoch, Some(at));
        sum_up(&scene.keeper, &who).await;
        assert_eq!((since(&who.one()).await, since(&who.all()).await), (None, None));
    }
}

/// What was accepted, and the totals that have to be summed.
#[derive(Default)]
struct History {
    /// Accepted submissions of both apps.
    requests: [u64; 2],
    cost: u64,
    dirty: DirtySet,
    days: Vec<OrgDay>,
}

impl History {
    /// Submits as one of the apps a call that was some time ago.
    async fn submit(&mut self, scene: &Scene, who: &Spender, late_ms: u64) {
        let number = usize::from(self.requests.iter().sum::<u64>().is_multiple_of(3));
        let app = [&who.app, &who.other][number];
        let at_ms = now_ms(scene) - late_ms.cast_signed();
        let submission = Submission { at_ms, ..stated(scene, "premium", 3) };
        match scene.keeper.submit(&who.org, app, &submission).await {
            Ok(accepted) => {
                let on = accepted.processing.org_day;
                let scopes = [who.all(), Scope::App(who.org.clone(), app.clone())];
                for scope in scopes {
                    self.dirty.mark(scope, label("premium"), on, at_ms);
                }
                self.days.push(on);
                self.requests[number] += 1;
                self.cost += 3;
            }
            Err(Error::Invalid { field, .. }) if field == "timestamp" => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The first and last day with submissions.
    fn range(&self) -> Option<(OrgDay, OrgDay)> {
        Some((*self.days.iter().min()?, *self.days.iter().max()?))
    }

    /// The days of the org and of each app have every submission, one by one and as a series.
    async fn check(&self, scene: &Scene, who: &Spender, about: &str) {
        let Some((first, last)) = self.range() else { return };
        scene.keeper.aggregate(&self.dirty).await.unwrap();
        let sum = |days: &[DayTotals]| days.iter().map(|day| day.totals.requests).sum::<u64>();
        let both = self.requests[0] + self.requests[1];
        let expected =
            [(who.all(), both), (who.one(), self.requests[0]), (who.two(), self.requests[1])];
        for (scope, requests) in expected {
            let (from, to) = (first.previous().unwrap(), last.next().unwrap());
            let series = scene.keeper.series(&scope, from, to).await.unwrap();
            assert_eq!(sum(&series), requests, "{about}: {series:#?}");
            let mut days = Vec::new();
            for on in std::iter::successors(Some(from), |on| on.next()).take_while(|on| *on <= to) {
                match scene.keeper.day_totals(&scope, on).await {
                    Ok(totals) => days.push(totals),
                    Err(Error::NotFound { .. } | Error::Invalid { .. }) => {}
                    Err(error) => panic!("{about}: {error}"),
                }
            }
            let used: Vec<DayTotals> =
                series.into_iter().filter(|day| day.totals.requests > 0).collect();
            assert_eq!(used, days, "{about}");
        }
        let series = scene.keeper.series(&who.all(), first, last).await.unwrap();
        let cost: u64 = series.iter().map(|day| day.totals.cost_usd_micros.0).sum();
        assert_eq!(cost, self.cost, "{about}");
    }

    /// Exports have every submission of each app; and of the org on days on which it had a quota.
    async fn check_export(&self, scene: &Scene, who: &Spender, about: &str) {
        let Some((first, last)) = self.range() else { return };
        let objects = Arc::new(InMemory::new());
        let exports = ExportTarget::new(objects.clone(), "counters");
        let keeper = scene.another_with(|settings| settings.retention_days = 24).await;
        keeper.export_counters(&exports, 100, None).await.unwrap();
        let mut of_apps = 0;
        for on in std::iter::successors(Some(first), |on| on.next()).take_while(|on| *on <= last) {
            let name = format!("counters/{}/{}.jsonl", on.to_string().replace('-', "/"), who.org);
            let Ok(found) = objects.get(&Path::from(name)).await else { continue };
            let text = String::from_utf8(found.bytes().await.unwrap().to_vec()).unwrap();
            let lines: Vec<serde_json::Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let sum = |is_app: bool| {
                let lines = lines.iter().filter(|line| line["app_id"].is_string() == is_app);
                lines.map(|line| line["requests"].as_u64().unwrap()).sum::<u64>()
            };
            of_apps += sum(true);
            assert!([0, sum(true)].contains(&sum(false)), "{about}: {text}");
        }
        assert_eq!(of_apps, self.requests[0] + self.requests[1], "{about}");
    }
}

/// Zones at both ends of the calendar, with odd offsets, skipped midnights and skipped days.
const ZONES: [&str; 8] = [
    "UTC",
    "America/New_York",
    "Asia/Kolkata",
    "Pacific/Kiritimati",
    "Pacific/Pago_Pago",
    "Etc/GMT+12",
    "America/Havana",
    "America/Santiago",
];
/// Sequences on every back-end; and on the embedded store, which is faster.
const SEQUENCES: std::ops::Range<u64> = 0..2;
const MORE_SEQUENCES: std::ops::Range<u64> = 2..14;
const STEPS: u32 = 16;

async fn no_sequence_of_changes_hides_a_submission(scene: &Scene) {
    play(scene, SEQUENCES).await;
}

#[test]
fn no_sequence_of_changes_hides_a_submission_in_many_tries() {
    crate::scene::embedded(async |scene| play(scene, MORE_SEQUENCES).await);
}

async fn play(scene: &Scene, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let scopes = ["ORG", "APP"];
        let pick = |random: &mut fastrand::Rng| {
            (scopes[random.usize(0..2)], ZONES[random.usize(0..ZONES.len())])
        };
        let (scope, zone) = pick(&mut random);
        let who = spender_in(scene, scope, zone).await;
        let (mut history, mut about) = (History::default(), format!("seed {seed}: {scope} {zone}"));
        for _ in 0..STEPS {
            match random.u8(0..10) {
                0..=4 => {
                    let late_ms = if random.bool() { 0 } else { random.u64(0..40 * HOUR_MS) };
                    history.submit(scene, &who, late_ms).await;
                }
                5 | 6 => {
                    let (scope, zone) = pick(&mut random);
                    about += &format!(", {scope} {zone}");
                    put(scene, &who, &org_request(scope, zone)).await;
                }
                7 | 8 => {
                    let hours = random.u64(1..30);
                    about += &format!(", {hours} h");
                    scene.clock.advance_ms(hours * HOUR_MS);
                }
                _ => history.check(scene, &who, &about).await,
            }
        }
        history.check(scene, &who, &about).await;
        scene.clock.advance_ms(5 * DAY_MS);
        history.check(scene, &who, &about).await;
        if seed == 0 {
            history.check_export(scene, &who, &about).await;
        }
    }
}
