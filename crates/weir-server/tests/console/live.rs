//! Live figures: a stream that goes on after a reconnect, and ends with the server.

use std::net::SocketAddr;

use axum::http::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use weir_framework::Code;

use crate::scene::{Browser, Scene};

/// An open stream, and the data of its event `reconnect` once that has arrived.
struct Stream(BufReader<TcpStream>, Option<String>);

impl Stream {
    async fn open(address: SocketAddr, browser: &Browser, last: Option<u64>) -> Stream {
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /v1/live HTTP/1.0\r\nHost: weir.test\r\nCookie: {}\r\nAccept: text/event-stream\r\n{last}\r\n",
            browser.cookie
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).await.unwrap() > 0, "{head}");
        }
        assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
        assert!(head.to_ascii_lowercase().contains("cache-control: no-store"), "{head}");
        Stream(reader, None)
    }

    /// The next tick with its id; `None` at the end.
    async fn next(&mut self) -> Option<(u64, Value)> {
        let (mut id, mut data, mut is_last) = (None, None, false);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            assert!(self.1.is_none() || line.trim().is_empty(), "{line} after the last event");
            match line.trim_end().split_once(": ") {
                Some(("id", text)) => id = text.parse().ok(),
                Some(("event", "reconnect")) => is_last = true,
                Some(("event", name)) => assert_eq!(name, "tick"),
                Some(("retry", millis)) => assert_eq!(millis, "1000"),
                Some(("data", text)) if is_last => self.1 = Some(text.to_owned()),
                Some(("data", text)) => data = serde_json::from_str(text).ok(),
                _ => {}
            }
            if let (true, Some(id), Some(data)) = (line.trim().is_empty(), id, data.clone()) {
                return Some((id, data));
            }
        }
    }
}

#[tokio::test]
async fn ticks_follow_traffic_and_spend() {
    let scene = Scene::start().await;
    scene.org("acme", "ORG").await;
    scene.namespace("default").await;
    let ada = scene.ada().await;
    let mut stream = Stream::open(scene.app.address, &ada, None).await;
    let (first_id, first) = stream.next().await.unwrap();
    assert_eq!(first["keeper"][0]["org_id"], "acme", "{first}");
    assert_eq!(first["limiter"], Value::Array(Vec::new()));
    assert_eq!(first["limiter_totals"]["resources"], 0);
    assert!(first["jobs"]["total"].as_u64().unwrap() > 0);
    for number in 0..12 {
        let expected = if number < 10 { 200 } else { 429 };
        assert_eq!(scene.acquire("default", "gpt-4", "user-1", 1).await, expected);
    }
    let (second_id, second) = stream.next().await.unwrap();
    assert!(second_id > first_id);
    let rates = &second["limiter"][0];
    assert_eq!((&rates["namespace"], &rates["resource"]), (&"default".into(), &"gpt-4".into()));
    let rate = |name: &str| rates[name].as_f64().unwrap();
    // Ten were granted and two refused in the same time.
    assert!(rate("granted_per_sec") > 0.0 && rate("refused_per_sec") > 0.0, "{rates}");
    assert!((rate("granted_per_sec") / rate("refused_per_sec") - 5.0).abs() < 0.2, "{rates}");
    let namespace = &second["limiter_namespaces"][0];
    assert_eq!((&namespace["namespace"], &namespace["resources"]), (&"default".into(), &1.into()));
    let totals = &second["limiter_totals"];
    assert_eq!((&totals["namespaces"], &totals["resources"]), (&1.into(), &1.into()));
    for of in [namespace, totals] {
        assert_eq!(of["granted_per_sec"], rates["granted_per_sec"], "{second}");
        assert_eq!(of["refused_per_sec"], rates["refused_per_sec"], "{second}");
    }
    // The spend has not changed.
    assert_eq!(second["keeper"], Value::Array(Vec::new()), "{second}");
    drop(stream);

    // Ids go on after those that the client has, whatever the clock.
    let ahead = second_id + 3_600_000;
    let mut again = Stream::open(scene.app.address, &ada, Some(ahead)).await;
    assert!(again.next().await.unwrap().0 > ahead);
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let mut stream = Stream::open(scene.app.address, &ada, None).await;
    assert!(stream.next().await.is_some());
    scene.app.begin_stop().await;
    while stream.next().await.is_some() {}
    assert_eq!(stream.1.as_deref(), Some(r#"{"reason":"stop"}"#), "it ends in order");
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let scene = Scene::start().await;
    let (ada, again) = (scene.ada().await, scene.ada().await);
    let mut stream = Stream::open(scene.app.address, &ada, None).await;
    assert!(stream.next().await.is_some());
    let ended = scene.change(&again, Method::DELETE, "/v1/session?everywhere=true").send().await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    while stream.next().await.is_some() {}
    assert_eq!(stream.1, None, "the client asks for the credential");
}

#[tokio::test]
async fn a_stream_ends_with_the_signing_key() {
    let scene = Scene::start().await;
    let browser = scene.sign_in(&scene.app.token("metrics").await).await;
    let mut stream = Stream::open(scene.app.address, &browser, None).await;
    assert!(stream.next().await.is_some());
    let rotate = serde_json::json!({"end_previous": true});
    scene.admin(Method::POST, "/v1/signing-key/rotate", &rotate).await;
    while stream.next().await.is_some() {}
    scene.read(&browser, "/v1/overview").await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_caller_has_so_many_streams_and_leaves_some_to_others() {
    let scene = Scene::start().await;
    let mine = scene.sign_in(&scene.app.token("metrics").await).await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(Stream::open(scene.app.address, &mine, None).await);
    }
    let refused = scene.read(&mine, "/v1/live").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "5"), "{}", refused.text());
    assert_eq!(refused.json::<Value>()["error"], "TOO_MANY_STREAMS");
    let ada = scene.ada().await;
    assert_eq!(scene.read(&ada, "/v1/live").await.status, 200);
    // A slot is free again once its stream is gone.
    streams.clear();
    for _ in 0..100 {
        if scene.read(&mine, "/v1/live").await.status == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("no slot was free again");
}

#[tokio::test]
async fn a_wrong_event_id_is_refused() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let call = scene.page(&ada, Method::GET, "/v1/live");
    let problem = call.header("last-event-id", "soon").send().await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "Last-Event-ID");
    scene.app.get("/v1/live").send().await.problem(Code::UNAUTHORIZED);
}
