//! Invariants of buckets under arbitrary operations.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use weir_limiter::bucket::{Bucket, Level, Limit, Rate, combine, double, gather};
use weir_limiter::ids::LimitName;

fn rate() -> impl Strategy<Value = Rate> {
    let tokens = 1i64..=1_000_000_000_000_000;
    let small = 1i64..=1_000_000;
    let amount = prop_oneof![small.clone(), tokens];
    (amount.clone(), amount, prop_oneof![1i64..=1_000_000, 1i64..=315_360_000_000])
        .prop_map(|(capacity, refill, period_ms)| Rate { capacity, refill, period_ms })
}

fn level_in(rate: Rate) -> impl Strategy<Value = (Rate, Level)> {
    (-1_000_000_000i64..=rate.capacity, 0..rate.period_ms).prop_map(move |(tokens, remainder)| {
        let remainder = if tokens == rate.capacity { 0 } else { remainder };
        (rate, Level { tokens, remainder })
    })
}

fn name(text: &str) -> LimitName {
    LimitName::new(text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn refilling_in_steps_equals_refilling_in_one(
        (rate, level) in rate().prop_flat_map(level_in),
        steps in prop::collection::vec(0i64..100_000_000, 0..50),
    ) {
        let total = steps.iter().sum();
        let stepped = steps.iter().fold(level, |level, step| level.refilled(rate, *step));
        prop_assert_eq!(stepped, level.refilled(rate, total));
        prop_assert!(stepped.tokens <= rate.capacity);
        prop_assert!(stepped.tokens >= level.tokens.min(rate.capacity));
    }

    #[test]
    fn the_computed_wait_is_enough_and_not_too_long(
        (rate, level) in rate().prop_flat_map(level_in),
        requested in 1i64..=1_000_000_000,
    ) {
        match level.wait_ms(rate, requested) {
            None => prop_assert!(requested > rate.capacity),
            Some(wait) if wait < i64::MAX / 2 => {
                prop_assert!(level.refilled(rate, wait).tokens >= requested);
                prop_assert!(wait == 0 || level.refilled(rate, wait - 1).tokens < requested);
            }
            Some(_) => {}
        }
    }

    #[test]
    fn acquires_never_grant_more_than_there_was(
        rate in rate(),
        asks in prop::collection::vec((0i64..10_000_000, 1i64..1_000_000_000), 0..100),
    ) {
        let (mut level, mut granted, mut elapsed) = (rate.full(), 0i128, 0i128);
        for (wait, requested) in asks {
            level = level.refilled(rate, wait);
            elapsed += i128::from(wait);
            if level.tokens >= requested {
                level.tokens -= requested;
                granted += i128::from(requested);
            }
            let most = i128::from(rate.capacity) + elapsed * i128::from(rate.refill) / i128::from(rate.period_ms);
            prop_assert!(granted <= most, "{granted} of {most}");
            prop_assert!((0..=rate.capacity).contains(&level.tokens));
        }
    }

    #[test]
    fn shares_add_up_and_nest(rate in rate(), doublings in 0u32..5) {
        let count = 1 << doublings;
        let shares: Vec<Rate> = (0..count).map(|shard| rate.share(shard, count)).collect();
        prop_assert_eq!(shares.iter().map(|share| share.capacity).sum::<i64>(), rate.capacity);
        prop_assert_eq!(shares.iter().map(|share| share.refill).sum::<i64>(), rate.refill);
        for shard in 0..count {
            let halves = rate.share(shard, count * 2).capacity + rate.share(shard + count, count * 2).capacity;
            prop_assert_eq!(shares[shard as usize].capacity, halves);
        }
    }

    #[test]
    fn doubling_moves_and_mints_nothing(
        amount in 1u64..1_000_000,
        taken in prop::collection::vec(-2_000_000_000i64..2_000_000_000, 5),
        elapsed in 0i64..1_000_000,
    ) {
        let limits = [Limit::per_minute(name("rpm"), amount), Limit::per_minute(name("tpm"), amount * 7 + 3)];
        let mut shards = vec![Bucket::full(&limits, 0, 1, 0)];
        for taken in taken {
            for shard in &mut shards {
                shard.take(&name("rpm"), taken);
            }
            let now: Vec<Bucket> = shards.iter().map(|shard| shard.refilled(elapsed)).collect();
            let doubled = double(&now);
            prop_assert_eq!(doubled.len(), now.len() * 2);
            for limit in &limits {
                let sum = |shards: &[Bucket]| -> (i128, i128, i128) {
                    let meters = shards.iter().map(|shard| shard.meter(&limit.name).unwrap());
                    meters.fold((0, 0, 0), |sum, meter| (
                        sum.0 + i128::from(meter.level.tokens),
                        sum.1 + i128::from(meter.level.remainder),
                        sum.2 + i128::from(meter.consumed),
                    ))
                };
                prop_assert_eq!(sum(&now), sum(&doubled));
            }
            for shard in &doubled {
                for meter in &shard.meters {
                    prop_assert!(meter.level.tokens <= shard.share(meter).capacity);
                }
            }
            shards = doubled;
        }
    }

    #[test]
    fn gathering_takes_the_request_and_leaves_no_debt(
        there in prop::collection::vec(-1_000i64..100_000, 1..32),
        requested in 1i64..1_000_000,
    ) {
        let limits = [Limit::per_minute(name("rpm"), 1_000_000)];
        let count = u32::try_from(there.len()).unwrap();
        let mut shards: Vec<Bucket> = (0..count).map(|shard| Bucket::full(&limits, shard, count, 0)).collect();
        for (shard, tokens) in shards.iter_mut().zip(&there) {
            shard.meters[0].level.tokens = *tokens;
        }
        let most: i64 = there.iter().filter(|tokens| **tokens > 0).sum();
        match gather(&shards, &[(name("rpm"), requested)]) {
            None => prop_assert!(requested > most),
            Some(takes) => {
                let taken: i64 = takes.iter().map(|take| take.amounts[0].1).sum();
                prop_assert_eq!(taken, requested);
                for take in takes {
                    prop_assert!(take.amounts[0].1 <= there[take.shard as usize]);
                }
            }
        }
        prop_assert_eq!(combine(&shards).unwrap().meters[0].level.tokens, there.iter().sum::<i64>());
    }
}
