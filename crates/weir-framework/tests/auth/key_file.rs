//! The signing key in the data folder, and configured ones.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use weir_framework::auth::key_file::{load, rotate};
use weir_framework::auth::signing::KeySource;
use weir_framework::auth::{Auth, AuthError, Settings, TokenError};

use weir_testkit::watched::Strike;

use crate::place::{CLIENT, Place, pair, refusal, scope_kinds};

#[test]
fn the_key_is_made_once_and_only_its_owner_may_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let first = load(dir.path()).unwrap();
    let mode = || fs::metadata(dir.path().join("signing.key")).unwrap().permissions().mode();
    assert_eq!(mode() & 0o777, 0o600);
    assert_eq!(load(dir.path()).unwrap().current().kid(), first.current().kid());
    assert!(first.jwks().keys.is_empty());
    let second = rotate(dir.path()).unwrap();
    assert_eq!(mode() & 0o777, 0o600);
    assert_ne!(second.current().kid(), first.current().kid());
    assert!(second.find(first.current().kid()).is_some());
    let third = rotate(dir.path()).unwrap();
    assert!(third.find(second.current().kid()).is_some());
    assert!(third.find(first.current().kid()).is_none());
    let files = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 1, "nothing else is left behind");
}

#[test]
fn those_who_make_it_at_once_get_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let kids = std::thread::scope(|scope| {
        let load = || load(dir.path()).unwrap().current().kid().to_owned();
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        let kids = tries.into_iter().map(|tried| tried.join().unwrap());
        kids.collect::<Vec<_>>()
    });
    assert!(kids.iter().all(|kid| *kid == kids[0]));
}

#[test]
fn a_file_that_others_may_read_or_that_is_damaged_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    load(dir.path()).unwrap();
    let path = dir.path().join("signing.key");
    let text = fs::read_to_string(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let refused = load(dir.path()).unwrap_err().to_string();
    assert!(refused.contains("others than its owner may use the file"), "{refused}");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    for damaged in ["", "{}", &text[1..], r#"{"current":"c2hvcnQ"}"#] {
        fs::write(&path, damaged).unwrap();
        let refused = load(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("it holds no signing key"), "{refused}");
        assert!(rotate(dir.path()).is_err() || damaged.contains("c2hvcnQ"));
    }
}

#[tokio::test]
async fn tokens_survive_a_restart_and_one_rotation_but_not_two() {
    let place = Place::new();
    let auth = place.open().await;
    let old = pair(&auth, CLIENT).await.access.token;
    assert_eq!(refusal(&place.open().await, old.expose()).await, None);
    auth.rotate_signing_key().await.unwrap();
    let newer = pair(&auth, CLIENT).await.access.token;
    for auth in [&auth, &place.open().await] {
        assert_eq!(refusal(auth, old.expose()).await, None);
        assert_eq!(refusal(auth, newer.expose()).await, None);
    }
    auth.rotate_signing_key().await.unwrap();
    for auth in [&auth, &place.open().await] {
        let gone = Some(TokenError::UnknownKey);
        assert_eq!(refusal(auth, old.expose()).await, gone);
        assert_eq!(refusal(auth, newer.expose()).await, None);
    }
}

#[tokio::test]
async fn tokens_of_an_ended_key_are_refused_here_at_once_and_elsewhere_within_a_minute() {
    let place = Place::new();
    let settings = |current: &str, previous: Option<&str>| Settings {
        signing: Some(KeySource::Hs256(current.repeat(32).into_bytes().into())),
        previous: previous.map(|key| KeySource::Hs256(key.repeat(32).into_bytes().into())),
        ..Settings::default()
    };
    let old = pair(&place.open_with(&settings("a", None)).await.unwrap(), CLIENT).await;
    let rotated = settings("b", Some("a"));
    let here = place.open_with(&rotated).await.unwrap();
    let there = place.open_with(&rotated).await.unwrap();
    let new = pair(&here, CLIENT).await;
    for auth in [&here, &there] {
        assert_eq!(refusal(auth, old.access.token.expose()).await, None);
    }
    let kids = here.signing_keys().await.unwrap();
    assert_eq!((kids.len(), &kids[0]), (2, &here.current_kid()));
    let refused = here.end_signing_key(&kids[0]).await.unwrap_err().to_string();
    assert_eq!(refused, "kid: is the key that signs; replace it first");
    assert!(!here.end_signing_key("0000000000000000").await.unwrap(), "there is no such key");
    assert!(here.end_signing_key(&kids[1]).await.unwrap());
    assert!(here.end_signing_key(&kids[1]).await.unwrap(), "it stays ended");

    let gone = Some(TokenError::UnknownKey);
    assert_eq!(refusal(&here, old.access.token.expose()).await, gone);
    // A refresh token would get an access token that outlives the key.
    for auth in [&here, &there] {
        let refreshed = auth.refresh(old.refresh.token.expose()).await;
        assert!(matches!(refreshed, Err(AuthError::Token(TokenError::UnknownKey))));
    }
    place.later_secs(60);
    assert_eq!(refusal(&there, old.access.token.expose()).await, gone);
    for auth in [&here, &there] {
        assert_eq!(refusal(auth, new.access.token.expose()).await, None);
        assert_eq!(auth.signing_keys().await.unwrap(), kids[..1]);
    }
    let refused = place.open_with(&settings("a", None)).await.unwrap_err().to_string();
    assert!(refused.starts_with("signing.key: was ended"), "{refused}");
}

#[tokio::test]
async fn an_ended_key_leaves_the_key_file() {
    let place = Place::new();
    let auth = place.open().await;
    let old = pair(&auth, CLIENT).await.access.token;
    let replaced = auth.rotate_signing_key().await.unwrap();
    let new = pair(&auth, CLIENT).await.access.token;
    assert!(auth.end_signing_key(&replaced).await.unwrap());
    assert!(load(place.dir()).unwrap().find(&replaced).is_none());
    for auth in [&auth, &place.open().await] {
        assert_eq!(refusal(auth, old.expose()).await, Some(TokenError::UnknownKey));
        assert_eq!(refusal(auth, new.expose()).await, None);
    }
}

#[tokio::test]
async fn a_store_that_fails_accepts_no_token_of_a_key_that_may_be_ended() {
    let place = Place::new();
    let auth = place.open().await;
    let token = pair(&auth, CLIENT).await.access.token;
    assert_eq!(refusal(&auth, token.expose()).await, None);
    place.later_secs(60);
    place.watch.down(Some(Strike::Before));
    let refused = auth.authenticate_bearer(token.expose()).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused}");
}

#[tokio::test]
async fn a_shared_store_needs_a_configured_key() {
    let place = Place::new();
    let (store, clock) = (place.store.clone(), place.clock.clone());
    let mut settings = Settings::default();
    let refused = Auth::open(store.clone(), clock.clone(), &settings, None, scope_kinds()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("signing.key: must be configured"), "{refused}");

    let secret = "a secret that all the instances know";
    settings.signing = Some(KeySource::Hs256(secret.as_bytes().to_vec().into()));
    let shared = Auth::open(store, clock, &settings, None, scope_kinds()).await.unwrap();
    let token = pair(&shared, CLIENT).await.access.token;
    let other = place.open_with(&settings).await.unwrap();
    assert_eq!(refusal(&other, token.expose()).await, None);
    assert!(!place.dir().join("signing.key").exists());
    let refused = other.rotate_signing_key().await.unwrap_err().to_string();
    assert!(refused.starts_with("signing.key: is set by configuration"));
    for shown in [format!("{settings:?}"), format!("{shared:?}")] {
        assert!(!shown.contains("a secret that"), "{shown}");
        assert!(!shown.contains(token.expose()));
    }
}

#[tokio::test]
async fn wrong_settings_are_named() {
    let place = Place::new();
    let usual = Settings::default;
    let key = || Some(KeySource::Hs256(vec![b'k'; 32].into()));
    let cases = [
        ("issuer", Settings { issuer: String::new(), ..usual() }),
        ("access_secs: is 0", Settings { access_secs: 0, ..usual() }),
        ("refresh_secs: is shorter", Settings { refresh_secs: 5, ..usual() }),
        ("cache_secs: is 0", Settings { cache_secs: 0, ..usual() }),
        ("cache_secs: is 3601", Settings { cache_secs: 3601, ..usual() }),
        ("signing.previous: is set without", Settings { previous: key(), ..usual() }),
        (
            "signing.previous: is the current",
            Settings { signing: key(), previous: key(), ..usual() },
        ),
    ];
    for (problem, settings) in cases {
        let refused = place.open_with(&settings).await.unwrap_err().to_string();
        assert!(refused.starts_with(problem), "{refused}");
    }
}
