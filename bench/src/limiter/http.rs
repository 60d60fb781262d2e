//! Acquires over the network, beside throttlecrab and Redis.
//!
//! All are asked by as many connections for keys in a scattered order. They do not do the same: the
//! table says what each does for a request.

use std::path::Path;

use serde_json::json;

use super::resp::{self, RespCommand};
use super::servers::{self, Redis, Throttlecrab};
use super::table::{Does, Row, print};
use crate::child::Child;
use crate::load::{Answers, Load, Request, Tool};
use crate::rounds::{self, Case};

/// Who is limited: users that ask in turns.
pub(super) const KEYS: usize = 1_000;
/// Limits that are never reached, and how fast they refill.
const PLENTY: u64 = 1_000_000_000;
const MINUTE_SECS: u64 = 60;
/// Limits that are reached at once and stay so. throttlecrab refuses nothing at a burst of one.
const FEW: u64 = 2;
const DAY_SECS: u64 = 86_400;

const IN_MEMORY: &str = "memory";
const LOGGED: &str = "memory, log synced every second";
const ON_DISK: &str = "disk, log synced within 100 ms";

/// How a side is asked.
enum Ask {
    Http(Request),
    Resp(RespCommand),
}

/// One of those that are measured.
struct Side<'a> {
    does: Does,
    server: &'a Child,
    /// Where it is to be asked how many it refused, because its answers do not tell the client.
    refusals: Option<&'a Throttlecrab>,
    ask: Ask,
}

pub(super) fn run(load: &Load, folder: &Path, weir: Option<&Path>, rounds: usize, quick: bool) {
    servers::print_versions();
    let crab = Throttlecrab::start();
    let memory = Redis::start(&folder.join("redis"), false);
    let logged = Redis::start(&folder.join("redis-log"), true);
    let weir = weir.map(|binary| servers::weir(binary, &folder.join("weir")));
    let http: &[Tool] = if quick { &[Tool::Wrk] } else { &[Tool::Wrk, Tool::Oha] };

    let mut rows = Vec::new();
    for tool in http {
        let mut sides = weir.as_ref().map_or_else(Vec::new, admitted);
        if *tool == Tool::Wrk {
            sides.extend(over_resp(&crab, &memory, &logged));
        }
        let base = throttlecrab(&crab, "admitted", PLENTY, MINUTE_SECS);
        rows.extend(measure(load, *tool, &base, &sides, rounds));
    }
    for tool in http {
        let base = throttlecrab(&crab, "refused", FEW, DAY_SECS);
        let sides: Vec<Side<'_>> = weir.as_ref().map(refused).into_iter().collect();
        rows.extend(measure(load, *tool, &base, &sides, rounds));
    }
    print(&rows);
    for server in [Some(crab.child), Some(memory.child), Some(logged.child), weir] {
        server.into_iter().for_each(Child::stop);
    }
}

fn does(who: &'static str, limits: usize, answer: &'static str) -> Does {
    Does { who, answer, protocol: "HTTP", store: IN_MEMORY, auth: "none", limits }
}

fn throttlecrab<'a>(
    crab: &'a Throttlecrab,
    answer: &'static str,
    capacity: u64,
    period_secs: u64,
) -> Side<'a> {
    let body = |key| {
        let body = json!({"key": format!("{answer}-{key}"), "max_burst": capacity,
            "count_per_period": capacity, "period": period_secs, "quantity": 1});
        body.to_string()
    };
    let request = Request {
        method: "POST",
        url: format!("{}/throttle", crab.child.origin),
        headers: vec!["content-type: application/json".to_owned()],
        bodies: (0..KEYS).map(body).collect(),
        fresh_ids: false,
        may_refuse: false,
    };
    Side {
        does: does("throttlecrab", 1, answer),
        server: &crab.child,
        refusals: Some(crab),
        ask: Ask::Http(request),
    }
}

/// Weir with one limit and with two, none of which is ever reached.
fn admitted(weir: &Child) -> Vec<Side<'_>> {
    servers::set_limits(weir, "gpt-4-one", &[("rpm", PLENTY)], MINUTE_SECS);
    servers::set_limits(weir, "gpt-4", &[("rpm", PLENTY), ("tpm", PLENTY)], MINUTE_SECS);
    let one = acquire(weir, "admitted", "gpt-4-one", &[("rpm", 1)]);
    vec![one, acquire(weir, "admitted", "gpt-4", &[("rpm", 1), ("tpm", 100)])]
}

/// Weir with two limits, one of which lets a user in twice a day.
fn refused(weir: &Child) -> Side<'_> {
    servers::set_limits(weir, "gpt-4-rare", &[("rpm", FEW), ("tpm", PLENTY)], DAY_SECS);
    acquire(weir, "refused", "gpt-4-rare", &[("rpm", 1), ("tpm", 100)])
}

fn acquire<'a>(
    weir: &'a Child,
    answer: &'static str,
    resource: &str,
    consume: &[(&str, u64)],
) -> Side<'a> {
    let consume: serde_json::Map<_, _> =
        consume.iter().map(|(limit, amount)| ((*limit).to_owned(), json!(amount))).collect();
    let limits = consume.len();
    let body = |key| {
        let body =
            json!({"entity": format!("user-{key}"), "resource": resource, "consume": consume});
        body.to_string()
    };
    let request = Request {
        method: "POST",
        url: format!("{}/v1/namespaces/default/acquire", weir.origin),
        headers: servers::weir_headers(),
        bodies: (0..KEYS).map(body).collect(),
        fresh_ids: false,
        may_refuse: answer == "refused",
    };
    let does = Does { store: ON_DISK, auth: "API key", ..does("weir", limits, answer) };
    Side { does, server: weir, refusals: None, ask: Ask::Http(request) }
}

/// The peers over Redis' protocol.
fn over_resp<'a>(crab: &'a Throttlecrab, memory: &'a Redis, logged: &'a Redis) -> Vec<Side<'a>> {
    let (much, minute) = (PLENTY.to_string(), MINUTE_SECS.to_string());
    let words = ["THROTTLE", "user-__rand_int__", &much, &much, &minute, "1"];
    let throttle = Side {
        does: Does { protocol: "RESP", ..does("throttlecrab", 1, "admitted") },
        server: &crab.child,
        refusals: Some(crab),
        ask: Ask::Resp(RespCommand::new(crab.resp_port, &words)),
    };
    let one = redis(memory, 1, IN_MEMORY);
    vec![throttle, one, redis(memory, 2, IN_MEMORY), redis(logged, 2, LOGGED)]
}

fn redis<'a>(redis: &'a Redis, limits: usize, store: &'static str) -> Side<'a> {
    let (much, minute_ms) = (PLENTY.to_string(), (MINUTE_SECS * 1000).to_string());
    let key = format!("{limits}:user-__rand_int__");
    let mut words = vec!["EVALSHA", redis.script.as_str(), "1", &key];
    for amount in ["1", "100"].iter().take(limits) {
        words.extend([amount, much.as_str(), &much, &minute_ms]);
    }
    Side {
        does: Does { protocol: "RESP", store, ..does("Redis, Lua", limits, "admitted") },
        server: &redis.child,
        refusals: None,
        ask: Ask::Resp(RespCommand::new(redis.port, &words)),
    }
}

fn measure(
    load: &Load,
    tool: Tool,
    base: &Side<'_>,
    sides: &[Side<'_>],
    rounds: usize,
) -> Vec<Row> {
    let all: Vec<&Side<'_>> = std::iter::once(base).chain(sides).collect();
    let names: Vec<String> = all.iter().map(|side| side.does.name()).collect();
    let runs: Vec<_> = all.iter().map(|side| || side.run(load, tool)).collect();
    let mut cases = names.iter().zip(&runs).map(|(name, run)| Case { name, run });
    let base = cases.next().expect("a base");
    println!("{}, {}", tool.name(), base.name);
    let told = rounds::beside(&base, &cases.collect::<Vec<_>>(), rounds);
    let row =
        |(side, told): (&Side<'_>, _)| Row { does: side.does.clone(), tool: side.tool(tool), told };
    all.into_iter().zip(told).map(row).collect()
}

impl Side<'_> {
    fn tool(&self, http: Tool) -> String {
        match self.ask {
            Ask::Http(_) => http.name(),
            Ask::Resp(_) => resp::TOOL.to_owned(),
        }
    }

    fn run(&self, load: &Load, tool: Tool) -> Answers {
        let refused = || self.refusals.map_or(0, Throttlecrab::refused);
        let (refused_before, used_before) = (refused(), self.server.processor_time());
        let answers = match &self.ask {
            Ask::Http(request) => load.run(tool, request),
            Ask::Resp(command) => command.run(load, KEYS),
        };
        let used = self.server.processor_time() - used_before;
        // A load generator does not wait for the last answers, which the server has counted.
        let refused = answers.refused + refused() - refused_before;
        Answers {
            refused: refused.min(answers.count),
            server_micros: used.as_secs_f64() * 1e6 / answers.count as f64,
            ..answers
        }
    }
}
