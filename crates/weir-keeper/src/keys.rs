//! Every key of the keeper's tables. The text is the file format, so each builder has a test with the literal text.

use weir_table::{Item, Key};

use crate::day::OrgDay;
use crate::ids::{
    AppId, EventId, Label, ModelId, OrgId, RequestId, RetrievalToken, Scope, TokenId, WebhookId,
};

/// Sort key of an org's own configuration; DynamoDB takes no empty one.
pub const ORG_SK: &str = "#";
/// Partition of the list of all orgs.
pub const ORGS: &str = "ORGS";
/// How sort keys of apps begin.
pub const APP_PREFIX: &str = "APP#";
/// How sort keys of webhooks begin.
pub const WEBHOOK_PREFIX: &str = "WEBHOOK#";
/// How sort keys of audit events begin.
pub const AUDIT_PREFIX: &str = "AUDIT#";
/// How sort keys of days begin.
pub const DAY_PREFIX: &str = "DAY#";
/// Partition of the notices that wait to be delivered.
pub const DELIVERIES: &str = "DELIVERIES";
const EXPORTED_SK: &str = "EXPORTED";
const SUMMED_SK: &str = "SUMMED";
/// How sort keys of imported prices begin.
pub const IMPORT_PREFIX: &str = "FROM#";
/// Partition and sort key of the list of imports.
pub const IMPORTS: &str = "IMPORTS";
const ORG_PREFIX: &str = "ORG#";

/// An item that has its key and nothing else yet.
#[must_use]
pub fn item(key: Key) -> Item {
    let item = Item::new().with("PK", key.partition.to_value());
    match key.sort {
        Some(sort) => item.with("SK", sort.to_value()),
        None => item,
    }
}

/// The partition of an org in the config table.
#[must_use]
pub fn org_partition(org: &OrgId) -> String {
    format!("{ORG_PREFIX}{org}")
}

/// An org's configuration.
#[must_use]
pub fn org(org: &OrgId) -> Key {
    Key::new(org_partition(org), ORG_SK)
}

/// An org's entry in the list of all orgs.
#[must_use]
pub fn org_entry(org: &OrgId) -> Key {
    Key::new(ORGS, org_partition(org))
}

/// The org of an entry in the list.
#[must_use]
pub fn parse_org_entry(sk: &str) -> Option<OrgId> {
    OrgId::new(sk.strip_prefix(ORG_PREFIX)?).ok()
}

/// An app's configuration.
#[must_use]
pub fn app(org: &OrgId, app: &AppId) -> Key {
    Key::new(org_partition(org), format!("{APP_PREFIX}{app}"))
}

/// The app of a sort key.
#[must_use]
pub fn parse_app(sk: &str) -> Option<AppId> {
    AppId::new(sk.strip_prefix(APP_PREFIX)?).ok()
}

/// The configuration that credentials of a scope are in.
#[must_use]
pub fn config(scope: &Scope) -> Key {
    match scope {
        Scope::Org(id) => org(id),
        Scope::App(id, name) => app(id, name),
    }
}

/// Whose configuration is at this key, if one is.
#[must_use]
pub fn parse_config(pk: &str, sk: &str) -> Option<Scope> {
    let id = OrgId::new(pk.strip_prefix(ORG_PREFIX)?).ok()?;
    if sk == ORG_SK { Some(Scope::Org(id)) } else { Some(Scope::App(id, parse_app(sk)?)) }
}

/// An inference profile of an app. It does not begin like an app, so that a list of apps has none.
#[must_use]
pub fn profile(org: &OrgId, app: &AppId, label: &Label) -> Key {
    Key::new(org_partition(org), format!("{}{label}", profiles_prefix(app)))
}

/// How sort keys of an app's inference profiles begin.
#[must_use]
pub fn profiles_prefix(app: &AppId) -> String {
    format!("PROFILE#{app}#")
}

/// A target of notices.
#[must_use]
pub fn webhook(org: &OrgId, webhook: &WebhookId) -> Key {
    Key::new(org_partition(org), format!("{WEBHOOK_PREFIX}{webhook}"))
}

/// An audit event of an org; event ids are in the order of time.
#[must_use]
pub fn audit(org: &OrgId, event: &EventId) -> Key {
    Key::new(org_partition(org), audit_sort(event.as_str()))
}

/// The sort key of an audit event, or of a bound of events.
#[must_use]
pub fn audit_sort(event: &str) -> String {
    format!("{AUDIT_PREFIX}{event}")
}

/// What everything that is counted for a scope begins with.
#[must_use]
pub fn scope(scope: &Scope) -> String {
    match scope {
        Scope::Org(org) => org_partition(org),
        Scope::App(org, app) => format!("{ORG_PREFIX}{org}#{APP_PREFIX}{app}"),
    }
}

/// A day, as a sort key.
#[must_use]
pub fn day(day: OrgDay) -> String {
    let mut key = String::with_capacity(DAY_PREFIX.len() + 8);
    key.push_str(DAY_PREFIX);
    day.put_compact(&mut key);
    key
}

/// The day of a sort key.
#[must_use]
pub fn parse_day(sk: &str) -> Option<OrgDay> {
    OrgDay::from_compact(sk.strip_prefix(DAY_PREFIX)?)
}

/// The sticky state of a day.
#[must_use]
pub fn sticky(of: &Scope, on: OrgDay) -> Key {
    Key::new(scope(of), day(on))
}

/// That a notice went out, beside the sticky state: of a threshold in percent, once a day.
#[must_use]
pub fn notice(of: &Scope, on: OrgDay, label: &Label, threshold_pct: u8) -> Key {
    Key::new(scope(of), format!("NOTICE#{}#{label}#{threshold_pct}", on.compact()))
}

/// A notice that waits to be delivered, in the order of when it is due.
#[must_use]
pub fn delivery(due_ms: i64, id: &TokenId) -> Key {
    Key::new(DELIVERIES, format!("{}#{id}", delivery_due(due_ms)))
}

/// How sort keys of deliveries begin that are due at a moment; before those of later ones.
#[must_use]
pub fn delivery_due(due_ms: i64) -> String {
    format!("{:015}", due_ms.max(0))
}

/// How far an org's counters were exported, beside its totals.
#[must_use]
pub fn exported(org: &OrgId) -> Key {
    Key::new(org_partition(org), EXPORTED_SK)
}

/// Until which day all totals of a scope are final, beside them.
#[must_use]
pub fn summed(of: &Scope) -> Key {
    Key::new(scope(of), SUMMED_SK)
}

/// The partition of a model's totals; sort keys are days.
#[must_use]
pub fn total_partition(of: &Scope, label: &Label) -> String {
    format!("{}#LABEL#{label}", scope(of))
}

/// The total of a model on a day.
#[must_use]
pub fn total(of: &Scope, label: &Label, on: OrgDay) -> Key {
    Key::new(total_partition(of, label), day(on))
}

/// A shard of a model's counters on a day.
#[must_use]
pub fn usage(of: &Scope, label: &Label, shard: u8, on: OrgDay) -> Key {
    Key::new(format!("{}#SH#{shard}", total_partition(of, label)), day(on))
}

/// The parts of a shard's partition key.
#[must_use]
pub fn parse_usage(pk: &str) -> Option<(Scope, Label, u8)> {
    let (rest, shard) = pk.rsplit_once("#SH#")?;
    let (of, label) = parse_total(rest)?;
    Some((of, label, shard.parse().ok()?))
}

/// The parts of a total's partition key.
#[must_use]
pub fn parse_total(pk: &str) -> Option<(Scope, Label)> {
    let (of, label) = pk.rsplit_once("#LABEL#")?;
    let label = Label::new(label).ok()?;
    let of = of.strip_prefix(ORG_PREFIX)?;
    let scope = match of.split_once('#') {
        None => Scope::Org(OrgId::new(of).ok()?),
        Some((org, app)) => Scope::App(OrgId::new(org).ok()?, parse_app(app)?),
    };
    Some((scope, label))
}

/// The price of a model on a day of UTC.
#[must_use]
pub fn price(model: &ModelId, on: OrgDay) -> Key {
    Key::new(model.as_str(), on.to_string())
}

/// A price of a model that was imported, and holds from a day of UTC on.
#[must_use]
pub fn imported_price(model: &ModelId, from: OrgDay, import: &EventId) -> Key {
    Key::new(model.as_str(), format!("{IMPORT_PREFIX}{from}#{import}"))
}

/// What sorts behind all prices that were imported to hold from a day on, and before those of later days.
#[must_use]
pub fn imports_until(on: OrgDay) -> String {
    format!("{IMPORT_PREFIX}{on}$")
}

/// The day of a price's sort key, and the import that it is of.
#[must_use]
pub fn parse_price_sort(sk: &str) -> Option<(OrgDay, Option<EventId>)> {
    let Some(imported) = sk.strip_prefix(IMPORT_PREFIX) else {
        return Some((sk.parse().ok()?, None));
    };
    let (day, import) = imported.split_once('#')?;
    Some((day.parse().ok()?, Some(EventId::new(import).ok()?)))
}

/// The list of all imports, beside the prices.
#[must_use]
pub fn imports() -> Key {
    Key::new(IMPORTS, IMPORTS)
}

/// The key of an item.
#[must_use]
pub fn of_item(item: &Item) -> Option<Key> {
    Some(Key::new(item.s("PK")?, item.s("SK")?))
}

/// A token that was revoked.
#[must_use]
pub fn revoked(token: &TokenId) -> Key {
    Key::partition(token.as_str())
}

/// A one-time token that a secret is made for.
#[must_use]
pub fn retrieval(token: &RetrievalToken) -> Key {
    Key::partition(token.reveal())
}

/// A submission that was counted.
#[must_use]
pub fn request(org: &OrgId, app: &AppId, request: &RequestId) -> Key {
    Key::partition(format!("REQ#{org}#{app}#{request}"))
}

#[cfg(test)]
mod tests {
    use weir_table::limits::{PARTITION_KEY_MAX, SORT_KEY_MAX};

    use super::*;

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
    fn the_text_of_config_keys_stays() {
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
            (audit(&id, &event), format!("ORG#{ORG} | AUDIT#01K9")),
        ] {
            assert_eq!(text(&key), expected);
        }
        assert_eq!(parse_org_entry(&format!("ORG#{ORG}")), Some(id.clone()));
        assert_eq!(parse_app("APP#app-production-api"), Some(name));
        let pk = org_partition(&id);
        assert_eq!(parse_config(&pk, "#"), Some(Scope::Org(id)));
        assert_eq!(parse_config(&pk, "APP#app-production-api"), Some(app_scope));
        assert_eq!(parse_config(&pk, "WEBHOOK#ops"), None);
        assert_eq!(parse_config("ORGS", &pk), None);
    }

    #[test]
    fn the_text_of_counters_stays() {
        let (org, app, label) = ids("app-production-api", "premium");
        let on = OrgDay::from_compact("20260123").unwrap();
        let (all, one) = (Scope::Org(org.clone()), Scope::App(org, app));
        let app_text = format!("ORG#{ORG}#APP#app-production-api");
        for (key, expected) in [
            (sticky(&all, on), format!("ORG#{ORG} | DAY#20260123")),
            (sticky(&one, on), format!("{app_text} | DAY#20260123")),
            (notice(&one, on, &label, 80), format!("{app_text} | NOTICE#20260123#premium#80")),
            (summed(&all), format!("ORG#{ORG} | SUMMED")),
            (summed(&one), format!("{app_text} | SUMMED")),
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
        for bad in ["", "ORG#x#LABEL#a#SH#1", "ORGS", "DAY#2026-01-23", "DAY#20261301"] {
            assert_eq!((parse_usage(bad), parse_day(bad)), (None, None), "{bad}");
        }
    }

    #[test]
    fn the_text_of_the_other_keys_stays() {
        let (org, app, _) = ids("a", "premium");
        let id = RequestId::new(REQUEST).unwrap();
        let on = OrgDay::from_compact("20260123").unwrap();
        let model = ModelId::new("anthropic.claude-3-5-sonnet-20241022-v2:0").unwrap();
        let import = EventId::new("01J").unwrap();
        for (key, expected) in [
            (request(&org, &app, &id), format!("REQ#{ORG}#a#{REQUEST}")),
            (retrieval(&RetrievalToken::new(REQUEST).unwrap()), REQUEST.to_owned()),
            (revoked(&TokenId::new("j-1").unwrap()), "j-1".to_owned()),
            (
                delivery(1_769_176_800_000, &TokenId::new("d-1").unwrap()),
                "DELIVERIES | 001769176800000#d-1".into(),
            ),
            (exported(&org), format!("ORG#{ORG} | EXPORTED")),
            (price(&model, on), "anthropic.claude-3-5-sonnet-20241022-v2:0 | 2026-01-23".into()),
            (
                imported_price(&model, on, &import),
                "anthropic.claude-3-5-sonnet-20241022-v2:0 | FROM#2026-01-23#01J".into(),
            ),
            (imports(), "IMPORTS | IMPORTS".into()),
        ] {
            assert_eq!(text(&key), expected);
        }
        assert_eq!(parse_price_sort("2026-01-23"), Some((on, None)));
        assert_eq!(parse_price_sort("FROM#2026-01-23#01J"), Some((on, Some(import))));
        assert!("FROM#2026-01-23#01J" < imports_until(on).as_str());
        assert!(imports_until(on).as_str() < "FROM#2026-01-24#");
        assert_eq!(parse_price_sort("UNTIL#2026-01-23"), None);
    }

    #[test]
    fn the_longest_ids_make_keys_that_fit() {
        let (org, app_id, label) = ids(&"𝒜".repeat(128), &"l".repeat(64));
        let on = OrgDay::from_compact("20260123").unwrap();
        let scope = Scope::App(org.clone(), app_id.clone());
        let request = request(&org, &app_id, &RequestId::new(REQUEST).unwrap());
        let price = price(&ModelId::new("m".repeat(2048)).unwrap(), on);
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
