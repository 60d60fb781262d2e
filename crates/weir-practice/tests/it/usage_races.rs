//! Daily limits under concurrency: many requests, midnight, retries, moves to a smaller plan.

use weir_calendar::Day;
use weir_practice::ids::PlanId;
use weir_practice::kinds::Action;
use weir_practice::plans::{PlanFields, PlanLimit};
use weir_practice::usage::UsageRequest;
use weir_testkit::watched::Strike;

use crate::scene::{NOW_MS, Scene};
use crate::usage::{DAY_MS, counted, hint, keyed};
use crate::users::{at_once, sign_up};

scenes!(
    of_200_requests_at_once_as_many_as_the_limit_pass,
    across_midnight_each_day_has_its_limit,
    retries_of_keys_at_once_count_once,
    a_request_in_flight_does_not_pass_by_the_old_plan,
    a_request_in_flight_does_not_pass_a_deactivation,
    a_request_in_flight_does_not_count_on_a_closed_day,
    a_lost_response_is_repeated_with_its_key,
);

async fn of_200_requests_at_once_as_many_as_the_limit_pass(scene: &Scene) {
    let limit = 20;
    let plan = scene.practice.plan(PlanId::FREE).await.unwrap();
    let fields = PlanFields { max_hints_per_day: PlanLimit::AtMost(limit), ..plan.fields };
    scene.practice.put_plan(PlanId::FREE, fields, "admin").await.unwrap();
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let others = [scene.another_at(NOW_MS), scene.another_at(NOW_MS)];
    let answers = at_once((0..200).map(async |number: usize| {
        let practice = others.get(number % 3).unwrap_or(&scene.practice);
        loop {
            match practice.take_usage(&ann.id, &UsageRequest::new(Action::Hint)).await {
                Err(error) if error.is_unavailable() => {}
                answer => return answer.unwrap(),
            }
        }
    }))
    .await;
    let allowed = answers.iter().filter(|answer| answer.allowed).count();
    assert_eq!(allowed, limit as usize);
    for refused in answers.iter().filter(|answer| !answer.allowed) {
        assert_eq!((refused.count, refused.remaining), (u64::from(limit), Some(0)));
    }
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, u64::from(limit));
}

async fn across_midnight_each_day_has_its_limit(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let late = scene.another_at(NOW_MS + i64::try_from(DAY_MS).unwrap());
    let answers = at_once((0..40).map(async |number: usize| {
        let practice = if number.is_multiple_of(2) { &scene.practice } else { &late };
        let key = format!("k{}", number / 4);
        loop {
            match practice.take_usage(&ann.id, &keyed(&key)).await {
                Err(error) if error.is_unavailable() => {}
                answer => return answer.unwrap(),
            }
        }
    }))
    .await;
    let (today, tomorrow) = (Day::utc(NOW_MS), Day::utc(NOW_MS).plus_days(1));
    let on = |day| {
        answers.iter().filter(|one| one.allowed && !one.is_replay && one.day == day).count() as u64
    };
    // Requests of yesterday that are decided after the first of today count today.
    assert_eq!(counted(scene, &ann, today).await, on(today));
    assert_eq!((counted(scene, &ann, tomorrow).await, on(tomorrow)), (5, 5));
    assert!(on(today) <= 5);
}

async fn retries_of_keys_at_once_count_once(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let answers = at_once((0..30).map(async |number: usize| {
        let key = format!("k{}", number % 3);
        scene.practice.take_usage(&ann.id, &keyed(&key)).await.unwrap()
    }))
    .await;
    assert!(answers.iter().all(|answer| answer.allowed));
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay).count(), 3);
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 3);
}

async fn a_request_in_flight_does_not_pass_by_the_old_plan(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::PRO).await;
    for _ in 0..5 {
        assert!(hint(scene, &ann).await.allowed);
    }
    // It has read the large plan, and is held back until the user has the small one.
    let hold = scene.watch.hold();
    let request = UsageRequest::new(Action::Hint);
    let in_flight = async |number: usize| match number {
        0 => Some(scene.practice.take_usage(&ann.id, &request).await.unwrap()),
        _ => {
            hold.is_held().await;
            scene.practice.move_user(&ann.id, PlanId::FREE, "admin").await.unwrap();
            hold.go_on();
            None
        }
    };
    let answer = at_once((0..2).map(in_flight)).await[0].unwrap();
    assert_eq!((answer.allowed, answer.limit), (false, PlanLimit::AtMost(5)));
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 5);
}

async fn a_request_in_flight_does_not_pass_a_deactivation(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::PRO).await;
    let hold = scene.watch.hold();
    let request = UsageRequest::new(Action::Hint);
    let in_flight = async |number: usize| match number {
        0 => scene.practice.take_usage(&ann.id, &request).await.is_ok(),
        _ => {
            hold.is_held().await;
            scene.practice.deactivate_user(&ann.id, "admin").await.unwrap();
            hold.go_on();
            false
        }
    };
    assert_eq!(at_once((0..2).map(in_flight)).await, [false, false]);
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 0);
}

async fn a_request_in_flight_does_not_count_on_a_closed_day(scene: &Scene) {
    let late = scene.another_at(NOW_MS + i64::try_from(DAY_MS).unwrap());
    let request = UsageRequest::new(Action::Hint);
    // The first was never counted before, the second was counted today.
    for (name, before) in [("ann", 0), ("ben", 1)] {
        let user = sign_up(scene, name, PlanId::FREE).await;
        for _ in 0..before {
            hint(scene, &user).await;
        }
        let hold = scene.watch.hold();
        let in_flight = async |number: usize| match number {
            0 => scene.practice.take_usage(&user.id, &request).await.unwrap(),
            _ => {
                hold.is_held().await;
                let answer = late.take_usage(&user.id, &request).await.unwrap();
                hold.go_on();
                answer
            }
        };
        let answers = at_once((0..2).map(in_flight)).await;
        let (today, tomorrow) = (Day::utc(NOW_MS), Day::utc(NOW_MS).plus_days(1));
        assert_eq!((answers[0].day, answers[0].count), (tomorrow, 2));
        assert_eq!(counted(scene, &user, today).await, before);
        assert_eq!(counted(scene, &user, tomorrow).await, 2);
    }
}

async fn a_lost_response_is_repeated_with_its_key(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    for (skip, strike, is_replay) in
        [(0, Strike::Before, false), (1, Strike::Before, false), (1, Strike::After, true)]
    {
        let request = keyed(&format!("{skip}{strike:?}"));
        scene.watch.fail_once(skip, strike);
        let error = scene.practice.take_usage(&ann.id, &request).await.unwrap_err();
        assert!(error.is_unavailable(), "{error}");
        let answer = scene.practice.take_usage(&ann.id, &request).await.unwrap();
        assert_eq!((answer.allowed, answer.is_replay), (true, is_replay));
    }
    assert_eq!(counted(scene, &ann, Day::utc(NOW_MS)).await, 3);
}
