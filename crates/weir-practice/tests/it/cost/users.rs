//! Users: sign-ups, sign-ins and changes.

use weir_practice::ids::{GoogleId, PlanId};
use weir_practice::users::{NewUser, UserPatch};
use weir_table::dynamodb::Verb;
use weir_testkit::ledger::Ledger;

use super::month::Stored;
use super::{FIRST_PAGE, PAGE, table_bytes};
use crate::scene::Scene;
use crate::users::email;

fn new_user(name: &str) -> NewUser {
    let picture_url = format!("https://lh3.googleusercontent.com/a/{name}-picture-of-a-user=s96-c");
    NewUser {
        picture_url: Some(picture_url),
        google_id: Some(GoogleId::new(format!("1049876543210{:08}", name.len())).unwrap()),
        ..NewUser::new(email(&format!("{name}@example.com")), "Ann Example")
    }
}

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>, stored: &mut Stored) {
    let practice = &scene.practice;
    practice.create_user(new_user("first-user"), "admin").await.unwrap();
    let before = table_bytes(scene).await;
    let new = new_user("ann");
    let google = new.google_id.clone().unwrap();
    let create = practice.create_user(new, "admin");
    let ann = ledger.note("a new user, with a Google id", create).await.unwrap();
    stored.user = table_bytes(scene).await - before;
    let by_email = practice.user_by_email(&ann.email);
    ledger.note("sign-in by email address", by_email).await.unwrap();
    ledger.note("sign-in by Google id", practice.user_by_google_id(&google)).await.unwrap();
    for name in ["sign-in by email address", "sign-in by Google id"] {
        assert_eq!(ledger.row(name).calls(), [(Verb::Get, 2)]);
    }
    ledger.note("a user by id", practice.user(&ann.id)).await.unwrap();
    let patch = UserPatch { name: Some("Ann E.".to_owned()), ..UserPatch::default() };
    let update = practice.update_user(&ann.id, &patch, "admin");
    ledger.note("another name", update).await.unwrap();
    let pro = practice.move_user(&ann.id, PlanId::new(2).unwrap(), "admin");
    ledger.note("another plan", pro).await.unwrap();
    for number in 0..PAGE {
        let name = format!("u{number}");
        crate::users::sign_up(scene, &name, PlanId::FREE).await;
    }
    let list = practice.users(Some(PlanId::FREE), &FIRST_PAGE);
    let found = ledger.note("20 users of a plan", list).await.unwrap();
    assert_eq!(found.items.len(), PAGE);
}
