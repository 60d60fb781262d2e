//! An org with one app, and the requests of that app.

use serde_json::{Value, json};

use crate::child::Child;
use crate::load::Request;
use crate::weir::{self, JSON, text};

const APP: &str = "bench";
/// The load generator replaces it by a unique id.
const ID_PLACEHOLDER: &str = "00000000-0000-4000-8000-000000000000";
const LABELS: [&str; 3] = ["premium", "standard", "economy"];
/// A quota that is never reached.
const PLENTY: u64 = 1_000_000_000_000_000;

pub(super) struct Tenant {
    /// The path of the app's routes.
    path: String,
    headers: Vec<String>,
    model: String,
    /// The time of the server when the tenant was created, in RFC 3339.
    created_at: String,
}

impl Tenant {
    /// Creates the org with quotas per org or per app, the app, and a token of the app.
    pub(super) fn create(server: &Child, org: &str, quota_scope: &str) -> Tenant {
        let org = format!("/api/v1/orgs/{org}");
        let quotas: serde_json::Map<_, _> =
            LABELS.iter().map(|label| ((*label).to_owned(), json!(PLENTY))).collect();
        let settings = json!({"org_name": "Bench", "timezone": "UTC", "quota_scope": quota_scope,
            "model_ordering": LABELS, "quotas": quotas});
        weir::admin(server, "PUT", &org, &settings);
        let path = format!("{org}/apps/{APP}");
        let app = weir::admin(server, "PUT", &path, &json!({"app_name": "Bench"}));
        let one_time = text(&app, "/credentials/secret_retrieval/token");
        let secret = format!("{path}/credentials/secret?token={one_time}");
        let secret = server.send("GET", &secret, &[], "");
        let secret: Value = serde_json::from_str(&secret).expect("JSON");
        let grant = json!({"grant_type": "client_credentials",
            "client_id": text(&secret, "/client_id"),
            "client_secret": text(&secret, "/client_secret")});
        let token = weir::admin(server, "POST", "/auth/token", &grant);
        let token = format!("authorization: Bearer {}", text(&token, "/access_token"));
        let headers = vec![token, JSON.to_owned()];
        let selected = server.send("GET", &format!("{path}/model-selection"), &headers, "");
        let selected: Value = serde_json::from_str(&selected).expect("JSON");
        let model = text(&selected, "/recommended_model/bedrock_model_id");
        Tenant { path, headers, model, created_at: text(&selected, "/checked_at") }
    }

    /// A model selection, conditional if there is an ETag.
    pub(super) fn selection(&self, server: &Child, etag: Option<&str>) -> Request {
        let mut request = self.request(server, "GET", "model-selection");
        request.headers.extend(etag.map(|etag| format!("if-none-match: {etag}")));
        request
    }

    /// The ETag of the current selection.
    pub(super) fn selection_etag(&self, server: &Child) -> String {
        let path = format!("{}/model-selection", self.path);
        let (head, _) = server.exchange("GET", &path, &self.headers, "");
        let etag = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("etag").then(|| value.to_owned())
        });
        etag.expect("an ETag")
    }

    /// Submissions with unique ids.
    pub(super) fn submission(&self, server: &Child) -> Request {
        let bodies = vec![self.body().to_string()];
        Request { bodies, unique_ids: true, ..self.request(server, "POST", "costs") }
    }

    /// Batches of submissions with unique ids.
    pub(super) fn batch(&self, server: &Child, size: u64) -> Request {
        let submissions: Vec<Value> = (0..size).map(|_| self.body()).collect();
        let bodies = vec![json!({ "requests": submissions }).to_string()];
        Request { bodies, unique_ids: true, ..self.request(server, "POST", "costs/batch") }
    }

    fn request(&self, server: &Child, method: &'static str, route: &str) -> Request {
        let url = format!("{}{}/{route}", server.origin, self.path);
        Request { method, url, headers: self.headers.clone(), ..Request::default() }
    }

    fn body(&self) -> Value {
        json!({"request_id": ID_PLACEHOLDER, "model_label": "premium",
            "bedrock_model_id": self.model, "input_tokens": 1200, "output_tokens": 340,
            "status": "OK", "timestamp": self.created_at})
    }
}
