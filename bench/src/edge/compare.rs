//! The routes of Weir's server beside the bare one.

use comfy_table::{Cell, CellAlignment, Table};
use serde_json::{Value, json};

use super::counters::NAMESPACE;
use super::server::ADMIN_KEY;
use crate::child::Child;
use crate::load::{Load, Request, Tool};
use crate::rounds::{self, Case, Told};

/// What the routes with the store behind them should reach of the bare server's rate.
const TARGET: f64 = 0.45;
/// How full an open loop keeps the server.
const OPEN_LOOP: f64 = 0.5;

/// A route that is measured.
struct Route {
    name: &'static str,
    request: Request,
    /// Whether the target is for this one.
    counts: bool,
}

/// What the rounds of a route came to.
struct Row {
    server: &'static str,
    route: &'static str,
    tool: Tool,
    told: Told,
    counts: bool,
}

pub(super) fn run(load: &Load, bare: &Child, weir: &Child, rounds: usize, quick: bool) {
    let hello = Request { method: "GET", url: bare.origin.clone(), ..Request::default() };
    let routes = routes(weir);
    let tools: &[Tool] = match quick {
        true => &[Tool::Wrk],
        false => &[Tool::Wrk, Tool::Oha],
    };
    let mut rows = Vec::new();
    for tool in tools {
        rows.extend(closed_loop(load, *tool, &hello, &routes, rounds));
    }
    if !quick {
        rows.extend(open_loop(load, &hello, &routes, &rows));
    }
    print(&rows);
}

/// The routes, each of which has answered once.
fn routes(weir: &Child) -> Vec<Route> {
    let new = json!({"name": "bench", "scope": format!("ns:{NAMESPACE}"), "expires_in": 36_000});
    let json_body = "content-type: application/json".to_owned();
    let admin = [format!("x-api-key: {ADMIN_KEY}"), json_body.clone()];
    let made = weir.ask("POST", "/v1/tokens", &admin, &new.to_string());
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let token = made.get("access_token").and_then(Value::as_str);
    let token = format!("authorization: Bearer {}", token.expect("a token"));

    let counter = format!("/v1/namespaces/{NAMESPACE}/counters/7");
    let guarded = format!("/v1/namespaces/{NAMESPACE}/hello");
    let route = |name, path: &str, headers: Vec<String>| Route {
        name,
        request: Request {
            method: "GET",
            url: format!("{}{path}", weir.origin),
            headers,
            ..Request::default()
        },
        counts: false,
    };
    let mut read = route("read of the store", &counter, vec![token.clone()]);
    read.counts = true;
    let mut write = route("write to the store", &counter, vec![token.clone(), json_body]);
    write.counts = true;
    write.request.method = "POST";
    write.request.bodies = vec![r#"{"by":1}"#.to_owned()];
    let open = route("hello, open", "/hello", Vec::new());
    let routes = vec![open, route("hello, token", &guarded, vec![token]), read, write];
    for Route { request, .. } in &routes {
        let path = request.url.trim_start_matches(&weir.origin);
        weir.ask(request.method, path, &request.headers, &request.bodies.concat());
    }
    routes
}

fn closed_loop(
    load: &Load,
    tool: Tool,
    hello: &Request,
    routes: &[Route],
    rounds: usize,
) -> Vec<Row> {
    let run_hello = || load.run(tool, hello);
    let base = Case { name: "hello", run: &run_hello };
    let runs: Vec<_> = routes.iter().map(|route| || load.run(tool, &route.request)).collect();
    let cases = routes.iter().zip(&runs).map(|(route, run)| Case { name: route.name, run });
    println!("{}", tool.name());
    let told = rounds::beside(&base, &cases.collect::<Vec<_>>(), rounds);
    let names = std::iter::once(("bare axum", "hello", false));
    let names = names.chain(routes.iter().map(|route| ("weir", route.name, route.counts)));
    let row = |((server, route, counts), told)| Row { server, route, tool, told, counts };
    names.zip(told).map(row).collect()
}

/// Each at about half of what oha measured of it.
fn open_loop(load: &Load, hello: &Request, routes: &[Route], measured: &[Row]) -> Vec<Row> {
    let all = std::iter::once(("bare axum", "hello", hello));
    let all = all.chain(routes.iter().map(|route| ("weir", route.name, &route.request)));
    let open = |(server, name, request)| {
        let of_it = |row: &&Row| row.tool == Tool::Oha && row.route == name;
        let row = measured.iter().find(of_it).expect("a closed loop");
        let tool = Tool::OhaAt((row.told.answers.rate * OPEN_LOOP).round());
        let answers = load.run(tool, request);
        println!("  {name}, {}: {:.0}/s", tool.name(), answers.rate);
        Row { server, route: name, tool, told: Told::of(&[answers], Vec::new()), counts: false }
    };
    all.map(open).collect()
}

fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "server", "route", "tool", "req/s", "p50 ms", "p99 ms", "of bare", "range", "target",
    ]);
    for row in rows {
        let (answers, ratio) = (row.told.answers, row.told.ratio());
        let target = match ratio {
            Some(ratio) if row.counts && ratio >= TARGET => "≥ 45 %: met",
            Some(_) if row.counts => "≥ 45 %: missed",
            _ => "",
        };
        // The bare server beside itself: its range is the noise.
        let ratio = ratio.filter(|_| row.server == "weir");
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(row.server),
            Cell::new(row.route),
            Cell::new(row.tool.name()),
            right(format!("{:.0}", answers.rate)),
            right(format!("{:.2}", answers.p50_ms)),
            right(format!("{:.2}", answers.p99_ms)),
            right(ratio.map_or(String::new(), |ratio| format!("{:.0} %", ratio * 100.0))),
            right(row.told.range()),
            Cell::new(target),
        ]);
    }
    println!("{table}");
    println!(
        "figures are the middle ones of all rounds; the range of the bare rows, beside their own first, is the noise"
    );
}
