//! The server under attack, and its honest clients.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::Method;
use serde_json::json;
use tempfile::TempDir;
use weir_framework::listen::TlsFiles;
use weir_framework::settings::JobSettings;
use weir_framework::testing::{Builder, TestApp};
use weir_testkit::eventually;

/// Longer than any test, so that an attack holds until its test is over.
const LONG: Duration = Duration::from_secs(600);
/// Connections of an attack.
pub(crate) const CROWD: usize = 1_100;

/// The server, with one limit that is never reached.
pub(crate) struct Site {
    pub(crate) app: TestApp,
    _certificate: Option<TempDir>,
}

/// Every service, with the default settings.
pub(crate) fn builder() -> Builder {
    let services = weir_server::services(weir_server::Settings::default(), &JobSettings::default());
    TestApp::builder(services)
}

/// Every service, with timeouts that no attack reaches and no bound of connections per address.
pub(crate) fn patient() -> Builder {
    let edge = |settings: &mut weir_framework::Settings| {
        settings.edge.request_timeout = LONG;
        settings.edge.public_body_timeout = LONG;
    };
    builder().settings(edge).listen(|listen| {
        listen.connections_per_address_max = usize::MAX;
        listen.header_timeout = LONG;
        listen.body_timeout = LONG;
        listen.write_timeout = LONG;
        listen.handshake_timeout = LONG;
    })
}

impl Site {
    pub(crate) async fn start(builder: Builder) -> Site {
        let site = Site { app: builder.start().await, _certificate: None };
        site.furnish().await;
        site
    }

    /// The same over TLS.
    pub(crate) async fn start_tls(builder: Builder) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let files =
            TlsFiles { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(&files.cert, made.cert.pem()).unwrap();
        std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        let builder = builder.listen(|listen| listen.tls = Some(files));
        let site = Site { app: builder.start().await, _certificate: Some(folder) };
        site.furnish().await;
        site
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.app.address
    }

    async fn furnish(&self) {
        let limit = json!({"name": "rpm", "capacity": 1_000_000_000,
            "refill_amount": 1_000_000_000, "refill_period_seconds": 60});
        let path = "/v1/namespaces/default/limits/system";
        let put = self.app.request(Method::PUT, path).json(&json!({"limits": [limit]}));
        assert_eq!(put.admin().send().await.status, 201);
    }

    /// One request of an honest app.
    pub(crate) async fn acquire(&self, token: &str) {
        let take = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}});
        let call = self.app.post("/v1/namespaces/default/acquire", &take).bearer(token);
        let reply = call.send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    /// A probe of a load balancer.
    pub(crate) async fn probe(&self) {
        for path in ["/healthz", "/readyz", "/health"] {
            let reply = self.app.get(path).send().await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        }
    }

    /// Everyone else is served: fast path, router, large bodies and probes.
    pub(crate) async fn serves(&self) {
        let token = self.app.token("ns:default").await;
        for _ in 0..20 {
            self.acquire(&token).await;
            self.probe().await;
            let reply = self.app.get("/v1/whoami").bearer(&token).send().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        let large = json!({"name": "n".repeat(200_000), "scope": "admin"});
        let reply = self.app.post("/v1/tokens", &large).admin().send().await;
        assert_eq!(
            reply.status,
            400,
            "read to its end, and refused for its name: {}",
            reply.text()
        );
    }

    /// The sum of a metric over all its labels.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let text = self.app.get("/metrics").admin().send().await.text();
        let is_sample = |line: &&str| line.strip_prefix(name).is_some_and(ends_name);
        let values = text.lines().filter(is_sample).filter_map(|line| line.rsplit(' ').next());
        values.map(|value| value.parse::<u64>().unwrap()).sum()
    }

    /// Waits until a metric has reached `least`.
    pub(crate) async fn reaches(&self, name: &str, least: usize) {
        eventually(async || (self.metric(name).await >= least as u64).then_some(())).await;
    }

    /// Requests in progress beside the one that asks.
    pub(crate) async fn in_flight(&self) -> u64 {
        self.metric("weir_http_requests_in_flight").await - 1
    }
}

/// Whether this follows the name of a metric in a sample of it.
fn ends_name(rest: &str) -> bool {
    rest.starts_with(['{', ' '])
}
