//! Every id that is part of a key, and its valid form.
//!
//! Keys join their parts with `#`, so an id that contained one could address another item.

use std::fmt;

use compact_str::ToCompactString;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use weir_table::Name;
pub(crate) use weir_table::id::shown;
use weir_table::id::{as_is, shaped};

use crate::bounds::{APP_ID_MAX, LABEL_MAX, MODEL_ID_MAX, ORG_NAME_MAX, VENDOR_MAX};
use crate::error::Error;

/// Separates the org and the app in the client id of an app. No org id contains it, so its first occurrence separates.
const APP_INFIX: &str = "-app-";

weir_table::ids! {
    /// Org id: a UUID, stored in lower case, or a name.
    OrgId, "org", |text| canonical_uuid(text).or_else(|| org_name(text)),
        "an org id: a UUID, or a name of 1 to 63 of a-z, 0-9 and `-` that does not begin with `-`, contain `-app-` or end \
         with `-app`";
    /// App id, unique within its org.
    AppId, "app", |text| as_is(text, is_app),
        "an app id: 1 to 128 characters without `#`, `/`, control characters and blanks at the ends";
    /// Request id: the UUID that makes a submission idempotent.
    RequestId, "request_id", canonical_uuid,
        "a UUID like 7c9e6679-7425-40de-944b-e07fc1f90ae7";
    /// Label that orgs and apps use for a model.
    Label, "model_label", |text| word(text, LABEL_MAX),
        "a label: a letter or digit, then up to 63 letters, digits, `_`, `.`, `-`";
    /// Webhook id.
    WebhookId, "webhook", |text| word(text, LABEL_MAX),
        "a webhook id: a letter or digit, then up to 63 letters, digits, `_`, `.`, `-`";
    /// The `jti` of a token.
    TokenId, "jti", |text| word(text, 128),
        "a token id: a letter or digit, then up to 127 letters, digits, `_`, `.`, `-`";
    /// Audit event id, ordered by time.
    EventId, "event", |text| word(text, LABEL_MAX),
        "an event id: a letter or digit, then up to 63 letters, digits, `_`, `.`, `-`";
    /// Id of a model at its vendor; on Bedrock also an inference profile id, or an ARN of either.
    ModelId, "model_id", |text| as_is(text, is_model),
        "a model id or ARN: 1 to 2048 printable ASCII characters without blanks and `#`";
    /// Vendor that sells a model, where its id alone does not say.
    Vendor, "vendor", |text| as_is(text, is_vendor),
        "a vendor like openai: 1 to 32 of a-z, 0-9, `_` and `-`";
}

fn canonical_uuid(text: &str) -> Option<Name> {
    // Other notations of a UUID are rejected, so that each id has one text.
    let id = Uuid::try_parse(text).ok().filter(|_| text.len() == 36)?;
    Some(id.as_hyphenated().to_compact_string())
}

/// The name of an org. `org-{org}-app-{app}` is the client id of an app, so `-app-` in a name, or one that begins at its end,
/// would give an org and an app of another org the same client id.
fn org_name(text: &str) -> Option<Name> {
    fn is_first(b: u8) -> bool {
        b.is_ascii_lowercase() || b.is_ascii_digit()
    }
    let name = shaped(text, ORG_NAME_MAX, is_first, |b| is_first(b) || b == b'-')?;
    let is_ambiguous = text.contains(APP_INFIX) || text.ends_with(APP_INFIX.trim_end_matches('-'));
    (!is_ambiguous).then_some(name)
}

fn is_app(text: &str) -> bool {
    let bad = |c: char| matches!(c, '#' | '/') || c.is_control();
    let length = text.chars().take(APP_ID_MAX + 1).count();
    (1..=APP_ID_MAX).contains(&length) && !text.contains(bad) && text.trim() == text
}

fn word(text: &str, max: usize) -> Option<Name> {
    let rest = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    shaped(text, max, |b| b.is_ascii_alphanumeric(), rest)
}

fn is_model(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_graphic() && b != b'#';
    (1..=MODEL_ID_MAX).contains(&text.len()) && text.bytes().all(good)
}

fn is_vendor(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    (1..=VENDOR_MAX).contains(&text.len()) && text.bytes().all(good)
}

/// The vendor whose models need no vendor to be named: their ids are unlike all others.
const BEDROCK: &str = "bedrock";

impl Vendor {
    /// Bedrock.
    #[must_use]
    pub fn bedrock() -> Vendor {
        Vendor(BEDROCK.into())
    }

    /// The vendor under which prices are listed; `None` for Bedrock.
    #[must_use]
    pub fn listed(self) -> Option<Vendor> {
        Some(self).filter(|vendor| vendor.as_str() != BEDROCK)
    }
}

impl ModelId {
    /// The model of a request: its `model_id`, or its `bedrock_model_id`, the name that the original service has for it.
    ///
    /// # Errors
    /// Neither is there, or both are, or it is not a model id.
    pub fn of_request(
        model_id: Option<&str>,
        bedrock_model_id: Option<&str>,
    ) -> Result<ModelId, Error> {
        match (model_id, bedrock_model_id) {
            (Some(id), None) => ModelId::new(id),
            (None, Some(id)) => ModelId::new(id).map_err(|error| match error {
                Error::Invalid { problem, .. } => Error::invalid("bedrock_model_id", problem),
                other => other,
            }),
            (None, None) => Err(Error::invalid("model_id", "is required")),
            (Some(_), Some(_)) => {
                let problem = "is another name of bedrock_model_id; send one of them";
                Err(Error::invalid("model_id", problem))
            }
        }
    }
}

impl RequestId {
    /// The id as a number, to spread submissions over shards.
    #[must_use]
    pub fn to_number(&self) -> u128 {
        Uuid::try_parse(&self.0).map_or(0, |id| id.as_u128())
    }
}

/// One-time token that retrieves a secret: a random UUID. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct RetrievalToken(Name);

impl RetrievalToken {
    /// A new random token.
    #[must_use]
    pub fn random() -> RetrievalToken {
        RetrievalToken(Uuid::new_v4().as_hyphenated().to_compact_string())
    }

    /// Parses a token.
    ///
    /// # Errors
    /// The text is not a token; the error does not repeat it.
    pub fn new(text: &str) -> Result<RetrievalToken, Error> {
        let token = canonical_uuid(text).map(RetrievalToken);
        token.ok_or_else(|| Error::invalid("token", "is not a retrieval token"))
    }

    /// The token text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash that the store knows the token by.
    #[must_use]
    pub fn hash(&self) -> RetrievalTokenHash {
        let hex = Sha256::digest(self.0.as_bytes())
            .iter()
            .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        RetrievalTokenHash(hex)
    }
}

/// The SHA-256 of a retrieval token, in hex. The token is random, so its hash needs no salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrievalTokenHash(String);

impl RetrievalTokenHash {
    /// The hash as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RetrievalToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetrievalToken(…)")
    }
}

/// An org or app whose spend is metered together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// All apps of an org.
    Org(OrgId),
    /// One app.
    App(OrgId, AppId),
}

impl Scope {
    /// An app, or its org.
    #[must_use]
    pub fn of(org: &OrgId, app: Option<&AppId>) -> Scope {
        match app {
            Some(app) => Scope::App(org.clone(), app.clone()),
            None => Scope::Org(org.clone()),
        }
    }

    /// The org.
    #[must_use]
    pub fn org(&self) -> &OrgId {
        let (Scope::Org(org) | Scope::App(org, _)) = self;
        org
    }

    /// The app, if any.
    #[must_use]
    pub fn app(&self) -> Option<&AppId> {
        match self {
            Scope::Org(_) => None,
            Scope::App(_, app) => Some(app),
        }
    }

    /// The error that it does not exist.
    #[must_use]
    pub(crate) fn not_found(&self) -> Error {
        match self {
            Scope::Org(org) => Error::not_found("org", org.as_str()),
            Scope::App(_, app) => Error::not_found("app", app.as_str()),
        }
    }

    /// The client id of its credentials and tokens: `org-{org}` or `org-{org}-app-{app}`.
    #[must_use]
    pub fn client_id(&self) -> String {
        match self {
            Scope::Org(org) => format!("org-{org}"),
            Scope::App(org, app) => format!("org-{org}{APP_INFIX}{app}"),
        }
    }

    /// Parses a client id.
    ///
    /// # Errors
    /// The text is not a client id.
    pub fn parse_client_id(client_id: &str) -> Result<Scope, Error> {
        let wrong =
            || Error::invalid("client_id", format!("{} is not a client id", shown(client_id)));
        let rest = client_id.strip_prefix("org-").ok_or_else(wrong)?;
        let (org, app) = match rest.split_once(APP_INFIX) {
            Some((org, app)) => (org, Some(app)),
            None => (rest, None),
        };
        let id = OrgId::new(org).map_err(|_| wrong())?;
        // Upper case would be a second text for one client.
        if id.as_str() != org {
            return Err(wrong());
        }
        let Some(app) = app else { return Ok(Scope::Org(id)) };
        Ok(Scope::App(id, AppId::new(app).map_err(|_| wrong())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";

    #[test]
    fn ids_that_could_address_another_key_are_refused() {
        let long = "a".repeat(129);
        for bad in ["", "#", "a#b", "a/b", "a\n", "a\u{7f}", " a", "a ", long.as_str()] {
            assert!(AppId::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "app-production-api", "Zähler 2", &"ä".repeat(128)] {
            assert_eq!(AppId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "-a", "a b", "a#b", "a/b", "ä", &"a".repeat(65)] {
            assert!(Label::new(bad).is_err(), "{bad:?}");
            assert!(WebhookId::new(bad).is_err(), "{bad:?}");
        }
        assert!(Label::new("ultra_premium").is_ok());
        for bad in ["", "a b", "a\n", "ä", "a#b", &"a".repeat(2049)] {
            assert!(ModelId::new(bad).is_err(), "{bad:?}");
        }
        assert!(ModelId::new("arn:aws:bedrock:us-east-1:1:inference-profile/us.a.b-v1:0").is_ok());
    }

    #[test]
    fn a_request_names_its_model_once() {
        let named =
            |id, bedrock| ModelId::of_request(id, bedrock).map_err(|error| error.to_string());
        assert_eq!(named(Some("gpt-5"), None), named(None, Some("gpt-5")));
        assert_eq!(named(None, None).unwrap_err(), "model_id: is required");
        assert!(named(Some("a"), Some("a")).unwrap_err().starts_with("model_id: is another name"));
        assert!(named(None, Some("a b")).unwrap_err().starts_with("bedrock_model_id: "));
        assert_eq!(Vendor::new("bedrock").unwrap().listed(), None);
        for bad in ["", "Open AI", "a#b", &"a".repeat(33)] {
            assert!(Vendor::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_uuid_has_one_notation() {
        assert_eq!(OrgId::new(ORG.to_uppercase()).unwrap().as_str(), ORG);
        for bad in [
            "",
            "550e8400e29b41d4a716446655440000",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
            "550e8400-e29b-41d4-a716-44665544000g",
        ] {
            assert!(RequestId::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(RequestId::new(ORG).unwrap().to_number() >> 96, 0x550e_8400);
    }

    #[test]
    fn an_error_names_the_id_and_truncates_it() {
        let error = AppId::new("x".repeat(300)).unwrap_err().to_string();
        assert!(error.starts_with("app: \"xxx") && error.len() < 300, "{error}");
        let error = serde_json::from_str::<OrgId>("\"Acme\"").unwrap_err().to_string();
        assert!(
            error.starts_with("\"Acme\" is not an org id: a UUID, or a name of 1 to 63"),
            "{error}"
        );
    }

    #[test]
    fn an_org_has_a_uuid_or_a_name() {
        let longest = "a".repeat(63);
        for good in
            ["a", "7", "acme", "acme-corp-2", "a-", "a--b", "app", "app-x", "my-apps", &longest]
        {
            assert_eq!(OrgId::new(good).unwrap().as_str(), good);
        }
        let long = "a".repeat(64);
        for bad in ["", "-", "-a", "Acme", "a b", "a_b", "a.b", "a#b", "a/b", "ä", "a\n", &long] {
            assert!(OrgId::new(bad).is_err(), "{bad:?}");
        }
        for ambiguous in ["a-app-b", "a-app", "-app-", "x-app-app", "a-app-"] {
            let error = OrgId::new(ambiguous).unwrap_err().to_string();
            assert!(error.contains("contain `-app-`"), "{error}");
        }
    }

    #[test]
    fn a_client_id_is_of_one_client_only() {
        // Every org and app over a small alphabet that can spell the separator.
        let parts = ["a", "-", "-app", "app", "-app-", "pp-"];
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            let longer = texts.iter().flat_map(|text| parts.map(|part| format!("{text}{part}")));
            texts = longer.chain(texts.clone()).collect();
        }
        texts.sort_unstable();
        texts.dedup();
        let orgs: Vec<OrgId> = texts.iter().filter_map(|text| OrgId::new(text).ok()).collect();
        let apps: Vec<AppId> = texts.iter().filter_map(|text| AppId::new(text).ok()).collect();
        assert!(orgs.len() > 10 && apps.len() > 50, "{} {}", orgs.len(), apps.len());
        for org in orgs {
            let all = apps.iter().map(|app| Scope::App(org.clone(), app.clone()));
            for scope in all.chain([Scope::Org(org.clone())]) {
                assert_eq!(Scope::parse_client_id(&scope.client_id()).unwrap(), scope);
            }
        }
    }

    #[test]
    fn a_retrieval_token_is_not_shown() {
        let token = RetrievalToken::random();
        assert_eq!(RetrievalToken::new(token.reveal()).unwrap(), token);
        assert_ne!(RetrievalToken::random(), token);
        assert_eq!(format!("{token:?}"), "RetrievalToken(…)");
        assert_eq!(token.hash().as_str().len(), 64);
        assert!(!token.hash().as_str().contains(&token.reveal()[..8]));
        let error = RetrievalToken::new("hunter2").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn client_ids_round_trip() {
        let org = OrgId::new(ORG).unwrap();
        let app = Scope::App(org.clone(), AppId::new("app-a-app-b").unwrap());
        for scope in [Scope::Org(org), app] {
            assert_eq!(Scope::parse_client_id(&scope.client_id()).unwrap(), scope);
        }
        let upper = format!("org-{}", ORG.to_uppercase());
        let joined = format!("org-{}x", "a".repeat(63));
        let no_app = format!("org-{ORG}-app-");
        for bad in
            ["", "org-", "org-Acme", "ürg-", "org--app-a", "org-a-app-", &upper, &joined, &no_app]
        {
            assert!(Scope::parse_client_id(bad).is_err(), "{bad:?}");
        }
    }
}
