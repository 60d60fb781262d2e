//! What holds for an org or an app, and how its secret can be had, on the wire.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_keeper::config::{Effective, Pending};
use weir_keeper::credentials::Retrieval;
use weir_keeper::ids::Scope;
use weir_keeper::{Page as Found, Put};

use weir_framework::page::Page;
pub(super) use weir_framework::time::time;

/// The configuration in force for an org or an app. Secrets and their hashes are never in it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Configured {
    /// Its id: the app's, or the org's.
    pub id: String,
    /// The org.
    pub org_id: String,
    /// The app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// The org's name.
    pub org_name: String,
    /// The app's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_name: Option<String>,
    /// What its client calls itself to get tokens.
    pub client_id: String,
    /// By which days begin and end.
    pub timezone: String,
    /// Whose spend the quotas are for: `ORG` or `APP`.
    pub quota_scope: String,
    /// The chain.
    pub model_ordering: Vec<String>,
    /// What may be spent on each model a day, in millionths of a US dollar.
    pub quotas: BTreeMap<String, u64>,
    /// From which percentage of its quota a model is tight.
    pub tight_mode_threshold_pct: u8,
    /// Over how many shards counters are spread.
    pub agg_shard_count: u8,
    /// Whether a fallback lasts for the day.
    pub sticky_fallback_enabled: bool,
    /// Seconds between two checks of a client while there is room.
    pub refresh_interval_normal_secs: u32,
    /// The same close to a quota.
    pub refresh_interval_tight_secs: u32,
    /// What happens to submissions whose model has no price: `refuse` or `zero`.
    pub unpriced: String,
    /// Greater after every change.
    pub config_version: u64,
    /// What an app has from its org.
    pub inherited_fields: Vec<String>,
    /// What will hold instead, where something waits for the next midnight of the time zone in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingChange>,
}

/// A time zone and a quota scope that will hold.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PendingChange {
    /// By which days will begin and end.
    pub timezone: String,
    /// Whose spend the quotas will be for: `ORG` or `APP`.
    pub quota_scope: String,
    /// From when.
    #[schema(format = DateTime)]
    pub effective_at: String,
}

impl From<&Pending> for PendingChange {
    fn from(pending: &Pending) -> PendingChange {
        PendingChange {
            timezone: pending.timezone.name().to_owned(),
            quota_scope: pending.quota_scope.as_str().to_owned(),
            effective_at: time(pending.at_ms),
        }
    }
}

impl From<&Effective> for Configured {
    fn from(config: &Effective) -> Configured {
        let id = config.app_id.as_ref().map_or(config.org_id.as_str(), |app| app.as_str());
        let owner = match &config.app_id {
            Some(app) => Scope::App(config.org_id.clone(), app.clone()),
            None => Scope::Org(config.org_id.clone()),
        };
        let quotas = config.quotas.iter();
        Configured {
            id: id.to_owned(),
            org_id: config.org_id.to_string(),
            app_id: config.app_id.as_ref().map(ToString::to_string),
            org_name: config.org_name.clone(),
            app_name: config.app_name.clone(),
            client_id: owner.client_id(),
            timezone: config.timezone.name().to_owned(),
            quota_scope: config.quota_scope.as_str().to_owned(),
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
            pending: config.pending.as_ref().map(PendingChange::from),
        }
    }
}

/// Where a secret can be had, once.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SecretRetrieval {
    /// What to ask with GET, relative to this server; whoever has it gets the secret.
    pub url: String,
    /// The one-time token in it.
    pub token: String,
    /// Until when.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

impl SecretRetrieval {
    pub(super) fn new(scope: &Scope, retrieval: &Retrieval) -> SecretRetrieval {
        let app = scope
            .app()
            .map(|app| format!("/apps/{}", utf8_percent_encode(app.as_str(), NON_ALPHANUMERIC)));
        let (org, app, token) = (scope.org(), app.unwrap_or_default(), retrieval.token.reveal());
        SecretRetrieval {
            url: format!("/api/v1/orgs/{org}{app}/credentials/secret?token={token}"),
            token: token.to_owned(),
            expires_at: time(retrieval.expires_at_ms),
        }
    }
}

/// How a new client gets its secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Credentials {
    /// What it calls itself.
    pub client_id: String,
    /// Where its secret can be had.
    pub secret_retrieval: SecretRetrieval,
}

/// What became of a put.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PutAnswer {
    /// `created` or `updated`.
    #[schema(pattern = "^(created|updated)$")]
    pub status: String,
    /// What holds now.
    #[serde(flatten)]
    pub config: Configured,
    /// How the new client gets its secret, when it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
}

/// The answer to a put. One with a one-time token is for its caller alone.
pub(super) fn put_answer(put: &Put, scope: &Scope) -> Response {
    let credentials = put.retrieval.as_ref().map(|retrieval| Credentials {
        client_id: scope.client_id(),
        secret_retrieval: SecretRetrieval::new(scope, retrieval),
    });
    let (code, status) = match put.created {
        true => (StatusCode::CREATED, "created"),
        false => (StatusCode::OK, "updated"),
    };
    let config = Configured::from(&put.effective);
    let answer = PutAnswer { status: status.to_owned(), config, credentials };
    (code, [(header::CACHE_CONTROL, "no-store")], Json(answer)).into_response()
}

/// A page of configurations.
pub(super) fn page(found: &Found<Effective>) -> Json<Page<Configured>> {
    let items = found.items.iter().map(Configured::from).collect();
    Json(Page { items, next_cursor: found.cursor.clone() })
}
