//! Tokens that are good, and every way in which one is not.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use ring::hmac;
use serde_json::{Value, json};
use weir_framework::auth::claims::TokenType;
use weir_framework::auth::signing::{KeySource, Keyring, SigningKey};
use weir_framework::auth::token::{Mint, Minted, Tokens};
use weir_framework::auth::{Secret, TokenError};

use crate::place::{START_MS, grants as scope, scope_kinds};

const SECRET: &str = "the current secret of these tests";
const OLD_SECRET: &str = "the secret before, of these tests";
const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCjAVGV/R8T664MMD\n\
    BBo7qscnK+02OCn9FCl4cyCmZoahRANCAASJgvUcVyiU3DY8fytQl8ADq5yPKAik\n\
    bhJMqpYEIACUxhdDgrl6/7I4Wobe+ZdbYwtQT2gCd5UFhPgyWemQD8Ue\n\
    -----END PRIVATE KEY-----\n";
const START: u64 = START_MS / 1000;

fn secret(text: &str) -> SigningKey {
    SigningKey::from_source("signing", &KeySource::Hs256(text.as_bytes().to_vec().into())).unwrap()
}

fn pem() -> SigningKey {
    SigningKey::from_source("signing", &KeySource::Es256(Secret::new(PEM))).unwrap()
}

fn tokens(current: SigningKey, previous: Option<SigningKey>) -> Tokens {
    Tokens::new("weir", Keyring::new(current, previous).unwrap(), scope_kinds())
}

fn mint(tokens: &Tokens, token_type: TokenType) -> Minted {
    let grants = scope("org:7 app:x");
    let mint = Mint {
        subject: "org-7-app-x",
        org_id: Some("7"),
        app_id: Some("x"),
        grants: &grants,
        token_type,
        parent_jti: None,
        root_jti: None,
        parent_kid: None,
        lifetime_secs: 3600,
    };
    tokens.mint(&mint, START_MS).unwrap()
}

fn refusal(tokens: &Tokens, text: &str, now_ms: u64) -> TokenError {
    tokens.verify(text, now_ms).unwrap_err()
}

fn encode(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

fn header(text: &str) -> Value {
    let header = text.split('.').next().unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap()
}

/// A token made by hand and signed by HMAC, whatever its header says.
fn forge(header: &Value, claims: &Value, key: &[u8]) -> String {
    let message = format!("{}.{}", encode(header), encode(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()));
    format!("{message}.{signature}")
}

fn good_claims() -> Value {
    json!({
        "iss": "weir", "sub": "s", "scope": "org:7", "token_type": "access",
        "jti": "j", "iat": START, "exp": START + 3600,
    })
}

#[test]
fn what_is_minted_is_verified() {
    for tokens in [tokens(secret(SECRET), None), tokens(pem(), None)] {
        let minted = mint(&tokens, TokenType::Access);
        let text = minted.token.expose();
        let verified = tokens.verify(text, START_MS).unwrap();
        assert_eq!(*verified.claims, minted.claims);
        assert_eq!(verified.identity.subject, "org-7-app-x");
        assert_eq!(verified.identity.grants.to_string(), "org:7 app:x");
        assert_eq!(header(text)["kid"], tokens.current_kid());
        let claims = &minted.claims;
        assert_eq!((claims.iat, claims.exp), (START, START + 3600));
        assert_eq!(claims.issued_ms(), START_MS);
        let wire = serde_json::to_value(claims).unwrap();
        assert_eq!(wire["token_type"], "access");
        assert_eq!(wire.get("parent_jti"), None);
        assert!(!format!("{minted:?}").contains(text));
    }
}

#[test]
fn a_key_made_into_a_secret_gets_nowhere() {
    let tokens = tokens(pem(), None);
    let kid = tokens.current_kid();
    let jwks = serde_json::to_value(tokens.jwks()).unwrap();
    let part = |name: &str| jwks["keys"][0][name].as_str().unwrap().to_owned();
    let coordinate = |name| URL_SAFE_NO_PAD.decode(part(name)).unwrap();
    let point = [&[4][..], &coordinate("x"), &coordinate("y")].concat();
    for key in [&point[..], &point[1..], jwks.to_string().as_bytes(), PEM.as_bytes()] {
        let forged = |alg| forge(&json!({"alg": alg, "kid": kid}), &good_claims(), key);
        assert_eq!(refusal(&tokens, &forged("HS256"), START_MS), TokenError::WrongAlgorithm);
        assert_eq!(refusal(&tokens, &forged("ES256"), START_MS), TokenError::BadSignature);
    }
}

#[test]
fn a_token_cannot_choose_how_it_is_checked() {
    let tokens = tokens(secret(SECRET), None);
    let kid = tokens.current_kid();
    for alg in ["none", "None", "NONE", "", "hs256", "HS384", "HS512", "ES256", "RS256"] {
        let forged = forge(&json!({"alg": alg, "kid": kid}), &good_claims(), SECRET.as_bytes());
        assert_eq!(refusal(&tokens, &forged, START_MS), TokenError::WrongAlgorithm, "{alg}");
        let (unsigned, _) = forged.rsplit_once('.').unwrap();
        let unsigned = format!("{unsigned}.");
        assert_eq!(refusal(&tokens, &unsigned, START_MS), TokenError::WrongAlgorithm);
    }
    let forged = forge(&json!({"alg": "HS256", "kid": kid}), &good_claims(), SECRET.as_bytes());
    assert!(tokens.verify(&forged, START_MS).is_ok(), "the forger's hand is right otherwise");
    let (unsigned, _) = forged.rsplit_once('.').unwrap();
    let unsigned = format!("{unsigned}.");
    assert_eq!(refusal(&tokens, &unsigned, START_MS), TokenError::BadSignature);
    let critical = json!({"alg": "HS256", "kid": kid, "crit": ["b64"], "b64": false});
    let critical = forge(&critical, &good_claims(), SECRET.as_bytes());
    assert!(matches!(refusal(&tokens, &critical, START_MS), TokenError::Malformed(_)));
}

#[test]
fn a_key_that_is_not_in_force_is_refused() {
    let tokens = tokens(secret(SECRET), None);
    for header in [
        json!({"alg": "HS256"}),
        json!({"alg": "HS256", "kid": ""}),
        json!({"alg": "HS256", "kid": "0011223344556677"}),
        json!({"alg": "HS256", "kid": null, "jwk": {"kty": "oct", "k": "AAAA"}}),
    ] {
        let forged = forge(&header, &good_claims(), SECRET.as_bytes());
        assert_eq!(refusal(&tokens, &forged, START_MS), TokenError::UnknownKey);
    }
}

#[test]
fn the_previous_key_verifies_and_the_current_one_signs() {
    let old = tokens(secret(OLD_SECRET), None);
    let text = mint(&old, TokenType::Access).token;
    let both = tokens(pem(), Some(secret(OLD_SECRET)));
    assert!(both.verify(text.expose(), START_MS).is_ok());
    let signed = mint(&both, TokenType::Access).token;
    assert_eq!(header(signed.expose())["alg"], "ES256");
    both.replace_keys(Keyring::new(pem(), None).unwrap());
    let gone = refusal(&both, text.expose(), START_MS);
    assert_eq!(gone, TokenError::UnknownKey, "also when it was verified before");
    assert!(both.verify(signed.expose(), START_MS).is_ok());
}

#[test]
fn no_bit_of_a_token_can_be_changed() {
    for tokens in [tokens(secret(SECRET), None), tokens(pem(), None)] {
        let text = mint(&tokens, TokenType::Access).token;
        let text = text.expose();
        tokens.verify(text, START_MS).unwrap();
        for at in 0..text.len() {
            let other = if &text[at..=at] == "A" { "B" } else { "A" };
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            assert!(tokens.verify(&changed, START_MS).is_err(), "{at}");
            assert!(tokens.verify(&text[..at], START_MS).is_err(), "{at}");
        }
        for added in ["=", ".", " ", "A", "\n"] {
            assert!(tokens.verify(&format!("{text}{added}"), START_MS).is_err());
            assert!(tokens.verify(&format!("{added}{text}"), START_MS).is_err());
        }
        assert_eq!(tokens.remembered(), 1, "only what is good is remembered");
    }
}

#[test]
fn another_issuer_s_token_is_refused() {
    let theirs = Tokens::new("other", Keyring::new(secret(SECRET), None).unwrap(), scope_kinds());
    let text = mint(&theirs, TokenType::Access).token;
    let ours = tokens(secret(SECRET), None);
    assert_eq!(refusal(&ours, text.expose(), START_MS), TokenError::WrongIssuer);
}

#[test]
fn a_token_counts_from_its_issue_to_its_expiry() {
    for remembered in [false, true] {
        let tokens = tokens(secret(SECRET), None);
        let text = mint(&tokens, TokenType::Access).token;
        let text = text.expose();
        if remembered {
            tokens.verify(text, START_MS).unwrap();
        }
        assert_eq!(refusal(&tokens, text, START_MS + 3_600_000), TokenError::Expired);
        assert_eq!(refusal(&tokens, text, START_MS - 61_000), TokenError::NotYetValid);
        assert!(tokens.verify(text, START_MS + 3_599_999).is_ok());
        assert!(tokens.verify(text, START_MS - 60_000).is_ok());
    }
}

#[test]
fn a_refresh_token_is_no_access_token() {
    let tokens = tokens(secret(SECRET), None);
    for (minted, asked) in
        [(TokenType::Refresh, TokenType::Access), (TokenType::Access, TokenType::Refresh)]
    {
        let text = mint(&tokens, minted).token;
        let verify = |asked| tokens.verify_as(asked, text.expose(), START_MS);
        assert_eq!(verify(asked).unwrap_err(), TokenError::WrongType);
        assert!(verify(minted).is_ok());
    }
}

#[test]
fn claims_must_be_there_and_in_bounds() {
    let tokens = tokens(secret(SECRET), None);
    let header = json!({"alg": "HS256", "kid": tokens.current_kid()});
    let with = |name: &str, value: Value| {
        let mut claims = good_claims();
        claims[name] = value;
        forge(&header, &claims, SECRET.as_bytes())
    };
    let malformed = |text: &str| {
        let error = refusal(&tokens, text, START_MS);
        assert!(matches!(error, TokenError::Malformed(_)), "{error}");
    };
    for name in ["sub", "scope", "token_type", "jti", "iat", "exp", "iss"] {
        let mut claims = good_claims();
        claims.as_object_mut().unwrap().remove(name);
        malformed(&forge(&header, &claims, SECRET.as_bytes()));
        malformed(&with(name, json!([1])));
    }
    malformed(&with("sub", json!("")));
    malformed(&with("sub", json!("s".repeat(513))));
    malformed(&with("jti", json!("")));
    malformed(&with("jti", json!("j".repeat(129))));
    malformed(&with("parent_jti", json!("")));
    malformed(&with("token_type", json!("id")));
    malformed(&with("scope", json!("root")));
    malformed(&with("exp", json!(START)));
    malformed(&with("exp", json!(-1)));
    malformed(&with("exp", json!(1e300)));
    for text in ["", ".", "..", "...", "a.b", "a.b.c", "\u{0}", "é.é.é"] {
        malformed(text);
    }
    malformed(&with("org_id", json!("o".repeat(9000))));
    malformed(&"a".repeat(10_000_000));
}

#[test]
fn what_cannot_be_a_token_is_not_minted() {
    let tokens = tokens(secret(SECRET), None);
    let grants = scope("");
    let mint = Mint {
        subject: "s",
        org_id: None,
        app_id: None,
        grants: &grants,
        token_type: TokenType::Access,
        parent_jti: None,
        root_jti: None,
        parent_kid: None,
        lifetime_secs: 1,
    };
    assert!(tokens.mint(&mint, START_MS).is_ok());
    let refused = |mint: &Mint<'_>, at| tokens.mint(mint, at).unwrap_err().to_string();
    let endless = Mint { lifetime_secs: u64::MAX, ..mint };
    assert!(refused(&endless, START_MS).starts_with("lifetime_secs: "));
    let nobody = Mint { subject: "", ..mint };
    assert!(refused(&nobody, START_MS).contains("the subject is empty"));
    assert!(refused(&mint, u64::MAX).contains("too far in the future"));
    let (long, control) = (scope(&format!("ns:{}", "o".repeat(4000))), "\u{1}".repeat(512));
    let long = Mint { grants: &long, subject: &control, org_id: Some(&control), ..mint };
    assert!(refused(&long, START_MS).contains("at most 8192"));
}

#[test]
fn an_error_never_quotes_the_token() {
    let tokens = tokens(secret(SECRET), None);
    let text = mint(&tokens, TokenType::Access).token;
    let text = text.expose();
    for error in [
        refusal(&tokens, text, u64::MAX),
        refusal(&tokens, &text[1..], START_MS),
        refusal(&tokens, &text[..text.len() - 4], START_MS),
    ] {
        assert!(!text.contains(error.name()));
        assert!(!format!("{error} {error:?}").contains(&text[text.len() - 8..]));
    }
}

proptest! {
    #[test]
    fn any_text_is_refused(header in "\\PC{0,30}", claims in "\\PC{0,30}", text in "[\\PC.]{0,60}") {
        let tokens = tokens(secret(SECRET), None);
        prop_assert!(tokens.verify(&text, START_MS).is_err());
        let parts = [header, claims, text].map(|part| URL_SAFE_NO_PAD.encode(part));
        let text = parts.join(".");
        prop_assert!(tokens.verify(&text, START_MS).is_err());
    }

    #[test]
    fn any_signed_claims_are_read_or_refused(claims in "\\PC{0,60}") {
        let tokens = tokens(secret(SECRET), None);
        let header = json!({"alg": "HS256", "kid": tokens.current_kid()});
        let forged = forge(&header, &Value::String(claims), SECRET.as_bytes());
        prop_assert!(matches!(tokens.verify(&forged, START_MS), Err(TokenError::Malformed(_))));
    }
}
