//! Plans: defaults, changes, and deletions that never hit a plan in use.

use weir_practice::ids::PlanId;
use weir_practice::plans::{PlanFields, PlanLimit};
use weir_practice::users::NewUser;
use weir_practice::{Practice, Settings};
use weir_testkit::eventually_eq;

use crate::scene::Scene;
use crate::users::{at_once, email, sign_up};

scenes!(
    a_new_table_has_the_default_plans,
    a_deleted_default_plan_stays_deleted,
    plans_are_created_changed_and_deleted,
    a_plan_in_use_cannot_be_deleted,
    deletions_and_moves_at_once_leave_no_user_without_a_plan,
    the_number_of_registered_problems_is_limited,
);

fn fields(name: &str, hints: u32) -> PlanFields {
    PlanFields {
        name: name.to_owned(),
        description: None,
        max_hints_per_day: PlanLimit::AtMost(hints),
        max_executions_per_day: PlanLimit::Unlimited,
        max_problems: PlanLimit::AtMost(2),
        can_view_all_problems: false,
        can_register_problems: true,
        is_active: true,
    }
}

async fn a_new_table_has_the_default_plans(scene: &Scene) {
    // Other instances open the table as well, some at the same moment.
    let opened = at_once((0..4).map(|_| {
        let (store, objects) = (scene.store.clone(), scene.practice.objects().clone());
        Practice::open(store, objects, scene.clock.clone(), Settings::default())
    }));
    assert!(opened.await.iter().all(Result::is_ok));
    eventually_eq(3, async || scene.practice.plans().await.unwrap().len()).await;
    let plans = scene.practice.plans().await.unwrap();
    let limits: Vec<_> = plans
        .iter()
        .map(|plan| {
            let PlanFields { name, max_hints_per_day, max_executions_per_day, .. } = &plan.fields;
            (name.as_str(), max_hints_per_day.to_number(), max_executions_per_day.to_number())
        })
        .collect();
    assert_eq!(limits, [("Free", 5, 50), ("Pro", 50, 500), ("Admin", -1, -1)]);
}

async fn a_deleted_default_plan_stays_deleted(scene: &Scene) {
    scene.practice.delete_plan(PlanId::PRO, "admin").await.unwrap();
    scene.practice.seed_plans().await.unwrap();
    assert!(scene.practice.plan(PlanId::PRO).await.unwrap_err().is_not_found());
    // Its id is not used again.
    let created = scene.practice.create_plan(fields("Team", 1), "admin").await.unwrap();
    assert_eq!(created.id.get(), 4);
}

async fn plans_are_created_changed_and_deleted(scene: &Scene) {
    let practice = &scene.practice;
    let created = at_once((0..8).map(|n| practice.create_plan(fields("Team", n), "admin"))).await;
    let mut ids: Vec<_> = created.into_iter().map(|plan| plan.unwrap().id.get()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (4..12).collect::<Vec<_>>());
    let id = PlanId::new(4).unwrap();
    scene.clock.advance_ms(1_000);
    let changed = practice.put_plan(id, fields("Class", 7), "admin").await.unwrap();
    assert_eq!(practice.plan(id).await.unwrap(), changed);
    assert_eq!((changed.fields.name.as_str(), changed.updated_s - changed.created_s), ("Class", 1));
    practice.delete_plan(id, "admin").await.unwrap();
    assert!(practice.delete_plan(id, "admin").await.unwrap_err().is_not_found());
    assert!(practice.put_plan(id, fields("x", 1), "admin").await.unwrap_err().is_not_found());
    for (bad, field) in [
        (PlanFields { name: String::new(), ..fields("x", 1) }, "name"),
        (PlanFields { description: Some("x".repeat(9_000)), ..fields("x", 1) }, "description"),
    ] {
        let error = practice.create_plan(bad, "admin").await.unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    }
}

async fn a_plan_in_use_cannot_be_deleted(scene: &Scene) {
    let practice = &scene.practice;
    let ann = sign_up(scene, "ann", PlanId::PRO).await;
    let error = practice.delete_plan(PlanId::PRO, "admin").await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    practice.move_user(&ann.id, PlanId::FREE, "admin").await.unwrap();
    // Nobody can be put on a plan that is not active, and who is on it stays.
    let closed = PlanFields { is_active: false, ..fields("Closed", 1) };
    practice.put_plan(PlanId::PRO, closed, "admin").await.unwrap();
    let error = practice.move_user(&ann.id, PlanId::PRO, "admin").await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    practice.delete_plan(PlanId::PRO, "admin").await.unwrap();
    let error = practice.move_user(&ann.id, PlanId::PRO, "admin").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert_eq!(practice.user(&ann.id).await.unwrap().plan, PlanId::FREE);
}

async fn deletions_and_moves_at_once_leave_no_user_without_a_plan(scene: &Scene) {
    let practice = &scene.practice;
    for round in 0..5 {
        let plan = practice.create_plan(fields("Team", 1), "admin").await.unwrap().id;
        let mut users = Vec::new();
        for number in 0..4 {
            users.push(sign_up(scene, &format!("u{round}-{number}"), PlanId::FREE).await);
        }
        let act = async |number: usize| match users.get(number) {
            Some(user) => practice.move_user(&user.id, plan, "admin").await.is_ok(),
            None if number.is_multiple_of(2) => practice.delete_plan(plan, "admin").await.is_ok(),
            None => {
                let address = format!("new{round}-{number}@example.com");
                let new = NewUser { plan: Some(plan), ..NewUser::new(email(&address), "x") };
                practice.create_user(new, "admin").await.is_ok()
            }
        };
        let done = at_once((0..8).map(act)).await;
        let is_deleted = done[4] || done[6];
        let joined = done.iter().enumerate().filter(|(n, ok)| **ok && ![4, 6].contains(n)).count();
        assert!(!(done[4] && done[6]));
        assert_eq!(practice.plan(plan).await.is_err(), is_deleted);
        let users = practice.plan_user_count(plan).await.unwrap();
        assert_eq!(users, joined as u64, "{done:?}");
        assert!(!is_deleted || joined == 0, "{done:?}");
    }
}

async fn the_number_of_registered_problems_is_limited(scene: &Scene) {
    let practice = &scene.practice;
    let plan = practice.create_plan(fields("Team", 1), "admin").await.unwrap().id;
    let (ann, free) = (sign_up(scene, "ann", plan).await, sign_up(scene, "f", PlanId::FREE).await);
    let access = practice.access(&ann.id).await.unwrap();
    assert!(!access.can_view_all_problems() && access.can_register_problems());
    assert!(practice.access(&free.id).await.unwrap().can_view_all_problems());
    let register = async || {
        loop {
            let writes = practice.problem_registration(&ann.id).await?;
            if practice.transact(writes).await?.is_applied() {
                return Ok::<(), weir_practice::Error>(());
            }
        }
    };
    let registered = at_once((0..6).map(|_| register())).await;
    assert_eq!(registered.iter().filter(|one| one.is_ok()).count(), 2);
    assert_eq!(practice.problem_count(&ann.id).await.unwrap(), 2);
    // A registration in flight does not pass by the old plan.
    practice.write(practice.problem_release(&ann.id)).await.unwrap();
    let writes = practice.problem_registration(&ann.id).await.unwrap();
    practice.move_user(&ann.id, PlanId::FREE, "admin").await.unwrap();
    assert!(!practice.transact(writes).await.unwrap().is_applied());
    let refused = practice.problem_registration(&ann.id).await.unwrap_err();
    assert_eq!(refused.to_string(), "the plan does not allow to register problems");
}
