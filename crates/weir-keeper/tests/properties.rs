//! Properties of money, decisions and configuration changes.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_calendar::{DaySpan, Zone};
use weir_keeper::catalog::ModelCatalog;
use weir_keeper::config::{EffectiveConfig, OrgRecord, Overrides, PutOrg};
use weir_keeper::day::{OrgDay, day_of_submission};
use weir_keeper::decide::{
    ChainEntry, Decision, DecisionInput, Mode, Reason, Refresh, Status, StickyReason, StickyState,
    decide,
};
use weir_keeper::ids::{Label, OrgId};
use weir_keeper::money::{MicroUsd, Price, TokenUse};
use weir_keeper::simulate::{Simulation, SimulationReport, Traffic};

const DAY_MS: i64 = 86_400_000;

fn zones() -> Vec<Zone> {
    let database = jiff::tz::TimeZoneDatabase::bundled();
    database.available().filter_map(|name| Zone::new(name.as_str())).collect()
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10, 0u64..10_000_000, 0u64..=1_000_000_000_000, any::<u64>()]
}

fn price() -> impl Strategy<Value = Price> {
    let part = || prop::option::of(amount());
    (amount(), amount(), part(), part()).prop_map(|(input, output, cache_read, cache_write)| {
        Price { cache_read, cache_write, ..Price::new(input, output) }
    })
}

fn tokens() -> impl Strategy<Value = TokenUse> {
    (amount(), amount(), amount(), amount()).prop_map(
        |(input, output, cached_read, cached_write)| TokenUse {
            input,
            output,
            cached_read,
            cached_write,
        },
    )
}

/// The cost by long division: whole micro-USD and remainders apart, so that nothing can overflow.
fn schoolbook(price: &Price, tokens: &TokenUse) -> u128 {
    let million = 1_000_000u128;
    let pairs = [
        (tokens.input, price.input),
        (tokens.output, price.output),
        (tokens.cached_read, price.cache_read.unwrap_or(price.input)),
        (tokens.cached_write, price.cache_write.unwrap_or(price.input)),
    ];
    let (mut whole, mut rest) = (0u128, 0u128);
    for (count, price) in pairs {
        let (count, price) = (u128::from(count), u128::from(price));
        // count = a million times c + d, so count times price = a million times (c times price) + d times price.
        let (c, d) = (count / million, count % million);
        whole += c * price + (d * price) / million;
        rest += (d * price) % million;
    }
    whole + rest.div_ceil(million)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_cost_is_exact_or_an_error(price in price(), tokens in tokens()) {
        let exact = schoolbook(&price, &tokens);
        match price.cost(&tokens) {
            Ok(cost) => prop_assert_eq!(u128::from(cost.0), exact),
            Err(_) => prop_assert!(exact > 1_000_000_000_000, "{}", exact),
        }
    }
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn label(index: usize) -> Label {
    Label::new(NAMES[index]).unwrap()
}

fn chain() -> impl Strategy<Value = Vec<ChainEntry>> {
    let part = || prop_oneof![Just(0u64), 0u64..20, 0u64..2_000_000];
    prop::collection::vec((part(), part()), 1..=5).prop_map(|parts| {
        let entry = |(index, (spend, quota))| ChainEntry {
            label: label(index),
            spend: MicroUsd(spend),
            quota: MicroUsd(quota),
        };
        parts.into_iter().enumerate().map(entry).collect()
    })
}

fn sticky_at(index: usize, by_hand: bool) -> StickyState {
    let reason = if by_hand { StickyReason::ManualOverride } else { StickyReason::QuotaExceeded };
    StickyState {
        label: label(index),
        config_version: 1,
        reason,
        previous: None,
        activated_at_epoch: 0,
    }
}

fn decision_input<'a>(
    chain: &'a [ChainEntry],
    is_sticky: bool,
    sticky: Option<&'a StickyState>,
    after_ms: i64,
) -> DecisionInput<'a> {
    let day = OrgDay::new(2026, 1, 23).unwrap();
    DecisionInput {
        is_summed: true,
        chain,
        threshold_pct: 95,
        is_sticky,
        sticky,
        refresh: Refresh { normal_secs: 300, tight_secs: 60 },
        today: DaySpan { day, start_ms: 0, end_ms: DAY_MS },
        now_ms: after_ms,
    }
}

fn check_decision(
    chain: &[ChainEntry],
    decision: &Decision,
    now: i64,
) -> Result<(), TestCaseError> {
    let open = |entry: &ChainEntry| entry.spend < entry.quota;
    match decision.recommended {
        Some(at) => {
            prop_assert!(open(&chain[at]), "{decision:?}");
            prop_assert!(decision.reason != Reason::AllQuotasExceeded);
        }
        None => {
            prop_assert_eq!(&decision.reason, &Reason::AllQuotasExceeded);
            prop_assert!(decision.fallback.is_none() && decision.mode == Mode::Tight);
        }
    }
    if let Reason::QuotaExceeded(exceeded) = &decision.reason {
        let entry = chain.iter().find(|entry| entry.label == *exceeded).unwrap();
        prop_assert!(!open(entry));
    }
    if let Some(fallback) = &decision.fallback {
        prop_assert_eq!(Some(fallback.index), decision.recommended);
        prop_assert_eq!(
            (&fallback.to, &fallback.previous),
            (&chain[fallback.index].label, &chain[fallback.index - 1].label)
        );
        prop_assert!(decision.sticky_fallback_active);
    }
    for (model, entry) in decision.models.iter().zip(chain) {
        prop_assert_eq!(model.status == Status::Exceeded, !open(entry));
        prop_assert_eq!(model.percent.hundredths() >= 10_000, !open(entry));
        if let Some(at) = model.exhausted_at_ms {
            prop_assert!((now..DAY_MS).contains(&at), "{at} {now}");
        }
    }
    prop_assert!(
        now + i64::try_from(decision.guidance.cache_duration_secs).unwrap() * 1000 <= DAY_MS
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_exceeded_model_is_never_recommended(
        chain in chain(),
        is_sticky in any::<bool>(),
        sticky in prop::option::of((0usize..5, any::<bool>())),
        now in 0..DAY_MS,
    ) {
        let sticky = sticky.map(|(index, by_hand)| sticky_at(index, by_hand));
        let decision = decide(&decision_input(&chain, is_sticky, sticky.as_ref(), now));
        check_decision(&chain, &decision, now)?;
        let pin = sticky.as_ref().filter(|sticky| is_sticky || sticky.reason == StickyReason::ManualOverride);
        let start = pin.and_then(|pin| chain.iter().position(|entry| entry.label == pin.label)).unwrap_or(0);
        // No open model is skipped.
        let expected = (start..chain.len()).find(|at| chain[*at].spend < chain[*at].quota);
        prop_assert_eq!(decision.recommended, expected);
    }

    #[test]
    fn a_sticky_chain_never_moves_back(
        mut chain in chain(),
        steps in prop::collection::vec((0usize..5, 0u64..1_000_000, any::<bool>()), 1..30),
    ) {
        let (mut sticky, mut reached): (Option<StickyState>, usize) = (None, 0);
        for (now, (index, amount, is_quota)) in (0i64..).zip(steps) {
            // Money is spent, or a quota is changed.
            if let Some(entry) = chain.get_mut(index) {
                if is_quota { entry.quota = MicroUsd(amount) } else { entry.spend.0 += amount }
            }
            let decision = decide(&decision_input(&chain, true, sticky.as_ref(), now));
            check_decision(&chain, &decision, now)?;
            if let Some(at) = decision.recommended {
                prop_assert!(at >= reached, "from {reached} back to {at}");
                prop_assert_eq!(decision.fallback.is_some(), at > reached);
                reached = at;
            }
            if let Some(fallback) = decision.fallback {
                sticky = Some(sticky_at(fallback.index, false));
            }
        }
    }
}

/// An org's configuration in a time zone.
fn in_zone(zone: &Zone, quota_scope: &str) -> weir_keeper::config::OrgConfig {
    let wanted = PutOrg {
        org_name: "o".into(),
        timezone: zone.name().into(),
        quota_scope: quota_scope.into(),
        model_ordering: vec!["premium".into()],
        quotas: [("premium".to_owned(), 1)].into(),
        ..PutOrg::default()
    };
    wanted.check(&ModelCatalog::default(), None).unwrap()
}

/// Puts: the delay after the previous one, the time zone, and whether the quota is the org's.
fn puts() -> impl Strategy<Value = Vec<(i64, Zone, bool)>> {
    let after = prop_oneof![0..DAY_MS / 12, 0..2 * DAY_MS];
    prop::collection::vec((after, prop::sample::select(zones()), any::<bool>()), 1..9)
}

/// The settings in force and since when, as an observer would have noted them.
type Notes = Vec<(i64, Zone, &'static str)>;

/// Applies the puts in order; returns the record, the time, and the settings in force over time.
fn put_all(start_ms: i64, puts: Vec<(i64, Zone, bool)>) -> (OrgRecord, i64, Notes) {
    let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
    let mut now_ms = start_ms;
    let mut record = OrgRecord::new(org.clone(), in_zone(&Zone::utc(), "APP"), now_ms);
    let mut notes: Notes = vec![(i64::MIN, Zone::utc(), "APP")];
    for (after_ms, zone, is_orgs) in puts {
        now_ms += after_ms;
        note(&record, now_ms, &mut notes);
        record = record.changed(in_zone(&zone, if is_orgs { "ORG" } else { "APP" }), now_ms);
        record = OrgRecord::decode(org.clone(), &record.encode(None)).unwrap();
    }
    (record, now_ms, notes)
}

fn note(record: &OrgRecord, now_ms: i64, notes: &mut Notes) {
    if let Some(held) = record.pending.as_ref().filter(|pending| pending.at_ms <= now_ms) {
        notes.push((held.at_ms, held.timezone.clone(), held.quota_scope.as_str()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_submission_is_metered_in_a_final_day(
        start_ms in 1_700_000_000_000i64..1_900_000_000_000,
        puts in puts(),
        requested in prop::collection::vec((0usize..9, 0..2 * DAY_MS), 8),
        ages_ms in prop::collection::vec(0..4 * DAY_MS, 8),
    ) {
        let mut open = OrgDay::new(1, 1, 1).unwrap();
        // Reads after some of the puts, later but before the next.
        for count in 1..=puts.len() {
            let (record, put_ms, _) = put_all(start_ms, puts[..count].to_vec());
            let next_ms = put_ms + puts.get(count).map_or(3 * DAY_MS, |(after_ms, ..)| *after_ms);
            let mut looks: Vec<i64> = requested.iter().filter(|(of, _)| of % puts.len() + 1 == count)
                .map(|(_, wait_ms)| (put_ms + wait_ms).min(next_ms)).collect();
            looks.sort_unstable();
            for now_ms in looks {
                let effective = EffectiveConfig::for_org(&record, now_ms);
                let changes_ms = effective.past.iter().flat_map(|before| [before.until_ms - 1, before.until_ms]);
                for at_ms in ages_ms.iter().map(|age_ms| now_ms - age_ms).chain(changes_ms) {
                    let (zone, _) = effective.settings_at(at_ms);
                    if let Ok(day) = day_of_submission(zone, at_ms, now_ms) {
                        prop_assert!(day >= open, "{day} is counted in, and was over before {open}");
                    }
                }
                open = open.max(effective.first_open_day(now_ms));
                prop_assert!(open <= effective.timezone.day_of(now_ms));
            }
        }
    }

    #[test]
    fn a_late_submission_uses_the_settings_of_its_time(
        start_ms in 1_700_000_000_000i64..1_900_000_000_000,
        puts in puts(),
        wait_ms in 0..2 * DAY_MS,
        ages_ms in prop::collection::vec(0..3 * DAY_MS, 8),
    ) {
        let (record, now_ms, mut notes) = put_all(start_ms, puts);
        let now_ms = now_ms + wait_ms;
        note(&record, now_ms, &mut notes);
        let effective = EffectiveConfig::for_org(&record, now_ms);
        let changes_ms = notes.iter().map(|(from_ms, ..)| *from_ms).filter(|at| *at > now_ms - 3 * DAY_MS);
        let near_changes = changes_ms.flat_map(|at| [at - 1, at]);
        for at_ms in ages_ms.iter().map(|age_ms| now_ms - age_ms).chain(near_changes) {
            let (_, zone, scope) = notes.iter().rev().find(|(from_ms, ..)| *from_ms <= at_ms).unwrap();
            let (then, quota_scope) = effective.settings_at(at_ms);
            prop_assert_eq!((then, quota_scope.as_str()), (zone, *scope), "{} of {:?}", at_ms, notes);
            // So its day is the same whenever it is submitted.
            prop_assert_eq!(then.day_of(at_ms), zone.day_of(at_ms));
        }
    }
}

const CHAIN: [&str; 3] = ["premium", "standard", "economy"];

/// A synthetic day against these quotas, at these prices per million tokens.
fn replayed(
    quotas: [u64; 3],
    prices: [u64; 3],
    seed: u64,
    lag_ms: i64,
    sticky: bool,
) -> SimulationReport {
    let mut wanted = PutOrg {
        org_name: "o".into(),
        timezone: "America/Havana".into(),
        quota_scope: "ORG".into(),
        model_ordering: CHAIN.map(String::from).to_vec(),
        quotas: CHAIN.map(String::from).into_iter().zip(quotas.map(u64::cast_signed)).collect(),
        ..PutOrg::default()
    };
    let overrides = Overrides { sticky_fallback_enabled: Some(sticky), ..Overrides::default() };
    wanted.overrides = Some(overrides);
    let config = wanted.check(&ModelCatalog::default(), None).unwrap();
    let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
    let config = EffectiveConfig::for_org(&OrgRecord::new(org, config, 0), 0);
    let labels = CHAIN.map(|name| Label::new(name).unwrap());
    let prices = prices.map(|price| Price::new(price, price));
    let prices: BTreeMap<Label, Price> = labels.into_iter().zip(prices).collect();
    let day = OrgDay::new(2026, 11, 1).unwrap();
    let traffic = Traffic { seed, requests: 500, input_tokens: 100, output_tokens: 20 };
    let rows = traffic.rows(&config.timezone, day).unwrap();
    let (config, prices, apps) = (&config, &prices, &BTreeMap::new());
    // Without any lag, clients select before every call too.
    let cache_ms = (lag_ms == 0).then_some(0);
    let plan = Simulation { config, apps, default_app: None, prices, day, lag_ms, cache_ms };
    plan.run(&rows).unwrap().remove(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_replay_serves_or_refuses_every_row_and_never_moves_back(
        quotas in prop::array::uniform3(0u64..200_000),
        prices in prop::array::uniform3(0u64..10_000_000),
        seed in any::<u64>(),
        lag_ms in prop_oneof![Just(0i64), 1_000i64..3_600_000],
        sticky in any::<bool>(),
    ) {
        let report = replayed(quotas, prices, seed, lag_ms, sticky);
        prop_assert_eq!((report.served + report.refused, report.outside), (500, 0));
        let cost: u64 = report.models.iter().map(|model| model.cost_usd_micros.0).sum();
        prop_assert_eq!(report.cost_usd_micros.0, cost);
        let last = report.series.last().unwrap();
        prop_assert_eq!(last.spend_usd_micros.iter().map(|spend| spend.0).sum::<u64>(), cost);
        prop_assert!(report.series.is_sorted_by(|a, b| a.spend_usd_micros <= b.spend_usd_micros));
        // Spend only grows, so the chain never moves back, and an exceeded model is never used.
        let used: Vec<i64> = report.models.iter().filter_map(|model| model.first_used_at_ms).collect();
        prop_assert!(used.is_sorted());
        for (model, quota) in report.models.iter().zip(quotas) {
            prop_assert!(quota > 0 || model.requests == 0);
            prop_assert_eq!(model.exceeded_at_ms.is_some(), model.cost_usd_micros.0 >= quota);
            prop_assert!(model.tight_at_ms <= model.exceeded_at_ms || model.exceeded_at_ms.is_none());
            prop_assert!(lag_ms > 0 || model.overshoot_usd_micros.0 <= 1_800);
        }
        prop_assert_eq!(report, replayed(quotas, prices, seed, lag_ms, sticky));
    }
}
