use std::collections::BTreeMap;

use serde_json::json;
use weir_calendar::Zone;

use super::*;
use crate::catalog::ModelCatalog;
use crate::config::{OrgRecord, PutOrg};
use crate::ids::{AppId, OrgId};
use crate::money::MicroUsd;

const HOUR_MS: i64 = 3_600_000;

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

/// Premium at a dollar, standard at ten cents and economy at one cent per million tokens, with these quotas.
fn config(quotas: [u64; 3], changes: serde_json::Value) -> EffectiveConfig {
    let [premium, standard, economy] = quotas;
    let mut request = json!({
        "org_name": "o", "timezone": "America/New_York", "quota_scope": "ORG",
        "model_ordering": ["premium", "standard", "economy"],
        "quotas": {"premium": premium, "standard": standard, "economy": economy},
    });
    if let (Some(all), serde_json::Value::Object(changes)) = (request.as_object_mut(), changes) {
        all.extend(changes);
    }
    let request: PutOrg = serde_json::from_value(request).unwrap();
    let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
    let config = request.check(&ModelCatalog::default(), None).unwrap();
    EffectiveConfig::for_org(&OrgRecord::new(org, config, 0), 0)
}

fn prices() -> BTreeMap<Label, Price> {
    let prices = [("premium", 1_000_000), ("standard", 100_000), ("economy", 10_000)];
    prices.map(|(name, price)| (label(name), Price::new(price, price))).into()
}

fn day() -> OrgDay {
    OrgDay::new(2026, 1, 23).unwrap()
}

fn midnight() -> i64 {
    Zone::new("America/New_York").unwrap().first_instant(day())
}

/// A submission of a hundred tokens every minute of the day.
fn every_minute() -> Vec<ReplayRow> {
    let tokens = TokenUse { input: 60, output: 40, ..TokenUse::default() };
    let row = |minute: i64| ReplayRow { at_ms: midnight() + minute * 60_000, app: None, tokens };
    (0..1440).map(row).collect()
}

static NO_APPS: BTreeMap<AppId, EffectiveConfig> = BTreeMap::new();

/// A simulation of clients that select before every call.
fn plan<'a>(
    config: &'a EffectiveConfig,
    prices: &'a BTreeMap<Label, Price>,
    lag_ms: i64,
) -> Simulation<'a> {
    let cache_ms = Some(0);
    Simulation { config, apps: &NO_APPS, default_app: None, prices, day: day(), lag_ms, cache_ms }
}

/// The report of a plan whose apps share the quotas.
fn run(plan: &Simulation<'_>, rows: &[ReplayRow]) -> Result<SimulationReport> {
    let mut reports = plan.run(rows)?;
    assert_eq!(reports.len(), 1);
    Ok(reports.remove(0))
}

fn story(report: &SimulationReport) -> Vec<String> {
    let summary = |event: &SimulationEvent| {
        let minute = (event.at_ms - report.start_ms) / 60_000;
        match &event.what {
            SimulationEventKind::Tight { label } => format!("{minute} {label} tight"),
            SimulationEventKind::Exceeded { label } => format!("{minute} {label} exceeded"),
            SimulationEventKind::Fallback { from, to } => format!("{minute} {from} to {to}"),
            SimulationEventKind::AllExceeded => format!("{minute} all exceeded"),
        }
    };
    report.events.iter().map(summary).collect()
}

#[test]
fn a_day_falls_back_along_the_chain() {
    // Premium costs 100 a minute, standard 10, economy 1.
    let config = config([10_000, 2_000, 1_000], json!({}));
    let prices = prices();
    let plan = plan(&config, &prices, 0);
    let report = run(&plan, &every_minute()).unwrap();
    assert_eq!(
        story(&report),
        [
            "94 premium tight",
            "99 premium exceeded",
            "99 premium to standard",
            "289 standard tight",
            "299 standard exceeded",
            "299 standard to economy",
            "1249 economy tight",
            "1299 economy exceeded",
            "1299 all exceeded",
        ]
    );
    let costs: Vec<u64> = report.models.iter().map(|model| model.cost_usd_micros.0).collect();
    assert_eq!(costs, [10_000, 2_000, 1_000]);
    assert_eq!((report.served, report.refused, report.outside), (1_300, 140, 0));
    assert_eq!(report.cost_usd_micros, MicroUsd(13_000));
    assert_eq!(report.models[1].first_used_at_ms, Some(midnight() + 100 * 60_000));
    assert_eq!((report.models[2].input_tokens, report.models[2].output_tokens), (60_000, 40_000));
}

#[test]
fn the_lag_of_totals_causes_overshoot() {
    let config = config([10_000, 100_000, 0], json!({}));
    let prices = prices();
    let report = run(&plan(&config, &prices, 15 * 60_000), &every_minute()).unwrap();
    assert_eq!(
        story(&report),
        [
            "0 economy tight",
            "0 economy exceeded",
            "94 premium tight",
            "99 premium exceeded",
            "105 premium to standard",
        ]
    );
    // Minutes 100 to 104 were served before the totals showed it.
    assert_eq!(report.models[0].overshoot_usd_micros, MicroUsd(500));
    assert_eq!(report.models[0].quota_pct.to_string(), "105.00");
    assert_eq!(report.refused, 0);
}

#[test]
fn the_overshoot_is_at_most_rate_times_lag() {
    for lag_minutes in [0, 1, 7, 60] {
        for quota in [1, 50, 5_000, 99_999] {
            let config = config([quota, 50_000, 50_000], json!({}));
            let lag_ms = lag_minutes * 60_000;
            let prices = prices();
            let report = run(&plan(&config, &prices, lag_ms), &every_minute()).unwrap();
            let overshoot = report.models[0].overshoot_usd_micros.0;
            // The submission that reaches the quota may itself exceed it.
            let most = 100 * (u64::try_from(lag_minutes).unwrap() + 1);
            assert!(overshoot <= most, "{overshoot} of {most} at {lag_minutes} min, {quota}");
        }
    }
}

#[test]
fn the_chart_covers_the_day() {
    let config = config([10_000, 2_000, 1_000], json!({}));
    let prices = prices();
    let plan = plan(&config, &prices, 0);
    let report = run(&plan, &every_minute()).unwrap();
    assert_eq!(report.series.len(), 97);
    assert_eq!(report.series[0].at_ms, report.start_ms);
    assert_eq!(report.series[96].at_ms, report.end_ms);
    let at = |point: usize| report.series[point].spend_usd_micros.clone();
    assert_eq!(at(0), [MicroUsd(0), MicroUsd(0), MicroUsd(0)]);
    assert_eq!(at(4), [MicroUsd(6_000), MicroUsd(0), MicroUsd(0)]);
    assert_eq!(at(96), [MicroUsd(10_000), MicroUsd(2_000), MicroUsd(1_000)]);
    assert_eq!(run(&plan, &[]).unwrap().series.len(), 97);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["events"][2]["event"], "FALLBACK");
    assert_eq!(json["models"][0]["quota_pct"], 100.0);
}

#[test]
fn invalid_simulations_are_refused() {
    let (mut partial_prices, config) = (prices(), config([1, 1, 1], json!({})));
    partial_prices.remove("economy");
    let run = |config: &EffectiveConfig, prices: &BTreeMap<Label, Price>, day, lag_ms| {
        let plan = Simulation { day, ..plan(config, prices, lag_ms) };
        plan.run(&[]).map_err(|error| error.to_string())
    };
    let error = run(&config, &partial_prices, day(), 0).unwrap_err();
    assert!(error.starts_with("no price is known for model \"economy\""), "{error}");
    let free = self::config([1, 1, 1], json!({"unpriced": "zero"}));
    assert!(run(&free, &partial_prices, day(), 0).is_ok());
    assert!(run(&config, &prices(), day(), -1).is_err());
    assert!(run(&config, &prices(), day(), LAG_MS_MAX + 1).is_err());
    let apia = self::config([1, 1, 1], json!({"timezone": "Pacific/Apia"}));
    let skipped = OrgDay::new(2011, 12, 30).unwrap();
    let error = run(&apia, &prices(), skipped, 0).unwrap_err();
    assert_eq!(error, "day: 2011-12-30 does not exist in Pacific/Apia");
    let yesterday = ReplayRow::new("2026-01-22T12:00:00Z", TokenUse::default()).unwrap();
    let prices = prices();
    let plan = plan(&config, &prices, 0);
    assert_eq!(plan.run(&[yesterday]).unwrap()[0].outside, 1);
    for cache_ms in [-1, CACHE_MS_MAX + 1] {
        assert!(Simulation { cache_ms: Some(cache_ms), ..plan.clone() }.run(&[]).is_err());
    }
    assert!(ReplayRow::new("yesterday", TokenUse::default()).is_err());
}

#[test]
fn a_seed_makes_one_day_of_office_hours() {
    let traffic = Traffic { seed: 7, requests: 10_000, input_tokens: 1_000, output_tokens: 200 };
    for (zone, date) in [
        ("America/New_York", "2026-01-23"),
        ("America/New_York", "2026-03-08"),
        ("America/Havana", "2026-11-01"),
        ("Australia/Lord_Howe", "2026-04-05"),
    ] {
        let (zone, date) = (Zone::new(zone).unwrap(), OrgDay::from_dashed(date).unwrap());
        let rows = traffic.rows(&zone, date).unwrap();
        assert_eq!(rows, traffic.rows(&zone, date).unwrap());
        assert_eq!(rows.len(), 10_000);
        assert!(rows.is_sorted_by_key(|row| row.at_ms));
        assert!(rows.iter().all(|row| zone.day_of(row.at_ms) == date));
        assert!(rows.iter().all(|row| (500..=1_500).contains(&row.tokens.input)));
        let within = |hours: std::ops::Range<u8>| {
            rows.iter().filter(|row| hours.contains(&zone.hour_of(row.at_ms))).count()
        };
        assert!(within(9..12) > 5 * within(0..3), "{} {}", within(9..12), within(0..3));
        // Lunch is at noon, though the clock was changed in the night.
        let [eleven, noon, one] = [11, 12, 13].map(|hour| within(hour..hour + 1));
        assert!(noon < eleven && noon < one, "{date}: {eleven} {noon} {one}");
        let other = Traffic { seed: 8, ..traffic };
        assert_ne!(other.rows(&zone, date).unwrap(), rows);
    }
    let apia = Zone::new("Pacific/Apia").unwrap();
    assert!(traffic.rows(&apia, OrgDay::new(2011, 12, 30).unwrap()).is_err());
    assert!(Traffic { requests: REPLAY_ROWS_MAX + 1, ..traffic }.rows(&apia, day()).is_err());
    assert!(traffic.rows(&apia, day()).unwrap()[0].at_ms > midnight() - 48 * HOUR_MS);
}

#[test]
fn the_overshoot_includes_the_time_that_clients_use_a_selection() {
    // Premium is exceeded after minute 99. Totals show it at minute 105; a selection lasts from minute 100 to 110.
    let config = config(
        [10_000, 100_000, 1_000],
        json!({"overrides": {"refresh_interval_normal_secs": 600, "refresh_interval_tight_secs": 600}}),
    );
    let prices = prices();
    let plan = Simulation { cache_ms: None, ..plan(&config, &prices, 15 * 60_000) };
    let report = run(&plan, &every_minute()).unwrap();
    assert_eq!(report.models[0].overshoot_usd_micros, MicroUsd(1_000));
    assert_eq!(report.models[1].first_used_at_ms, Some(midnight() + 110 * 60_000));
    // For any lag and use: the rate times both.
    for (lag_minutes, cache_minutes) in [(0, 0), (0, 5), (7, 0), (7, 5), (15, 60)] {
        let (lag_ms, cache_ms) = (lag_minutes * 60_000, Some(cache_minutes * 60_000));
        let plan = Simulation { lag_ms, cache_ms, ..plan.clone() };
        let overshoot = run(&plan, &every_minute()).unwrap().models[0].overshoot_usd_micros.0;
        let most = 100 * u64::try_from(lag_minutes + cache_minutes + 1).unwrap();
        assert!(
            overshoot <= most,
            "{overshoot} of {most} at {lag_minutes} and {cache_minutes} min"
        );
        assert!(cache_minutes < 60 || overshoot > 1_500, "{overshoot}: the use counts");
    }
    // A selection is not used past midnight.
    let long = Simulation { cache_ms: Some(CACHE_MS_MAX), ..plan };
    assert_eq!(run(&long, &every_minute()).unwrap().models[0].requests, 1_440);
}

#[test]
fn each_app_has_its_own_quotas_or_shares_those_of_the_org() {
    let (a, b) = (AppId::new("a").unwrap(), AppId::new("b").unwrap());
    let rows: Vec<ReplayRow> = (0..)
        .zip(every_minute())
        .map(|(number, row)| ReplayRow {
            app: if number % 4 == 0 {
                None
            } else {
                Some(if number % 2 == 0 { &a } else { &b }.clone())
            },
            ..row
        })
        .collect();
    let prices = prices();
    let shared = config([10_000, 100_000, 1_000], json!({}));
    let plan = plan(&shared, &prices, 0);
    let report = run(&plan, &rows).unwrap();
    assert_eq!((report.app_id, report.models[0].requests), (None, 100));
    let apps: Vec<_> = report.apps.iter().map(|app| (app.app_id.as_str(), app.requests)).collect();
    assert_eq!(apps, [("a", 360), ("b", 720)]);
    // Quotas of each app: b has more, the others have the org's.
    let each = config([10_000, 100_000, 1_000], json!({"quota_scope": "APP"}));
    let more = config([20_000, 100_000, 1_000], json!({"quota_scope": "APP"}));
    let apps = BTreeMap::from([(b.clone(), more)]);
    let plan = Simulation { config: &each, apps: &apps, ..plan };
    let reports = plan.run(&rows).unwrap();
    let premium = |report: &SimulationReport| report.models[0].requests;
    let found: Vec<_> = reports.iter().map(|it| (it.app_id.clone(), premium(it))).collect();
    assert_eq!(found, [(None, 100), (Some(a.clone()), 100), (Some(b), 200)]);
    // Submissions without an app are those of the app that was named.
    let reports = Simulation { default_app: Some(&a), ..plan }.run(&rows).unwrap();
    assert_eq!(reports.iter().map(|it| it.served).collect::<Vec<_>>(), [720, 720]);
}

#[test]
fn the_chart_has_whole_hours_on_days_of_any_length() {
    for (zone, date, points) in [
        ("America/New_York", "2026-03-08", 93),
        ("America/New_York", "2026-11-01", 101),
        ("America/Havana", "2026-11-01", 101),
        ("Australia/Lord_Howe", "2026-10-04", 95),
    ] {
        let config = config([1_000_000, 1, 1], json!({"timezone": zone}));
        let (prices, day) = (prices(), OrgDay::from_dashed(date).unwrap());
        let plan = Simulation { day, ..plan(&config, &prices, 0) };
        let (zone, report) = (&config.timezone, run(&plan, &[]).unwrap());
        assert_eq!(report.series.len(), points, "{date}");
        let last = report.series.len() - 1;
        assert_eq!(report.series[last].at_ms, zone.first_instant(day.next().unwrap()));
        for point in &report.series[..last] {
            let minute = zone.local_time(point.at_ms)[14..16].parse::<u32>().unwrap();
            assert_eq!((minute % 15, zone.day_of(point.at_ms)), (0, day), "{date}");
        }
    }
}
