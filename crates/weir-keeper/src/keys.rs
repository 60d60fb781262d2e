//! Every key of the keeper's tables. The text is the storage format, so each builder has a test with the literal text.

use weir_table::{Item, Key};

use crate::day::OrgDay;
use crate::ids::{
    AppId, EventId, Label, ModelId, OrgId, RequestId, RetrievalTokenHash, Scope, TokenId, Vendor,
    WebhookId,
};

/// Sort key of an org's own configuration; DynamoDB accepts no empty one.
pub const ORG_SK: &str = "#";
/// Partition of the list of all orgs.
pub const ORGS: &str = "ORGS";
/// Prefix of the sort keys of apps.
pub const APP_PREFIX: &str = "APP#";
/// Prefix of the sort keys of webhooks.
pub const WEBHOOK_PREFIX: &str = "WEBHOOK#";
/// Prefix of the sort keys of audit events.
pub const AUDIT_PREFIX: &str = "AUDIT#";
/// Prefix of the sort keys of days.
pub const DAY_PREFIX: &str = "DAY#";
/// Partition of the queues of webhooks with notices to deliver.
pub const DELIVERIES: &str = "DELIVERIES";
/// Partition of the orgs and apps that are deleted and not yet purged.
pub const DELETIONS: &str = "DELETIONS";
const EXPORTED_SK: &str = "EXPORTED";
const SEQUENCE_SK: &str = "SEQUENCE";
const SUMMED_SK: &str = "SUMMED";
const UNTIL_PREFIX: &str = "UNTIL#";
/// Prefix of the sort keys of imported prices.
pub const IMPORT_PREFIX: &str = "FROM#";
/// Prefix of the sort keys of a vendor's prices.
const VENDOR_PREFIX: &str = "VENDOR#";
/// Partition and sort key of the list of imports.
pub const IMPORTS: &str = "IMPORTS";
const ORG_PREFIX: &str = "ORG#";

/// An item with only its key.
#[must_use]
pub fn item(key: Key) -> Item {
    let item = Item::new().with("PK", key.partition.to_value());
    match key.sort {
        Some(sort) => item.with("SK", sort.to_value()),
        None => item,
    }
}

/// Partition of an org in the config table.
#[must_use]
pub fn org_partition(org: &OrgId) -> String {
    format!("{ORG_PREFIX}{org}")
}

/// Configuration of an org.
#[must_use]
pub fn org(org: &OrgId) -> Key {
    Key::new(org_partition(org), ORG_SK)
}

/// Entry of an org in the list of all orgs.
#[must_use]
pub fn org_entry(org: &OrgId) -> Key {
    Key::new(ORGS, org_partition(org))
}

/// Parses an entry of the list of all orgs.
#[must_use]
pub fn parse_org_entry(sk: &str) -> Option<OrgId> {
    OrgId::new(sk.strip_prefix(ORG_PREFIX)?).ok()
}

/// Configuration of an app.
#[must_use]
pub fn app(org: &OrgId, app: &AppId) -> Key {
    Key::new(org_partition(org), format!("{APP_PREFIX}{app}"))
}

/// Parses the sort key of an app.
#[must_use]
pub fn parse_app(sk: &str) -> Option<AppId> {
    AppId::new(sk.strip_prefix(APP_PREFIX)?).ok()
}

/// The item with the configuration and credentials of a scope.
#[must_use]
pub fn config(scope: &Scope) -> Key {
    match scope {
        Scope::Org(id) => org(id),
        Scope::App(id, name) => app(id, name),
    }
}

/// Parses the key of a configuration.
#[must_use]
pub fn parse_config(pk: &str, sk: &str) -> Option<Scope> {
    let id = OrgId::new(pk.strip_prefix(ORG_PREFIX)?).ok()?;
    if sk == ORG_SK { Some(Scope::Org(id)) } else { Some(Scope::App(id, parse_app(sk)?)) }
}

/// An inference profile of an app. Its prefix differs from that of apps, so that listing apps skips it.
#[must_use]
pub fn profile(org: &OrgId, app: &AppId, label: &Label) -> Key {
    Key::new(org_partition(org), format!("{}{label}", profiles_prefix(app)))
}

/// Prefix of the sort keys of an app's inference profiles.
#[must_use]
pub fn profiles_prefix(app: &AppId) -> String {
    format!("PROFILE#{app}#")
}

/// A webhook.
#[must_use]
pub fn webhook(org: &OrgId, webhook: &WebhookId) -> Key {
    Key::new(org_partition(org), format!("{WEBHOOK_PREFIX}{webhook}"))
}

/// An audit event of an org; event ids are ordered by time.
#[must_use]
pub fn audit(org: &OrgId, event: &EventId) -> Key {
    Key::new(org_partition(org), audit_sort(event.as_str()))
}

/// Sort key of an audit event, or of a bound of a range of events.
#[must_use]
pub fn audit_sort(event: &str) -> String {
    format!("{AUDIT_PREFIX}{event}")
}

/// Marker of a deleted org or app; sort keys are ordered by the time after which it is purged.
#[must_use]
pub fn deletion(restorable_until_ms: i64, scope: &Scope) -> Key {
    Key::new(DELETIONS, format!("{}#{}", deletion_due(restorable_until_ms), scope_prefix(scope)))
}

/// Prefix of the sort keys of markers of one time; it sorts before those of later times.
#[must_use]
pub fn deletion_due(restorable_until_ms: i64) -> String {
    format!("{:015}", restorable_until_ms.max(0))
}

/// Parses the sort key of a marker.
#[must_use]
pub fn parse_deletion(sk: &str) -> Option<(i64, Scope)> {
    let (until_ms, scope) = sk.split_once('#')?;
    Some((until_ms.parse().ok()?, parse_scope(scope)?))
}

/// Prefix of every key with usage of a scope.
#[must_use]
pub fn scope_prefix(scope: &Scope) -> String {
    match scope {
        Scope::Org(org) => org_partition(org),
        Scope::App(org, app) => format!("{ORG_PREFIX}{org}#{APP_PREFIX}{app}"),
    }
}

/// Sort key of a day.
#[must_use]
pub fn day_sort(day: OrgDay) -> String {
    let mut key = String::with_capacity(DAY_PREFIX.len() + 8);
    key.push_str(DAY_PREFIX);
    day.put_compact(&mut key);
    key
}

/// Parses the sort key of a day.
#[must_use]
pub fn parse_day(sk: &str) -> Option<OrgDay> {
    OrgDay::from_compact(sk.strip_prefix(DAY_PREFIX)?)
}

/// Sticky state of a scope on a day.
#[must_use]
pub fn sticky(scope: &Scope, day: OrgDay) -> Key {
    Key::new(scope_prefix(scope), day_sort(day))
}

/// Marker that a threshold, in percent, was notified on a day; beside the sticky state.
#[must_use]
pub fn notified_marker(scope: &Scope, day: OrgDay, label: &Label, threshold_pct: u8) -> Key {
    Key::new(scope_prefix(scope), format!("NOTICE#{}#{label}#{threshold_pct}", day.compact()))
}

/// Marker that the end of all quotas was notified on a day; beside the sticky state.
#[must_use]
pub fn all_exceeded_marker(scope: &Scope, day: OrgDay) -> Key {
    Key::new(scope_prefix(scope), format!("NOTICE#{}#ALL", day.compact()))
}

/// Sequence number of the last notice of an org, beside its sticky state.
#[must_use]
pub fn notice_sequence(org: &OrgId) -> Key {
    Key::new(org_partition(org), SEQUENCE_SK)
}

/// Queue of a webhook with notices to deliver.
#[must_use]
pub fn delivery_queue(org: &OrgId, webhook: &WebhookId) -> Key {
    Key::new(DELIVERIES, format!("{org}#{webhook}"))
}

/// Parses the sort key of a queue.
#[must_use]
pub fn parse_delivery_queue(sk: &str) -> Option<(OrgId, WebhookId)> {
    let (org, webhook) = sk.split_once('#')?;
    Some((OrgId::new(org).ok()?, WebhookId::new(webhook).ok()?))
}

/// Partition of the notices to a webhook; sort keys are sequence numbers.
#[must_use]
pub fn deliveries_partition(org: &OrgId, webhook: &WebhookId) -> String {
    format!("{}#{WEBHOOK_PREFIX}{webhook}", org_partition(org))
}

/// Sort key of a notice; it sorts before those with higher numbers.
#[must_use]
pub fn delivery_sort(sequence: u64) -> String {
    format!("{sequence:020}")
}

/// A notice to a webhook.
#[must_use]
pub fn delivery(org: &OrgId, webhook: &WebhookId, sequence: u64) -> Key {
    Key::new(deliveries_partition(org, webhook), delivery_sort(sequence))
}

/// Checkpoint of the export of an org, beside its totals.
#[must_use]
pub fn export_checkpoint(org: &OrgId) -> Key {
    Key::new(org_partition(org), EXPORTED_SK)
}

/// Checkpoint of the finalized days of a scope, beside its totals.
#[must_use]
pub fn finalized(scope: &Scope) -> Key {
    Key::new(scope_prefix(scope), SUMMED_SK)
}

/// Configuration of a scope that was replaced at a time, beside its totals.
#[must_use]
pub fn revision(scope: &Scope, until_ms: i64) -> Key {
    Key::new(scope_prefix(scope), revision_sort(until_ms))
}

/// Sort key of a replaced configuration; they are ordered by time.
#[must_use]
pub fn revision_sort(until_ms: i64) -> String {
    format!("{UNTIL_PREFIX}{:019}", until_ms.max(0))
}

/// Parses the sort key of a replaced configuration.
#[must_use]
pub fn parse_revision(sk: &str) -> Option<i64> {
    sk.strip_prefix(UNTIL_PREFIX)?.parse().ok()
}

/// Partition of a model's totals; sort keys are days.
#[must_use]
pub fn total_partition(scope: &Scope, label: &Label) -> String {
    format!("{}#LABEL#{label}", scope_prefix(scope))
}

/// Total of a model on a day.
#[must_use]
pub fn total(scope: &Scope, label: &Label, day: OrgDay) -> Key {
    Key::new(total_partition(scope, label), day_sort(day))
}

/// Shard of a model's counters on a day.
#[must_use]
pub fn usage(scope: &Scope, label: &Label, shard: u8, day: OrgDay) -> Key {
    Key::new(format!("{}#SH#{shard}", total_partition(scope, label)), day_sort(day))
}

/// Parses the partition key of a shard.
#[must_use]
pub fn parse_usage(pk: &str) -> Option<(Scope, Label, u8)> {
    let (rest, shard) = pk.rsplit_once("#SH#")?;
    let (of, label) = parse_total(rest)?;
    Some((of, label, shard.parse().ok()?))
}

/// Parses the partition key of a total.
#[must_use]
pub fn parse_total(pk: &str) -> Option<(Scope, Label)> {
    let (of, label) = pk.rsplit_once("#LABEL#")?;
    Some((parse_scope(of)?, Label::new(label).ok()?))
}

/// Parses [`scope_prefix`].
fn parse_scope(text: &str) -> Option<Scope> {
    let of = text.strip_prefix(ORG_PREFIX)?;
    Some(match of.split_once('#') {
        None => Scope::Org(OrgId::new(of).ok()?),
        Some((org, app)) => Scope::App(OrgId::new(org).ok()?, parse_app(app)?),
    })
}

/// Fetched price of a model on a UTC day.
#[must_use]
pub fn price(model: &ModelId, vendor: Option<&Vendor>, day: OrgDay) -> Key {
    Key::new(model.as_str(), format!("{}{day}", vendor_prefix(vendor)))
}

/// Imported price of a model, in force from a UTC day on.
#[must_use]
pub fn imported_price(
    model: &ModelId,
    vendor: Option<&Vendor>,
    from: OrgDay,
    import: &EventId,
) -> Key {
    let vendor = vendor_prefix(vendor);
    Key::new(model.as_str(), format!("{vendor}{IMPORT_PREFIX}{from}#{import}"))
}

/// Prices of all vendors of a model share its partition; those of Bedrock have no vendor.
fn vendor_prefix(vendor: Option<&Vendor>) -> String {
    vendor.map_or_else(String::new, |vendor| format!("{VENDOR_PREFIX}{vendor}#"))
}

/// Parses the sort key of a price: its vendor, its day, and its import, if any.
#[must_use]
pub fn parse_price_sort(sk: &str) -> Option<(Option<Vendor>, OrgDay, Option<EventId>)> {
    let (vendor, sk) = match sk.strip_prefix(VENDOR_PREFIX) {
        Some(rest) => {
            let (vendor, rest) = rest.split_once('#')?;
            (Some(Vendor::new(vendor).ok()?), rest)
        }
        None => (None, sk),
    };
    let Some(imported) = sk.strip_prefix(IMPORT_PREFIX) else {
        return Some((vendor, OrgDay::from_dashed(sk)?, None));
    };
    let (day, import) = imported.split_once('#')?;
    Some((vendor, OrgDay::from_dashed(day)?, Some(EventId::new(import).ok()?)))
}

/// List of all imports, beside the prices.
#[must_use]
pub fn imports() -> Key {
    Key::new(IMPORTS, IMPORTS)
}

/// The key of an item.
#[must_use]
pub fn item_key(item: &Item) -> Option<Key> {
    Some(Key::new(item.s("PK")?, item.s("SK")?))
}

/// A revoked token.
#[must_use]
pub fn revoked(token: &TokenId) -> Key {
    Key::partition(token.as_str())
}

/// A one-time retrieval token, by its hash: the token itself is stored nowhere.
#[must_use]
pub fn retrieval(token: &RetrievalTokenHash) -> Key {
    Key::partition(token.as_str())
}

/// Deduplication record of a submission.
#[must_use]
pub fn request(org: &OrgId, app: &AppId, request: &RequestId) -> Key {
    Key::partition(format!("REQ#{org}#{app}#{request}"))
}

#[cfg(test)]
mod tests {
    use weir_table::limits::{PARTITION_KEY_MAX, SORT_KEY_MAX};

    use super::*;
    use crate::ids::RetrievalToken;

    const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";
    const REQUEST: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

    fn text(key: &Key) -> String {
        let part = |value: &weir_table::KeyValue| value.to_value().as_s().unwrap().to_owned();
        let sort = key.sort.as_ref().map_or_else(String::new, |sort| format!(" | {}", part(sort)));
        part(&key.partition) + &sort
    }

    fn ids(app: &str, label: &str) -> (OrgId, AppId, Label) {
        (OrgId::new(ORG).unwrap(), AppId::new(app).unwrap(), Label::new(label).unwrap())
    }

    #[test]
    fn the_text_of_config_keys_is_stable() {
        let (id, name, label) = ids("app-production-api", "premium");
        let hook = WebhookId::new("ops").unwrap();
        let event = EventId::new("01K9").unwrap();
        let app_scope = Scope::App(id.clone(), name.clone());
        for (key, expected) in [
            (org(&id), format!("ORG#{ORG} | #")),
            (org_entry(&id), format!("ORGS | ORG#{ORG}")),
            (app(&id, &name), format!("ORG#{ORG} | APP#app-production-api")),
            (config(&Scope::Org(id.clone())), format!("ORG#{ORG} | #")),
            (config(&app_scope), format!("ORG#{ORG} | APP#app-production-api")),
            (
                profile(&id, &name, &label),
                format!("ORG#{ORG} | PROFILE#app-production-api#premium"),
            ),
            (webhook(&id, &hook), format!("ORG#{ORG} | WEBHOOK#ops")),
            (
                deletion(1_769_176_800_000, &Scope::Org(id.clone())),
                format!("DELETIONS | 001769176800000#ORG#{ORG}"),
            ),
            (
                deletion(1_769_176_800_000, &app_scope),
                format!("DELETIONS | 001769176800000#ORG#{ORG}#APP#app-production-api"),
            ),
            (audit(&id, &event), format!("ORG#{ORG} | AUDIT#01K9")),
        ] {
            assert_eq!(text(&key), expected);
        }
        assert_eq!(parse_org_entry(&format!("ORG#{ORG}")), Some(id.clone()));
        assert_eq!(parse_app("APP#app-production-api"), Some(name));
        let marker = format!("001769176800000#ORG#{ORG}#APP#app-production-api");
        assert_eq!(parse_deletion(&marker), Some((1_769_176_800_000, app_scope.clone())));
        assert_eq!(parse_deletion("001769176800000"), None);
        let pk = org_partition(&id);
        assert_eq!(parse_config(&pk, "#"), Some(Scope::Org(id)));
        assert_eq!(parse_config(&pk, "APP#app-production-api"), Some(app_scope));
        assert_eq!(parse_config(&pk, "WEBHOOK#ops"), None);
        assert_eq!(parse_config("ORGS", &pk), None);
    }

    #[test]
    fn the_text_of_counter_keys_is_stable() {
        let (org, app, label) = ids("app-production-api", "premium");
        let on = OrgDay::from_compact("20260123").unwrap();
        let (all, one) = (Scope::Org(org.clone()), Scope::App(org, app));
        let app_text = format!("ORG#{ORG}#APP#app-production-api");
        for (key, expected) in [
            (sticky(&all, on), format!("ORG#{ORG} | DAY#20260123")),
            (sticky(&one, on), format!("{app_text} | DAY#20260123")),
            (
                notified_marker(&one, on, &label, 80),
                format!("{app_text} | NOTICE#20260123#premium#80"),
            ),
            (all_exceeded_marker(&one, on), format!("{app_text} | NOTICE#20260123#ALL")),
            (finalized(&all), format!("ORG#{ORG} | SUMMED")),
            (finalized(&one), format!("{app_text} | SUMMED")),
            (revision(&one, 1_769_176_800_000), format!("{app_text} | UNTIL#0000001769176800000")),
            (total(&all, &label, on), format!("ORG#{ORG}#LABEL#premium | DAY#20260123")),
            (total(&one, &label, on), format!("{app_text}#LABEL#premium | DAY#20260123")),
            (usage(&all, &label, 0, on), format!("ORG#{ORG}#LABEL#premium#SH#0 | DAY#20260123")),
            (usage(&one, &label, 63, on), format!("{app_text}#LABEL#premium#SH#63 | DAY#20260123")),
        ] {
            assert_eq!(text(&key), expected);
        }
        for of in [all, one] {
            let pk = format!("{}#SH#7", total_partition(&of, &label));
            assert_eq!(parse_usage(&pk), Some((of, label.clone(), 7)));
        }
        assert_eq!(parse_day("DAY#20260123"), Some(on));
        assert_eq!(parse_revision(&revision_sort(7)), Some(7));
        assert_eq!((parse_revision("SUMMED"), parse_revision("UNTIL#x")), (None, None));
        for bad in ["", "ORG#X#LABEL#a#SH#1", "ORGS", "DAY#2026-01-23", "DAY#20261301"] {
            assert_eq!((parse_usage(bad), parse_day(bad)), (None, None), "{bad}");
        }
    }

    #[test]
    fn the_text_of_the_other_keys_is_stable() {
        let (org, app, _) = ids("a", "premium");
        let id = RequestId::new(REQUEST).unwrap();
        let on = OrgDay::from_compact("20260123").unwrap();
        let model = ModelId::new("anthropic.claude-3-5-sonnet-20241022-v2:0").unwrap();
        let import = EventId::new("01J").unwrap();
        let hook = WebhookId::new("ops").unwrap();
        for (key, expected) in [
            (request(&org, &app, &id), format!("REQ#{ORG}#a#{REQUEST}")),
            (
                retrieval(&RetrievalToken::new(REQUEST).unwrap().hash()),
                "6316e01c9e1d33dec091e5469b8fe3f63ae270f7471846f380d926c3454b4027".to_owned(),
            ),
            (revoked(&TokenId::new("j-1").unwrap()), "j-1".to_owned()),
            (notice_sequence(&org), format!("ORG#{ORG} | SEQUENCE")),
            (delivery_queue(&org, &hook), format!("DELIVERIES | {ORG}#ops")),
            (delivery(&org, &hook, 17), format!("ORG#{ORG}#WEBHOOK#ops | 00000000000000000017")),
            (export_checkpoint(&org), format!("ORG#{ORG} | EXPORTED")),
            (
                price(&model, None, on),
                "anthropic.claude-3-5-sonnet-20241022-v2:0 | 2026-01-23".into(),
            ),
            (
                imported_price(&model, None, on, &import),
                "anthropic.claude-3-5-sonnet-20241022-v2:0 | FROM#2026-01-23#01J".into(),
            ),
            (imports(), "IMPORTS | IMPORTS".into()),
        ] {
            assert_eq!(text(&key), expected);
        }
        let queue = format!("{ORG}#ops");
        assert_eq!(parse_delivery_queue(&queue), Some((org, hook)));
        assert_eq!(parse_delivery_queue("001769176800000#d-1#x"), None);
        let openai = Some(Vendor::new("openai").unwrap());
        assert_eq!(parse_price_sort("2026-01-23"), Some((None, on, None)));
        assert_eq!(parse_price_sort("VENDOR#openai#2026-01-23"), Some((openai.clone(), on, None)));
        let imported = Some(import);
        assert_eq!(parse_price_sort("FROM#2026-01-23#01J"), Some((None, on, imported.clone())));
        let sk = "VENDOR#openai#FROM#2026-01-23#01J";
        assert_eq!(parse_price_sort(sk), Some((openai, on, imported)));
        assert_eq!(parse_price_sort("UNTIL#2026-01-23"), None);
    }

    #[test]
    fn the_longest_ids_fit_the_key_limits() {
        let (org, app_id, label) = ids(&"𝒜".repeat(128), &"l".repeat(64));
        let on = OrgDay::from_compact("20260123").unwrap();
        let scope = Scope::App(org.clone(), app_id.clone());
        let request = request(&org, &app_id, &RequestId::new(REQUEST).unwrap());
        let price = price(&ModelId::new("m".repeat(2048)).unwrap(), None, on);
        let keys = [
            usage(&scope, &label, 63, on),
            profile(&org, &app_id, &label),
            app(&org, &app_id),
            request,
            price,
        ];
        for key in keys {
            assert!(key.partition.size() <= PARTITION_KEY_MAX);
            assert!(key.sort.is_none_or(|sort| sort.size() <= SORT_KEY_MAX));
        }
    }
}
