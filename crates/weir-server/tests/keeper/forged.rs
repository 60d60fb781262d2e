//! Tokens that somebody made themselves: each way in which an algorithm or a key can be confused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::auth::Secret;
use weir_framework::auth::signing::KeySource;
use weir_framework::testing::TestApp;
use weir_server::keeper::{KeeperService, Settings};
use weir_server::limiter::LimiterService;

use crate::scene::{APP, Client, ORG, Scene};

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn open(token: &str, place: usize) -> Value {
    let part = token.split('.').nth(place).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn signed(header: &Value, claims: &Value, key: &[u8]) -> String {
    let text = format!("{}.{}", part(header), part(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let signature = hmac::sign(&key, text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

async fn refuse_all(scene: &Scene, client: &Client, forged: Vec<String>) {
    for token in forged {
        let forged = Client { access: token.clone(), ..client.clone() };
        let reply = scene.read(&forged, &format!("/apps/{APP}")).await;
        assert_eq!(reply.status, 401, "{token}");
        reply.problem(Code::UNAUTHORIZED);
        let ask = json!({"refresh_token": token});
        scene.app.post("/auth/refresh", &ask).send().await.problem(Code::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_token_that_names_another_algorithm_or_key_is_refused() {
    let (scene, client) = Scene::with_app().await;
    let (header, claims) = (open(&client.access, 0), open(&client.access, 1));
    assert_eq!(header["alg"], "HS256");
    let mut wide = claims.clone();
    wide["scope"] = json!("admin");
    let body = client.access.rsplit_once('.').unwrap().0;
    let signature = client.access.rsplit_once('.').unwrap().1;
    let mut forged = Vec::new();
    for alg in ["none", "None", "NONE", "HS384", "RS256", "ES256"] {
        let mut header = header.clone();
        header["alg"] = json!(alg);
        forged.push(format!("{}.{}.", part(&header), part(&wide)));
        forged.push(format!("{}.{}.{signature}", part(&header), part(&claims)));
    }
    for kid in [json!("other"), json!(""), json!("../../dev/null"), Value::Null] {
        let mut header = header.clone();
        header["kid"] = kid;
        forged.push(signed(&header, &wide, b""));
    }
    forged.push(format!("{body}."));
    forged.push(body.to_owned());
    forged.push(format!("{}.{}.{signature}", part(&header), part(&wide)));
    forged.push(signed(&header, &wide, b"secret"));
    forged.push(signed(&json!({"alg": "HS256", "typ": "JWT"}), &wide, b""));
    refuse_all(&scene, &client, forged).await;
}

#[tokio::test]
async fn a_public_key_is_no_secret() {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let budgets = KeeperService::new(Settings { bcrypt_cost: 4, ..Settings::default() });
    let app = TestApp::builder(vec![Box::new(LimiterService::default()), Box::new(budgets)])
        .settings(|settings| settings.auth.signing = Some(KeySource::Es256(Secret::new(pem))))
        .start()
        .await;
    let scene = Scene { app };
    scene.org(ORG).await;
    let client = scene.app(ORG, APP).await;
    assert_eq!(scene.read(&client, &format!("/apps/{APP}")).await.status, 200);
    let (mut header, claims) = (open(&client.access, 0), open(&client.access, 1));
    assert_eq!(header["alg"], "ES256");
    let jwks: Value = scene.app.get("/.well-known/jwks.json").send().await.json();
    let key = &jwks["keys"][0];
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap()).unwrap();
    let point = [vec![4], bytes("x"), bytes("y")].concat();
    header["alg"] = json!("HS256");
    let secrets = [point, bytes("x"), key.to_string().into_bytes(), jwks.to_string().into_bytes()];
    let forged = secrets.iter().map(|secret| signed(&header, &claims, secret)).collect();
    refuse_all(&scene, &client, forged).await;
}
