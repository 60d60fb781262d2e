//! Problems as users see them.

use weir_practice::Result;
use weir_practice::ids::{PlanId, UserId};
use weir_practice::plans::{PlanFields, PlanLimit};
use weir_practice::problems::{Registrar, Viewer};
use weir_practice::users::UserPatch;

use crate::problem_samples::{at, problem};
use crate::scene::Scene;
use crate::users::sign_up;

scenes!(a_plan_decides_which_problems_a_user_sees, an_inactive_user_sees_nothing,);

/// A plan whose users may register problems and do not see all.
async fn narrow_plan(scene: &Scene) -> PlanId {
    let fields = PlanFields {
        name: "Narrow".to_owned(),
        description: None,
        max_hints_per_day: PlanLimit::Unlimited,
        max_executions_per_day: PlanLimit::Unlimited,
        max_problems: PlanLimit::Unlimited,
        can_view_all_problems: false,
        can_register_problems: true,
        is_active: true,
    };
    scene.practice.create_plan(fields, "admin").await.unwrap().id
}

/// A draft of a user.
async fn register(scene: &Scene, id: &str, user: &UserId) {
    let writes = scene.practice.problem_registration(user).await.unwrap();
    let registrar = Registrar { user: user.clone(), writes };
    scene.practice.create_problem(problem(id), Some(registrar), "admin").await.unwrap();
}

async fn view(scene: &Scene, user: &UserId) -> Result<Viewer> {
    Viewer::new(&scene.practice.access(user).await?)
}

/// Ids of the problems that a user sees.
async fn seen(scene: &Scene, user: &UserId) -> String {
    let viewer = view(scene, user).await.unwrap();
    let mut ids = Vec::new();
    for id in ["1", "2", "3", "4"] {
        if viewer.sees(&scene.practice.problem(&at(id)).await.unwrap().summary) {
            ids.push(id);
        }
    }
    ids.join(" ")
}

async fn a_plan_decides_which_problems_a_user_sees(scene: &Scene) {
    let practice = &scene.practice;
    let narrow = narrow_plan(scene).await;
    let ann = sign_up(scene, "ann", narrow).await;
    let ben = sign_up(scene, "ben", narrow).await;
    let pro = sign_up(scene, "pro", PlanId::PRO).await;
    for (id, user) in [("1", &ann), ("2", &ann), ("3", &ben), ("4", &ben)] {
        register(scene, id, &user.id).await;
    }
    practice.publish_problem(&at("2"), "admin").await.unwrap();
    practice.publish_problem(&at("4"), "admin").await.unwrap();
    practice.delete_problem(&at("4"), None, "admin").await.unwrap();
    for (user, expected) in [(&ann, "1 2"), (&ben, "3"), (&pro, "2")] {
        assert_eq!(seen(scene, &user.id).await, expected, "{}", user.name);
    }
    // Staff see what a plan with the flag shows.
    let staff = UserPatch { is_staff: Some(true), ..UserPatch::default() };
    practice.update_user(&ben.id, &staff, "admin").await.unwrap();
    assert_eq!(seen(scene, &ben.id).await, "2 3");
    // A move to another plan is seen at once.
    practice.publish_problem(&at("3"), "admin").await.unwrap();
    practice.move_user(&ann.id, PlanId::PRO, "admin").await.unwrap();
    assert_eq!(seen(scene, &ann.id).await, "1 2 3");
}

async fn an_inactive_user_sees_nothing(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    scene.practice.deactivate_user(&ann.id, "admin").await.unwrap();
    let error = view(scene, &ann.id).await.unwrap_err();
    assert_eq!(error.to_string(), "the user is inactive");
    let nobody = UserId::new("nobody").unwrap();
    assert!(view(scene, &nobody).await.unwrap_err().is_not_found());
}
