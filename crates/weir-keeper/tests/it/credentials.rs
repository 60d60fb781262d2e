//! Credentials: rotated, retrieved once, verified, replaced.

use weir_keeper::credentials::RetrievalOutcome;
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::Scope;
use weir_keeper::{Error, Keeper};
use weir_table::audit::EventRange;
use weir_table::expr::set;
use weir_table::{Get, Query, Write};
use weir_testkit::watched::Calls;

use crate::scene::{EndedTokens, Scene, Watched, app, app_request, org, org_request};

scenes!(
    a_token_retrieves_one_working_secret,
    the_old_secret_works_until_the_end_of_the_grace_period,
    without_a_grace_period_the_old_secret_stops_at_once,
    a_rotation_without_retrieval_changes_nothing,
    a_rotation_voids_earlier_tokens,
    a_cancelled_rotation_voids_its_token,
    only_a_redemption_without_grace_ends_the_tokens,
    a_token_of_an_older_version_is_refused,
    a_token_works_for_its_client_only,
    a_token_expires,
    fifty_concurrent_retrievals_get_one_secret,
    of_concurrent_rotations_one_token_works,
    a_redemption_races_a_cancellation,
    wrong_secrets_and_clients_are_refused,
    secrets_and_hashes_are_never_shown,
    a_put_and_a_concurrent_retrieval_both_succeed,
    a_secret_of_the_original_service_works,
);

const HOUR_MS: u64 = 3_600_000;

/// Retrieves a secret with a token.
pub(crate) async fn fetched(scene: &Scene, scope: &Scope, token: &str) -> String {
    match scene.keeper.retrieve_secret(scope, token, &EndedTokens).await.unwrap() {
        RetrievalOutcome::Secret { client_id, client_secret, .. } => {
            assert_eq!(client_id, scope.client_id());
            client_secret.expose().to_owned()
        }
        other => panic!("no secret but {other:?}"),
    }
}

/// Rotates and retrieves a secret.
pub(crate) async fn secret_of(scene: &Scene, scope: &Scope, grace_hours: u32) -> String {
    let rotation = scene.keeper.rotate_credentials(scope, grace_hours, "admin").await.unwrap();
    fetched(scene, scope, rotation.retrieval.token.reveal()).await
}

/// Creates an org with an app; returns the app and its first secret.
pub(crate) async fn client(scene: &Scene) -> (Scope, String) {
    scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let put = scene.keeper.put_app(&org(1), &app("a"), &app_request(), "admin").await.unwrap();
    let scope = Scope::App(org(1), app("a"));
    let secret = fetched(scene, &scope, put.retrieval.unwrap().token.reveal()).await;
    (scope, secret)
}

/// Whether a secret works.
pub(crate) async fn works(keeper: &Keeper<Watched>, scope: &Scope, secret: &str) -> bool {
    let found = keeper.verify_secret(&scope.client_id(), secret).await.unwrap();
    assert!(found.is_none() || found.as_ref() == Some(scope));
    found.is_some()
}

async fn a_token_retrieves_one_working_secret(scene: &Scene) {
    let put = scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let (scope, retrieval) = (Scope::Org(org(1)), put.retrieval.unwrap());
    let now_ms = scene.keeper.now_ms();
    assert_eq!(retrieval.expires_at_ms, now_ms + 600_000);
    scene.watch.reset();
    let redeemed =
        scene.keeper.retrieve_secret(&scope, retrieval.token.reveal(), &EndedTokens).await.unwrap();
    assert_eq!(scene.watch.calls(), Calls { batch_gets: 2, transactions: 1, ..Calls::default() });
    let RetrievalOutcome::Secret { client_secret, retrieved_at_ms, expires_at_ms, .. } = redeemed
    else {
        panic!("{redeemed:?}");
    };
    assert_eq!((retrieved_at_ms, expires_at_ms), (now_ms, retrieval.expires_at_ms));
    assert!(works(&scene.keeper, &scope, client_secret.expose()).await);
    assert!(works(&scene.another().await, &scope, client_secret.expose()).await);
    let again =
        scene.keeper.retrieve_secret(&scope, retrieval.token.reveal(), &EndedTokens).await.unwrap();
    assert_eq!(again, RetrievalOutcome::AlreadyUsed);
    assert!(works(&scene.keeper, &scope, client_secret.expose()).await);
    let metrics = scene.keeper.metrics();
    assert_eq!(metrics.retrieval_tokens_issued, 1);
    assert_eq!(metrics.retrieval_tokens_redeemed, 1);
    assert_eq!(metrics.retrievals_refused, 1);
}

async fn the_old_secret_works_until_the_end_of_the_grace_period(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let rotation = scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap();
    assert_eq!(rotation.rotated_at_ms, scene.keeper.now_ms());
    let latest = rotation.retrieval.expires_at_ms + 24 * 3_600_000;
    assert_eq!(rotation.old_secret_expires_at_ms, latest);
    // The grace period starts at the retrieval, not at the rotation.
    scene.clock.advance_ms(500_000);
    let new = fetched(scene, &scope, rotation.retrieval.token.reveal()).await;
    scene.clock.advance_ms(24 * HOUR_MS - 1);
    assert!(works(&scene.keeper, &scope, &old).await && works(&scene.keeper, &scope, &new).await);
    assert!(scene.keeper.now_ms() < latest);
    scene.clock.advance_ms(1);
    assert!(!works(&scene.keeper, &scope, &old).await);
    assert!(works(&scene.keeper, &scope, &new).await);
}

async fn without_a_grace_period_the_old_secret_stops_at_once(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let new = secret_of(scene, &scope, 0).await;
    assert!(!works(&scene.keeper, &scope, &old).await);
    assert!(works(&scene.keeper, &scope, &new).await);
    let error = scene.keeper.rotate_credentials(&scope, 169, "admin").await.unwrap_err();
    assert!(error.to_string().starts_with("grace_period_hours: "), "{error}");
    let nobody = scene.keeper.rotate_credentials(&Scope::Org(org(7)), 1, "admin").await;
    assert!(matches!(nobody, Err(Error::NotFound { what: "org", .. })));
    let nobody = scene.keeper.rotate_credentials(&Scope::App(org(1), app("b")), 1, "admin").await;
    assert!(matches!(nobody, Err(Error::NotFound { what: "app", .. })));
}

async fn a_rotation_without_retrieval_changes_nothing(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let item = async || {
        let key = weir_keeper::keys::config(&scope);
        let get = Get::new(scene.keeper.tables().config.clone(), key);
        scene.store.get(&get).await.unwrap().unwrap()
    };
    let before = item().await;
    scene.keeper.rotate_credentials(&scope, 0, "admin").await.unwrap();
    let mut after = item().await;
    assert!(after.remove("pending_retrieval_token_hash").is_some());
    assert_eq!(after, before);
    scene.clock.advance_ms(1_000 * HOUR_MS);
    assert!(works(&scene.keeper, &scope, &secret).await);
}

async fn outcome(scene: &Scene, scope: &Scope, token: &str) -> RetrievalOutcome {
    scene.keeper.retrieve_secret(scope, token, &EndedTokens).await.unwrap()
}

async fn a_rotation_voids_earlier_tokens(scene: &Scene) {
    let put = scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let scope = Scope::Org(org(1));
    let mut tokens = vec![put.retrieval.unwrap().token];
    for _ in 0..2 {
        let rotation = scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap();
        tokens.push(rotation.retrieval.token);
    }
    for void in &tokens[..2] {
        assert_eq!(outcome(scene, &scope, void.reveal()).await, RetrievalOutcome::Void);
    }
    let secret = fetched(scene, &scope, tokens[2].reveal()).await;
    assert!(works(&scene.keeper, &scope, &secret).await);
    for (token, expected) in tokens.iter().zip([
        RetrievalOutcome::Void,
        RetrievalOutcome::Void,
        RetrievalOutcome::AlreadyUsed,
    ]) {
        assert_eq!(outcome(scene, &scope, token.reveal()).await, expected);
    }
}

async fn a_cancelled_rotation_voids_its_token(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let cancel = async || scene.keeper.cancel_rotation(&scope, "admin").await;
    let nothing = cancel().await.unwrap_err();
    assert!(matches!(nothing, Error::NotFound { what: "pending rotation of", .. }), "{nothing}");
    let rotation = scene.keeper.rotate_credentials(&scope, 0, "admin").await.unwrap();
    cancel().await.unwrap();
    assert!(matches!(cancel().await, Err(Error::NotFound { .. })));
    let token = rotation.retrieval.token;
    assert_eq!(outcome(scene, &scope, token.reveal()).await, RetrievalOutcome::Void);
    assert!(works(&scene.keeper, &scope, &secret).await);
    let events = scene.keeper.audit_events(&scope, &EventRange::default()).await.unwrap();
    assert_eq!(events.items[0].action.as_str(), "rotation_cancelled");
    // The next rotation works as ever.
    secret_of(scene, &scope, 24).await;
    let nobody = scene.keeper.cancel_rotation(&Scope::Org(org(7)), "admin").await;
    assert!(matches!(nobody, Err(Error::NotFound { what: "org", .. })));
}

async fn only_a_redemption_without_grace_ends_the_tokens(scene: &Scene) {
    let (scope, _) = client(scene).await;
    let before = EndedTokens.count(scene, &scope).await;
    secret_of(scene, &scope, 1).await;
    let rotation = scene.keeper.rotate_credentials(&scope, 0, "admin").await.unwrap();
    assert_eq!(EndedTokens.count(scene, &scope).await, before);
    fetched(scene, &scope, rotation.retrieval.token.reveal()).await;
    assert_eq!(EndedTokens.count(scene, &scope).await, before + 1);
    assert_eq!(EndedTokens.count(scene, &Scope::Org(org(1))).await, 0);
}

async fn a_token_of_an_older_version_is_refused(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    // Older versions kept the token itself as the key.
    let clear = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
    let item = weir_table::Item::new()
        .with("PK", clear)
        .with("org_id", org(1).as_str())
        .with("app_id", "a")
        .with("used", false)
        .with("expires_at_epoch", scene.keeper.now_ms() / 1000 + 600);
    let table = scene.keeper.tables().secret_retrieval_tokens.clone();
    scene.store.write(Write::put(table, item)).await.unwrap();
    assert_eq!(outcome(scene, &scope, clear).await, RetrievalOutcome::Unknown);
    assert!(works(&scene.keeper, &scope, &secret).await);
}

async fn a_token_works_for_its_client_only(scene: &Scene) {
    let (scope, _) = client(scene).await;
    scene.keeper.put_app(&org(1), &app("b"), &app_request(), "admin").await.unwrap();
    scene.keeper.put_org(&org(2), &org_request(), "admin").await.unwrap();
    let token = scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap().retrieval.token;
    let strangers = [
        Scope::Org(org(1)),
        Scope::Org(org(2)),
        Scope::App(org(1), app("b")),
        Scope::App(org(2), app("a")),
    ];
    for stranger in strangers {
        let redeemed =
            scene.keeper.retrieve_secret(&stranger, token.reveal(), &EndedTokens).await.unwrap();
        assert_eq!(redeemed, RetrievalOutcome::Unknown, "{stranger:?}");
    }
    let unknown = org(9).to_string();
    for wrong in ["", "x", "7c9e6679-7425-40de-944b-e07fc1f90ae7", &unknown, &"9".repeat(9_999)] {
        assert_eq!(
            scene.keeper.retrieve_secret(&scope, wrong, &EndedTokens).await.unwrap(),
            RetrievalOutcome::Unknown
        );
    }
    fetched(scene, &scope, token.reveal()).await;
}

async fn a_token_expires(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let rotate = async || {
        scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap().retrieval.token
    };
    let late = rotate().await;
    scene.clock.advance_ms(600_000);
    assert_eq!(
        scene.keeper.retrieve_secret(&scope, late.reveal(), &EndedTokens).await.unwrap(),
        RetrievalOutcome::Expired
    );
    let in_time = rotate().await;
    scene.clock.advance_ms(599_999);
    fetched(scene, &scope, in_time.reveal()).await;
    assert!(works(&scene.keeper, &scope, &secret).await);
    scene.clock.advance_ms(600_000);
    assert_eq!(
        scene.keeper.retrieve_secret(&scope, in_time.reveal(), &EndedTokens).await.unwrap(),
        RetrievalOutcome::AlreadyUsed
    );
}

async fn fifty_concurrent_retrievals_get_one_secret(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let token = scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap().retrieval.token;
    let other = scene.another().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let keeper = if number % 2 == 0 { scene.keeper.clone() } else { other.clone() };
        let (scope, token) = (scope.clone(), token.clone());
        tasks.spawn(async move {
            keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await.unwrap()
        });
    }
    let mut secrets = Vec::new();
    for redeemed in tasks.join_all().await {
        match redeemed {
            RetrievalOutcome::Secret { client_secret, .. } => secrets.push(client_secret),
            other => assert_eq!(other, RetrievalOutcome::AlreadyUsed),
        }
    }
    assert_eq!(secrets.len(), 1);
    assert!(works(&scene.keeper, &scope, secrets[0].expose()).await);
    assert!(works(&scene.keeper, &scope, &old).await, "it is still the previous one");
}

async fn of_concurrent_rotations_one_token_works(scene: &Scene) {
    let (scope, old) = client(scene).await;
    let other = scene.another().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..6 {
        let keeper = if number % 2 == 0 { scene.keeper.clone() } else { other.clone() };
        let scope = scope.clone();
        tasks.spawn(async move {
            let rotation = keeper.rotate_credentials(&scope, 24, "admin").await.unwrap();
            let token = rotation.retrieval.token;
            keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens).await.unwrap()
        });
    }
    let mut secrets = Vec::new();
    for redeemed in tasks.join_all().await {
        match redeemed {
            RetrievalOutcome::Secret { client_secret, .. } => secrets.push(client_secret),
            other => assert_eq!(other, RetrievalOutcome::Void),
        }
    }
    // The last rotation is redeemed whatever the order, and each secret replaced the one before.
    assert!(!secrets.is_empty());
    let mut working = u32::from(works(&scene.keeper, &scope, &old).await);
    for secret in secrets {
        working += u32::from(works(&scene.keeper, &scope, secret.expose()).await);
    }
    assert_eq!(working, 2);
}

async fn a_redemption_races_a_cancellation(scene: &Scene) {
    let (scope, mut current) = client(scene).await;
    for _ in 0..8 {
        let token =
            scene.keeper.rotate_credentials(&scope, 24, "admin").await.unwrap().retrieval.token;
        let other = scene.another().await;
        let (redeemed, cancelled) = tokio::join!(
            scene.keeper.retrieve_secret(&scope, token.reveal(), &EndedTokens),
            other.cancel_rotation(&scope, "admin"),
        );
        match (redeemed.unwrap(), cancelled) {
            (RetrievalOutcome::Secret { client_secret, .. }, Err(Error::NotFound { .. })) => {
                current = client_secret.expose().to_owned();
            }
            (RetrievalOutcome::Void, Ok(())) => {}
            other => panic!("{other:?}"),
        }
        assert!(works(&scene.keeper, &scope, &current).await);
    }
}

async fn wrong_secrets_and_clients_are_refused(scene: &Scene) {
    let (scope, secret) = client(scene).await;
    let (id, keeper) = (scope.client_id(), &scene.keeper);
    let (twice, ended) = (format!("{secret}{secret}"), format!("{secret}\0"));
    for wrong in ["", "x", &secret[..55], &twice, &ended, &secret.to_uppercase()] {
        assert_eq!(keeper.verify_secret(&id, wrong).await.unwrap(), None);
    }
    let upper = id.to_uppercase();
    let strangers = ["", "x", "org-1", &upper, &Scope::Org(org(1)).client_id()];
    for wrong in strangers {
        assert_eq!(keeper.verify_secret(wrong, &secret).await.unwrap(), None, "{wrong}");
    }
    // An org whose secret was never retrieved has none.
    let unset = Scope::Org(org(1));
    assert!(!works(keeper, &unset, "").await);
    assert!(works(keeper, &scope, &secret).await);
}

async fn secrets_and_hashes_are_never_shown(scene: &Scene) {
    let put = scene.keeper.put_org(&org(1), &org_request(), "admin").await.unwrap();
    let scope = Scope::Org(org(1));
    let token = put.retrieval.clone().unwrap().token;
    let rotation = scene.keeper.rotate_credentials(&scope, 1, "admin").await.unwrap();
    let redeemed = scene
        .keeper
        .retrieve_secret(&scope, rotation.retrieval.token.reveal(), &EndedTokens)
        .await
        .unwrap();
    let RetrievalOutcome::Secret { client_secret, .. } = &redeemed else { panic!("{redeemed:?}") };
    let shown = format!(
        "{put:?} {rotation:?} {redeemed:?} {:?} {:?} {:?} {:?}",
        scene.keeper,
        scene.keeper.get_org(&org(1)).await.unwrap(),
        scene.keeper.list_orgs(9, None, Deleted::Included).await.unwrap(),
        scene.keeper.audit_events(&Scope::Org(org(1)), &EventRange::default()).await.unwrap(),
    );
    for secret in
        [token.reveal(), rotation.retrieval.token.reveal(), client_secret.expose(), "$2b$"]
    {
        assert!(!shown.contains(secret), "{shown}");
    }
    // Nor in clear text in any table, nor in an error about a hash.
    let tables = scene.keeper.tables();
    for spec in &tables.specs() {
        let page = scene.store.query(&Query::scan(spec.name.as_str())).await.unwrap();
        let text = format!("{page:?}");
        for secret in [token.reveal(), rotation.retrieval.token.reveal(), client_secret.expose()] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    let key = weir_keeper::keys::config(&scope);
    let broken = set("client_secret_hash", "$2b$04$broken");
    scene.store.write(Write::update(tables.config.clone(), key, broken)).await.unwrap();
    let error = scene.keeper.verify_secret(&scope.client_id(), client_secret.expose()).await;
    let error = format!("{0} {0:?}", error.unwrap_err());
    assert!(!error.contains("broken") && !error.contains(client_secret.expose()), "{error}");
}

async fn a_put_and_a_concurrent_retrieval_both_succeed(scene: &Scene) {
    let (scope, _) = client(scene).await;
    for number in 0..8 {
        let token =
            scene.keeper.rotate_credentials(&scope, 1, "admin").await.unwrap().retrieval.token;
        let keeper = scene.another().await;
        let put = tokio::spawn(async move {
            let mut wanted = app_request();
            wanted.app_name = format!("name {number}");
            keeper.put_app(&org(1), &app("a"), &wanted, "admin").await.unwrap().effective
        });
        let secret = fetched(scene, &scope, token.reveal()).await;
        let put = put.await.unwrap();
        assert!(works(&scene.keeper, &scope, &secret).await);
        assert_eq!(scene.keeper.get_app(&org(1), &app("a")).await.unwrap(), put);
    }
}

async fn a_secret_of_the_original_service_works(scene: &Scene) {
    let (scope, _) = client(scene).await;
    // bcrypt's own test vector: a hash of this text made elsewhere, without a secret id.
    let (text, hash) = ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW");
    let key = weir_keeper::keys::config(&scope);
    let update = set("client_secret_hash", hash).remove("client_secret_id");
    let table = scene.keeper.tables().config.clone();
    scene.store.write(Write::update(table, key, update)).await.unwrap();
    assert!(works(&scene.keeper, &scope, text).await);
    let new = secret_of(scene, &scope, 1).await;
    assert!(works(&scene.keeper, &scope, text).await && works(&scene.keeper, &scope, &new).await);
    scene.clock.advance_ms(HOUR_MS);
    assert!(!works(&scene.keeper, &scope, text).await);
}
