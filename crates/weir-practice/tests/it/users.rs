//! Users: sign-ups, sign-ins, changes, and addresses that only one user has.

use weir_practice::Error;
use weir_practice::ids::{Email, GoogleId, PlanId, UserId};
use weir_practice::list::PageRequest;
use weir_practice::users::{NewUser, User, UserPatch};
use weir_table::Query;
use weir_table::audit::EventRange;
use weir_testkit::eventually_eq;

use crate::scene::{NOW_MS, Scene};

scenes!(
    a_user_is_found_by_every_name_at_once,
    of_50_sign_ups_with_one_address_one_succeeds,
    of_50_sign_ups_with_one_google_id_one_succeeds,
    an_address_is_given_to_one_of_many_who_change_to_it,
    a_former_address_is_free,
    a_patch_changes_what_it_names,
    a_google_account_is_linked_and_unlinked,
    lists_have_all_users_and_those_of_a_plan,
    bad_input_names_its_field_and_writes_nothing,
    users_of_the_source_are_found_and_adopted,
    a_lookup_reads_twice,
);

/// Waits for all, polling them in turns.
pub(crate) async fn at_once<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_ready = true;
        for (future, output) in &mut all {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *output = Some(done),
                    std::task::Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    all.into_iter().map(|(_, output)| output.unwrap()).collect()
}

pub(crate) fn email(text: &str) -> Email {
    Email::new(text).unwrap()
}

fn google(text: &str) -> GoogleId {
    GoogleId::new(text).unwrap()
}

/// A new user with this name on a plan.
pub(crate) async fn sign_up(scene: &Scene, name: &str, plan: PlanId) -> User {
    let new = NewUser::new(email(&format!("{name}@example.com")), name);
    let new = NewUser { plan: Some(plan), ..new };
    scene.practice.create_user(new, "admin").await.unwrap()
}

/// How many items the table has.
pub(crate) async fn item_count(scene: &Scene) -> usize {
    scene.all(Query::scan(scene.practice.table().clone())).await.len()
}

async fn a_user_is_found_by_every_name_at_once(scene: &Scene) {
    let practice = &scene.practice;
    let new = NewUser {
        picture_url: Some("https://example.com/ann.png".to_owned()),
        google_id: Some(google("1047")),
        is_staff: true,
        ..NewUser::new(email("Ann@Example.com"), "Ann")
    };
    let ann = practice.create_user(new, "admin").await.unwrap();
    assert_eq!((ann.plan, ann.is_active, ann.created_s), (PlanId::FREE, true, NOW_MS / 1000));
    assert_eq!(practice.user(&ann.id).await.unwrap(), ann);
    assert_eq!(practice.user_by_email(&email("ann@example.COM")).await.unwrap(), ann);
    assert_eq!(practice.user_by_google_id(&google("1047")).await.unwrap(), ann);
    assert!(practice.user_by_google_id(&google("1")).await.unwrap_err().is_not_found());
    assert_eq!(practice.plan_user_count(PlanId::FREE).await.unwrap(), 1);
    // The program of the source signs in with the index.
    for partition in ["USR#Ann@Example.com", "USR#1047"] {
        let query = Query::partition(practice.table().clone(), partition).index("GSI1");
        eventually_eq(1, async || scene.all(query.clone()).await.len()).await;
    }
    let events = practice.audit_events(None, &EventRange::default()).await.unwrap();
    assert_eq!(events.items[0].subject, format!("user {}", ann.id));
}

async fn of_50_sign_ups_with_one_address_one_succeeds(scene: &Scene) {
    let signed_up = at_once((0..50).map(|number| {
        let address = if number % 2 == 0 { "ann@example.com" } else { "ANN@example.com" };
        scene.practice.create_user(NewUser::new(email(address), "Ann"), "admin")
    }))
    .await;
    assert_eq!(signed_up.iter().filter(|one| one.is_ok()).count(), 1);
    for refused in signed_up.iter().filter_map(|one| one.as_ref().err()) {
        assert!(refused.is_conflict() && refused.to_string().starts_with("email"), "{refused}");
    }
    let winner = signed_up.into_iter().find_map(Result::ok).unwrap();
    let found = scene.practice.user_by_email(&email("ann@example.com")).await.unwrap();
    assert_eq!(found, winner);
    assert_eq!(scene.practice.plan_user_count(PlanId::FREE).await.unwrap(), 1);
}

async fn of_50_sign_ups_with_one_google_id_one_succeeds(scene: &Scene) {
    let signed_up = at_once((0..50).map(|number| {
        let new = NewUser::new(email(&format!("ann{number}@example.com")), "Ann");
        let new = NewUser { google_id: Some(google("1047")), ..new };
        scene.practice.create_user(new, "admin")
    }))
    .await;
    let winners: Vec<_> = signed_up.into_iter().filter_map(Result::ok).collect();
    assert_eq!(winners.len(), 1);
    let found = scene.practice.user_by_google_id(&google("1047")).await.unwrap();
    assert_eq!(found, winners[0]);
    // The losers left no address behind.
    let other = (0..50).map(|n| format!("ann{n}@example.com")).find(|a| *a != found.email.as_str());
    scene.practice.create_user(NewUser::new(email(&other.unwrap()), "Ann"), "x").await.unwrap();
}

async fn an_address_is_given_to_one_of_many_who_change_to_it(scene: &Scene) {
    let mut users = Vec::new();
    for number in 0..10 {
        users.push(sign_up(scene, &format!("user{number}"), PlanId::FREE).await);
    }
    let patch = UserPatch { email: Some(email("new@example.com")), ..UserPatch::default() };
    let change = async |number: usize| match users.get(number) {
        Some(user) => scene.practice.update_user(&user.id, &patch, "admin").await.is_ok(),
        None => {
            let new = NewUser::new(email("NEW@example.com"), "New");
            scene.practice.create_user(new, "admin").await.is_ok()
        }
    };
    let changed = at_once((0..=users.len()).map(change)).await;
    assert_eq!(changed.iter().filter(|won| **won).count(), 1);
    // Everyone else keeps the old address.
    for (user, won) in users.iter().zip(changed) {
        let found = scene.practice.user_by_email(&user.email).await;
        assert_eq!(found.is_ok(), !won);
    }
}

async fn a_former_address_is_free(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let patch = UserPatch { email: Some(email("Ann@Example.com")), ..UserPatch::default() };
    // Only the case changes: the address stays reserved.
    let changed = scene.practice.update_user(&ann.id, &patch, "ann").await.unwrap();
    assert_eq!(changed.email.as_str(), "Ann@Example.com");
    let taken = scene.practice.create_user(NewUser::new(ann.email.clone(), "x"), "x").await;
    assert!(taken.unwrap_err().is_conflict());
    let patch = UserPatch { email: Some(email("lee@example.com")), ..UserPatch::default() };
    scene.practice.update_user(&ann.id, &patch, "ann").await.unwrap();
    assert!(scene.practice.user_by_email(&ann.email).await.unwrap_err().is_not_found());
    let other = scene.practice.create_user(NewUser::new(ann.email.clone(), "x"), "x").await;
    assert_eq!(scene.practice.user_by_email(&ann.email).await.unwrap(), other.unwrap());
}

async fn a_patch_changes_what_it_names(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    scene.clock.advance_ms(5_000);
    let picture_url = Some(Some("https://example.com/a.png".to_owned()));
    let patch = UserPatch { picture_url, is_staff: Some(true), ..UserPatch::default() };
    let changed = scene.practice.update_user(&ann.id, &patch, "admin").await.unwrap();
    let expected = User {
        picture_url: Some("https://example.com/a.png".to_owned()),
        is_staff: true,
        updated_s: ann.updated_s + 5,
        ..ann.clone()
    };
    assert_eq!((&changed, &scene.practice.user(&ann.id).await.unwrap()), (&expected, &expected));
    let patch = UserPatch { picture_url: Some(None), ..UserPatch::default() };
    let changed = scene.practice.update_user(&ann.id, &patch, "admin").await.unwrap();
    assert_eq!((changed.picture_url, changed.name.as_str()), (None, "ann"));
    let inactive = scene.practice.deactivate_user(&ann.id, "admin").await.unwrap();
    assert!(!inactive.is_active);
    assert!(scene.practice.reactivate_user(&ann.id, "admin").await.unwrap().is_active);
    // What changes nothing writes nothing.
    scene.watch.reset();
    scene.practice.reactivate_user(&ann.id, "admin").await.unwrap();
    assert_eq!((scene.watch.calls().transactions, scene.watch.calls().gets), (0, 1));
    let missing = UserId::new("nobody").unwrap();
    assert!(scene.practice.deactivate_user(&missing, "x").await.unwrap_err().is_not_found());
}

async fn a_google_account_is_linked_and_unlinked(scene: &Scene) {
    let (ann, ben) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "ben", PlanId::FREE).await);
    let link =
        |id: Option<&str>| UserPatch { google_id: Some(id.map(google)), ..UserPatch::default() };
    scene.practice.update_user(&ann.id, &link(Some("1")), "ann").await.unwrap();
    let taken = scene.practice.update_user(&ben.id, &link(Some("1")), "ben").await.unwrap_err();
    assert!(taken.is_conflict() && taken.to_string().starts_with("google_id"), "{taken}");
    scene.practice.update_user(&ann.id, &link(None), "ann").await.unwrap();
    assert!(scene.practice.user_by_google_id(&google("1")).await.unwrap_err().is_not_found());
    scene.practice.update_user(&ben.id, &link(Some("1")), "ben").await.unwrap();
    let found = scene.practice.user_by_google_id(&google("1")).await.unwrap();
    assert_eq!(found.id, ben.id);
}

async fn lists_have_all_users_and_those_of_a_plan(scene: &Scene) {
    let (ann, ben) =
        (sign_up(scene, "ann", PlanId::FREE).await, sign_up(scene, "ben", PlanId::PRO).await);
    let listed = async |plan: Option<PlanId>| {
        let page = scene.practice.users(plan, &PageRequest::default()).await.unwrap();
        let mut ids: Vec<_> = page.items.into_iter().map(|user| user.id).collect();
        ids.sort();
        ids
    };
    let mut both = vec![ann.id.clone(), ben.id.clone()];
    both.sort();
    eventually_eq(both, async || listed(None).await).await;
    eventually_eq(vec![ben.id.clone()], async || listed(Some(PlanId::PRO)).await).await;
    scene.practice.move_user(&ann.id, PlanId::PRO, "admin").await.unwrap();
    eventually_eq(2, async || listed(Some(PlanId::PRO)).await.len()).await;
    eventually_eq(0, async || listed(Some(PlanId::FREE)).await.len()).await;
    let counts = (
        scene.practice.plan_user_count(PlanId::FREE).await.unwrap(),
        scene.practice.plan_user_count(PlanId::PRO).await.unwrap(),
    );
    assert_eq!(counts, (0, 2));
}

async fn bad_input_names_its_field_and_writes_nothing(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    let before = item_count(scene).await;
    let good = || NewUser::new(email("ben@example.com"), "Ben");
    for (bad, field) in [
        (NewUser { name: " ".to_owned(), ..good() }, "name"),
        (NewUser { name: "a\nb".to_owned(), ..good() }, "name"),
        (NewUser { picture_url: Some("ftp://x".to_owned()), ..good() }, "picture_url"),
    ] {
        let error = scene.practice.create_user(bad, "admin").await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{field}:")), "{error}");
    }
    let error = scene.practice.create_user(good(), "").await.unwrap_err().to_string();
    assert!(error.starts_with("actor:"), "{error}");
    let missing = NewUser { plan: Some(PlanId::new(99).unwrap()), ..good() };
    let error = scene.practice.create_user(missing, "admin").await.unwrap_err();
    assert_eq!(error.to_string(), "plan \"99\" not found");
    let again = NewUser { id: Some(ann.id.clone()), ..good() };
    assert!(scene.practice.create_user(again, "admin").await.unwrap_err().is_conflict());
    let patch = UserPatch { name: Some(String::new()), ..UserPatch::default() };
    let error = scene.practice.update_user(&ann.id, &patch, "admin").await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert_eq!(item_count(scene).await, before);
}

/// A user that the program of the source has stored: one item, with the address in the index.
async fn users_of_the_source_are_found_and_adopted(scene: &Scene) {
    use weir_practice::item::{Data, entity};
    use weir_practice::keys;
    use weir_practice::kinds::EntityType;
    let id = UserId::new("12345").unwrap();
    let data = Data::new()
        .with("em", "Old@example.com")
        .with("nm", "Old")
        .with_or_null("pic", None::<&str>)
        .with_or_null("gid", None::<&str>)
        .with("plan", 1)
        .with("act", true)
        .with("stf", false)
        .with("theme", "dark");
    let item = entity(keys::user(&id), EntityType::User, data, NOW_MS / 1000);
    let item = keys::login_by_email(&email("Old@example.com")).put_on(item);
    let write = weir_table::Write::put(scene.practice.table().clone(), item);
    scene.practice.write(write).await.unwrap();
    let found = async || scene.practice.user_by_email(&email("Old@example.com")).await.is_ok();
    eventually_eq(true, found).await;
    scene.practice.move_user(&id, PlanId::PRO, "admin").await.unwrap();
    // From now on the user is counted, listed and has its address reserved, and keeps what others stored.
    assert_eq!(scene.practice.plan_user_count(PlanId::PRO).await.unwrap(), 1);
    assert_eq!(scene.practice.plan_user_count(PlanId::FREE).await.unwrap(), 0);
    let taken = NewUser::new(email("old@example.com"), "x");
    assert!(scene.practice.create_user(taken, "x").await.unwrap_err().is_conflict());
    let stored = scene.practice.item(keys::user(&id)).await.unwrap().unwrap();
    assert_eq!(weir_practice::item::field("theme").find(&stored), Some(&"dark".into()));
}

async fn a_lookup_reads_twice(scene: &Scene) {
    let ann = sign_up(scene, "ann", PlanId::FREE).await;
    scene.watch.reset();
    scene.practice.user(&ann.id).await.unwrap();
    assert_eq!(scene.watch.take_reads(), 1);
    scene.practice.user_by_email(&ann.email).await.unwrap();
    assert_eq!(scene.watch.take_reads(), 2);
    sign_up(scene, "ben", PlanId::FREE).await;
    let calls = scene.watch.calls();
    assert_eq!((scene.watch.take_reads(), calls.transactions, calls.writes), (0, 1, 0));
}
