//! Fast routes return the same on the fast path as through the router, whatever the client sends.
//!
//! Two servers with one clock get the same requests in the same order: one plainly, the other with a
//! percent-encoded namespace, which only the router matches. A counter proves which path was taken.

use axum::http::Method;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use weir_framework::testing::{ADMIN_KEY, Call, Reply, TestApp};
use weir_server::limiter::LimiterService;
use weir_table::AnyBackend;

use crate::scene::{minutely, path};

/// The largest body that these servers accept, in bytes.
const BODY_MAX: usize = 4 * 1024;

/// The headers and body that a case adds to a call.
type Change<'c> = dyn Fn(Call) -> Call + 'c;

/// The two servers.
struct Pair {
    fast: TestApp,
    slow: TestApp,
}

async fn server() -> TestApp {
    let builder = TestApp::builder(vec![Box::new(LimiterService::default())]);
    let app = builder.settings(|settings| settings.edge.body_bytes_max = BODY_MAX).start().await;
    let limits = json!({"limits": [minutely("rpm", 100), minutely("tpm", 10_000)]});
    let put = app.request(Method::PUT, &path("limits/system")).admin().json(&limits);
    assert_eq!(put.send().await.status, 201);
    app
}

impl Pair {
    async fn start() -> Pair {
        Pair { fast: server().await, slow: server().await }
    }

    /// Sends a request to both and compares the responses; returns that of the fast path.
    async fn send(&self, method: Method, path: &str, with: impl Fn(Call) -> Call) -> Reply {
        self.send_each(method, [path, path], |call, _| with(call)).await
    }

    /// The same where the two have paths or callers of their own: the first of two is the fast
    /// path's.
    async fn send_each(
        &self,
        method: Method,
        [fast, slow]: [&str; 2],
        with: impl Fn(Call, usize) -> Call,
    ) -> Reply {
        let before = [fast_requests(&self.fast).await, fast_requests(&self.slow).await];
        let calls = [
            self.fast.request(method.clone(), fast),
            self.slow.request(method.clone(), &percent_encoded(slow)),
        ];
        let [fast, slow] = calls.map(|call| call.header("x-request-id", "same"));
        let (fast, slow) = (with(fast, 0).send().await, with(slow, 1).send().await);
        assert_eq!(comparable(&fast), comparable(&slow), "{method}");
        let after = [fast_requests(&self.fast).await, fast_requests(&self.slow).await];
        assert_eq!(after, [before[0] + 1, before[1]], "{method}: {}", fast.text());
        fast
    }

    async fn acquire(&self, with: impl Fn(Call) -> Call) -> Reply {
        self.send(Method::POST, &path("acquire"), with).await
    }

    async fn metrics(&self) -> [Vec<String>; 2] {
        [requests(&self.fast).await, requests(&self.slow).await]
    }
}

/// The same path, which only the router matches.
fn percent_encoded(path: &str) -> String {
    let (before, ns) = path.split_at(path.find("/namespaces/").unwrap() + "/namespaces/".len());
    format!("{before}%{:02x}{}", ns.as_bytes()[0], &ns[1..])
}

/// How many requests took the fast path.
async fn fast_requests(app: &TestApp) -> u64 {
    let metrics = app.get("/metrics").admin().send().await.text();
    let lines = metrics.lines().filter(|line| line.contains("fast_path_requests_total{"));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// The counts of requests, without those of reading them.
async fn requests(app: &TestApp) -> Vec<String> {
    let metrics = app.get("/metrics").admin().send().await.text();
    let counts = metrics.lines().filter(|line| {
        (line.contains("http_requests") || line.contains("http_request_duration_seconds_count"))
            && !line.contains("/metrics")
    });
    let mut counts: Vec<String> = counts.map(str::to_owned).collect();
    counts.sort();
    counts
}

/// A lease of a server.
async fn lease(app: &TestApp) -> String {
    let reply = app.post(&path("acquire"), &good()).admin().send().await;
    reply.json::<Value>()["lease"].as_str().unwrap().to_owned()
}

/// All of a response but the date and what is random.
fn comparable(reply: &Reply) -> (u16, Vec<(String, Vec<u8>)>, String) {
    let (status, headers, text) = reply.whole();
    let random = ["\"lease\":\"", "\"id\":\""].iter().find_map(|name| text.split(name).nth(1));
    let random = random.and_then(|rest| rest.split('"').next());
    let text = random.map_or_else(|| text.clone(), |random| text.replace(random, "RANDOM"));
    (status, headers, text)
}

fn good() -> Value {
    json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1, "tpm": 100}})
}

fn change(changes: Value) -> Value {
    let mut ask = good();
    for (name, value) in changes.as_object().unwrap() {
        ask[name] = value.clone();
    }
    ask
}

#[tokio::test]
async fn grants_and_refusals_are_alike_on_both_paths() {
    let pair = Pair::start().await;
    for (ask, status) in [
        (good(), 200),
        (change(json!({"dry_run": true})), 200),
        (change(json!({"lease_ttl_secs": 5, "on_expiry": "rollback"})), 200),
        (change(json!({"consume": {"rpm": 99}})), 429),
        (change(json!({"consume": {"rpm": 7.0}})), 200),
        (change(json!({"entity": "\u{75}ser-2", "limits": [minutely("a", 1)]})), 200),
        (change(json!({"consume": {"rps": 1}})), 400),
        (change(json!({"consume": {"rpm": 0}})), 400),
        (change(json!({"entity": "a#b"})), 400),
        (change(json!({"colour": "red"})), 400),
        (change(json!({"limits": [{"name": "rpm"}]})), 400),
        (json!([1, 2, 3]), 400),
        (json!({}), 400),
        (Value::Null, 400),
    ] {
        let reply = pair.acquire(|call| call.admin().json(&ask)).await;
        assert_eq!(reply.status, status, "{ask}: {}", reply.text());
    }
    let [fast, slow] = pair.metrics().await;
    assert_eq!(fast, slow);
}

#[tokio::test]
async fn leases_are_settled_alike_on_both_paths() {
    let pair = Pair::start().await;
    let json = |body: Value| move |call: Call| call.json(&body);
    let plain = |call: Call| call;
    let once = |key: &'static str| move |call: Call| call.header("idempotency-key", key);
    let cases: [(&str, u16, &Change<'_>); 19] = [
        ("adjust", 200, &json(json!({"adjust": {"rpm": 1}}))),
        ("adjust", 400, &json(json!({"adjust": {"rpm": "x"}}))),
        ("adjust", 400, &json(json!([]))),
        ("adjust", 415, &plain),
        ("commit", 200, &plain),
        ("commit", 200, &json(json!({"actual": {"rpm": 0}}))),
        ("commit", 400, &json(json!({"used": {"rpm": 1}}))),
        ("commit", 415, &|call| call.body("what nobody reads")),
        ("commit", 200, &|call| call.header("content-type", "application/json")),
        ("commit", 200, &once("a")),
        ("commit", 400, &once("a b")),
        ("commit", 400, &|call| once("b")(once("a")(call))),
        ("release", 200, &plain),
        ("release", 200, &json(Value::Null)),
        ("release", 200, &json(json!({"release": {"rpm": 1}}))),
        ("release", 415, &|call| call.body("{}")),
        ("release", 400, &json(json!({"let_go": {"rpm": 1}}))),
        ("rollback", 200, &plain),
        ("rollback", 400, &json(json!({"release": {"rpm": 1}}))),
    ];
    for (verb, status, with) in cases {
        let leases = [lease(&pair.fast).await, lease(&pair.slow).await];
        let paths = leases.map(|lease| path(&format!("leases/{lease}/{verb}")));
        let [fast, slow] = &paths;
        let reply = pair.send_each(Method::POST, [fast, slow], |call, _| with(call.admin())).await;
        assert_eq!(reply.status, status, "{verb}: {}", reply.text());
        let forged = path(&format!("leases/abc/{verb}"));
        let reply = pair.send(Method::POST, &forged, |call| with(call.admin())).await;
        let expected = if status == 200 { 404 } else { status };
        assert_eq!(reply.status, expected, "{verb}");
    }
}

#[tokio::test]
async fn bodies_are_read_alike_on_both_paths() {
    let pair = Pair::start().await;
    let text = good().to_string();
    for (kind, body, status) in [
        ("application/json", text.clone(), 200),
        ("APPLICATION/JSON; charset=utf-8", text.clone(), 200),
        ("application/problem+json", format!(" \n{text}\n "), 200),
        ("text/plain", text.clone(), 415),
        ("", text.clone(), 415),
        ("application/json", String::new(), 400),
        ("application/json", text[..20].to_owned(), 400),
        ("application/json", format!("{text}{text}"), 400),
        ("application/json", " ".repeat(BODY_MAX), 400),
        ("application/json", " ".repeat(BODY_MAX + 1), 413),
    ] {
        let ask = |call: Call| call.admin().header("content-type", kind).body(body.clone());
        let reply = pair.acquire(ask).await;
        assert_eq!(reply.status, status, "{kind} {body:?}: {}", reply.text());
    }
    let untyped = pair.acquire(|call| call.admin().body(text.clone())).await;
    assert_eq!(untyped.status, 415);
}

#[tokio::test]
async fn callers_are_checked_alike_on_both_paths() {
    let pair = Pair::start().await;
    let key = |call: Call| call.header("x-api-key", ADMIN_KEY);
    let cases: [(u16, &Change<'_>); 7] = [
        (401, &|call| call),
        (401, &|call| call.header("x-api-key", "not-the-key-of-this-server")),
        (401, &|call| key(key(call))),
        (401, &|call| key(call).bearer("a.b.c")),
        (401, &|call| call.bearer("a.b.c")),
        (401, &|call| call.header("authorization", "Basic YTpi")),
        (200, &key),
    ];
    for (status, credentials) in cases {
        let reply = pair.acquire(|call| credentials(call).json(&good())).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        // A refused caller learns nothing about the body.
        let reply = pair.acquire(|call| credentials(call).body("nonsense")).await;
        assert_eq!(reply.status, if status == 200 { 415 } else { 401 }, "{}", reply.text());
    }
    for (scope, status) in [
        ("ns:default", 200),
        ("ns:default:acquire", 200),
        ("ns:other", 403),
        ("ns:default:read", 403),
        ("admin", 200),
    ] {
        let tokens = [pair.fast.token(scope).await, pair.slow.token(scope).await];
        let bearer = |call: Call, which: usize| call.bearer(&tokens[which]).json(&good());
        let acquire = path("acquire");
        let reply = pair.send_each(Method::POST, [&acquire, &acquire], bearer).await;
        assert_eq!(reply.status, status, "{scope}: {}", reply.text());
    }
    let [fast, slow] = pair.metrics().await;
    assert_eq!(fast, slow);
}

/// Headers as common clients send them.
const CLIENTS: [&[(&str, &str)]; 4] = [
    &[],
    &[
        ("user-agent", "python-requests/2.32.3"),
        ("accept-encoding", "gzip, deflate"),
        ("accept", "*/*"),
        ("connection", "keep-alive"),
    ],
    &[("user-agent", "Go-http-client/1.1"), ("accept-encoding", "gzip")],
    &[
        ("user-agent", "node"),
        ("accept", "*/*"),
        ("accept-language", "*"),
        ("sec-fetch-mode", "cors"),
        ("accept-encoding", "gzip, deflate"),
    ],
];

#[tokio::test]
async fn every_client_takes_the_fast_path_of_every_hot_route() {
    let pair = Pair::start().await;
    for headers in CLIENTS {
        let with = |call: Call| {
            headers.iter().fold(call.admin(), |call, (name, value)| call.header(name, value))
        };
        assert_eq!(pair.acquire(|call| with(call).json(&good())).await.status, 200, "{headers:?}");
        let refused = change(json!({"consume": {"rpm": 100}}));
        assert_eq!(pair.acquire(|call| with(call).json(&refused)).await.status, 429);
        for (verb, body) in [
            ("adjust", json!({"adjust": {"rpm": 1}})),
            ("commit", json!({})),
            ("release", json!({})),
            ("rollback", json!({})),
        ] {
            let leases = [lease(&pair.fast).await, lease(&pair.slow).await];
            let [fast, slow] = leases.map(|lease| path(&format!("leases/{lease}/{verb}")));
            let settle = |call: Call, _| with(call).json(&body);
            let reply = pair.send_each(Method::POST, [&fast, &slow], settle).await;
            assert_eq!(reply.status, 200, "{verb} {headers:?}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn repeated_acquires_are_added_in_place() {
    let app = server().await;
    let in_place = || match app.store.backend() {
        AnyBackend::Embedded(store) => Some(store.stats().additions_in_place_total),
        _ => None,
    };
    let acquire = async || app.post(&path("acquire"), &good()).admin().send().await.status;
    // The first one makes the bucket.
    assert_eq!([acquire().await, acquire().await], [200, 200]);
    let before = in_place().unwrap();
    for _ in 0..20 {
        assert_eq!(acquire().await, 200);
    }
    assert_eq!(in_place().unwrap() - before, 20);
}

#[tokio::test]
async fn a_large_response_is_compressed_on_both_paths() {
    let pair = Pair::start().await;
    let names = || (0..16).map(|number| format!("limit-{number:058}"));
    let limits: Vec<Value> = names().map(|name| minutely(&name, 10)).collect();
    let consume: Map<String, Value> = names().map(|name| (name, json!(1))).collect();
    for app in [&pair.fast, &pair.slow] {
        let put = app.request(Method::PUT, &path("limits/resources/many")).admin();
        assert_eq!(put.json(&json!({"limits": limits})).send().await.status, 201);
    }
    let ask = change(json!({"resource": "many", "consume": consume}));
    let accepts = |call: Call| call.header("accept-encoding", "gzip").admin().json(&ask);
    let replies = [
        accepts(pair.fast.request(Method::POST, &path("acquire"))).send().await,
        accepts(pair.slow.request(Method::POST, &percent_encoded(&path("acquire")))).send().await,
    ];
    for reply in replies {
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.header("content-encoding"), "gzip");
        assert_eq!(reply.header("vary"), "accept-encoding");
    }
}

#[tokio::test]
async fn the_router_serves_every_path_that_the_fast_path_does_not_match() {
    let app = server().await;
    for (method, path, status, is_fast) in [
        (Method::POST, "/v1/namespaces/default/acquire", 200, true),
        (Method::POST, "/v1/namespaces/default/acquire?colour=red", 200, true),
        (Method::POST, "/v1/namespaces/nowhere/acquire", 404, true),
        (Method::POST, "/v1/namespaces/-/acquire", 400, true),
        (Method::POST, "/v1/namespaces/%64efault/acquire", 200, false),
        (Method::POST, "/v1/namespaces/a%2Fb/acquire", 400, false),
        (Method::POST, "/v1/namespaces//acquire", 400, false),
        (Method::POST, "/v1/namespaces/default/acquire/", 404, false),
        (Method::POST, "/v1//namespaces/default/acquire", 404, false),
        (Method::GET, "/v1/namespaces/default/acquire", 405, false),
        (Method::HEAD, "/v1/namespaces/default/acquire", 405, false),
        (Method::PUT, "/v1/namespaces/default/acquire", 405, false),
        (Method::OPTIONS, "/v1/namespaces/default/acquire", 405, false),
    ] {
        let before = fast_requests(&app).await;
        let reply = app.request(method.clone(), path).admin().json(&good()).send().await;
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text());
        assert_eq!(fast_requests(&app).await - before, u64::from(is_fast), "{method} {path}");
    }
}

/// Sends `text` as it is and reads until the connection ends.
async fn raw(app: &TestApp, text: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(app.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_chunked_body_is_bounded_on_both_paths() {
    let pair = Pair::start().await;
    let ask = |path: &str, pieces: &[&str]| {
        let body: String =
            pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
        format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nx-api-key: {ADMIN_KEY}\r\nconnection: close\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{body}0\r\n\r\n"
        )
    };
    let text = good().to_string();
    let (first, rest) = text.split_at(10);
    let (second, third) = rest.split_at(10);
    let much = " ".repeat(BODY_MAX / 2);
    for (pieces, status) in [
        (vec![first, second, third], "200 OK"),
        (vec![&much, &text], "200 OK"),
        (vec![&much, &much, &text], "413 Payload Too Large"),
    ] {
        let plain = path("acquire");
        for (app, path) in [(&pair.fast, &plain), (&pair.slow, &percent_encoded(&plain))] {
            let answer = raw(app, &ask(path, &pieces)).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        }
    }
}
