//! Daily limits.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_server::practice::Settings;

use crate::scene::{Scene, refused, texts};

const DAY_MS: u64 = 86_400_000;

#[tokio::test]
async fn the_limit_of_a_day_is_taken_and_then_refused() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    for count in 1..=5 {
        let reply = scene.take(&ann, "hint").await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let expected = json!({"action": "hint", "date": "2026-01-15", "count": count, "limit": 5,
            "remaining": 5 - count, "resets_at": "2026-01-16T00:00:00.000Z", "is_repeated": false});
        assert_eq!(reply.json::<Value>(), expected);
    }
    let reply = scene.take(&ann, "hint").await;
    let problem = refused(&reply, 429, "DAILY_LIMIT_EXCEEDED");
    let body: Value = reply.json();
    let fields = json!({"action": "hint", "date": "2026-01-15", "count": 5, "limit": 5,
        "remaining": 0, "resets_at": "2026-01-16T00:00:00.000Z", "is_repeated": false});
    for (field, value) in fields.as_object().unwrap() {
        assert_eq!(body[field], *value, "{field}");
    }
    assert_eq!(Value::Object(problem.details), fields);
    // Noon to midnight.
    assert_eq!(reply.header("retry-after"), "43200");
    assert_eq!(reply.header("x-ratelimit-limit"), "5");
    assert_eq!(reply.header("ratelimit"), "\"hint\";r=0;t=43200");
    assert_eq!(reply.header("ratelimit-policy"), "\"hint\";q=5;w=86400");
    // Another action has its own limit, and another day its own count.
    assert_eq!(scene.take(&ann, "execution").await.json::<Value>()["remaining"], 49);
    scene.app.clock.advance_ms(DAY_MS / 2);
    assert_eq!(scene.take(&ann, "hint").await.json::<Value>()["date"], "2026-01-16");
    let usage = scene.read(&format!("users/{ann}/usage?date=2026-01-15")).await;
    let expected = json!({"date": "2026-01-15", "resets_at": "2026-01-16T00:00:00.000Z", "actions": [
        {"action": "hint", "count": 5, "limit": 5, "remaining": 0},
        {"action": "execution", "count": 1, "limit": 50, "remaining": 49}]});
    assert_eq!(usage, expected);
    let metrics = scene.app.get("/metrics").admin().send().await.text();
    for line in [
        r#"weir_practice_usage_total{action="hint",result="allowed"} 6"#,
        r#"weir_practice_usage_total{action="hint",result="refused"} 1"#,
        r#"weir_practice_usage_total{action="execution",result="allowed"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

#[tokio::test]
async fn exactly_as_many_as_the_limit_are_allowed_at_once() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let take = || {
        let call = scene.call(Method::POST, &format!("users/{ann}/usage"));
        tokio::spawn(call.json(&json!({"action": "hint"})).send())
    };
    let sent: Vec<_> = (0..40).map(|_| take()).collect();
    let mut statuses = Vec::new();
    for reply in sent {
        statuses.push(reply.await.unwrap().status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 5, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    let log = scene.read(&format!("users/{ann}/usage/log")).await;
    assert_eq!(log["items"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn staff_and_unlimited_plans_are_counted_and_never_refused() {
    let scene = Scene::start().await;
    let (admin, staff) = (scene.user("admin", 3).await, scene.user("staff", 1).await);
    scene.done(Method::PATCH, &format!("users/{staff}"), &json!({"is_staff": true})).await;
    for user in [&admin, &staff] {
        for count in 1..=7 {
            let answer: Value = scene.take(user, "hint").await.json();
            assert_eq!((&answer["count"], &answer["limit"]), (&json!(count), &json!(-1)));
            assert_eq!(answer["remaining"], Value::Null);
        }
    }
}

#[tokio::test]
async fn a_repeated_request_counts_once() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let tail = format!("users/{ann}/usage");
    let body = json!({"action": "hint", "problem_id": "1000", "idempotency_key": "k"});
    let first = scene.done(Method::POST, &tail, &body).await;
    scene.app.clock.advance_ms(DAY_MS / 2);
    let again = scene.done(Method::POST, &tail, &body).await;
    assert_eq!((&first["is_repeated"], &again["is_repeated"]), (&json!(false), &json!(true)));
    assert_eq!((&again["date"], &again["count"]), (&json!("2026-01-15"), &json!(1)));
    let other = json!({"action": "execution", "idempotency_key": "k"});
    scene.post(&tail, &other).await.problem(Code::STATE_CONFLICT);
    assert_eq!(scene.read(&tail).await["actions"][0]["count"], 0);
}

#[tokio::test]
async fn the_log_has_every_action_in_pages() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 2).await;
    let tail = format!("users/{ann}/usage");
    for number in 0..5 {
        let body = json!({"action": "hint", "problem_id": format!("p{number}"), "metadata": {"n": number}});
        scene.done(Method::POST, &tail, &body).await;
    }
    let first = scene.read(&format!("{tail}/log?limit=3")).await;
    assert_eq!(texts(&first["items"], "problem_id"), ["p4", "p3", "p2"]);
    assert_eq!(first["items"][0]["metadata"], json!({"n": 4}));
    assert_eq!(first["items"][0]["at"], "2026-01-15T12:00:00.000Z");
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = scene.read(&format!("{tail}/log?limit=3&cursor={cursor}")).await;
    assert_eq!(texts(&rest["items"], "problem_id"), ["p1", "p0"]);
    assert_eq!(scene.read(&format!("{tail}/log?date=2026-01-14")).await["items"], json!([]));
    // A cursor is of one log.
    let ben = scene.user("ben", 1).await;
    let reply = scene.get(&format!("users/{ben}/usage/log?limit=3&cursor={cursor}")).await;
    assert_eq!(reply.problem(Code::INVALID_REQUEST).details["field"], "cursor");
}

#[tokio::test]
async fn a_counter_is_recomputed_from_the_log() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 2).await;
    for _ in 0..3 {
        scene.take(&ann, "hint").await;
    }
    let recount = |repair: bool| {
        let body = json!({"date": "2026-01-15", "repair": repair});
        let tail = format!("users/{ann}/usage/recount");
        let scene = &scene;
        async move { scene.done(Method::POST, &tail, &body).await }
    };
    let agreed = json!({"date": "2026-01-15", "differences": [], "is_repaired": false});
    assert_eq!(recount(false).await, agreed);
    let counters = weir_table::Query::scan(crate::scene::TABLE);
    let counters = scene.app.store.query(&counters).await.unwrap().items;
    let is_counter = |item: &&weir_table::Item| item.s("SK") == Some("COUNT#hint");
    let counter = counters.iter().find(is_counter).unwrap().clone().with("n", 9);
    scene.app.store.write(weir_table::Write::put(crate::scene::TABLE, counter)).await.unwrap();
    let difference = json!([{"action": "hint", "counted": 9, "logged": 3}]);
    let found = recount(false).await;
    assert_eq!((&found["differences"], &found["is_repaired"]), (&difference, &json!(false)));
    let found = recount(true).await;
    assert_eq!((&found["differences"], &found["is_repaired"]), (&difference, &json!(true)));
    assert_eq!(recount(true).await, agreed);
}

#[tokio::test]
async fn days_are_those_of_the_time_zone() {
    let settings = Settings { timezone: "Asia/Seoul".into(), ..Settings::default() };
    let scene = Scene::with(settings).await;
    let ann = scene.user("ann", 1).await;
    scene.app.clock.advance_ms(DAY_MS / 4);
    let answer: Value = scene.take(&ann, "hint").await.json();
    assert_eq!(answer["date"], "2026-01-16");
    assert_eq!(answer["resets_at"], "2026-01-16T15:00:00.000Z");
}

#[tokio::test]
async fn the_clock_is_compared_with_the_newest_usage() {
    let scene = Scene::start().await;
    let clock = scene.read("clock").await;
    assert_eq!((&clock["newest_item_at"], &clock["ahead_ms"]), (&Value::Null, &json!(0)));
    let ann = scene.user("ann", 1).await;
    scene.take(&ann, "hint").await;
    scene.app.clock.advance_ms(61_000);
    let clock = scene.read("clock").await;
    assert_eq!((&clock["ahead_ms"], &clock["requests_ahead"]), (&json!(61_000), &json!(0)));
    scene.take(&ann, "hint").await;
    let clock = scene.read("clock").await;
    assert_eq!((&clock["ahead_ms"], &clock["requests_ahead"]), (&json!(0), &json!(1)));
}
