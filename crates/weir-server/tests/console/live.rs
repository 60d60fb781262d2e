//! Live figures: a stream that goes on after a reconnect, and ends with the server.

use std::net::SocketAddr;

use axum::http::{Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use weir_framework::Code;

use crate::scene::{Browser, Scene};

/// An open stream.
struct Stream(BufReader<TcpStream>);

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
        Stream(reader)
    }

    /// The next tick with its id; `None` at the end.
    async fn next(&mut self) -> Option<(u64, Value)> {
        let (mut id, mut data) = (None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", text)) => id = text.parse().ok(),
                Some(("event", name)) => assert_eq!(name, "tick"),
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
