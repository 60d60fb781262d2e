//! Revoked tokens, here and on another instance, now and when the cache is old.

use std::sync::Arc;

use weir_framework::auth::{Auth, Settings, TokenError};
use weir_table::clock::Clock;
use weir_table::{Get, Key};
use weir_testkit::watched::Strike;

use crate::place::{CLIENT, Place, START_MS, pair, refusal, scope_kinds};

const REVOKED: Option<TokenError> = Some(TokenError::Revoked);

#[tokio::test]
async fn a_revoked_token_is_refused_here_at_once_and_elsewhere_within_the_cache_time() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let tokens = pair(&here, CLIENT).await;
    let text = tokens.access.token.expose();
    for auth in [&here, &elsewhere] {
        assert_eq!(refusal(auth, text).await, None);
    }
    let claims = here.revoke(text).await.unwrap().unwrap();
    assert_eq!(claims.jti, tokens.access.claims.jti);
    assert_eq!(refusal(&here, text).await, REVOKED);
    place.later_secs(59);
    assert_eq!(refusal(&elsewhere, text).await, None);
    place.later_secs(1);
    assert_eq!(refusal(&elsewhere, text).await, REVOKED);
    assert_eq!(refusal(&place.open().await, text).await, REVOKED);
    assert!(here.refresh(tokens.refresh.token.expose()).await.is_ok());
}

#[tokio::test]
async fn what_is_stored_is_what_the_source_document_says() {
    let place = Place::new();
    let auth = place.open().await;
    let tokens = pair(&auth, CLIENT).await;
    place.later_secs(5);
    auth.revoke(tokens.refresh.token.expose()).await.unwrap();
    place.later_secs(5);
    auth.revoke(tokens.refresh.token.expose()).await.unwrap();
    let claims = tokens.refresh.claims;
    let key = Key::partition(claims.jti.as_str());
    let get = Get::new("weir-keeper-revoked-tokens", key);
    let item = place.store.get(&get).await.unwrap().unwrap();
    assert_eq!(item.len(), 6);
    assert_eq!(item.s("PK"), Some(claims.jti.as_str()));
    assert_eq!(item.s("token_type"), Some("refresh"));
    assert_eq!(item.s("client_id"), Some(CLIENT));
    let start = i64::try_from(START_MS / 1000).unwrap();
    assert_eq!(item.i64("revoked_at_epoch"), Some(start + 5));
    let expiry = start + 30 * 24 * 3600;
    assert_eq!(item.i64("original_expiry_epoch"), Some(expiry));
    assert_eq!(item.i64("expires_at_epoch"), Some(expiry));
}

#[tokio::test]
async fn a_revoked_refresh_token_takes_its_access_tokens_with_it() {
    let place = Place::new();
    let auth = place.open().await;
    let tokens = pair(&auth, CLIENT).await;
    let refresh = tokens.refresh.token.expose();
    let later = auth.refresh(refresh).await.unwrap();
    let parent = Some(tokens.refresh.claims.jti.clone());
    assert_eq!(later.claims.parent_jti, parent);
    let other = pair(&auth, CLIENT).await;
    let came_of_it = [tokens.access.token.expose(), later.token.expose()];
    for text in came_of_it {
        assert_eq!(refusal(&auth, text).await, None);
    }
    auth.revoke(refresh).await.unwrap();
    for text in came_of_it {
        assert_eq!(refusal(&auth, text).await, REVOKED);
    }
    let refused = auth.refresh(refresh).await.unwrap_err().to_string();
    assert_eq!(refused, "the token was revoked");
    assert_eq!(refusal(&auth, other.access.token.expose()).await, None);
}

#[tokio::test]
async fn all_tokens_of_a_subject_are_revoked_but_no_later_and_no_other_ones() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let (old, other) = (pair(&here, CLIENT).await, pair(&here, "org-8").await);
    let old = old.access.token.expose();
    for auth in [&here, &elsewhere] {
        assert_eq!(refusal(auth, old).await, None);
    }
    here.revoke_all(CLIENT).await.unwrap();
    // In the very same millisecond.
    let new = pair(&here, CLIENT).await;
    let on_elsewhere = pair(&elsewhere, CLIENT).await;
    assert_eq!(refusal(&here, old).await, REVOKED);
    assert_eq!(refusal(&here, new.access.token.expose()).await, None);
    place.later_secs(59);
    assert_eq!(refusal(&elsewhere, old).await, None);
    place.later_secs(1);
    assert_eq!(refusal(&elsewhere, old).await, REVOKED);
    for auth in [&here, &elsewhere] {
        for token in [&new, &on_elsewhere, &other] {
            assert_eq!(refusal(auth, token.access.token.expose()).await, None);
        }
    }
}

#[tokio::test]
async fn no_access_token_comes_of_a_refresh_token_whose_subject_was_revoked() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let tokens = pair(&here, CLIENT).await;
    let refresh = tokens.refresh.token.expose();
    // The other instance has just seen that all is well, and remembers it.
    assert!(elsewhere.refresh(refresh).await.is_ok());
    place.later_secs(1);
    here.revoke_all(CLIENT).await.unwrap();
    place.later_secs(1);
    assert!(elsewhere.refresh(refresh).await.is_err());
}

#[tokio::test]
async fn a_revocation_ends_tokens_issued_since_the_last_one() {
    let place = Place::new();
    let here = place.open().await;
    let (behind, settings) = (Clock::manual(START_MS - 5_000), Settings::default());
    let behind =
        Auth::open(place.store.clone(), behind, &settings, Some(place.dir()), scope_kinds()).await;
    let behind = behind.unwrap();
    here.revoke_all(CLIENT).await.unwrap();
    // In the same millisecond, and by a clock that is behind.
    for auth in [&here, &behind] {
        let tokens = pair(auth, CLIENT).await;
        auth.revoke_all(CLIENT).await.unwrap();
        assert_eq!(refusal(&here, tokens.access.token.expose()).await, REVOKED);
        assert!(here.refresh(tokens.refresh.token.expose()).await.is_err());
    }
    // As a part of another transaction, too.
    let tokens = pair(&here, CLIENT).await;
    assert_eq!(refusal(&here, tokens.access.token.expose()).await, None);
    let write = here.revoke_all_write(CLIENT).await.unwrap();
    assert!(place.store.write(write.clone()).await.unwrap().is_applied());
    here.forget_subject(CLIENT);
    assert_eq!(refusal(&here, tokens.access.token.expose()).await, REVOKED);
    assert!(!place.store.write(write).await.unwrap().is_applied(), "it holds once");
}

#[tokio::test]
async fn a_clock_that_is_behind_issues_tokens_that_count() {
    let place = Place::new();
    let here = place.open().await;
    let (behind, settings) = (Clock::manual(START_MS - 5000), Settings::default());
    let behind =
        Auth::open(place.store.clone(), behind, &settings, Some(place.dir()), scope_kinds()).await;
    let behind = behind.unwrap();
    here.revoke_all(CLIENT).await.unwrap();
    let tokens = pair(&behind, CLIENT).await;
    let later = behind.refresh(tokens.refresh.token.expose()).await.unwrap();
    for auth in [&here, &behind] {
        for token in [&tokens.access.token, &later.token] {
            assert_eq!(refusal(auth, token.expose()).await, None);
        }
    }
}

#[tokio::test]
async fn revoking_all_never_goes_back_in_time() {
    let place = Place::new();
    let auth = place.open().await;
    place.later_secs(50);
    let token = pair(&auth, CLIENT).await.access.token;
    place.later_secs(50);
    auth.revoke_all(CLIENT).await.unwrap();
    let (behind, settings) = (Clock::manual(START_MS), Settings::default());
    let behind =
        Auth::open(place.store.clone(), behind, &settings, Some(place.dir()), scope_kinds()).await;
    let behind = behind.unwrap();
    behind.revoke_all(CLIENT).await.unwrap();
    for auth in [&auth, &behind, &place.open().await] {
        assert_eq!(refusal(auth, token.expose()).await, REVOKED);
    }
}

#[tokio::test]
async fn a_check_costs_one_read_and_then_none_for_the_cache_time() {
    let place = Place::new();
    let auth = place.open().await;
    let tokens = pair(&auth, CLIENT).await;
    let text = tokens.access.token.expose();
    for round in 0..3 {
        place.watch.reset();
        for _ in 0..100 {
            assert_eq!(refusal(&auth, text).await, None);
        }
        // Jti, parent and subject in one batch. All tokens share the check of their signing key, which opening did first.
        assert_eq!(place.watch.take_reads(), if round == 0 { 1 } else { 2 });
        place.later_secs(60);
    }
    let counts = auth.revocation_counts();
    assert_eq!((counts.hits, counts.misses, counts.revocations), (297, 3, 0));
    auth.revoke(text).await.unwrap();
    place.later_secs(600);
    place.watch.reset();
    assert_eq!(refusal(&auth, text).await, REVOKED);
    assert_eq!(place.watch.take_reads(), 0, "revoked is for ever");
    assert_eq!(auth.revocation_counts().revocations, 1);
}

#[tokio::test]
async fn a_store_that_fails_lets_nobody_in() {
    let place = Place::new();
    let auth = place.open().await;
    let tokens = pair(&auth, CLIENT).await;
    let (text, unseen) = (tokens.access.token.expose(), pair(&auth, CLIENT).await);
    assert_eq!(refusal(&auth, text).await, None);
    place.watch.down(Some(Strike::Before));
    assert_eq!(refusal(&auth, text).await, None, "it is remembered");
    let unseen = unseen.access.token.expose();
    let refused = auth.authenticate_bearer(unseen).await.unwrap_err();
    assert!(refused.is_unavailable());
    place.later_secs(60);
    let refused = auth.authenticate_bearer(text).await.unwrap_err();
    assert!(refused.is_unavailable());
    assert!(auth.revoke(text).await.is_err());
    assert!(auth.revoke_all(CLIENT).await.is_err());
    place.watch.down(None);
    assert_eq!(refusal(&auth, text).await, None);
}

#[tokio::test]
async fn an_answer_from_before_a_revocation_is_not_remembered_after_it() {
    let place = Place::new();
    let auth = Arc::new(place.open().await);
    let tokens = pair(&auth, CLIENT).await;
    let text = tokens.access.token.expose().to_owned();
    let held = place.watch.hold();
    let checking = {
        let (auth, text) = (Arc::clone(&auth), text.clone());
        tokio::spawn(async move { refusal(&auth, &text).await })
    };
    held.is_held().await;
    auth.revoke(&text).await.unwrap();
    held.go_on();
    assert_eq!(checking.await.unwrap(), None, "it asked before");
    assert_eq!(refusal(&auth, &text).await, REVOKED);
}

#[tokio::test]
async fn revoking_what_does_not_count_is_no_error() {
    let place = Place::new();
    let auth = place.open().await;
    assert_eq!(auth.revoke("no token").await.unwrap(), None);
    let tokens = pair(&auth, CLIENT).await;
    place.later_secs(3600);
    assert_eq!(auth.revoke(tokens.access.token.expose()).await.unwrap(), None);
    assert!(auth.revoke_all("").await.is_err());
    assert!(auth.revoke_all(&"s".repeat(513)).await.is_err());
}
