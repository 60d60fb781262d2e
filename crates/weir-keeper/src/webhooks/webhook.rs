//! A webhook: the request to set it, its validation, and its stored form.

use url::Url;
use weir_table::expr::{Condition, attr};
use weir_table::{Item, Value};

use super::THRESHOLDS_PCT;
use super::address::AddressPolicy;
use crate::bounds::URL_MAX;
use crate::error::{Error, Result};
use crate::ids::{OrgId, WebhookId, shown};
use crate::keys;

const URL: &str = "url";
const THRESHOLDS: &str = "thresholds_pct";
const FLIPS: &str = "flips";
const ALL_EXCEEDED: &str = "all_exceeded";
const GENERATION: &str = "secret_generation";
const CREATED: &str = "created_at_epoch";
const UPDATED: &str = "updated_at_epoch";

/// The request to create or change a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutWebhook {
    /// URL to post to: `https://` or `http://`.
    pub url: String,
    /// Thresholds to notify, of 50, 80, 95 and 100 percent; all by default.
    pub thresholds_pct: Option<Vec<u8>>,
    /// Whether to notify fallbacks; true by default.
    pub flips: Option<bool>,
    /// Whether to notify that all quotas are exceeded; true by default.
    pub all_exceeded: Option<bool>,
    /// Whether to rotate the signing secret; the old one is not used any more.
    pub rotate_secret: bool,
}

/// A webhook. Its signing secret is derived from a key of the store and never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The webhook id.
    pub id: WebhookId,
    /// URL to post to.
    pub url: String,
    /// Percentages of a quota that are notified.
    pub thresholds_pct: Vec<u8>,
    /// Whether fallbacks are notified.
    pub flips: bool,
    /// Whether the end of all quotas is notified.
    pub all_exceeded: bool,
    /// Random input of the derived secret; a rotation replaces it.
    pub(super) generation: String,
    /// When it was created, in seconds since 1970.
    pub created_at_epoch: i64,
    /// When it was last changed, in seconds since 1970.
    pub updated_at_epoch: i64,
}

impl PutWebhook {
    /// Validates the request and applies it to the `old` webhook, if any.
    ///
    /// # Errors
    /// Names the invalid field.
    pub(super) fn check(
        &self,
        id: &WebhookId,
        old: Option<&Webhook>,
        policy: &AddressPolicy,
        now_ms: i64,
    ) -> Result<Webhook> {
        check_url(&self.url, policy)?;
        let mut thresholds = self.thresholds_pct.clone().unwrap_or_else(|| THRESHOLDS_PCT.into());
        thresholds.sort_unstable();
        thresholds.dedup();
        if let Some(wrong) = thresholds.iter().find(|pct| !THRESHOLDS_PCT.contains(pct)) {
            let problem = format!("{wrong} is not one of {THRESHOLDS_PCT:?}");
            return Err(Error::invalid("thresholds_pct", problem));
        }
        let generation = old.filter(|_| !self.rotate_secret).map(|old| old.generation.clone());
        let now = now_ms.div_euclid(1000);
        Ok(Webhook {
            id: id.clone(),
            url: self.url.clone(),
            thresholds_pct: thresholds,
            flips: self.flips.unwrap_or(true),
            all_exceeded: self.all_exceeded.unwrap_or(true),
            generation: generation.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string()),
            created_at_epoch: old.map_or(now, |old| old.created_at_epoch),
            updated_at_epoch: now,
        })
    }
}

/// A URL must have a host that webhooks may reach, and no part that parsers interpret differently.
fn check_url(url: &str, policy: &AddressPolicy) -> Result<()> {
    let wrong = |problem: String| Err(Error::invalid("url", problem));
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else {
        return wrong(format!("{} must begin with https:// or http://", shown(url)));
    };
    if url.len() > URL_MAX || !url.bytes().all(|b| b.is_ascii_graphic()) {
        return wrong(format!("must consist of at most {URL_MAX} printable ASCII characters"));
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') || host.contains(['@', '\\']) || url.contains('#') {
        return wrong(format!("{} must have a host, and no user or fragment", shown(url)));
    }
    let Ok(parsed) = Url::parse(url) else {
        return wrong(format!("{} is not a URL", shown(url)));
    };
    if !policy.permits_host(&parsed) {
        let host = parsed.host_str().unwrap_or_default();
        return wrong(format!(
            "{} is in a network that webhooks may not reach; keeper.webhook_allowed_networks can allow it",
            shown(host)
        ));
    }
    Ok(())
}

impl Webhook {
    /// The stored webhook is still this one.
    pub(super) fn is_unchanged(&self) -> Condition {
        attr(GENERATION).eq(self.generation.as_str()).and(attr(UPDATED).eq(self.updated_at_epoch))
    }

    pub(super) fn encode(&self, org: &OrgId) -> Item {
        let thresholds = Value::list(self.thresholds_pct.iter().map(|pct| i64::from(*pct)));
        keys::item(keys::webhook(org, &self.id))
            .with(URL, self.url.as_str())
            .with(THRESHOLDS, thresholds)
            .with(FLIPS, self.flips)
            .with(ALL_EXCEEDED, self.all_exceeded)
            .with(GENERATION, self.generation.as_str())
            .with(CREATED, self.created_at_epoch)
            .with(UPDATED, self.updated_at_epoch)
    }

    pub(super) fn decode(item: &Item) -> Result<Webhook> {
        let read = || {
            let Value::L(thresholds) = item.get(THRESHOLDS)? else { return None };
            let pct = |value: &Value| value.as_i64().and_then(|pct| u8::try_from(pct).ok());
            Some(Webhook {
                id: WebhookId::new(item.s("SK")?.strip_prefix(keys::WEBHOOK_PREFIX)?).ok()?,
                url: item.s(URL)?.to_owned(),
                thresholds_pct: thresholds.iter().map(pct).collect::<Option<_>>()?,
                flips: item.get(FLIPS)?.as_bool()?,
                // Webhooks of earlier versions have no such attribute.
                all_exceeded: item
                    .get(ALL_EXCEEDED)
                    .is_none_or(|value| value != &Value::Bool(false)),
                generation: item.s(GENERATION)?.to_owned(),
                created_at_epoch: item.i64(CREATED)?,
                updated_at_epoch: item.i64(UPDATED)?,
            })
        };
        read().ok_or_else(|| Error::damaged("a webhook", "an attribute is missing or invalid"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(put: &PutWebhook, old: Option<&Webhook>, now_ms: i64) -> Result<Webhook> {
        put.check(&WebhookId::new("ops").unwrap(), old, &AddressPolicy::default(), now_ms)
    }

    fn put(url: &str) -> PutWebhook {
        PutWebhook { url: url.to_owned(), ..PutWebhook::default() }
    }

    #[test]
    fn a_webhook_round_trips_and_keeps_its_secret_until_rotated() {
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let first = check(&put("https://example.com:8443/hook?a=b"), None, 5_000).unwrap();
        assert_eq!(Webhook::decode(&first.encode(&org)).unwrap(), first);
        assert_eq!(first.thresholds_pct, THRESHOLDS_PCT);
        let second = check(&put("http://8.8.8.8/x"), Some(&first), 9_000).unwrap();
        assert_eq!(second.generation, first.generation);
        assert_eq!((second.created_at_epoch, second.updated_at_epoch), (5, 9));
        let rotate = PutWebhook { rotate_secret: true, ..put("http://h") };
        assert_ne!(check(&rotate, Some(&first), 9_000).unwrap().generation, first.generation);
    }

    #[test]
    fn invalid_urls_and_thresholds_are_refused() {
        let long = format!("https://h/{}", "a".repeat(URL_MAX));
        for wrong in [
            "",
            "ftp://h",
            "https://",
            "https:///x",
            "https://:80/",
            "https://u@h/",
            "https://h/ x",
            "https://h/#x",
            "https://h\\x",
            "https://ä/",
            "https://h:99999/",
            "http://127.0.0.1:9/",
            "http://0x7f.1/",
            "http://[::ffff:10.0.0.1]/",
            "http://localhost/",
            &long,
        ] {
            let error = check(&put(wrong), None, 0).unwrap_err().to_string();
            assert!(error.starts_with("url: "), "{wrong}: {error}");
        }
        let wrong = PutWebhook { thresholds_pct: Some(vec![50, 60]), ..put("https://h") };
        let error = check(&wrong, None, 0).unwrap_err().to_string();
        assert_eq!(error, "thresholds_pct: 60 is not one of [50, 80, 95, 100]");
    }
}
