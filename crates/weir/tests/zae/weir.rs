//! A Weir that shares its table with zae-limiter, spoken to over HTTP.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::side::{Level, Side, Take, text, texts};

const ADMIN_KEY: &str = "the admin key of these tests";
const SIGNING_KEY: &str = "c2lnbmluZyBrZXkgb2YgdGhlIHRlc3RzLCAzMiBieXRlcw==";
const CURSOR_KEY: &str = "Y3Vyc29yIGtleSBmb3IgdGhlIHRlc3RzLCAzMiBiLi4=";

/// A user of a running server.
pub(crate) struct Weir {
    server: Arc<Server>,
    namespace: String,
}

/// It is killed when this value is dropped.
struct Server {
    child: Child,
    address: String,
    _folder: TempDir,
}

impl Weir {
    /// Starts it with `compat = "zae"` and no caching of config.
    pub(crate) fn start(endpoint: &str, prefix: &str, counts_usage: bool) -> Weir {
        let folder = tempfile::tempdir().unwrap();
        let mut child = serve(folder.path(), endpoint, prefix)
            .args(["--aggregate-interval", if counts_usage { "1" } else { "60" }])
            .env("WEIR_LIMITER_COUNT_USAGE", if counts_usage { "yes" } else { "auto" })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
        let server = Arc::new(Server { child, address, _folder: folder });
        Weir { server, namespace: "default".to_owned() }
    }

    /// Another user of the same server.
    pub(crate) fn again(&self) -> Weir {
        Weir { server: Arc::clone(&self.server), namespace: self.namespace.clone() }
    }

    /// Works in this namespace from now on.
    pub(crate) fn open(&mut self, namespace: &str) {
        namespace.clone_into(&mut self.namespace);
    }

    /// Asks for a path below `/v1/`; the status and the body, null when there is none.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        write!(
            stream,
            "{method} /v1/{path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {ADMIN_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {body:?}: {error}"))
        };
        (status, body)
    }

    /// Asks for something in the namespace.
    fn inside(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask(method, &format!("namespaces/{}/{path}", self.namespace), body)
    }

    /// Asks for something in the namespace that has to succeed.
    #[track_caller]
    pub(crate) fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.inside(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.ok("GET", path, &Value::Null)
    }
}

/// Runs `weir` with the stores of these tests; `folder` is its working folder.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WEIR_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(folder)
        .env("WEIR_ADMIN_KEY", ADMIN_KEY)
        .env("WEIR_SIGNING_KEY", SIGNING_KEY)
        .env("WEIR_CURSOR_KEY", CURSOR_KEY)
        .envs(weir_testkit::dynamo_local_environment());
    command
}

/// A server that shares the table.
fn serve(folder: &Path, endpoint: &str, prefix: &str) -> Command {
    let mut command = command(folder);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", "dynamodb"])
        .args(["--dynamodb-endpoint", endpoint, "--table-prefix", prefix])
        .env("WEIR_LIMITER_COMPAT", "zae")
        .env("WEIR_LIMITER_CONFIG_TTL_SECS", "0");
    command
}

/// What a server says that does not start.
pub(crate) fn refusal(endpoint: &str, prefix: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ended = serve(folder.path(), endpoint, prefix).output().unwrap();
    assert!(!ended.status.success(), "it started");
    String::from_utf8(ended.stderr).unwrap()
}

impl Side for Weir {
    fn create_entity(&mut self, id: &str, parent: Option<&str>) {
        let cascade = parent.is_some();
        let entity = json!({ "name": id, "parent": parent, "cascade": cascade });
        self.ok("PUT", &format!("entities/{id}"), &entity);
    }

    fn entity(&mut self, id: &str) -> Option<(Option<String>, bool)> {
        match self.inside("GET", &format!("entities/{id}"), &Value::Null) {
            (200, entity) => {
                let parent = entity["parent"].as_str().map(str::to_owned);
                Some((parent, entity["cascade"] == true))
            }
            (404, _) => None,
            other => panic!("{other:?}"),
        }
    }

    fn children(&mut self, id: &str) -> Vec<String> {
        texts(&self.get(&format!("entities/{id}/children"))["items"], Some("id"))
    }

    fn delete_entity(&mut self, id: &str) {
        self.ok("DELETE", &format!("entities/{id}"), &Value::Null);
    }

    fn set_limits(&mut self, level: Level<'_>, limits: &[Value]) {
        self.ok("PUT", &path_of(level), &json!({ "limits": limits }));
    }

    fn delete_limits(&mut self, level: Level<'_>) {
        self.ok("DELETE", &path_of(level), &Value::Null);
    }

    fn resolve(&mut self, entity: &str, resource: &str) -> (BTreeMap<String, u64>, String) {
        let path = format!("limits/resolve?entity={entity}&resource={}", part(resource));
        match self.inside("GET", &path, &Value::Null) {
            (200, found) => {
                let limits = found["limits"].as_array().unwrap();
                let capacity =
                    |limit: &Value| (text(&limit["name"]), limit["capacity"].as_u64().unwrap());
                (limits.iter().map(capacity).collect(), text(&found["limits_from"]))
            }
            (404 | 422, _) => (BTreeMap::new(), String::new()),
            other => panic!("{other:?}"),
        }
    }

    fn resources(&mut self) -> Vec<String> {
        texts(&self.get("resources")["items"], None)
    }

    fn custom_resources(&mut self) -> Vec<String> {
        texts(&self.get("resources?level=entity")["items"], None)
    }

    fn custom_entities(&mut self, resource: &str) -> Vec<String> {
        let path = format!("limits/entities?resource={}", part(resource));
        texts(&self.get(&path)["items"], None)
    }

    fn hold(&mut self, take: &Take<'_>) -> Option<String> {
        let consume: BTreeMap<_, _> = take.consume.iter().copied().collect();
        let take = json!({ "entity": take.entity, "resource": take.resource, "consume": consume });
        match self.inside("POST", "acquire", &take) {
            (200, granted) => Some(text(&granted["lease"])),
            (429, _) => None,
            other => panic!("{other:?}"),
        }
    }

    fn settle(&mut self, lease: &str, adjust: &[(&str, i64)]) {
        if !adjust.is_empty() {
            let amounts: BTreeMap<_, _> = adjust.iter().copied().collect();
            self.ok("POST", &format!("leases/{lease}/adjust"), &json!({ "adjust": amounts }));
        }
        self.ok("POST", &format!("leases/{lease}/commit"), &Value::Null);
    }

    fn rollback(&mut self, lease: &str) {
        self.ok("POST", &format!("leases/{lease}/rollback"), &Value::Null);
    }

    fn left(&mut self, entity: &str, resource: &str, limit: &str) -> i64 {
        let path = format!("availability?entity={entity}&resource={}", part(resource));
        let found = self.get(&path);
        let own = |status: &&Value| status["entity"] == entity && status["name"] == limit;
        let status = found["limits"].as_array().unwrap().iter().find(own);
        status.unwrap_or_else(|| panic!("{found}"))["available"].as_i64().unwrap()
    }

    fn capacity(&mut self, resource: &str, limit: &str) -> i64 {
        let found = self.get(&format!("resources/{}/capacity", part(resource)));
        let sums = found["limits"].as_array().unwrap();
        let sum = sums.iter().find(|sum| sum["name"] == limit);
        sum.unwrap_or_else(|| panic!("{found}"))["available"].as_i64().unwrap()
    }

    fn audit(&mut self, entity: &str) -> Vec<String> {
        let path = format!("audit?entity={}", part(entity));
        let mut actions = texts(&self.get(&path)["items"], Some("action"));
        actions.reverse();
        actions
    }
}

/// The path of a level.
fn path_of(level: Level<'_>) -> String {
    match level {
        Level::System => "limits/system".to_owned(),
        Level::Resource(resource) => format!("limits/resources/{}", part(resource)),
        Level::EntityDefault(entity) => format!("limits/entities/{entity}/_default_"),
        Level::Entity(entity, resource) => {
            format!("limits/entities/{entity}/{}", part(resource))
        }
    }
}

/// A name as one part of a path or query.
fn part(name: &str) -> String {
    name.replace('/', "%2F").replace('$', "%24").replace(':', "%3A")
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
