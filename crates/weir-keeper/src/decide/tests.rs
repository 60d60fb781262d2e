use weir_calendar::Zone;

use super::*;

const HOUR_MS: i64 = 3_600_000;
/// Noon in New York on 2026-01-23.
const NOON_MS: i64 = 1_769_187_600_000;

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn chain(entries: &[(&str, u64, u64)]) -> Vec<ChainEntry> {
    let entry = |&(name, spend, quota): &(&str, u64, u64)| ChainEntry {
        label: label(name),
        spend: MicroUsd(spend),
        quota: MicroUsd(quota),
    };
    entries.iter().map(entry).collect()
}

fn sticky_at(name: &str, reason: StickyReason) -> StickyState {
    StickyState {
        label: label(name),
        config_version: 1,
        reason,
        previous: None,
        activated_at_epoch: 0,
    }
}

fn input<'a>(
    chain: &'a [ChainEntry],
    is_sticky: bool,
    sticky: Option<&'a StickyState>,
) -> DecisionInput<'a> {
    DecisionInput {
        chain,
        is_summed: true,
        threshold_pct: 95,
        is_sticky,
        sticky,
        refresh: Refresh { normal_secs: 300, tight_secs: 60 },
        today: Zone::new("America/New_York").unwrap().span_of(NOON_MS),
        now_ms: NOON_MS,
    }
}

fn at(decision: &Decision) -> &str {
    decision.model().map_or("-", |model| model.label.as_str())
}

/// Spend on a, b and c, each with a quota of 100; whether sticky; the recorded state; expected model, reason and
/// fallback.
#[test]
fn the_search_starts_at_the_recorded_model() {
    use StickyReason::{ManualOverride as Hand, QuotaExceeded as Fell};
    type Row = ([u64; 3], bool, Option<(&'static str, StickyReason)>, &'static str);
    let rows: [Row; 19] = [
        ([0, 0, 0], true, None, "a NORMAL -"),
        ([99, 0, 0], true, None, "a NORMAL -"),
        ([100, 0, 0], true, None, "b QUOTA_EXCEEDED_a a>b"),
        ([100, 0, 0], false, None, "b QUOTA_EXCEEDED_a -"),
        ([100, 100, 0], true, None, "c QUOTA_EXCEEDED_b b>c"),
        ([100, 0, 0], true, Some(("b", Fell)), "b STICKY_FALLBACK -"),
        // The quota was raised, or the label is new: the fallback stays in force.
        ([0, 0, 0], true, Some(("b", Fell)), "b STICKY_FALLBACK -"),
        ([0, 100, 0], true, Some(("b", Fell)), "c QUOTA_EXCEEDED_b b>c"),
        ([0, 0, 0], false, Some(("b", Fell)), "a NORMAL -"),
        ([0, 0, 0], true, Some(("gone", Fell)), "a NORMAL -"),
        // The chain was reordered and it is the first now.
        ([0, 0, 0], true, Some(("a", Fell)), "a NORMAL -"),
        ([0, 0, 0], true, Some(("c", Hand)), "c MANUAL_OVERRIDE -"),
        ([0, 0, 0], false, Some(("c", Hand)), "c MANUAL_OVERRIDE -"),
        ([0, 0, 0], true, Some(("a", Hand)), "a MANUAL_OVERRIDE -"),
        ([100, 0, 0], true, Some(("a", Hand)), "b QUOTA_EXCEEDED_a a>b"),
        // Where fallbacks are not sticky, the override stays in force; recording one would end it.
        ([0, 100, 0], false, Some(("b", Hand)), "c QUOTA_EXCEEDED_b -"),
        ([100, 100, 100], true, None, "- ALL_QUOTAS_EXCEEDED -"),
        // Models before the fallback are not considered again, open or not.
        ([0, 100, 100], true, Some(("b", Fell)), "- ALL_QUOTAS_EXCEEDED -"),
        ([0, 0, 100], true, Some(("c", Hand)), "- ALL_QUOTAS_EXCEEDED -"),
    ];
    for (spend, is_sticky, sticky, expected) in rows {
        let [a, b, c] = spend;
        let chain = chain(&[("a", a, 100), ("b", b, 100), ("c", c, 100)]);
        let sticky = sticky.map(|(name, reason)| sticky_at(name, reason));
        let decision = decide(&input(&chain, is_sticky, sticky.as_ref()));
        let fallback = decision.fallback.as_ref();
        let fallback = fallback
            .map_or("-".into(), |fallback| format!("{}>{}", fallback.previous, fallback.to));
        let found = format!("{} {} {fallback}", at(&decision), decision.reason);
        assert_eq!(found, expected, "{spend:?} {is_sticky} {sticky:?}");
        let is_stale = sticky.is_some_and(|sticky| sticky.label.as_str() == "gone");
        assert_eq!(decision.is_sticky_stale, is_stale);
    }
}

#[test]
fn a_quota_of_zero_is_exceeded() {
    let chain = chain(&[("a", 0, 0), ("b", 0, 10)]);
    let decision = decide(&input(&chain, true, None));
    assert_eq!((at(&decision), decision.reason.to_string().as_str()), ("b", "QUOTA_EXCEEDED_a"));
    let closed = &decision.models[0];
    assert_eq!((closed.status, closed.percent), (Status::Exceeded, Percent::FULL));
}

#[test]
fn a_chain_whose_spend_is_unknown_is_closed() {
    let chain = chain(&[("a", 0, 100), ("b", 0, 100)]);
    for sticky in [None, Some(sticky_at("b", StickyReason::ManualOverride))] {
        let input = DecisionInput { is_summed: false, ..input(&chain, true, sticky.as_ref()) };
        let decision = decide(&input);
        assert_eq!((decision.recommended, &decision.fallback), (None, &None));
        assert_eq!(decision.reason, Reason::AllQuotasExceeded);
        assert!(decision.models.iter().all(|model| model.status == Status::Exceeded));
    }
}

#[test]
fn a_model_is_tight_from_its_threshold_to_its_quota() {
    for (spend, quota, threshold, expected) in [
        (9_499_999, 10_000_000, 95, Status::Normal),
        (9_500_000, 10_000_000, 95, Status::Tight),
        (9_999_999, 10_000_000, 95, Status::Tight),
        (10_000_000, 10_000_000, 95, Status::Exceeded),
        (9_999_999, 10_000_000, 100, Status::Normal),
        (1, 2, 50, Status::Tight),
        (1, 3, 50, Status::Normal),
        (0, 0, 50, Status::Exceeded),
        // A sum that stopped at its bound exceeds any quota.
        (999_999_999_999_999, u64::MAX, 100, Status::Normal),
        (1_000_000_000_000_000, u64::MAX, 100, Status::Exceeded),
        (u64::MAX - 1, u64::MAX, 100, Status::Exceeded),
    ] {
        assert_eq!(
            status(MicroUsd(spend), MicroUsd(quota), threshold),
            expected,
            "{spend} {quota}"
        );
    }
}

#[test]
fn the_mode_follows_the_current_model() {
    let three = |a, b| chain(&[("a", a, 100), ("b", b, 100)]);
    for (a, b, mode, frequency) in [
        (10, 0, Mode::Normal, "PERIODIC_300S"),
        (95, 0, Mode::Tight, "PERIODIC_60S"),
        (100, 0, Mode::Normal, "PERIODIC_300S"),
        (100, 99, Mode::Tight, "PERIODIC_60S"),
        (100, 100, Mode::Tight, "PERIODIC_60S"),
    ] {
        let decision = decide(&input(&three(a, b), true, None));
        assert_eq!(decision.mode, mode, "{a} {b}");
        assert_eq!(decision.guidance.check_frequency, frequency, "{a} {b}");
    }
}

#[test]
fn a_decision_is_not_cached_past_midnight() {
    let chain = chain(&[("a", 100, 100)]);
    let mut input = input(&chain, true, None);
    assert_eq!(decide(&input).guidance.cache_duration_secs, 60);
    let midnight = input.today.end_ms;
    for (left_ms, cached, retry) in [(59_999, 59, 60), (1_000, 1, 1), (999, 0, 1), (-5, 0, 0)] {
        input.now_ms = midnight - left_ms;
        let decision = decide(&input);
        assert_eq!(decision.guidance.cache_duration_secs, cached, "{left_ms}");
        assert_eq!(decision.retry_after_secs(input.now_ms), retry, "{left_ms}");
        assert_eq!(decision.retry_at_ms, midnight);
    }
}

#[test]
fn exhaustion_is_projected_from_the_rate_of_the_day() {
    // Twelve hours have passed.
    for (spend, quota, expected) in [
        (0, 100, None),
        (50, 100, None),
        (51, 100, Some(11 * HOUR_MS + 1_905_883)),
        (60, 100, Some(8 * HOUR_MS)),
        (75, 100, Some(4 * HOUR_MS)),
        (100, 100, None),
        (1, u64::MAX, None),
    ] {
        let chain = chain(&[("a", spend, quota)]);
        let decision = decide(&input(&chain, true, None));
        let found = decision.models[0].exhausted_at_ms.map(|at| at - NOON_MS);
        assert_eq!(found, expected, "{spend} of {quota}");
    }
    let chain = chain(&[("a", 50, 100)]);
    let mut input = input(&chain, true, None);
    input.now_ms = input.today.start_ms;
    assert_eq!(decide(&input).models[0].exhausted_at_ms, None);
}

#[test]
fn an_empty_chain_is_exceeded() {
    let decision = decide(&input(&[], true, Some(&sticky_at("a", StickyReason::QuotaExceeded))));
    assert_eq!(decision.reason, Reason::AllQuotasExceeded);
    assert!(decision.current().is_none() && decision.is_sticky_stale);
}

#[test]
fn sticky_reasons_round_trip() {
    for reason in [StickyReason::QuotaExceeded, StickyReason::ManualOverride] {
        assert_eq!(StickyReason::parse(reason.as_str()), Some(reason));
    }
    assert_eq!(StickyReason::parse("OTHER"), None);
}
