//! The original zae-limiter in a process of its own, spoken to in lines of JSON.
//!
//! `original.py` beside this file is the other end and lists the verbs. It ends when its input
//! does, so it cannot outlive the test.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::side::{Level, Side, Take, text, texts};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zae/original.py");

/// A running original, with at most one namespace open.
pub(crate) struct Original {
    child: Child,
    calls: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What the original said to a call.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Ok(Value),
    /// It has not the tokens; each limit it looked at.
    Refused(Value),
    /// It raised something else.
    Error(String),
}

impl Original {
    /// Starts the release that is installed in `environment`; nothing is opened or made yet.
    pub(crate) fn start(environment: &str, endpoint: &str, table: &str) -> Original {
        // Not the file itself: it is a link to the machine's python, which has no zae-limiter.
        let bin = weir_testkit::installed(&format!("{environment}/bin")).unwrap();
        let mut child = Command::new(bin.join("python"))
            .args([PROGRAM, endpoint, table])
            .envs(weir_testkit::dynamo_local_environment())
            // The newest release also asks for a Lambda, which the endpoint does not have.
            .env("AWS_MAX_ATTEMPTS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let calls = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Original { child, calls, answers }
    }

    /// Works in this namespace from now on; its id. Registers it if need be.
    pub(crate) fn open(&mut self, namespace: &str) -> String {
        text(&self.ok("open", json!({ "namespace": namespace })))
    }

    /// A bucket as it is stored.
    #[track_caller]
    pub(crate) fn bucket(&mut self, entity: &str, resource: &str) -> Value {
        self.ok("item", bucket_key(entity, resource))
    }

    /// Stores a bucket as it is given, whatever was there.
    pub(crate) fn replace_bucket(&mut self, entity: &str, resource: &str, bucket: &Value) {
        let mut call = bucket_key(entity, resource);
        call["attributes"] = bucket.clone();
        self.ok("replace_item", call);
    }

    /// Calls a verb with the members of an object as its arguments.
    pub(crate) fn ask(&mut self, verb: &str, mut arguments: Value) -> Answer {
        arguments["verb"] = verb.into();
        writeln!(self.calls.as_mut().unwrap(), "{arguments}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{verb} was answered with {line:?}: {error}"));
        match (answer.get("ok").is_some(), answer.get("refused").is_some()) {
            (true, _) => Answer::Ok(answer["ok"].take()),
            (_, true) => Answer::Refused(answer["refused"].take()),
            _ => Answer::Error(format!("{verb}: {}", answer["error"])),
        }
    }

    /// Calls a verb that has to succeed.
    #[track_caller]
    pub(crate) fn ok(&mut self, verb: &str, arguments: Value) -> Value {
        match self.ask(verb, arguments) {
            Answer::Ok(value) => value,
            other => panic!("{other:?}"),
        }
    }
}

impl Side for Original {
    fn create_entity(&mut self, id: &str, parent: Option<&str>) {
        let cascade = parent.is_some();
        self.ok("create_entity", json!({ "id": id, "parent_id": parent, "cascade": cascade }));
    }

    fn entity(&mut self, id: &str) -> Option<(Option<String>, bool)> {
        let entity = self.ok("entity", json!({ "id": id }));
        let parent = entity["parent_id"].as_str().map(str::to_owned);
        entity.is_object().then(|| (parent, entity["cascade"] == true))
    }

    fn children(&mut self, id: &str) -> Vec<String> {
        texts(&self.ok("children", json!({ "id": id })), Some("id"))
    }

    fn delete_entity(&mut self, id: &str) {
        self.ok("delete_entity", json!({ "id": id }));
    }

    fn set_limits(&mut self, level: Level<'_>, limits: &[Value]) {
        let mut call = level_of(level);
        call["limits"] = limits.into();
        self.ok("set_limits", call);
    }

    fn delete_limits(&mut self, level: Level<'_>) {
        self.ok("delete_limits", level_of(level));
    }

    fn resolve(&mut self, entity: &str, resource: &str) -> (BTreeMap<String, u64>, String) {
        let found = self.ok("resolve", json!({ "entity": entity, "resource": resource }));
        let limits = found["limits"].as_array().cloned().unwrap_or_default();
        let capacity = |limit: &Value| (text(&limit["name"]), limit["capacity"].as_u64().unwrap());
        (limits.iter().map(capacity).collect(), text(&found["source"]))
    }

    fn resources(&mut self) -> Vec<String> {
        texts(&self.ok("resources", json!({})), None)
    }

    fn custom_resources(&mut self) -> Vec<String> {
        texts(&self.ok("custom_resources", json!({})), None)
    }

    fn custom_entities(&mut self, resource: &str) -> Vec<String> {
        texts(&self.ok("custom_entities", json!({ "resource": resource })), None)
    }

    fn hold(&mut self, take: &Take<'_>) -> Option<String> {
        let consume: BTreeMap<_, _> = take.consume.iter().copied().collect();
        let call = json!({ "entity": take.entity, "resource": take.resource, "consume": consume });
        match self.ask("hold", call) {
            Answer::Ok(lease) => Some(lease.to_string()),
            Answer::Refused(_) => None,
            Answer::Error(text) => panic!("{text}"),
        }
    }

    fn settle(&mut self, lease: &str, adjust: &[(&str, i64)]) {
        let lease: u64 = lease.parse().unwrap();
        let amounts: BTreeMap<_, _> = adjust.iter().copied().collect();
        self.ok("adjust", json!({ "lease": lease, "amounts": amounts }));
        self.ok("commit", json!({ "lease": lease }));
    }

    fn rollback(&mut self, lease: &str) {
        let lease: u64 = lease.parse().unwrap();
        self.ok("rollback", json!({ "lease": lease }));
    }

    fn left(&mut self, entity: &str, resource: &str, limit: &str) -> i64 {
        let left = self.ok("available", json!({ "entity": entity, "resource": resource }));
        left[limit].as_i64().unwrap()
    }

    fn capacity(&mut self, resource: &str, limit: &str) -> i64 {
        let capacity = self.ok("capacity", json!({ "resource": resource, "limit": limit }));
        capacity["total_available"].as_i64().unwrap()
    }

    fn audit(&mut self, entity: &str) -> Vec<String> {
        let mut actions = texts(&self.ok("audit", json!({ "entity": entity })), Some("action"));
        actions.reverse();
        actions
    }
}

fn bucket_key(entity: &str, resource: &str) -> Value {
    json!({ "pk": format!("BUCKET#{entity}#{resource}#0"), "sk": "#STATE" })
}

/// The arguments that name a level.
fn level_of(level: Level<'_>) -> Value {
    match level {
        Level::System => json!({}),
        Level::Resource(resource) => json!({ "resource": resource }),
        Level::EntityDefault(entity) => json!({ "entity": entity }),
        Level::Entity(entity, resource) => json!({ "entity": entity, "resource": resource }),
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        drop(self.calls.take());
        self.child.wait().ok();
    }
}
