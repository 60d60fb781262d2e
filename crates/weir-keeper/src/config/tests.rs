use serde_json::{Value as Json, json};
use weir_calendar::rfc3339;
use weir_table::{Item, Value};

use super::*;
use crate::catalog::ModelCatalog;
use crate::day::parse_rfc3339;
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};

const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";
/// 09:00 in New York.
const NOW: &str = "2026-01-23T14:00:00Z";

fn ms(text: &str) -> i64 {
    parse_rfc3339("test", text).unwrap()
}

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn org_id() -> OrgId {
    OrgId::new(ORG).unwrap()
}

fn put() -> Json {
    json!({
        "org_name": "sample_corp",
        "timezone": "America/New_York",
        "quota_scope": "APP",
        "model_ordering": ["premium", "standard", "economy"],
        "quotas": {"premium": 10_000_000, "standard": 5_000_000, "economy": 2_000_000},
    })
}

/// The request with some fields changed; `null` removes one.
fn with(mut request: Json, changes: &Json) -> Json {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Json::Null => request.as_object_mut().unwrap().remove(name),
            value => request.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    request
}

fn org(changes: &Json, old: Option<&OrgConfig>) -> Result<OrgConfig> {
    let request: PutOrg = serde_json::from_value(with(put(), changes)).unwrap();
    request.check(&ModelCatalog::default(), old)
}

fn record(changes: &Json) -> OrgRecord {
    OrgRecord::new(org_id(), org(changes, None).unwrap(), ms(NOW))
}

fn app(changes: &Json, org: &OrgRecord) -> Result<AppConfig> {
    let request = with(json!({"app_name": "Production API"}), changes);
    let request: PutApp = serde_json::from_value(request).unwrap();
    request.check(&ModelCatalog::default(), &[label("our-profile")], org, None)
}

fn app_record(changes: &Json, org: &OrgRecord) -> AppRecord {
    let id = AppId::new("app-production-api").unwrap();
    AppRecord::new(org.org.clone(), id, app(changes, org).unwrap(), ms(NOW))
}

#[test]
fn unset_fields_have_defaults() {
    let config = org(&json!({}), None).unwrap();
    let found = serde_json::to_value(&config).unwrap();
    let expected = json!({
        "tight_mode_threshold_pct": 95,
        "agg_shard_count": 8,
        "sticky_fallback_enabled": true,
        "refresh_interval_normal_secs": 300,
        "refresh_interval_tight_secs": 60,
        "unpriced": "refuse",
    });
    assert_eq!(found, with(put(), &expected));
}

/// Each change with the kind and the beginning of the error that it is refused with.
fn refused(rows: Vec<(Json, &str)>) {
    for (changes, expected) in rows {
        let error = org(&changes, None).unwrap_err();
        let kind = match error {
            Error::Config { .. } => "CONFIG",
            Error::Label { .. } => "MODEL_LABEL",
            _ => "OTHER",
        };
        let found = format!("{kind} {error}");
        assert!(found.starts_with(expected), "{found} is not {expected}");
    }
}

#[test]
fn invalid_orgs_are_refused_by_field() {
    refused(vec![
        (json!({"org_name": " "}), "CONFIG org_name: \" \" must have 1 to"),
        (json!({"org_name": "a\nb"}), "CONFIG org_name: "),
        (json!({"timezone": "Mars/Olympus"}), "CONFIG timezone: \"Mars/Olympus\" is not an IANA"),
        (json!({"quota_scope": "org"}), "CONFIG quota_scope: is \"org\", must be ORG or APP"),
        (json!({"unpriced": "free"}), "CONFIG unpriced: is \"free\", must be refuse or zero"),
    ]);
    let unknown = serde_json::from_value::<PutOrg>(with(put(), &json!({"timezon": "UTC"})));
    assert!(unknown.unwrap_err().to_string().contains("unknown field `timezon`"));
}

#[test]
fn invalid_chains_and_quotas_are_refused_by_field() {
    let many: Vec<String> = (0..21).map(|number| format!("l{number}")).collect();
    let chain = |labels: &[&str]| json!({"model_ordering": labels});
    let above = 1_000_000_000_000_001_i64;
    refused(vec![
        (chain(&[]), "CONFIG model_ordering: has 0 labels, must have 1 to 20"),
        (json!({"model_ordering": many}), "CONFIG model_ordering: has 21 labels"),
        (chain(&["cheap"]), "MODEL_LABEL model_ordering: \"cheap\" is not a label"),
        (chain(&["premium", "premium"]), "CONFIG model_ordering: has premium twice"),
        (json!({"quotas": {"premium": 1, "standard": 1}}), "CONFIG quotas.economy: is missing"),
        (json!({"quotas": {"cheap": 1}}), "MODEL_LABEL quotas: \"cheap\" is not a label"),
        (json!({"quotas": {"premium": -1}}), "CONFIG quotas.premium: is -1, must be from 0 to"),
        (json!({"quotas": {"premium": above}}), "CONFIG quotas.premium: "),
    ]);
}

#[test]
fn invalid_overrides_are_refused_by_field() {
    let over = |name: &str, value: i64| json!({"overrides": {name: value}});
    let (threshold, tight) = ("tight_mode_threshold_pct", "refresh_interval_tight_secs");
    let both =
        json!({"overrides": {"refresh_interval_secs": 5, "refresh_interval_normal_secs": 6}});
    refused(vec![
        (
            over(threshold, 49),
            "CONFIG overrides.tight_mode_threshold_pct: is 49, must be from 50 to 100",
        ),
        (over(threshold, 101), "CONFIG overrides.tight_mode_threshold_pct: is 101"),
        (over(threshold, 351), "CONFIG overrides.tight_mode_threshold_pct: is 351"),
        (over("agg_shard_count", 12), "CONFIG overrides.agg_shard_count: is 12, must be"),
        (over(tight, 0), "CONFIG overrides.refresh_interval_tight_secs: is 0"),
        (
            over("refresh_interval_secs", 86_401),
            "CONFIG overrides.refresh_interval_normal_secs: is 86401",
        ),
        (both, "CONFIG overrides.refresh_interval_secs: is an alias"),
    ]);
}

#[test]
fn the_shard_count_is_chosen_once() {
    let shards = |count: i64| json!({"overrides": {"agg_shard_count": count}});
    let old = org(&shards(32), None).unwrap();
    assert_eq!(org(&json!({}), Some(&old)).unwrap().agg_shard_count, 32);
    assert_eq!(org(&shards(32), Some(&old)).unwrap().agg_shard_count, 32);
    let error = org(&shards(8), Some(&old)).unwrap_err().to_string();
    assert_eq!(error, "overrides.agg_shard_count: is 32 and cannot be changed to 8");
    let named = json!({"overrides": {"refresh_interval_secs": 120}});
    assert_eq!(org(&named, None).unwrap().refresh_interval_normal_secs, 120);
}

#[test]
fn invalid_apps_are_refused_by_field() {
    let (own, shared) = (record(&json!({})), record(&json!({"quota_scope": "ORG"})));
    for (of, changes, expected) in [
        (&own, json!({"app_name": ""}), "app_name: "),
        (&own, json!({"model_ordering": ["ultra_premium"]}), "quotas.ultra_premium: is missing"),
        (&own, json!({"quotas": {"premium": 1}}), "quotas.standard: is missing"),
        (&own, json!({"model_ordering": ["cheap"]}), "model_ordering: \"cheap\" is not a label"),
        (
            &own,
            json!({"overrides": {"agg_shard_count": 8}}),
            "overrides.agg_shard_count: can only be set for the org",
        ),
        (
            &own,
            json!({"overrides": {"tight_mode_threshold_pct": 1}}),
            "overrides.tight_mode_threshold_pct: ",
        ),
        (
            &shared,
            json!({"model_ordering": ["premium"]}),
            "model_ordering: cannot be set for an app",
        ),
        (&shared, json!({"quotas": {}}), "quotas: cannot be set for an app"),
        (
            &shared,
            json!({"overrides": {"sticky_fallback_enabled": false}}),
            "overrides.sticky_fallback_enabled: cannot",
        ),
    ] {
        let error = app(&changes, of).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error} is not {expected}");
    }
    let profile = json!({"model_ordering": ["our-profile"], "quotas": {"our-profile": 5}});
    assert!(app(&profile, &own).is_ok());
    assert!(app(&json!({"overrides": {"tight_mode_threshold_pct": 60}}), &shared).is_ok());
    // The pending scope decides: it is about to be the org's.
    let leaving = own.changed(shared.config.clone(), ms(NOW));
    assert!(app(&json!({"model_ordering": ["premium"]}), &leaving).is_err());
    let coming = shared.changed(own.config.clone(), ms(NOW));
    assert!(app(&json!({"model_ordering": ["premium"]}), &coming).is_ok());
}

#[test]
fn an_app_overrides_its_org() {
    let org = record(&json!({}));
    let plain = EffectiveConfig::for_app(&org, &app_record(&json!({}), &org), ms(NOW));
    assert_eq!(plain.inherited_fields.len(), 10);
    assert_eq!(plain.scope(), Scope::App(org_id(), AppId::new("app-production-api").unwrap()));
    assert_eq!((plain.model_ordering.len(), plain.config_version), (3, 2));
    let says = json!({
        "model_ordering": ["premium", "standard"],
        "quotas": {"premium": 50_000_000, "standard": 20_000_000},
        "overrides": {"tight_mode_threshold_pct": 90, "refresh_interval_tight_secs": 30},
    });
    let own = EffectiveConfig::for_app(&org, &app_record(&says, &org), ms(NOW));
    assert_eq!(own.model_ordering, [label("premium"), label("standard")]);
    assert_eq!(
        (own.quota(&label("premium")), own.quota(&label("economy"))),
        (MicroUsd(50_000_000), MicroUsd::ZERO)
    );
    assert_eq!((own.tight_mode_threshold_pct, own.refresh_interval_tight_secs), (90, 30));
    assert_eq!(
        own.inherited_fields,
        [
            "sticky_fallback_enabled",
            "refresh_interval_normal_secs",
            "timezone",
            "quota_scope",
            "agg_shard_count",
            "unpriced"
        ]
    );
    let whole = EffectiveConfig::for_org(&org, ms(NOW));
    assert_eq!((whole.scope(), whole.app_id.is_none()), (Scope::Org(org_id()), true));
}

#[test]
fn with_quota_scope_org_an_app_uses_the_shared_chain() {
    let mut org = record(&json!({}));
    let says = json!({
        "model_ordering": ["economy"],
        "overrides": {"sticky_fallback_enabled": false, "tight_mode_threshold_pct": 80},
    });
    let app = app_record(&says, &org);
    org.config.quota_scope = QuotaScope::Org;
    let shared = EffectiveConfig::for_app(&org, &app, ms(NOW));
    assert_eq!(shared.scope(), Scope::Org(org_id()));
    assert_eq!((shared.model_ordering.len(), shared.sticky_fallback_enabled), (3, true));
    assert_eq!((shared.tight_mode_threshold_pct, shared.config_version), (80, 1));
    assert!(shared.inherited_fields.contains(&"model_ordering"));
}

#[test]
fn time_zone_and_quota_scope_change_at_midnight() {
    let record = record(&json!({}));
    let wanted = json!({"timezone": "Asia/Tokyo", "quota_scope": "ORG", "org_name": "New"});
    let changed = record.changed(org(&wanted, Some(&record.config)).unwrap(), ms(NOW));
    // Everything else takes effect at once.
    assert_eq!((changed.config.org_name.as_str(), changed.config_version), ("New", 2));
    let midnight = changed.pending.as_ref().unwrap().at_ms;
    assert_eq!(rfc3339(midnight), "2026-01-24T05:00:00Z");
    let at = |now_ms| {
        let config = changed.config_at(now_ms).into_owned();
        (config.timezone.name().to_owned(), config.quota_scope)
    };
    assert_eq!(at(midnight - 1), ("America/New_York".into(), QuotaScope::App));
    assert_eq!(at(midnight), ("Asia/Tokyo".into(), QuotaScope::Org));
    assert_eq!(
        (record.upcoming_scope(), changed.upcoming_scope()),
        (QuotaScope::App, QuotaScope::Org)
    );
    // Reverted before it takes effect, it never does.
    let back = changed.changed(record.config.clone(), midnight - 1);
    assert_eq!((back.pending.clone(), back.config.clone()), (None, record.config.clone()));
    // After it took effect, a change waits for the midnight of the zone then in force.
    let later = changed.changed(record.config.clone(), midnight);
    assert_eq!(later.config.timezone.name(), "Asia/Tokyo");
    assert_eq!(rfc3339(later.pending.unwrap().at_ms), "2026-01-24T15:00:00Z");
    let same = changed.changed(changed.config_at(midnight).into_owned(), midnight);
    assert_eq!((same.pending, same.config.timezone.name()), (None, "Asia/Tokyo"));
}

#[test]
fn past_settings_are_retained_while_submissions_are_accepted() {
    let zoned = |zone: &str| org(&json!({"timezone": zone}), None).unwrap();
    let first = record(&json!({})).changed(zoned("Asia/Tokyo"), ms(NOW));
    let midnight = first.pending.as_ref().unwrap().at_ms;
    let held = PastSettings {
        timezone: Zone::new("America/New_York").unwrap(),
        quota_scope: QuotaScope::App,
        until_ms: midnight,
    };
    assert_eq!(
        (first.past_at(midnight - 1), first.past_at(midnight)),
        (vec![], vec![held.clone()])
    );
    // Changing a pending change leaves no history; changing one in force does.
    assert_eq!(first.changed(zoned("UTC"), midnight - 1).past, []);
    let second = first.changed(zoned("Asia/Tokyo"), midnight);
    assert_eq!((&second.past, &second.pending), (&vec![held.clone()], &None));
    let third = second.changed(zoned("UTC"), midnight + 1);
    let until_ms = third.pending.as_ref().unwrap().at_ms;
    let tokyo =
        PastSettings { timezone: Zone::new("Asia/Tokyo").unwrap(), until_ms, ..held.clone() };
    assert_eq!(third.past_at(until_ms), [held, tokyo]);
    let item = third.changed(zoned("UTC"), until_ms).encode(None);
    assert_eq!(OrgRecord::decode(org_id(), &item).unwrap().past.len(), 2);
    let long_after = until_ms + crate::bounds::PAST_RETENTION_MS;
    assert_eq!(third.changed(zoned("UTC"), long_after).past, []);
    let mut damaged = item;
    damaged.set("past_zones", Value::list(["x"]));
    assert!(OrgRecord::decode(org_id(), &damaged).is_err());
}

#[test]
fn records_round_trip() {
    let old = record(&json!({}));
    let wanted = org(&json!({"timezone": "Asia/Tokyo", "unpriced": "zero"}), None).unwrap();
    let new = old.changed(wanted, ms(NOW));
    let secret = Item::new().with("client_secret_hash", "$2b$12$x").with("pending_at_epoch", 5);
    for record in [&old, &new] {
        let item = record.encode(Some(&secret));
        assert_eq!(&OrgRecord::decode(org_id(), &item).unwrap(), record);
        assert_eq!(item.s("client_secret_hash"), Some("$2b$12$x"));
        assert_eq!(
            (item.s("PK"), item.s("SK")),
            (Some("ORG#550e8400-e29b-41d4-a716-446655440000"), Some("#"))
        );
    }
    let says =
        json!({"model_ordering": ["premium"], "overrides": {"sticky_fallback_enabled": false}});
    for changes in [json!({}), says] {
        let record = app_record(&changes, &old);
        let item = record.encode(Some(&secret));
        let found = AppRecord::decode(org_id(), record.app.clone(), &item).unwrap();
        assert_eq!(found, record);
        assert_eq!(
            item.s("client_id"),
            Some("org-550e8400-e29b-41d4-a716-446655440000-app-app-production-api")
        );
        // A field that is no longer set is removed.
        let plain = found.changed(app(&json!({}), &old).unwrap(), ms(NOW)).encode(Some(&item));
        assert!(plain.get("model_ordering").is_none() && plain.get("client_secret_hash").is_some());
        assert_eq!(plain.i64("config_version"), Some(2));
    }
}

#[test]
fn the_stored_attributes_of_an_org_are_stable() {
    let record =
        record(&json!({})).changed(org(&json!({"timezone": "UTC"}), None).unwrap(), ms(NOW));
    let item = record.encode(None);
    let names: Vec<&str> = item.attrs().keys().map(|name| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "PK",
            "SK",
            "agg_shard_count",
            "client_id",
            "config_version",
            "created_at_epoch",
            "model_ordering",
            "org_name",
            "pending_at_epoch",
            "pending_quota_scope",
            "pending_timezone",
            "quota_scope",
            "quotas",
            "refresh_interval_normal_secs",
            "refresh_interval_tight_secs",
            "shared_since_epoch",
            "sticky_fallback_enabled",
            "tight_mode_threshold_pct",
            "timezone",
            "unpriced",
            "updated_at_epoch",
        ]
    );
    assert_eq!(
        item.get("quotas"),
        Some(&Value::map([
            ("premium", 10_000_000),
            ("standard", 5_000_000),
            ("economy", 2_000_000)
        ]))
    );
    assert_eq!(item.get("model_ordering"), Some(&Value::list(["premium", "standard", "economy"])));
    assert_eq!(item.i64("pending_at_epoch"), Some(1_769_230_800));
}

#[test]
fn a_corrupt_item_is_an_error_that_names_the_attribute() {
    let item = record(&json!({})).encode(None);
    for name in
        ["org_name", "timezone", "quotas", "model_ordering", "config_version", "agg_shard_count"]
    {
        let mut damaged = item.clone();
        damaged.set(name, Value::Null);
        let error = OrgRecord::decode(org_id(), &damaged).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{ORG} cannot be read: {name} is missing or invalid")),
            "{error}"
        );
        damaged.remove(name);
        assert!(OrgRecord::decode(org_id(), &damaged).is_err(), "{name}");
    }
    let mut half = item;
    half.set("pending_at_epoch", 7);
    assert!(OrgRecord::decode(org_id(), &half).is_err());
}

#[test]
fn the_time_without_quotas_per_app_begins_when_the_last_ends() {
    let at = |hours: i64| ms(NOW) + hours * 3_600_000;
    let shared = org(&json!({"quota_scope": "ORG"}), None).unwrap();
    let per_app = org(&json!({}), None).unwrap();
    let first = OrgRecord::new(org_id(), shared.clone(), at(0));
    let renamed = OrgConfig { org_name: "other".into(), ..shared.clone() };
    assert_eq!(first.changed(renamed, at(1)).shared_since_epoch, 0, "there was none");
    // A change that is dropped before it takes effect, by this clock.
    let pending = first.changed(per_app.clone(), at(1));
    let dropped = pending.changed(shared.clone(), at(2));
    let midnight = "2026-01-24T05:00:00Z";
    assert_eq!(rfc3339(dropped.shared_since_epoch * 1000), midnight);
    let back = OrgRecord::new(org_id(), per_app, at(0)).changed(shared, at(1));
    assert_eq!(rfc3339(back.shared_since_epoch * 1000), midnight);
    // A record that an earlier version wrote.
    let mut item = back.encode(None);
    item.remove("shared_since_epoch");
    assert_eq!(OrgRecord::decode(org_id(), &item).unwrap(), back);
}
