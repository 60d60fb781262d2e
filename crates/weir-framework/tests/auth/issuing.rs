//! Issuing tokens: pairs for clients, listed ones for operators.

use weir_framework::auth::grant::{Access, Grants};
use weir_framework::auth::{Settings, TokenError};

use crate::place::{CLIENT, ORG, Place, grants, pair, refusal};

#[tokio::test]
async fn a_client_gets_a_pair_and_then_further_access_tokens() {
    let place = Place::new();
    let auth = place.open().await;
    let tokens = pair(&auth, CLIENT).await;
    let (access, refresh) = (&tokens.access, &tokens.refresh);
    assert_eq!(access.claims.exp - access.claims.iat, 3600);
    assert_eq!(refresh.claims.exp - refresh.claims.iat, 30 * 24 * 3600);
    assert_eq!(access.claims.parent_jti.as_ref(), Some(&refresh.claims.jti));
    let identity = auth.authenticate_bearer(access.token.expose()).await.unwrap();
    assert_eq!(identity.subject, CLIENT);
    assert!(identity.grants.allows(&ORG, &["7", "x"], Access::Write));
    let wrong = refusal(&auth, refresh.token.expose()).await;
    assert_eq!(wrong, Some(TokenError::WrongType));
    assert!(auth.refresh(access.token.expose()).await.is_err());

    place.later_secs(3600);
    let expired = refusal(&auth, access.token.expose()).await;
    assert_eq!(expired, Some(TokenError::Expired));
    let next = auth.refresh(refresh.token.expose()).await.unwrap();
    assert_eq!(refusal(&auth, next.token.expose()).await, None);
    assert_eq!(next.claims.scope, access.claims.scope);
    assert_eq!(next.claims.org_id, access.claims.org_id);
}

#[tokio::test]
async fn an_access_token_does_not_outlive_its_refresh_token() {
    let place = Place::new();
    let settings = Settings { refresh_secs: 3600, ..Settings::default() };
    let auth = place.open_with(&settings).await.unwrap();
    let refresh = pair(&auth, CLIENT).await.refresh;
    place.later_secs(3599);
    let access = auth.refresh(refresh.token.expose()).await.unwrap();
    assert_eq!(access.claims.exp, refresh.claims.exp);
    place.later_secs(1);
    let refused = auth.refresh(refresh.token.expose()).await.unwrap_err();
    assert_eq!(refused.to_string(), "the token has expired");
}

#[tokio::test]
async fn operators_tokens_are_listed_the_newest_first_until_they_expire() {
    let place = Place::new();
    let auth = place.open().await;
    let grants = grants("ns:eu:read admin");
    for name in ["first", "second", "third"] {
        let minted = auth.issue_operator(name, &grants, 3600).await.unwrap();
        assert_eq!(refusal(&auth, minted.token.expose()).await, None);
        place.later_secs(10);
    }
    let page = auth.operator_tokens(2, None).await.unwrap();
    let names = |items: &[weir_framework::auth::issued::IssuedToken]| {
        let names = items.iter().map(|token| token.name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&page.items), ["third", "second"]);
    assert_eq!(page.items[0].scope, "admin ns:eu:read");
    assert_eq!(page.items[0].expires - page.items[0].created, 3600);
    // Time goes on between two pages.
    place.later_secs(1);
    let rest = auth.operator_tokens(2, page.cursor.as_deref()).await.unwrap();
    assert_eq!(names(&rest.items), ["first"]);
    place.later_secs(3600 - 31);
    let alive = auth.operator_tokens(100, None).await.unwrap();
    assert_eq!(names(&alive.items), ["third", "second"]);
    for limit in [0, 101] {
        assert!(auth.operator_tokens(limit, None).await.is_err());
    }
    assert!(auth.operator_tokens(1, Some("forged")).await.is_err());
}

#[tokio::test]
async fn an_operator_s_token_is_revoked_by_its_id() {
    let place = Place::new();
    let auth = place.open().await;
    let minted = auth.issue_operator("ci", &Grants::admin(), 3600).await.unwrap();
    let (text, jti) = (minted.token.expose(), minted.claims.jti.as_str());
    assert_eq!(minted.claims.sub, "operator:ci");
    assert_eq!(refusal(&auth, text).await, None);
    assert_eq!(auth.revoke_operator("unknown").await.unwrap(), None);
    let revoked = auth.revoke_operator(jti).await.unwrap().unwrap();
    assert_eq!((revoked.name.as_str(), revoked.revoked), ("ci", None));
    assert_eq!(refusal(&auth, text).await, Some(TokenError::Revoked));
    let listed = auth.operator_tokens(10, None).await.unwrap().items;
    assert_eq!(listed[0].revoked, Some(minted.claims.iat));
    let admin = Grants::admin();
    let other = auth.issue_operator("other", &admin, 3600).await.unwrap();
    auth.revoke(other.token.expose()).await.unwrap();
    let listed = auth.operator_tokens(10, None).await.unwrap().items;
    assert!(listed.iter().all(|token| token.revoked.is_some()));
    place.later_secs(3600);
    assert_eq!(auth.revoke_operator(jti).await.unwrap(), None);
    for id in ["", &"j".repeat(129)] {
        assert!(auth.revoke_operator(id).await.is_err());
    }
    assert!(auth.issue_operator("", &Grants::admin(), 1).await.is_err());
    assert!(auth.issue_operator("ci", &Grants::admin(), 0).await.is_err());
}
