//! The parts that use the store, on DynamoDB Local.

use std::sync::Arc;

use weir_framework::auth::admin_key::Ensured;
use weir_framework::auth::grant::Grants;
use weir_framework::auth::signing::KeySource;
use weir_framework::auth::{Auth, Settings, TokenError};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::dynamodb::Dynamo;

use crate::place::{CLIENT, START_MS, pair, refusal, scope_kinds};

const REVOKED: Option<TokenError> = Some(TokenError::Revoked);

/// Tables of its own, and instances that share them.
struct Shared {
    store: Store<Dynamo>,
    clock: Clock,
}

impl Shared {
    async fn new(name: &str) -> Shared {
        let dynamo = weir_testkit::stage::dynamodb(&weir_testkit::unique_prefix(name)).await;
        // Tokens expire by this clock, items by DynamoDB's: it must not be behind.
        let clock = Clock::manual(START_MS.max(Clock::System.now_ms()));
        Shared { store: Store::new(dynamo, CursorKey::new([7; 32])), clock }
    }

    async fn open(&self) -> Auth<Dynamo> {
        let settings = Settings {
            signing: Some(KeySource::Hs256(vec![b's'; 32].into())),
            ..Settings::default()
        };
        let (store, clock) = (self.store.clone(), self.clock.clone());
        Auth::open(store, clock, &settings, None, scope_kinds()).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_instances_one_makes_the_admin_key() {
    let shared = Shared::new("auth-key").await;
    let mut instances = Vec::new();
    for _ in 0..8 {
        instances.push(Arc::new(shared.open().await));
    }
    let tries = instances.iter().cloned();
    let tries = tries.map(|auth| tokio::spawn(async move { auth.ensure_admin_key().await }));
    let mut keys = Vec::new();
    for tried in tries.collect::<Vec<_>>() {
        if let Ensured::Made(key) = tried.await.unwrap().unwrap() {
            keys.push(key);
        }
    }
    assert_eq!(keys.len(), 1);
    for auth in &instances {
        assert!(auth.authenticate_key(keys[0].expose()).await.is_ok());
    }
    let new = instances[0].rotate_admin_key().await.unwrap();
    shared.clock.advance_ms(60_000);
    for auth in &instances {
        assert!(auth.authenticate_key(keys[0].expose()).await.is_err());
        assert!(auth.authenticate_key(new.expose()).await.is_ok());
    }
}

#[tokio::test]
async fn revocations_reach_every_instance() {
    let shared = Shared::new("auth-revoke").await;
    let (here, elsewhere) = (shared.open().await, shared.open().await);
    let (one, two) = (pair(&here, CLIENT).await, pair(&here, CLIENT).await);
    let (one, two) = (one.access.token, two.access.token);
    for auth in [&here, &elsewhere] {
        assert_eq!(refusal(auth, one.expose()).await, None);
    }
    here.revoke(one.expose()).await.unwrap();
    assert_eq!(refusal(&here, one.expose()).await, REVOKED);
    shared.clock.advance_ms(60_000);
    assert_eq!(refusal(&elsewhere, one.expose()).await, REVOKED);
    assert_eq!(refusal(&elsewhere, two.expose()).await, None);
    here.revoke_all(CLIENT).await.unwrap();
    let three = pair(&elsewhere, CLIENT).await.access.token;
    shared.clock.advance_ms(60_000);
    for auth in [&here, &elsewhere] {
        assert_eq!(refusal(auth, two.expose()).await, REVOKED);
        assert_eq!(refusal(auth, three.expose()).await, None);
    }
}

#[tokio::test]
async fn operators_tokens_are_listed_and_revoked() {
    let shared = Shared::new("auth-issued").await;
    let auth = shared.open().await;
    for name in ["first", "second"] {
        let minted = auth.issue_operator(name, &Grants::admin(), 86_400).await;
        assert!(minted.is_ok());
        shared.clock.advance_ms(1);
    }
    let page = auth.operator_tokens(1, None).await.unwrap();
    assert_eq!(page.items[0].name, "second");
    let rest = auth.operator_tokens(1, page.cursor.as_deref()).await.unwrap();
    assert_eq!(rest.items[0].name, "first");
    let revoked = auth.revoke_operator(&rest.items[0].jti).await.unwrap();
    assert_eq!(revoked.unwrap().name, "first");
    let listed = auth.operator_tokens(10, None).await.unwrap().items;
    let revoked: Vec<bool> = listed.iter().map(|token| token.revoked.is_some()).collect();
    assert_eq!(revoked, [false, true]);
}
