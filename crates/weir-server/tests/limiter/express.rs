//! Routes that have a short way are answered there as they are on the long way.
//!
//! Two servers with one clock are asked the same in the same order: one plainly, the other with an empty query, which
//! only the long way takes. What each answers must be the same, but for what is random.

use axum::http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use weir_framework::testing::{ADMIN_KEY, Call, Reply, TestApp};
use weir_server::limiter::LimiterService;

use crate::scene::{minutely, path};

/// Bytes of a body that these servers take.
const BODY_MAX: usize = 4 * 1024;

/// What a case adds to a call.
type Change<'c> = dyn Fn(Call) -> Call + 'c;

/// The two servers.
struct Pair {
    short: TestApp,
    long: TestApp,
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
        Pair { short: server().await, long: server().await }
    }

    /// Asks both, and checks that they answer the same; tells what the short way answered.
    async fn ask(&self, method: Method, path: &str, with: impl Fn(Call) -> Call) -> Reply {
        self.ask_each(method, [path, path], |call, _| with(call)).await
    }

    /// The same where the two have paths or callers of their own: the first of two is the short way's.
    async fn ask_each(
        &self,
        method: Method,
        [short, long]: [&str; 2],
        with: impl Fn(Call, usize) -> Call,
    ) -> Reply {
        let calls = [
            self.short.request(method.clone(), short),
            self.long.request(method.clone(), &format!("{long}?")),
        ];
        let [short, long] = calls.map(|call| call.header("x-request-id", "same"));
        let (short, long) = (with(short, 0).send().await, with(long, 1).send().await);
        assert_eq!(told(&short), told(&long), "{method}");
        short
    }

    async fn acquire(&self, with: impl Fn(Call) -> Call) -> Reply {
        self.ask(Method::POST, &path("acquire"), with).await
    }

    async fn metrics(&self) -> [Vec<String>; 2] {
        [requests(&self.short).await, requests(&self.long).await]
    }
}

/// The counts of requests, without those of reading them.
async fn requests(app: &TestApp) -> Vec<String> {
    let told = app.get("/metrics").admin().send().await.text();
    let counts = told.lines().filter(|line| {
        (line.contains("http_requests") || line.contains("duration_seconds_count"))
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

/// All of an answer but the day's time and what is random.
fn told(reply: &Reply) -> (u16, Vec<(String, Vec<u8>)>, String) {
    let (status, headers, text) = reply.whole();
    let random = ["\"lease\":\"", "\"id\":\""].iter().find_map(|name| text.split(name).nth(1));
    let random = random.and_then(|rest| rest.split('"').next());
    let text = random.map_or_else(|| text.clone(), |random| text.replace(random, "RANDOM"));
    (status, headers, text)
}

fn good() -> Value {
    json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1, "tpm": 100}})
}

fn with(change: Value) -> Value {
    let mut ask = good();
    for (name, value) in change.as_object().unwrap() {
        ask[name] = value.clone();
    }
    ask
}

#[tokio::test]
async fn grants_and_refusals_are_the_same_on_both_ways() {
    let pair = Pair::start().await;
    for (ask, status) in [
        (good(), 200),
        (with(json!({"dry_run": true})), 200),
        (with(json!({"lease_ttl_secs": 5, "on_expiry": "rollback"})), 200),
        (with(json!({"consume": {"rpm": 99}})), 429),
        (with(json!({"consume": {"rpm": 7.0}})), 200),
        (with(json!({"entity": "\u{75}ser-2", "limits": [minutely("a", 1)]})), 200),
        (with(json!({"consume": {"rps": 1}})), 400),
        (with(json!({"consume": {"rpm": 0}})), 400),
        (with(json!({"entity": "a#b"})), 400),
        (with(json!({"colour": "red"})), 400),
        (with(json!({"limits": [{"name": "rpm"}]})), 400),
        (json!([1, 2, 3]), 400),
        (json!({}), 400),
        (Value::Null, 400),
    ] {
        let reply = pair.acquire(|call| call.admin().json(&ask)).await;
        assert_eq!(reply.status, status, "{ask}: {}", reply.text());
    }
    let [short, long] = pair.metrics().await;
    assert_eq!(short, long);
}

#[tokio::test]
async fn leases_are_settled_the_same_on_both_ways() {
    let pair = Pair::start().await;
    let json = |body: Value| move |call: Call| call.json(&body);
    let plain = |call: Call| call;
    let once = |key: &'static str| move |call: Call| call.header("idempotency-key", key);
    let cases: [(&str, u16, &Change<'_>); 15] = [
        ("adjust", 200, &json(json!({"adjust": {"rpm": 1}}))),
        ("adjust", 400, &json(json!({"adjust": {"rpm": "x"}}))),
        ("adjust", 400, &json(json!([]))),
        ("adjust", 415, &plain),
        ("commit", 200, &plain),
        ("commit", 200, &|call| call.body("what nobody reads")),
        ("commit", 200, &once("a")),
        ("commit", 400, &once("a b")),
        ("commit", 400, &|call| once("b")(once("a")(call))),
        ("release", 200, &plain),
        ("release", 200, &json(Value::Null)),
        ("release", 200, &json(json!({"release": {"rpm": 1}}))),
        ("release", 415, &|call| call.body("{}")),
        ("release", 400, &json(json!({"let_go": {"rpm": 1}}))),
        ("rollback", 200, &plain),
    ];
    for (verb, status, with) in cases {
        let leases = [lease(&pair.short).await, lease(&pair.long).await];
        let paths = leases.map(|lease| path(&format!("leases/{lease}/{verb}")));
        let [short, long] = &paths;
        let reply = pair.ask_each(Method::POST, [short, long], |call, _| with(call.admin())).await;
        assert_eq!(reply.status, status, "{verb}: {}", reply.text());
        let forged = path(&format!("leases/abc/{verb}"));
        let reply = pair.ask(Method::POST, &forged, |call| with(call.admin())).await;
        let expected = if status == 200 { 404 } else { status };
        assert_eq!(reply.status, expected, "{verb}");
    }
}

#[tokio::test]
async fn bodies_are_read_the_same_on_both_ways() {
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
async fn callers_are_checked_the_same_on_both_ways() {
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
        // Who may not ask is not told more.
        let reply = pair.acquire(|call| credentials(call).body("nonsense")).await;
        assert_eq!(reply.status, if status == 200 { 415 } else { 401 }, "{}", reply.text());
    }
    for (scope, status) in
        [("ns:default", 200), ("ns:other", 403), ("ns:read:default", 403), ("admin", 200)]
    {
        let tokens = [pair.short.token(scope).await, pair.long.token(scope).await];
        let bearer = |call: Call, which: usize| call.bearer(&tokens[which]).json(&good());
        let acquire = path("acquire");
        let reply = pair.ask_each(Method::POST, [&acquire, &acquire], bearer).await;
        assert_eq!(reply.status, status, "{scope}: {}", reply.text());
    }
    let [short, long] = pair.metrics().await;
    assert_eq!(short, long);
}

#[tokio::test]
async fn what_is_not_plain_is_answered_too() {
    let pair = Pair::start().await;
    for (method, path, status) in [
        (Method::POST, "/v1/namespaces/default/acquire", 200),
        (Method::POST, "/v1/namespaces/%64efault/acquire", 200),
        (Method::POST, "/v1/namespaces/nowhere/acquire", 404),
        (Method::POST, "/v1/namespaces/-/acquire", 400),
        (Method::POST, "/v1/namespaces/a%2Fb/acquire", 400),
        (Method::POST, "/v1/namespaces//acquire", 400),
        (Method::POST, "/v1/namespaces/default/acquire/", 404),
        (Method::POST, "/v1//namespaces/default/acquire", 404),
        (Method::GET, "/v1/namespaces/default/acquire", 405),
        (Method::HEAD, "/v1/namespaces/default/acquire", 405),
        (Method::PUT, "/v1/namespaces/default/acquire", 405),
        (Method::OPTIONS, "/v1/namespaces/default/acquire", 405),
    ] {
        let reply = pair.ask(method.clone(), path, |call| call.admin().json(&good())).await;
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text());
    }
    let packed = |call: Call| call.admin().header("accept-encoding", "gzip").json(&good());
    assert_eq!(pair.acquire(packed).await.status, 200);
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
async fn a_body_in_pieces_is_bounded_on_both_ways() {
    let pair = Pair::start().await;
    let ask = |end: &str, pieces: &[&str]| {
        let body: String =
            pieces.iter().map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
        format!(
            "POST {}{end} HTTP/1.1\r\nhost: a\r\nx-api-key: {ADMIN_KEY}\r\nconnection: close\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{body}0\r\n\r\n",
            path("acquire")
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
        for (app, end) in [(&pair.short, ""), (&pair.long, "?")] {
            let answer = raw(app, &ask(end, &pieces)).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        }
    }
}
