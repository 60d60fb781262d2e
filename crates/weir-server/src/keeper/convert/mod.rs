//! Conversion between the wire and the keeper: requests into domain types, and domain types into responses.
//!
//! Errors name the field of the request. Responses of the hot routes borrow from the domain's values.

mod prices;
mod runtime;
mod today;
mod what_if;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use weir_api::keeper as wire;
use weir_framework::time::{rfc3339, time};
use weir_keeper::config::{self, EffectiveConfig, PendingChange};
use weir_keeper::credentials::{Retrieval, Rotation};
use weir_keeper::decide::StickyState;
use weir_keeper::deletion::Deletion;
use weir_keeper::ids::Scope;
use weir_keeper::{PutOutcome, audit, profiles, webhooks};

pub use self::prices::{long_context, price_entry};
pub(super) use self::prices::{model_price, price_import, price_row};
pub(super) use self::runtime::{
    day_totals, model_selection, quota_status, submission, submission_response,
};
pub(crate) use self::today::{budget, model_budgets};
pub(super) use self::what_if::{day_hours, simulation, what_if};

/// The domain's request for an org.
#[must_use]
pub fn put_org(request: wire::OrgConfig) -> config::PutOrg {
    config::PutOrg {
        org_name: request.org_name,
        timezone: request.timezone,
        quota_scope: request.quota_scope,
        model_ordering: request.model_ordering,
        quotas: request.quotas,
        overrides: request.overrides.as_ref().map(overrides),
        unpriced: request.unpriced,
    }
}

/// The domain's request for an app.
#[must_use]
pub fn put_app(request: wire::AppConfig) -> config::PutApp {
    config::PutApp {
        app_name: request.app_name,
        model_ordering: request.model_ordering,
        quotas: request.quotas,
        overrides: request.overrides.as_ref().map(overrides),
    }
}

fn overrides(request: &wire::ConfigOverrides) -> config::Overrides {
    config::Overrides {
        tight_mode_threshold_pct: request.tight_mode_threshold_pct,
        agg_shard_count: request.agg_shard_count,
        sticky_fallback_enabled: request.sticky_fallback_enabled,
        refresh_interval_normal_secs: request.refresh_interval_normal_secs,
        refresh_interval_tight_secs: request.refresh_interval_tight_secs,
        refresh_interval_secs: request.refresh_interval_secs,
    }
}

pub(super) fn effective_config(config: &EffectiveConfig) -> wire::EffectiveConfig {
    let id = config.app_id.as_ref().map_or(config.org_id.as_str(), |app| app.as_str());
    let owner = match &config.app_id {
        Some(app) => Scope::App(config.org_id.clone(), app.clone()),
        None => Scope::Org(config.org_id.clone()),
    };
    let quotas = config.quotas.iter();
    wire::EffectiveConfig {
        id: id.to_owned(),
        org_id: config.org_id.to_string(),
        app_id: config.app_id.as_ref().map(ToString::to_string),
        org_name: config.org_name.clone(),
        app_name: config.app_name.clone(),
        client_id: owner.client_id(),
        timezone: config.timezone.name().to_owned(),
        quota_scope: quota_scope(config.quota_scope),
        model_ordering: config.model_ordering.iter().map(ToString::to_string).collect(),
        quotas: quotas.map(|(label, quota)| (label.to_string(), quota.0)).collect(),
        tight_mode_threshold_pct: config.tight_mode_threshold_pct,
        agg_shard_count: config.agg_shard_count,
        sticky_fallback_enabled: config.sticky_fallback_enabled,
        refresh_interval_normal_secs: config.refresh_interval_normal_secs,
        refresh_interval_tight_secs: config.refresh_interval_tight_secs,
        unpriced: config.unpriced.as_str().to_owned(),
        config_version: config.config_version,
        inherited_fields: config.inherited_fields.iter().map(ToString::to_string).collect(),
        deleted_at: config.deleted_at_epoch.map(seconds),
        created_at: seconds(config.created_at_epoch),
        updated_at: seconds(config.updated_at_epoch),
        pending: config.pending.as_ref().map(pending_config),
    }
}

pub(super) fn deletion(scope: &Scope, deletion: Deletion) -> wire::DeletionResponse {
    let id = scope.app().map_or(scope.org().as_str(), |app| app.as_str());
    wire::DeletionResponse {
        id: id.to_owned(),
        client_id: scope.client_id(),
        deleted_at: time(deletion.deleted_at_ms),
        restorable_until: time(deletion.restorable_until_ms),
    }
}

fn pending_config(pending: &PendingChange) -> wire::PendingConfig {
    wire::PendingConfig {
        timezone: pending.timezone.name().to_owned(),
        quota_scope: quota_scope(pending.quota_scope),
        effective_at: time(pending.at_ms),
    }
}

fn quota_scope(scope: config::QuotaScope) -> wire::QuotaScope {
    match scope {
        config::QuotaScope::Org => wire::QuotaScope::Org,
        config::QuotaScope::App => wire::QuotaScope::App,
    }
}

pub(super) fn config_response(
    put: &PutOutcome,
    scope: &Scope,
    now_ms: u64,
) -> wire::ConfigResponse {
    let credentials = put.retrieval.as_ref().map(|retrieval| wire::ClientCredentials {
        client_id: scope.client_id(),
        secret_retrieval: secret_link(scope, retrieval),
    });
    let status = if put.created { "created" } else { "updated" }.to_owned();
    let config = effective_config(&put.effective);
    let (configuration, timestamp) = (config.clone(), rfc3339(now_ms));
    wire::ConfigResponse { status, config, configuration, timestamp, credentials }
}

fn secret_link(scope: &Scope, retrieval: &Retrieval) -> wire::SecretLink {
    let app = scope
        .app()
        .map(|app| format!("/apps/{}", utf8_percent_encode(app.as_str(), NON_ALPHANUMERIC)));
    let (org, app, token) = (scope.org(), app.unwrap_or_default(), retrieval.token.reveal());
    wire::SecretLink {
        url: format!("/api/v1/orgs/{org}{app}/credentials/secret?token={token}"),
        token: token.to_owned(),
        expires_at: time(retrieval.expires_at_ms),
    }
}

pub(super) fn rotation_response(scope: &Scope, rotation: &Rotation) -> wire::RotationResponse {
    wire::RotationResponse {
        secret_retrieval: secret_link(scope, &rotation.retrieval),
        rotation: wire::SecretRotation {
            rotated_at: time(rotation.rotated_at_ms),
            old_secret_expires_at: time(rotation.old_secret_expires_at_ms),
            grace_period_hours: rotation.grace_period_hours,
        },
    }
}

pub(super) fn sticky_fallback(sticky: &StickyState) -> wire::StickyFallback {
    wire::StickyFallback {
        active_model_label: sticky.label.to_string(),
        previous_model_label: sticky.previous.as_ref().map(ToString::to_string),
        reason: sticky.reason.as_str().to_owned(),
        activated_at: seconds(sticky.activated_at_epoch),
    }
}

pub(super) fn audit_event(event: audit::AuditEvent) -> wire::OrgAuditEvent {
    wire::OrgAuditEvent {
        id: event.id,
        at: time(event.at_ms),
        action: event.action.as_str().to_owned(),
        subject: event.subject,
        actor: event.actor,
        detail: event.detail,
    }
}

pub(super) fn put_webhook(request: wire::WebhookConfig) -> webhooks::PutWebhook {
    webhooks::PutWebhook {
        url: request.url,
        thresholds_pct: request.thresholds_pct,
        flips: request.flips,
        all_exceeded: request.all_exceeded,
        rotate_secret: request.rotate_secret,
    }
}

pub(super) fn webhook(webhook: webhooks::Webhook) -> wire::Webhook {
    wire::Webhook {
        id: webhook.id.to_string(),
        url: webhook.url,
        thresholds_pct: webhook.thresholds_pct,
        flips: webhook.flips,
        all_exceeded: webhook.all_exceeded,
        secret: None,
        created_at: seconds(webhook.created_at_epoch),
        updated_at: seconds(webhook.updated_at_epoch),
    }
}

pub(super) fn webhook_delivery(record: webhooks::DeliveryRecord) -> wire::WebhookDelivery {
    wire::WebhookDelivery {
        sequence: record.sequence,
        id: record.notice_id.to_string(),
        kind: record.kind,
        status: match record.status {
            webhooks::DeliveryStatus::Queued => wire::WebhookDeliveryStatus::Queued,
            webhooks::DeliveryStatus::Delivered => wire::WebhookDeliveryStatus::Delivered,
            webhooks::DeliveryStatus::Failed => wire::WebhookDeliveryStatus::Failed,
            webhooks::DeliveryStatus::Dropped => wire::WebhookDeliveryStatus::Dropped,
        },
        attempts: record.attempts,
        http_status: record.http_status,
        last_error: record.last_error,
        created_at: time(record.created_at_ms),
        last_attempt_at: record.last_attempt_at_ms.map(time),
        delivered_at: record.delivered_at_ms.map(time),
        next_attempt_at: record.next_attempt_at_ms.map(time),
    }
}

pub(super) fn put_profile(request: wire::InferenceProfileRequest) -> profiles::PutProfile {
    profiles::PutProfile {
        profile_label: request.profile_label,
        inference_profile_arn: request.inference_profile_arn,
        model_id: request.model_id,
        description: request.description,
    }
}

pub(super) fn inference_profile(profile: profiles::InferenceProfile) -> wire::InferenceProfile {
    wire::InferenceProfile {
        id: profile.profile_label.to_string(),
        profile_label: profile.profile_label.to_string(),
        inference_profile_arn: profile.inference_profile_arn.to_string(),
        model_id: profile.model_id.map(|model| model.to_string()),
        description: profile.description,
        kind: "profile".to_owned(),
        created_at: seconds(profile.created_at_epoch),
        updated_at: seconds(profile.updated_at_epoch),
    }
}

/// Seconds since 1970 as RFC 3339.
fn seconds(epoch: i64) -> String {
    time(epoch.saturating_mul(1000))
}
