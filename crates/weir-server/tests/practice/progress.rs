//! Progress steps as server-sent events.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::{Builder, TestApp};
use weir_server::practice::{PracticeService, Settings};

use crate::event_stream::EventStream;
use crate::samples::script_job;
use crate::scene::{Scene, path};

const JOB: &str = "jobs/script-generation/1";
/// Steps that the writer reports; more than a second may have.
const STEPS: usize = 250;

fn builder(settings: Settings) -> Builder {
    TestApp::builder(vec![Box::new(PracticeService::new(settings))])
}

fn often() -> Settings {
    Settings { progress_poll_ms: 10, ..Settings::default() }
}

/// Submits a job and claims it; returns the fencing number.
async fn claim(scene: &Scene) -> u64 {
    let mut body = script_job();
    body["job_id"] = json!("1");
    scene.make("jobs/script-generation", &body).await;
    let claimed = scene.make(&format!("{JOB}/claim"), &json!({"worker_id": "w"})).await;
    claimed["fence"].as_u64().unwrap()
}

/// Reports a step; returns its id.
async fn report(scene: &Scene, fence: u64, name: &str) -> String {
    let step = json!({"fence": fence, "step": name, "status": "in_progress"});
    let step = scene.make(&format!("{JOB}/progress"), &step).await;
    // No second has more steps than it may.
    scene.app.clock.advance_ms(20);
    step["id"].as_str().unwrap().to_owned()
}

async fn open(scene: &Scene, last: Option<&str>) -> EventStream {
    EventStream::open(scene.app.address, &path(&format!("{JOB}/progress")), last).await
}

#[tokio::test]
async fn a_client_that_reconnects_gets_every_step_once() {
    let scene = Scene { app: builder(often()).start().await };
    let fence = claim(&scene).await;
    let write = async {
        let mut ids = Vec::new();
        for number in 0..STEPS {
            ids.push(report(&scene, fence, &format!("step {number}")).await);
        }
        let end = json!({"fence": fence, "error_message": "stop"});
        scene.make(&format!("{JOB}/fail"), &end).await;
        ids
    };
    let read = async {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut seen, mut connections) = (Vec::new(), 0);
        loop {
            connections += 1;
            let mut stream = open(&scene, seen.last().map(String::as_str)).await;
            for _ in 0..random.usize(1..8) {
                let event = stream.next().await.unwrap();
                if event.name == "end" {
                    assert_eq!(event.data, r#"{"status":"FAILED"}"#);
                    assert_eq!(stream.next().await, None);
                    return (seen, connections);
                }
                let step: Value = serde_json::from_str(&event.data).unwrap();
                assert_eq!((event.name.as_str(), &step["id"]), ("progress", &json!(event.id)));
                seen.push(event.id);
            }
        }
    };
    let (written, (seen, connections)) = tokio::join!(write, read);
    assert_eq!(seen, written);
    assert!(connections > STEPS / 10, "{connections}");
}

#[tokio::test]
async fn the_steps_of_a_job_that_has_ended_are_sent_at_once() {
    let scene = Scene::start().await;
    let fence = claim(&scene).await;
    let mut ids = Vec::new();
    // More than one read returns.
    for _ in 0..120 {
        ids.push(report(&scene, fence, "parsing").await);
    }
    let result = json!({"fence": fence, "generator_code": "1"});
    scene.make(&format!("{JOB}/complete"), &result).await;
    let mut stream = open(&scene, None).await;
    assert!(stream.head.starts_with("http/1.0 200"), "{}", stream.head);
    assert!(stream.head.contains("content-type: text/event-stream"), "{}", stream.head);
    assert!(stream.head.contains("cache-control: no-store"), "{}", stream.head);
    assert!(!stream.head.contains("content-encoding"), "{}", stream.head);
    for id in &ids {
        assert_eq!(&stream.next().await.unwrap().id, id);
    }
    let end = stream.next().await.unwrap();
    assert_eq!((end.name.as_str(), end.data.as_str()), ("end", r#"{"status":"COMPLETED"}"#));
    assert_eq!(stream.next().await, None);
    let mut again = open(&scene, ids.last().map(String::as_str)).await;
    assert_eq!(again.next().await, Some(end));
}

#[tokio::test]
async fn a_mistake_is_an_error_and_not_a_stream() {
    let scene = Scene::start().await;
    claim(&scene).await;
    let ask = |tail: &str| scene.call(Method::GET, tail).header("accept", "text/event-stream");
    let missing = ask("jobs/script-generation/2/progress").send().await;
    missing.problem(Code::NOT_FOUND);
    let wrong = ask(&format!("{JOB}/progress")).header("last-event-id", "x").send().await;
    assert_eq!(wrong.problem(Code::INVALID_REQUEST).details["field"], "Last-Event-ID");
    for (query, field) in [("limit=1", "limit"), ("cursor=x", "cursor")] {
        let reply = ask(&format!("{JOB}/progress?{query}")).send().await;
        assert_eq!(reply.problem(Code::INVALID_REQUEST).details["field"], field);
    }
}

#[tokio::test]
async fn streams_are_bounded() {
    let settings = Settings { progress_streams_max: 1, ..often() };
    let scene = Scene { app: builder(settings).start().await };
    let fence = claim(&scene).await;
    report(&scene, fence, "parsing").await;
    let mut first = open(&scene, None).await;
    assert_eq!(first.next().await.unwrap().name, "progress");
    let second = open(&scene, None).await;
    assert!(second.head.starts_with("http/1.0 503"), "{}", second.head);
    assert!(second.head.contains("retry-after: 1"), "{}", second.head);
    drop(first);
    // The server notices that the client is gone.
    while !open(&scene, None).await.head.starts_with("http/1.0 200") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_stream_takes_no_place_of_a_request_and_outlives_its_time_limit() {
    let timeout = Duration::from_millis(500);
    let app = builder(often()).settings(|settings| {
        settings.edge.requests_max = 1;
        settings.edge.request_timeout = timeout;
    });
    let scene = Scene { app: app.start().await };
    let fence = claim(&scene).await;
    report(&scene, fence, "first").await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = open(&scene, None).await;
        assert_eq!(stream.next().await.unwrap().name, "progress");
        streams.push(stream);
    }
    tokio::time::sleep(timeout * 2).await;
    let id = report(&scene, fence, "second").await;
    for stream in &mut streams {
        assert_eq!(stream.next().await.unwrap().id, id);
    }
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let scene = Scene { app: builder(often()).start().await };
    let fence = claim(&scene).await;
    report(&scene, fence, "parsing").await;
    let tail = path(&format!("{JOB}/progress"));
    let stream = EventStream::send(scene.app.address, &tail, "1.1", None).await;
    let (stopped, rest) = tokio::join!(scene.app.stop(), stream.rest());
    stopped.unwrap();
    assert!(rest.contains("event: progress") && !rest.contains("event: end"), "{rest}");
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "the body is complete: {rest:?}");
}
