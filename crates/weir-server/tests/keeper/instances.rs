//! Instances that share one DynamoDB.

use serde_json::json;
use weir_framework::auth::signing::KeySource;
use weir_framework::testing::TestApp;
use weir_server::keeper::{KeeperService, Settings};
use weir_server::limiter::LimiterService;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::{AnyBackend, Store};

use crate::scene::{APP, Client, ORG, Scene};

/// How long an instance believes that a token was not taken back.
const BELIEVED_MS: u64 = 60_000;

/// Tables on DynamoDB Local that instances share.
pub(crate) struct Shared {
    prefix: String,
}

impl Shared {
    pub(crate) fn new(name: &str) -> Shared {
        Shared { prefix: weir_testkit::unique_prefix(name) }
    }

    /// Another instance, with a clock of its own.
    pub(crate) async fn start(&self) -> Scene {
        let dynamo = weir_testkit::stage::dynamodb(&self.prefix).await;
        let store = Store::new(AnyBackend::Dynamo(dynamo), CursorKey::new([7; 32]));
        let mut settings = Settings { bcrypt_cost: 4, ..Settings::default() };
        settings.token_address_rate = 0;
        let (limits, budgets) = (LimiterService::default(), KeeperService::new(settings));
        let app =
            TestApp::builder(vec![Box::new(limits), Box::new(budgets)]).settings(|settings| {
                let secret = b"a signing key that all instances know of".to_vec().into();
                settings.auth.signing = Some(KeySource::Hs256(secret));
                // Tokens expire by this clock, items by DynamoDB's: it must not be behind.
                settings.clock = Clock::manual(Clock::System.now_ms());
                // What is asked for is asked for by the test.
                settings.run_jobs = false;
            });
        Scene { app: app.store(store).start().await }
    }
}

async fn is_let_in(scene: &Scene, client: &Client) -> bool {
    scene.read(client, &format!("/apps/{APP}")).await.status == 200
}

/// Starts of two instances at once, each on tables that nobody has made.
const STARTS: usize = 5;

#[tokio::test]
async fn two_instances_start_at_once_on_an_empty_store_on_dynamodb_local() {
    for start in 0..STARTS {
        let shared = Shared::new(&format!("starts{start}"));
        let (one, two) = tokio::join!(shared.start(), shared.start());
        one.org(ORG).await;
        assert_eq!(two.app.get("/v1/namespaces/default").admin().send().await.status, 200);
    }
}

#[tokio::test]
async fn a_token_taken_back_on_one_instance_is_refused_on_all_on_dynamodb_local() {
    let shared = Shared::new("instances");
    let (one, two) = (shared.start().await, shared.start().await);
    one.org(ORG).await;
    let client = one.app(ORG, APP).await;
    assert!(is_let_in(&one, &client).await && is_let_in(&two, &client).await);
    let revoke = json!({"token": client.access});
    assert_eq!(one.app.post("/auth/revoke", &revoke).send().await.status, 204);
    assert!(!is_let_in(&one, &client).await, "at once where it was taken back");
    two.app.clock.advance_ms(BELIEVED_MS);
    assert!(!is_let_in(&two, &client).await, "and elsewhere when what is remembered is too old");
    two.app.clock.advance_ms(BELIEVED_MS);
    assert!(!is_let_in(&two, &client).await);

    one.app.clock.advance_ms(2 * BELIEVED_MS);
    // A refresh token takes the access tokens with it that came from it, on every instance.
    let response =
        two.app.post("/auth/refresh", &json!({"refresh_token": client.refresh})).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    let access = crate::scene::text(&response.json(), "access_token");
    let renewed = Client { access, ..client.clone() };
    assert!(is_let_in(&one, &renewed).await && is_let_in(&two, &renewed).await);
    let revoke = json!({"token": client.refresh, "token_type_hint": "refresh_token"});
    assert_eq!(two.app.post("/auth/revoke", &revoke).send().await.status, 204);
    assert!(!is_let_in(&two, &renewed).await);
    one.app.clock.advance_ms(BELIEVED_MS);
    assert!(!is_let_in(&one, &renewed).await);
}
