//! Tokens of clients: given, renewed, taken back.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::{APP, Client, ORG, OTHER, Scene, at, text};

impl Scene {
    pub(crate) async fn refresh(&self, token: &str) -> Reply {
        let ask = json!({"refresh_token": token, "grant_type": "refresh_token"});
        self.app.post("/auth/refresh", &ask).send().await
    }

    pub(crate) async fn revoke(&self, ask: Value) -> Reply {
        self.app.post("/auth/revoke", &ask).send().await
    }

    pub(crate) async fn is_let_in(&self, client: &Client) -> bool {
        let reply = self.read(client, &format!("/apps/{APP}")).await;
        assert!(matches!(reply.status, 200 | 401), "{}", reply.text());
        reply.status == 200
    }
}

#[tokio::test]
async fn a_secret_gets_a_pair_of_tokens_in_json_and_as_a_form() {
    let (scene, client) = Scene::with_app().await;
    let reply = scene.token(&client.id, &client.secret).await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, "no-store"));
    let response: Value = reply.json();
    assert_eq!(
        (&response["token_type"], &response["expires_in"]),
        (&json!("Bearer"), &json!(3600))
    );
    assert_eq!(response["refresh_expires_in"], 30 * 86_400);
    assert_eq!(response["scope"], format!("org:{ORG} app:{APP}"));
    let form = format!(
        "grant_type=client_credentials&client_id={}&client_secret={}",
        client.id, client.secret
    );
    let call = scene.call(Method::POST, "/auth/token").body(form);
    let call = call.header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
    let response = call.send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(
        scene.is_let_in(&Client { access: text(&response.json(), "access_token"), ..client }).await
    );
}

#[tokio::test]
async fn the_error_does_not_say_which_of_client_and_secret_is_wrong() {
    let (scene, client) = Scene::with_app().await;
    let mut problems = Vec::new();
    for (id, secret) in [
        (client.id.as_str(), "wrong"),
        (client.id.as_str(), "wks_00000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        (&format!("org-{OTHER}"), &client.secret),
        ("nobody", &client.secret),
        ("", ""),
    ] {
        let problem = scene.token(id, secret).await.problem(Code::UNAUTHORIZED);
        problems.push((problem.detail, problem.details));
    }
    problems.dedup();
    assert_eq!(problems.len(), 1, "{problems:?}");
    for wrong in [
        json!({"client_id": client.id, "client_secret": client.secret, "grant_type": "password"}),
        json!({"client_id": client.id, "client_secret": client.secret}),
        json!({"client_id": client.id, "grant_type": "client_credentials"}),
    ] {
        let problem = scene.app.post("/auth/token", &wrong).send().await;
        problem.problem(Code::INVALID_REQUEST);
        assert!(!problem.text().contains(&client.secret), "{}", problem.text());
    }
}

#[tokio::test]
async fn the_token_rate_of_a_client_counts_its_successes_and_does_not_affect_others() {
    let scene = Scene::start().await;
    let (one, other) = (scene.org(ORG).await, scene.org(OTHER).await);
    for _ in 0..12 {
        scene.token(&one.id, "wrong").await.problem(Code::UNAUTHORIZED);
    }
    // The org has signed in once already.
    for _ in 0..9 {
        assert_eq!(scene.token(&one.id, &one.secret).await.status, 200);
    }
    scene.token(&one.id, &one.secret).await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(scene.token(&other.id, &other.secret).await.status, 200);
    scene.app.clock.advance_ms(60_000);
    assert_eq!(scene.token(&one.id, &one.secret).await.status, 200);
}

#[tokio::test]
async fn guesses_are_bounded_and_lock_out_nobody_who_has_the_secret() {
    let (scene, client) = Scene::with_app().await;
    let (stranger, own) = ("198.51.100.7", "192.0.2.1");
    let wrong = "wks_00000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let mut unauthorized = 0;
    for _ in 0..200 {
        match scene.token_from(stranger, &client.id, wrong).await.status {
            401 => unauthorized += 1,
            status => assert_eq!(status, 429),
        }
    }
    assert_eq!(unauthorized, 60, "guesses of one address");
    assert_eq!(scene.token_from(own, &client.id, &client.secret).await.status, 200);
    // Clients behind one address, such as a proxy that is not trusted, share it with the stranger.
    assert_eq!(scene.token_from(stranger, &client.id, &client.secret).await.status, 200);
    let guess = scene.token_from(stranger, &client.id, wrong).await;
    guess.problem(Code::RATE_LIMIT_EXCEEDED);
}

#[tokio::test]
async fn a_wrong_secret_with_a_known_id_counts_for_its_client_at_its_address() {
    let scene = Scene::start_with(|settings| settings.token_address_rate = 5).await;
    let (client, other) = (scene.org(ORG).await, scene.org(OTHER).await);
    let (here, elsewhere) = ("198.51.100.7", "192.0.2.1");
    let mut almost = client.secret.clone();
    let last = almost.pop().unwrap();
    almost.push(if last == 'A' { 'B' } else { 'A' });
    for _ in 0..5 {
        scene.token_from(here, &client.id, &almost).await.problem(Code::UNAUTHORIZED);
    }
    scene.token_from(here, &client.id, &almost).await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(scene.token_from(elsewhere, &client.id, &client.secret).await.status, 200);
    assert_eq!(scene.token_from(here, &other.id, &other.secret).await.status, 200);
}

#[tokio::test]
async fn a_revoked_refresh_token_does_not_use_up_the_limit_of_its_client() {
    let scene = Scene::start_with(|settings| settings.refresh_rate = 3).await;
    let client = scene.org(ORG).await;
    let stolen = client.refresh.clone();
    assert_eq!(scene.revoke(json!({"token": stolen})).await.status, 204);
    let again: Value = scene.token(&client.id, &client.secret).await.json();
    for _ in 0..10 {
        scene.refresh(&stolen).await.problem(Code::UNAUTHORIZED);
    }
    assert_eq!(scene.refresh(&text(&again, "refresh_token")).await.status, 200);
}

#[tokio::test]
async fn strangers_at_many_addresses_do_not_use_up_the_limit_of_clients() {
    let scene = Scene::start_with(|settings| settings.token_total_rate = 20).await;
    let client = scene.org(ORG).await;
    let mut statuses = Vec::new();
    for number in 0..30 {
        let stranger = format!("2001:db8:{number:x}::1");
        statuses.push(scene.token_from(&stranger, &client.id, "wks_00000000_x").await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 20, "{statuses:?}");
    assert_eq!(scene.token(&client.id, &client.secret).await.status, 200);
}

#[tokio::test]
async fn a_client_that_signs_in_does_not_use_up_the_limit_of_its_address() {
    let scene = Scene::start_with(|settings| {
        (settings.token_address_rate, settings.token_rate) = (5, 0);
    })
    .await;
    let client = scene.org(ORG).await;
    for _ in 0..10 {
        assert_eq!(scene.token(&client.id, &client.secret).await.status, 200);
    }
    for _ in 0..5 {
        scene.token(&client.id, "wrong").await.problem(Code::UNAUTHORIZED);
    }
    scene.token(&client.id, "wrong").await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(scene.token(&client.id, &client.secret).await.status, 200);
}

#[tokio::test]
async fn a_client_that_no_proxy_stands_for_cannot_choose_its_address() {
    let scene = Scene::start_with(|settings| settings.token_address_rate = 5).await;
    for number in 0..5 {
        let claim = format!("192.0.2.{number}, 198.51.100.7");
        scene.token_from(&claim, "nobody", "wrong").await.problem(Code::UNAUTHORIZED);
    }
    let claim = "192.0.2.9, 198.51.100.7";
    scene.token_from(claim, "nobody", "wrong").await.problem(Code::RATE_LIMIT_EXCEEDED);
    // Without an address in the header, it is the proxy's own.
    scene.token_from("unknown", "nobody", "wrong").await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn an_unknown_client_costs_as_much_as_a_wrong_secret() {
    let scene = Scene::start_with(|settings| settings.token_address_rate = 0).await;
    let client = scene.org(ORG).await;
    let checks = async || -> u64 {
        let metrics = scene.get("/metrics").await.text();
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("weir_keeper_secret_checks_total "));
        line.unwrap().parse().unwrap()
    };
    let long = "x".repeat(200);
    let mut answers = Vec::new();
    for (id, secret) in [
        (client.id.as_str(), "wks_wrong"),
        (client.id.as_str(), long.as_str()),
        ("org-660e8400-e29b-41d4-a716-446655440009", "wks_wrong"),
        (&format!("{}-app-none", client.id), "wks_wrong"),
        ("nobody", "wks_wrong"),
    ] {
        let before = checks().await;
        let response = scene.token(id, secret).await.problem(Code::UNAUTHORIZED);
        assert_eq!(checks().await - before, 1, "{id}");
        answers.push((response.status, response.detail));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "nor does the answer tell: {answers:?}");
}

#[tokio::test]
async fn the_token_rate_of_an_address_covers_all_clients() {
    let scene = Scene::start_with(|settings| settings.token_address_rate = 5).await;
    for number in 0..5 {
        let id = format!("org-550e8400-e29b-41d4-a716-{number:012}");
        scene.token(&id, "wrong").await.problem(Code::UNAUTHORIZED);
    }
    scene.token("nobody", "wrong").await.problem(Code::RATE_LIMIT_EXCEEDED);
}

#[tokio::test]
async fn a_refresh_token_gives_access_tokens_and_nothing_else() {
    let (scene, client) = Scene::with_app().await;
    let response = scene.refresh(&client.refresh).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let access = text(&response.json(), "access_token");
    assert!(scene.is_let_in(&Client { access: access.clone(), ..client.clone() }).await);
    // Neither kind passes for the other.
    scene.refresh(&access).await.problem(Code::UNAUTHORIZED);
    assert!(!scene.is_let_in(&Client { access: client.refresh.clone(), ..client.clone() }).await);
    scene.refresh("x.y.z").await.problem(Code::UNAUTHORIZED);
    scene.app.post("/auth/refresh", &json!({})).send().await.problem(Code::INVALID_REQUEST);
    scene.app.clock.advance_ms(3_600_000);
    assert!(!scene.is_let_in(&client).await);
    assert_eq!(scene.refresh(&client.refresh).await.status, 200);
    scene.app.clock.advance_ms(30 * 86_400_000);
    scene.refresh(&client.refresh).await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_revoked_token_and_its_children_are_refused() {
    let (scene, client) = Scene::with_app().await;
    let child = text(&scene.refresh(&client.refresh).await.json(), "access_token");
    let child = Client { access: child, ..client.clone() };
    let single = scene.token(&client.id, &client.secret).await.json::<Value>();
    let single = Client { access: text(&single, "access_token"), ..client.clone() };
    assert!(scene.is_let_in(&child).await && scene.is_let_in(&single).await);

    assert_eq!(scene.revoke(json!({"token": single.access})).await.status, 204);
    assert!(!scene.is_let_in(&single).await && scene.is_let_in(&client).await);

    let hint = json!({"token": client.refresh, "token_type_hint": "refresh_token"});
    assert_eq!(scene.revoke(hint).await.status, 204);
    scene.refresh(&client.refresh).await.problem(Code::UNAUTHORIZED);
    for gone in [&client, &child] {
        assert!(!scene.is_let_in(gone).await);
        scene.app.clock.advance_ms(61_000);
        assert!(!scene.is_let_in(gone).await, "it came back");
    }
    // What nobody knows is answered alike.
    for token in ["x", "a.b.c", client.refresh.as_str()] {
        assert_eq!(scene.revoke(json!({"token": token})).await.status, 204, "{token}");
    }
}

#[tokio::test]
async fn a_client_revokes_all_its_tokens_with_one_of_them() {
    let (scene, client) = Scene::with_app().await;
    let org = text(&scene.get(&at(ORG, "")).await.json(), "client_id");
    scene.revoke(json!({"token": "x.y.z", "all": true})).await.problem(Code::UNAUTHORIZED);
    scene.revoke(json!({"client_id": client.id, "all": true})).await.problem(Code::UNAUTHORIZED);
    scene.revoke(json!({"all": true})).await.problem(Code::INVALID_REQUEST);
    assert!(scene.is_let_in(&client).await);
    assert_eq!(scene.revoke(json!({"token": client.refresh, "all": true})).await.status, 204);
    assert!(!scene.is_let_in(&client).await);
    scene.refresh(&client.refresh).await.problem(Code::UNAUTHORIZED);
    // A token that counts no more takes nothing back.
    let again = scene.token(&client.id, &client.secret).await.json::<Value>();
    let again = Client { access: text(&again, "access_token"), ..client.clone() };
    scene.revoke(json!({"token": client.refresh, "all": true})).await.problem(Code::UNAUTHORIZED);
    assert!(scene.is_let_in(&again).await);
    // The operator needs none. A token is issued a millisecond after all were taken back, at least.
    scene.app.clock.advance_ms(5);
    let all = json!({"client_id": client.id, "all": true});
    assert_eq!(scene.post("/auth/revoke", &all).await.status, 204);
    assert!(!scene.is_let_in(&again).await);
    assert_ne!(org, client.id);
}
