//! Daily limits, one request at a time: answers, days, idempotency keys, costs.

use weir_calendar::Day;
use weir_practice::ids::{IdempotencyKey, PlanId, ProblemId, UserId};
use weir_practice::kinds::Action;
use weir_practice::list::PageRequest;
use weir_practice::plans::PlanLimit;
use weir_practice::usage::{CountDifference, Repair, UsageAnswer, UsageRequest};
use weir_practice::users::{User, UserPatch};
use weir_practice::{Error, item, keys};
use weir_table::expr::set;
use weir_table::{Query, Value, Write};

use crate::scene::{NOW_MS, Scene};
use crate::users::{item_count, sign_up};

scenes!(
    a_plan_allows_as_many_as_it_says,
    staff_and_unlimited_plans_are_counted_and_not_limited,
    inactive_and_missing_users_are_refused,
    a_repeated_key_counts_once_even_after_midnight,
    a_key_is_of_one_request,
    a_clock_that_jumps_back_reopens_nothing,
    a_clock_that_is_ahead_is_reported,
    an_administrator_sets_a_latest_day_back,
    the_log_has_every_action,
    counters_are_recomputed_from_the_log,
    a_request_takes_one_read_and_one_transaction,
    bad_metadata_writes_nothing,
);

pub(crate) const DAY_MS: u64 = 86_400_000;

pub(crate) async fn hint(scene: &Scene, user: &User) -> UsageAnswer {
    scene.practice.take_usage(&user.id, &UsageRequest::new(Action::Hint)).await.unwrap()
}

pub(crate) fn keyed(key: &str) -> UsageRequest {
    let idempotency_key = Some(IdempotencyKey::new(key).unwrap());
    UsageRequest { idempotency_key, ..UsageRequest::new(Action::Hint) }
}

pub(crate) async fn counted(scene: &Scene, user: &User, day: Day) -> u64 {
    let usage = scene.practice.usage(&user.id, Some(day)).await.unwrap();
    let logged = scene.practice.logged_count(&user.id, day, Action::Hint).await.unwrap();
    assert_eq!(usage.actions[0].count, logged, "the counter equals the log");
    logged
}

async fn an_administrator_sets_a_latest_day_back(scene: &Scene) {
    let practice = &scene.practice;
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    assert_eq!(practice.reset_latest_day(&ann.id, "admin").await.unwrap(), None);
    for _ in 0..3 {
        hint(scene, &ann).await;
    }
    assert_eq!(practice.reset_latest_day(&ann.id, "admin").await.unwrap(), None);
    // A clock that is ten years ahead counts the user there, and takes all of that day.
    let ahead = scene.another_at(NOW_MS + 3_650 * 86_400_000);
    let request = UsageRequest::new(Action::Hint);
    for _ in 0..5 {
        assert!(ahead.take_usage(&ann.id, &request).await.unwrap().allowed);
    }
    let closed = hint(scene, &ann).await;
    assert!(!closed.allowed);
    let reset = practice.reset_latest_day(&ann.id, "admin").await.unwrap().unwrap();
    assert_eq!((reset.from, reset.to), (closed.day, Day::utc(NOW_MS)));
    // Today goes on where it was.
    assert_eq!((hint(scene, &ann).await.count, hint(scene, &ann).await.count), (4, 5));
    assert!(!hint(scene, &ann).await.allowed);
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 5);
    let events = weir_table::audit::EventRange::default();
    let events = practice.audit_events(None, &events).await.unwrap().items;
    assert_eq!(events[0].action.as_str(), "usage_day_reset");
    assert_eq!(events[0].detail, Some(format!("{} to {}", reset.from, reset.to)));
    let nobody = UserId::new("nobody").unwrap();
    assert!(practice.reset_latest_day(&nobody, "admin").await.unwrap_err().is_not_found());
}

async fn a_plan_allows_as_many_as_it_says(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    for count in 1..=5 {
        let answer = hint(scene, &ann).await;
        assert_eq!(
            (answer.allowed, answer.count, answer.remaining),
            (true, count, Some(5 - count))
        );
        assert_eq!(answer.limit, PlanLimit::AtMost(5));
        assert_eq!(answer.resets_at_s, 2_116_368_000);
    }
    let before = item_count(scene).await;
    let refused = hint(scene, &ann).await;
    assert_eq!((refused.allowed, refused.count, refused.remaining), (false, 5, Some(0)));
    assert_eq!(item_count(scene).await, before);
    // Another action has a limit of its own.
    let execution = UsageRequest::new(Action::Execution);
    let answer = scene.practice.take_usage(&ann.id, &execution).await.unwrap();
    assert_eq!((answer.allowed, answer.count, answer.limit), (true, 1, PlanLimit::AtMost(50)));
    let usage = scene.practice.usage(&ann.id, None).await.unwrap();
    let counts: Vec<_> = usage.actions.iter().map(|one| (one.count, one.remaining)).collect();
    assert_eq!(counts, [(5, Some(0)), (1, Some(49))]);
    // A new day, and a larger plan.
    scene.clock.advance_ms(DAY_MS);
    assert!(hint(scene, &ann).await.allowed);
    scene.practice.move_user(&ann.id, PlanId::PRO, "admin").await.unwrap();
    assert_eq!(hint(scene, &ann).await.remaining, Some(48));
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 5);
}

async fn staff_and_unlimited_plans_are_counted_and_not_limited(scene: &Scene) {
    let (staff, admin) =
        (sign_up(scene, "staff", PlanId::FREE).await, sign_up(scene, "admin", PlanId::ADMIN).await);
    let patch = UserPatch { is_staff: Some(true), ..UserPatch::default() };
    scene.practice.update_user(&staff.id, &patch, "admin").await.unwrap();
    for user in [&staff, &admin] {
        for count in 1..=7 {
            let answer = hint(scene, user).await;
            let expected = (true, count, PlanLimit::Unlimited, None);
            assert_eq!((answer.allowed, answer.count, answer.limit, answer.remaining), expected);
        }
        assert_eq!(counted(scene, user, Day::utc(NOW_MS)).await, 7);
    }
}

async fn inactive_and_missing_users_are_refused(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    scene.practice.deactivate_user(&ann.id, "admin").await.unwrap();
    let request = UsageRequest::new(Action::Hint);
    let error = scene.practice.take_usage(&ann.id, &request).await.unwrap_err();
    assert!(matches!(error, Error::Forbidden(_)), "{error}");
    let nobody = UserId::new("nobody").unwrap();
    assert!(scene.practice.take_usage(&nobody, &request).await.unwrap_err().is_not_found());
    assert!(scene.practice.usage(&nobody, None).await.unwrap_err().is_not_found());
    scene.practice.reactivate_user(&ann.id, "admin").await.unwrap();
    assert!(hint(scene, &ann).await.allowed);
}

async fn a_repeated_key_counts_once_even_after_midnight(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let first = scene.practice.take_usage(&ann.id, &keyed("k")).await.unwrap();
    assert!(first.allowed && !first.is_replay);
    hint(scene, &ann).await;
    for wait_ms in [0, 11 * 3_600_000, 20 * 3_600_000] {
        scene.clock.advance_ms(wait_ms);
        let again = scene.practice.take_usage(&ann.id, &keyed("k")).await.unwrap();
        assert_eq!(
            again,
            UsageAnswer { is_replay: true, clock_ahead_ms: again.clock_ahead_ms, ..first }
        );
    }
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 2);
    let today = scene.practice.usage(&ann.id, None).await.unwrap();
    assert_eq!((today.day, today.actions[0].count), (Day::utc(NOW_MS).plus_days(1), 0));
    // A key is remembered for two days after the day on which it counts.
    scene.clock.advance_ms(DAY_MS + 4 * 3_600_000);
    let new = scene.practice.take_usage(&ann.id, &keyed("k")).await.unwrap();
    assert_eq!((new.is_replay, new.count), (false, 1));
}

async fn a_key_is_of_one_request(scene: &Scene) {
    let (ann, ben) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "ben", PlanId::FREE).await);
    scene.practice.take_usage(&ann.id, &keyed("k")).await.unwrap();
    let before = item_count(scene).await;
    let problem_id = Some(ProblemId::new("1000").unwrap());
    for other in [
        UsageRequest { action: Action::Execution, ..keyed("k") },
        UsageRequest { problem_id, ..keyed("k") },
        UsageRequest { metadata: Some(Value::map([("a", 1)])), ..keyed("k") },
    ] {
        let error = scene.practice.take_usage(&ann.id, &other).await.unwrap_err();
        assert!(error.is_conflict() && error.to_string().starts_with("idempotency_key"), "{error}");
    }
    assert_eq!(item_count(scene).await, before);
    // The same key of another user is another key.
    assert!(!scene.practice.take_usage(&ben.id, &keyed("k")).await.unwrap().is_replay);
    // A refused request is not remembered: it was not counted.
    for _ in 0..4 {
        hint(scene, &ann).await;
    }
    assert!(!scene.practice.take_usage(&ann.id, &keyed("late")).await.unwrap().allowed);
    scene.clock.advance_ms(DAY_MS);
    assert!(scene.practice.take_usage(&ann.id, &keyed("late")).await.unwrap().allowed);
}

async fn a_clock_that_jumps_back_reopens_nothing(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let (yesterday, today) = (Day::utc(NOW_MS), Day::utc(NOW_MS).plus_days(1));
    for _ in 0..3 {
        hint(scene, &ann).await;
    }
    scene.clock.advance_ms(DAY_MS);
    hint(scene, &ann).await;
    // Another instance, whose clock is a day behind.
    let slow = scene.another_at(NOW_MS);
    let request = UsageRequest::new(Action::Hint);
    // What it counts is not counted again by those whose clocks are right, even if it is several days behind.
    let behind = scene.another_at(NOW_MS - 4 * 86_400_000);
    let first = behind.take_usage(&ann.id, &keyed("k")).await.unwrap();
    assert_eq!((first.count, first.day), (2, today));
    let again = scene.practice.take_usage(&ann.id, &keyed("k")).await.unwrap();
    assert_eq!((again.is_replay, again.count), (true, 2));
    for count in 3..=5 {
        let answer = slow.take_usage(&ann.id, &request).await.unwrap();
        assert_eq!((answer.allowed, answer.count, answer.day), (true, count, today));
    }
    assert!(!slow.take_usage(&ann.id, &request).await.unwrap().allowed);
    assert_eq!(slow.usage(&ann.id, None).await.unwrap().day, today);
    assert_eq!(counted(scene, &ann, yesterday).await, 3);
    assert_eq!(counted(scene, &ann, today).await, 5);
}

async fn a_clock_that_is_ahead_is_reported(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    assert_eq!(scene.practice.clock_reading().newest_ms, None);
    assert_eq!(hint(scene, &ann).await.clock_ahead_ms, None);
    scene.clock.advance_ms(61_000);
    assert_eq!(hint(scene, &ann).await.clock_ahead_ms, Some(61_000));
    let reading = scene.practice.clock_reading();
    assert_eq!((reading.ahead_ms, reading.ahead_total), (0, 1));
    // An instance whose clock is behind sees items of its future.
    let slow = scene.another_at(NOW_MS - 5_000);
    slow.take_usage(&ann.id, &UsageRequest::new(Action::Hint)).await.unwrap();
    assert!(slow.clock_reading().ahead_ms < 0);
}

async fn the_log_has_every_action(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::PRO).await;
    for number in 0..5 {
        let request = UsageRequest {
            problem_id: Some(ProblemId::new(format!("{number}")).unwrap()),
            metadata: Some(Value::map([("try", number)])),
            ..UsageRequest::new(Action::Execution)
        };
        scene.practice.take_usage(&ann.id, &request).await.unwrap();
        scene.clock.advance_ms(1);
    }
    let day = Day::utc(NOW_MS);
    let mut page = PageRequest { limit: 2, cursor: None };
    let mut all = Vec::new();
    loop {
        let listed = scene.practice.usage_log(&ann.id, day, &page).await.unwrap();
        all.extend(listed.items);
        match listed.cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => break,
        }
    }
    let problems: Vec<_> =
        all.iter().map(|one| one.problem_id.as_ref().unwrap().as_str()).collect();
    assert_eq!(problems, ["4", "3", "2", "1", "0"]);
    assert_eq!((all[4].at_ms, all[4].action), (NOW_MS, Action::Execution));
    assert_eq!(all[4].metadata, Some(Value::map([("try", 0)])));
    // Counter and log expire together, 90 days after their day.
    let partition = keys::usage_partition(&ann.id, day);
    let items = scene.all(Query::partition(scene.practice.table().clone(), partition)).await;
    let expiries: std::collections::BTreeSet<_> =
        items.iter().map(|item| item.i64("ttl")).collect();
    assert_eq!((items.len(), expiries.len()), (6, 1));
    assert_eq!(expiries.first(), Some(&Some(2_116_368_000 + 90 * 86_400)));
}

async fn counters_are_recomputed_from_the_log(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let day = Day::utc(NOW_MS);
    hint(scene, &ann).await;
    hint(scene, &ann).await;
    let recount = async |repair| scene.practice.recount(&ann.id, day, repair).await.unwrap();
    assert!(recount(Repair::No).await.differences.is_empty());
    let key = keys::action_count(&ann.id, day, Action::Hint);
    let write = Write::update(scene.practice.table().clone(), key, set(item::COUNT, 9));
    scene.practice.write(write).await.unwrap();
    let difference = CountDifference { action: Action::Hint, counted: 9, logged: 2 };
    let found = recount(Repair::No).await;
    assert_eq!((found.differences.as_slice(), found.repaired), (&[difference][..], false));
    assert!(recount(Repair::By("admin")).await.repaired);
    assert!(recount(Repair::No).await.differences.is_empty());
    assert_eq!(hint(scene, &ann).await.count, 3);
}

async fn a_request_takes_one_read_and_one_transaction(scene: &Scene) {
    let (ann, pro) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "pro", PlanId::PRO).await);
    let cost = async |user: &User, request: &UsageRequest| {
        scene.watch.reset();
        let written = scene.watch.written_together();
        scene.practice.take_usage(&user.id, request).await.unwrap();
        let calls = scene.watch.calls();
        assert_eq!((calls.writes, calls.queries), (0, 0));
        let written = scene.watch.written_together() - written;
        (calls.batch_gets + calls.gets, calls.transactions, written)
    };
    let plain = UsageRequest::new(Action::Hint);
    for expected in [(1, 1, 4), (1, 1, 4)] {
        assert_eq!(cost(&ann, &plain).await, expected);
    }
    assert_eq!(cost(&ann, &keyed("k")).await, (1, 1, 5));
    assert_eq!(cost(&ann, &keyed("k")).await, (1, 0, 0));
    // The plan of a user that this process has not seen is read apart, once.
    assert_eq!(cost(&pro, &plain).await, (2, 1, 4));
    assert_eq!(cost(&pro, &plain).await, (1, 1, 4));
    for _ in 0..2 {
        hint(scene, &ann).await;
    }
    assert_eq!(cost(&ann, &plain).await, (1, 0, 0));
}

async fn bad_metadata_writes_nothing(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let before = item_count(scene).await;
    for bad in [Value::from(1), Value::map([("a", "x".repeat(20_000))])] {
        let request = UsageRequest { metadata: Some(bad), ..UsageRequest::new(Action::Hint) };
        let error = scene.practice.take_usage(&ann.id, &request).await.unwrap_err().to_string();
        assert!(error.starts_with("metadata: "), "{error}");
    }
    assert_eq!(item_count(scene).await, before);
}
