//! Sessions of the console end with what they were opened with, whatever ends that.

use weir_framework::auth::{AuthError, Identity, TokenError};

use crate::place::{CLIENT, Place, TestAuth, grants, pair};

const HOUR_SECS: u64 = 3600;

async fn operator(auth: &TestAuth) -> String {
    let minted = auth.issue_operator("ci", &grants("ns:a"), 2 * HOUR_SECS).await.unwrap();
    minted.token.expose().to_owned()
}

/// Opens a session and returns its cookie.
async fn opened(auth: &TestAuth, credential: &str) -> String {
    auth.open_session(credential, "ada").await.unwrap().token.expose().to_owned()
}

/// Why a session is refused; none when it is not.
async fn refusal(auth: &TestAuth, cookie: &str) -> Option<TokenError> {
    match auth.authenticate_session(cookie).await {
        Ok(_) => None,
        Err(AuthError::Token(error)) => Some(error),
        Err(other) => panic!("{other}"),
    }
}

async fn session(auth: &TestAuth, cookie: &str) -> std::sync::Arc<Identity> {
    auth.authenticate_session(cookie).await.unwrap()
}

#[tokio::test]
async fn a_session_ends_with_the_key_that_signed_its_token() {
    let place = Place::new();
    let auth = place.open().await;
    let token = operator(&auth).await;
    let old = auth.rotate_signing_key().await.unwrap();
    // The current key signs the session, and the old one signed the token.
    let cookie = opened(&auth, &token).await;
    let other = opened(&auth, &operator(&auth).await).await;
    assert_eq!(refusal(&auth, &cookie).await, None);
    let identity = session(&auth, &cookie).await;
    assert!(auth.is_valid(&identity).await);

    assert!(auth.end_signing_key(&old).await.unwrap());
    assert_eq!(refusal(&auth, &cookie).await, Some(TokenError::UnknownKey));
    assert!(!auth.is_valid(&identity).await);
    assert_eq!(refusal(&auth, &other).await, None, "its token has the current key");
}

#[tokio::test]
async fn a_session_ends_when_the_key_of_its_token_is_forgotten() {
    let place = Place::new();
    let auth = place.open().await;
    let token = operator(&auth).await;
    auth.rotate_signing_key().await.unwrap();
    let cookie = opened(&auth, &token).await;
    let identity = session(&auth, &cookie).await;
    auth.rotate_signing_key().await.unwrap();
    assert!(matches!(
        auth.authenticate_bearer(&token).await,
        Err(AuthError::Token(TokenError::UnknownKey))
    ));
    assert_eq!(refusal(&auth, &cookie).await, Some(TokenError::UnknownKey));
    assert!(!auth.is_valid(&identity).await);
}

#[tokio::test]
async fn an_identity_is_valid_until_its_signing_key_ends() {
    let place = Place::new();
    let auth = place.open().await;
    let token = operator(&auth).await;
    let by_token = auth.authenticate_bearer(&token).await.unwrap();
    let by_session = session(&auth, &opened(&auth, &token).await).await;
    let old = auth.rotate_signing_key().await.unwrap();
    assert!(auth.is_valid(&by_token).await && auth.is_valid(&by_session).await);
    auth.end_signing_key(&old).await.unwrap();
    assert!(!auth.is_valid(&by_token).await);
    assert!(!auth.is_valid(&by_session).await);
}

#[tokio::test]
async fn an_administrator_is_valid_until_the_key_is_replaced() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    here.ensure_admin_key().await.unwrap();
    let key = here.rotate_admin_key().await.unwrap();
    let admin_here = here.authenticate_key(key.expose()).await.unwrap();
    let admin_elsewhere = elsewhere.authenticate_key(key.expose()).await.unwrap();
    assert!(here.is_valid(&admin_here).await && elsewhere.is_valid(&admin_elsewhere).await);
    let new = here.rotate_admin_key().await.unwrap();
    assert!(!here.is_valid(&admin_here).await);
    assert!(elsewhere.is_valid(&admin_elsewhere).await, "within the cache time");
    place.later_secs(60);
    assert!(!elsewhere.is_valid(&admin_elsewhere).await);
    let admin = here.authenticate_key(new.expose()).await.unwrap();
    assert!(here.is_valid(&admin).await);
}

#[tokio::test]
async fn what_another_instance_has_revoked_opens_no_session() {
    let place = Place::new();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let token = pair(&here, CLIENT).await.access.token.expose().to_owned();
    elsewhere.authenticate_bearer(&token).await.unwrap();
    place.later_secs(1);
    here.revoke_all(CLIENT).await.unwrap();
    // The session would be later than the revocation, which would not end it.
    let refused = elsewhere.open_session(&token, "").await.unwrap_err();
    assert!(matches!(refused, AuthError::Token(TokenError::Revoked)), "{refused}");

    here.ensure_admin_key().await.unwrap();
    let old = here.rotate_admin_key().await.unwrap();
    place.later_secs(2);
    elsewhere.authenticate_key(old.expose()).await.unwrap();
    place.later_secs(2);
    here.rotate_admin_key().await.unwrap();
    let refused = elsewhere.open_session(old.expose(), "ada").await.unwrap_err();
    assert!(matches!(refused, AuthError::WrongKey), "{refused}");
}

#[tokio::test]
async fn a_session_has_the_scope_of_its_token_and_ends_when_the_client_revokes_that() {
    let place = Place::new();
    let auth = place.open().await;
    let tokens = pair(&auth, CLIENT).await;
    let access = tokens.access.token.expose();
    let cookie = opened(&auth, access).await;
    assert_eq!(session(&auth, &cookie).await.grants, grants("org:7"));
    auth.revoke(access).await.unwrap();
    assert_eq!(refusal(&auth, &cookie).await, Some(TokenError::Revoked));

    let access = auth.refresh(tokens.refresh.token.expose()).await.unwrap().token;
    let cookie = opened(&auth, access.expose()).await;
    auth.revoke(tokens.refresh.token.expose()).await.unwrap();
    assert_eq!(refusal(&auth, &cookie).await, Some(TokenError::Revoked));
}

#[tokio::test]
async fn a_session_cannot_revoke_the_tokens_of_its_subject() {
    let place = Place::new();
    let auth = place.open().await;
    let token = operator(&auth).await;
    let cookie = opened(&auth, &token).await;
    let refused = auth.revoke_all_of(&cookie).await.unwrap_err();
    assert!(matches!(refused, AuthError::Token(TokenError::WrongType)), "{refused}");
    assert_eq!(refusal(&auth, &cookie).await, None);
    // Whoever has a cookie that got out may end that session, which is listed as revoked.
    auth.revoke(&cookie).await.unwrap();
    assert_eq!(refusal(&auth, &cookie).await, Some(TokenError::Revoked));
    assert!(auth.authenticate_bearer(&token).await.is_ok());
    let listed = auth.operator_tokens(10, None).await.unwrap().items;
    let revoked = |is_session: bool| {
        let mut of = listed.iter().filter(|token| token.session_of.is_some() == is_session);
        of.next().unwrap().revoked.is_some()
    };
    assert!(revoked(true) && !revoked(false));
}

#[tokio::test]
async fn a_session_that_no_browser_would_keep_is_not_opened() {
    let place = Place::new();
    let auth = place.open().await;
    let open = async |length: usize| {
        let scope = format!("ns:{}", "n".repeat(length));
        let minted = auth.issue_operator("ci", &grants(&scope), HOUR_SECS).await.unwrap();
        auth.open_session(minted.token.expose(), "").await
    };
    assert!(open(2_000).await.is_ok());
    assert!(matches!(open(3_500).await, Err(AuthError::TooLongForCookie)));
    let listed = auth.operator_tokens(10, None).await.unwrap().items;
    assert_eq!(listed.iter().filter(|token| token.session_of.is_some()).count(), 1);
}

#[tokio::test]
async fn a_new_admin_key_is_in_force_with_the_end_of_its_sessions_or_not_at_all() {
    use weir_testkit::watched::Strike;
    let place = Place::new();
    let auth = place.open().await;
    auth.ensure_admin_key().await.unwrap();
    let key = auth.rotate_admin_key().await.unwrap();
    let cookie = opened(&auth, key.expose()).await;
    place.watch.down(Some(Strike::Before));
    assert!(auth.rotate_admin_key().await.is_err());
    place.watch.down(None);
    assert!(auth.authenticate_key(key.expose()).await.is_ok());
    assert_eq!(refusal(&auth, &cookie).await, None);
    auth.rotate_admin_key().await.unwrap();
    assert_eq!(refusal(&auth, &cookie).await, Some(TokenError::Revoked));
}
