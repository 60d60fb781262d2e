//! Every counter is recomputed from what it counts.

use weir_practice::counters::{Counter, CounterCheck};
use weir_practice::ids::PlanId;
use weir_practice::problems::Registrar;
use weir_practice::usage::Repair;
use weir_practice::users::NewUser;
use weir_practice::{item, keys};
use weir_table::audit::EventRange;
use weir_table::expr::set;
use weir_table::{Item, Key, Value, Write};

use crate::problem_samples::{at, case, problem};
use crate::scene::Scene;
use crate::users::{at_once, email, sign_up};

scenes!(
    counters_are_recomputed_from_what_they_count,
    a_plan_with_a_wrong_count_can_be_deleted_after_a_recount,
    users_of_the_source_are_counted_by_a_recount,
    a_recount_is_right_while_users_move,
);

async fn check(scene: &Scene, counter: &Counter, repair: Repair<'_>) -> CounterCheck {
    scene.practice.recount_counter(counter, repair).await.unwrap()
}

async fn damage(scene: &Scene, key: Key, attribute: &'static str) {
    let write = Write::update(scene.practice.table().clone(), key, set(attribute, 9));
    scene.practice.write(write).await.unwrap();
}

async fn counters_are_recomputed_from_what_they_count(scene: &Scene) {
    let practice = &scene.practice;
    let ann = sign_up(scene, "ann", PlanId::PRO).await;
    let writes = practice.problem_registration(&ann.id).await.unwrap();
    let mut new = problem("1");
    new.test_cases = vec![case("1"), case("2"), case("3")];
    let registrar = Registrar { user: ann.id.clone(), writes };
    practice.create_problem(new, Some(registrar), "admin").await.unwrap();
    for (counter, key, attribute, right) in [
        (Counter::Plans, keys::plan_sequence(), "plans", 3),
        (Counter::PlanUsers(PlanId::PRO), keys::plan_users(PlanId::PRO), item::COUNT, 1),
        (Counter::UserProblems(ann.id.clone()), keys::problem_count(&ann.id), item::COUNT, 1),
        (Counter::TestCases(at("1")), keys::test_case_count(&at("1")), item::COUNT, 3),
    ] {
        let fine = check(scene, &counter, Repair::No).await;
        assert_eq!((fine.counted, fine.found, fine.is_different()), (right, right, false));
        damage(scene, key.clone(), attribute).await;
        for repair in [Repair::No, Repair::By("ann")] {
            let wrong = check(scene, &counter, repair).await;
            assert_eq!((wrong.counted, wrong.found), (9, right), "{counter}");
            assert_eq!(wrong.repaired, repair != Repair::No);
        }
        assert_eq!(check(scene, &counter, Repair::By("ann")).await.counted, right);
        let events = practice.audit_events(None, &EventRange::default()).await.unwrap();
        let newest = events.items[0].clone();
        assert_eq!(newest.action.as_str(), "counters_recomputed");
        assert_eq!(newest.detail, Some(format!("{counter}: 9 to {right}")));
    }
    let all = practice.recount_plans(Repair::No).await.unwrap();
    assert_eq!((all.len(), all.iter().any(CounterCheck::is_different)), (4, false));
    let missing = Counter::PlanUsers(PlanId::new(77).unwrap());
    assert!(practice.recount_counter(&missing, Repair::No).await.unwrap_err().is_not_found());
}

async fn a_plan_with_a_wrong_count_can_be_deleted_after_a_recount(scene: &Scene) {
    let practice = &scene.practice;
    damage(scene, keys::plan_users(PlanId::PRO), item::COUNT).await;
    assert!(practice.delete_plan(PlanId::PRO, "admin").await.unwrap_err().is_conflict());
    let checks = practice.recount_plans(Repair::By("admin")).await.unwrap();
    let wrong: Vec<_> = checks.iter().filter(|check| check.is_different()).collect();
    assert_eq!(wrong.len(), 1);
    practice.delete_plan(PlanId::PRO, "admin").await.unwrap();
}

async fn users_of_the_source_are_counted_by_a_recount(scene: &Scene) {
    let practice = &scene.practice;
    for (id, address) in [("7", "old@example.com"), ("8", "taken@example.com")] {
        let dat = Value::map([
            ("em", Value::from(address)),
            ("nm", "Old".into()),
            ("plan", 2.into()),
            ("act", true.into()),
            ("stf", false.into()),
        ]);
        let theirs = Item::new().with("PK", format!("USR#{id}")).with("SK", "META");
        let theirs = theirs.with("tp", "usr").with("dat", dat).with("crt", 1_759_917_600);
        let write = Write::put(practice.table().clone(), theirs);
        practice.write(write).await.unwrap();
    }
    let new = NewUser { plan: Some(PlanId::FREE), ..NewUser::new(email("taken@example.com"), "x") };
    practice.create_user(new, "admin").await.unwrap();
    let counter = Counter::PlanUsers(PlanId::PRO);
    let before = check(scene, &counter, Repair::No).await;
    assert_eq!((before.counted, before.found, before.uncounted), (0, 0, 2));
    let after = check(scene, &counter, Repair::By("admin")).await;
    assert_eq!((after.counted, after.found, after.uncounted), (1, 1, 1));
    assert!(practice.delete_plan(PlanId::PRO, "admin").await.unwrap_err().is_conflict());
    assert_eq!(practice.user_by_email(&email("OLD@example.com")).await.unwrap().id.as_str(), "7");
}

async fn a_recount_is_right_while_users_move(scene: &Scene) {
    let practice = &scene.practice;
    let mut users = Vec::new();
    for number in 0..6 {
        users.push(sign_up(scene, &format!("u{number}"), PlanId::FREE).await);
    }
    let act = async |number: usize| match users.get(number) {
        Some(user) => {
            for plan in [PlanId::PRO, PlanId::FREE, PlanId::PRO] {
                practice.move_user(&user.id, plan, "admin").await.unwrap();
            }
            true
        }
        // It may give up, but never writes a wrong number.
        None => practice.recount_plans(Repair::By("admin")).await.is_ok(),
    };
    at_once((0..8).map(act)).await;
    for (plan, count) in [(PlanId::FREE, 0), (PlanId::PRO, 6)] {
        assert_eq!(practice.plan_user_count(plan).await.unwrap(), count);
        assert!(!check(scene, &Counter::PlanUsers(plan), Repair::No).await.is_different());
    }
}
