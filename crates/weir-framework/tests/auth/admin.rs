//! The admin key.

use std::sync::Arc;

use weir_framework::auth::admin_key::Ensured;
use weir_framework::auth::grant::Access;
use weir_framework::auth::{AuthError, Secret, Settings};
use weir_table::Query;
use weir_testkit::watched::Strike;

use crate::place::{ORG, Place, TestAuth};

async fn made(auth: &TestAuth) -> Secret {
    match auth.ensure_admin_key().await.unwrap() {
        Ensured::Made(key) => key,
        Ensured::There => panic!("there is a key already"),
    }
}

async fn is_let_in(auth: &TestAuth, key: &str) -> bool {
    match auth.authenticate_key(key).await {
        Ok(_) => true,
        Err(AuthError::WrongKey) => false,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_first_start_makes_a_key_that_may_everything() {
    let place = Place::new();
    let auth = place.open().await;
    assert!(!is_let_in(&auth, "wak_").await);
    let key = made(&auth).await;
    let identity = auth.authenticate_key(key.expose()).await.unwrap();
    assert_eq!(identity.subject, "admin");

    assert!(identity.grants.allows(&ORG, &["any"], Access::Write));
    assert!(!is_let_in(&auth, "").await);
    assert!(!is_let_in(&auth, &key.expose()[1..]).await);
    assert!(!is_let_in(&auth, &"x".repeat(1_000_000)).await);
}

#[tokio::test]
async fn the_key_itself_is_not_stored() {
    let place = Place::new();
    let key = made(&place.open().await).await;
    let stored = place.store.query(&Query::scan("weir-edge")).await.unwrap();
    assert_eq!(stored.count, 1);
    let text = serde_json::to_string(&stored).unwrap() + &format!("{stored:?}");
    assert!(!text.contains(&key.expose()[4..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_instances_that_start_at_once_one_makes_the_key() {
    let place = Place::new();
    let mut instances = Vec::new();
    for _ in 0..16 {
        instances.push(Arc::new(place.open().await));
    }
    let tries = instances.iter().cloned();
    let tries = tries.map(|auth| tokio::spawn(async move { auth.ensure_admin_key().await }));
    let tries: Vec<_> = tries.collect();
    let mut keys = Vec::new();
    for tried in tries {
        if let Ensured::Made(key) = tried.await.unwrap().unwrap() {
            keys.push(key);
        }
    }
    assert_eq!(keys.len(), 1);
    for auth in &instances {
        assert!(is_let_in(auth, keys[0].expose()).await);
    }
}

#[tokio::test]
async fn a_rotated_key_is_refused_here_at_once_and_elsewhere_within_the_cache_time() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let old = made(&here).await;
    assert!(is_let_in(&elsewhere, old.expose()).await);
    place.later_secs(2);
    let new = here.rotate_admin_key().await.unwrap();
    assert!(!is_let_in(&here, old.expose()).await);
    assert!(is_let_in(&here, new.expose()).await);
    place.later_secs(57);
    assert!(is_let_in(&elsewhere, old.expose()).await);
    place.later_secs(1);
    assert!(!is_let_in(&elsewhere, old.expose()).await);
    assert!(is_let_in(&elsewhere, new.expose()).await);
}

#[tokio::test]
async fn a_new_key_counts_elsewhere_as_soon_as_it_is_tried() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let old = made(&here).await;
    assert!(is_let_in(&elsewhere, old.expose()).await);
    place.later_secs(1);
    let new = here.rotate_admin_key().await.unwrap();
    assert!(is_let_in(&elsewhere, new.expose()).await);
    assert!(!is_let_in(&elsewhere, old.expose()).await);
}

#[tokio::test]
async fn guessing_asks_the_store_once_per_second() {
    let place = Place::new();
    let auth = place.open().await;
    let key = made(&auth).await;
    for second in 0..3 {
        place.later_secs(1);
        place.watch.reset();
        for guess in 0..100 {
            assert!(!is_let_in(&auth, &format!("wak_{second}_{guess}")).await);
        }
        assert_eq!(place.watch.take_reads(), 1);
    }
    place.later_secs(30);
    for _ in 0..100 {
        assert!(is_let_in(&auth, key.expose()).await);
    }
    assert_eq!(place.watch.take_reads(), 0);
}

#[tokio::test]
async fn a_store_that_fails_lets_nobody_in_on_a_guess() {
    let place = Place::new();
    let auth = place.open().await;
    let key = made(&auth).await;
    place.watch.down(Some(Strike::Before));
    place.later_secs(59);
    assert!(is_let_in(&auth, key.expose()).await);
    place.later_secs(1);
    place.watch.reset();
    for presented in [key.expose(), "wrong", key.expose()] {
        let refused = auth.authenticate_key(presented).await.unwrap_err();
        assert!(refused.is_unavailable());
    }
    assert_eq!(place.watch.take_reads(), 1);
    place.watch.down(None);
    place.later_secs(1);
    assert!(is_let_in(&auth, key.expose()).await);
}

#[tokio::test]
async fn a_configured_key_counts_instead_of_the_stored_one() {
    let place = Place::new();
    let stored = made(&place.open().await).await;
    let mut settings =
        Settings { admin_key: Some(Secret::new("sixteen letters!")), ..Settings::default() };
    let auth = place.open_with(&settings).await.unwrap();
    assert!(is_let_in(&auth, "sixteen letters!").await);
    assert!(!is_let_in(&auth, stored.expose()).await);
    assert!(matches!(auth.ensure_admin_key().await, Ok(Ensured::There)));
    let refused = auth.rotate_admin_key().await.unwrap_err().to_string();
    assert!(refused.starts_with("admin_key: is set by configuration"));
    assert!(!format!("{settings:?} {auth:?}").contains("sixteen"));

    settings.admin_key = Some(Secret::new("fifteen letters"));
    let refused = place.open_with(&settings).await.unwrap_err().to_string();
    assert_eq!(refused, "admin_key: has 16 characters to 1024 bytes");
}
