//! The routes of Weir's server beside the bare one.

use std::io::Write as _;

use comfy_table::{Cell, CellAlignment, Table};
use serde_json::{Value, json};

use super::child::Child;
use super::counters::NAMESPACE;
use super::load::{Answers, Load, Request, Tool};
use super::server::ADMIN_KEY;

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

struct Row {
    server: &'static str,
    route: &'static str,
    tool: Tool,
    answers: Answers,
    /// Beside the mean of the bare runs before and after.
    ratio: Option<f64>,
    counts: bool,
}

pub(super) fn run(load: &Load, bare: &Child, weir: &Child, quick: bool) {
    let hello = Request {
        method: "GET",
        url: bare.origin.clone(),
        ..Request::default()
    };
    let routes = routes(weir);
    let tools: &[Tool] = if quick {
        &[Tool::Wrk]
    } else {
        &[Tool::Wrk, Tool::Oha]
    };
    let mut rows = Vec::new();
    for tool in tools {
        rows.extend(closed_loop(load, *tool, &hello, &routes));
    }
    if !quick {
        rows.extend(open_loop(load, &hello, &routes, &rows));
    }
    print(&rows);
    for tool in tools {
        print_noise(*tool, &rows);
    }
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
            body: "",
        },
        counts: false,
    };
    let mut read = route("read of the store", &counter, vec![token.clone()]);
    read.counts = true;
    let mut write = route(
        "write to the store",
        &counter,
        vec![token.clone(), json_body],
    );
    write.counts = true;
    write.request.method = "POST";
    write.request.body = r#"{"by":1}"#;
    let open = route("hello, open", "/hello", Vec::new());
    let routes = vec![
        open,
        route("hello, token", &guarded, vec![token]),
        read,
        write,
    ];
    for Route { request, .. } in &routes {
        let path = request.url.trim_start_matches(&weir.origin);
        weir.ask(request.method, path, &request.headers, request.body);
    }
    routes
}

/// Bare, a route, bare, the next route, …, bare.
fn closed_loop(load: &Load, tool: Tool, hello: &Request, routes: &[Route]) -> Vec<Row> {
    let mut rows = vec![bare_row(load, tool, hello)];
    for route in routes {
        let answers = load.run(tool, &route.request);
        let after = bare_row(load, tool, hello);
        let before = rows
            .last()
            .map_or(after.answers.rate, |row| row.answers.rate);
        let row = Row {
            server: "weir",
            route: route.name,
            tool,
            answers,
            ratio: Some(answers.rate * 2.0 / (before + after.answers.rate)),
            counts: route.counts,
        };
        progress(&row);
        rows.extend([row, after]);
    }
    rows
}

fn bare_row(load: &Load, tool: Tool, hello: &Request) -> Row {
    let row = Row {
        server: "bare axum",
        route: "hello",
        tool,
        answers: load.run(tool, hello),
        ratio: None,
        counts: false,
    };
    progress(&row);
    row
}

/// Each at about half of what oha measured of it.
fn open_loop(load: &Load, hello: &Request, routes: &[Route], measured: &[Row]) -> Vec<Row> {
    let half = |name: &str| {
        let of_it = |row: &&Row| row.tool == Tool::Oha && row.route == name;
        let row = measured.iter().rfind(of_it).expect("a closed loop");
        Tool::OhaAt((row.answers.rate * OPEN_LOOP).round())
    };
    let mut rows = vec![bare_row(load, half("hello"), hello)];
    for route in routes {
        let tool = half(route.name);
        let row = Row {
            server: "weir",
            route: route.name,
            tool,
            answers: load.run(tool, &route.request),
            ratio: None,
            counts: false,
        };
        progress(&row);
        rows.push(row);
    }
    rows
}

fn progress(row: &Row) {
    let (tool, rate) = (row.tool.name(), row.answers.rate);
    println!("  {}, {}, {tool}: {rate:.0}/s", row.server, row.route);
    std::io::stdout().flush().expect("stdout");
}

fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "server", "route", "tool", "req/s", "p50 ms", "p99 ms", "of bare", "target",
    ]);
    for row in rows {
        let target = match row.ratio {
            Some(ratio) if row.counts && ratio >= TARGET => "≥ 45 %: met",
            Some(_) if row.counts => "≥ 45 %: missed",
            _ => "",
        };
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(row.server),
            Cell::new(row.route),
            Cell::new(row.tool.name()),
            right(format!("{:.0}", row.answers.rate)),
            right(format!("{:.2}", row.answers.p50_ms)),
            right(format!("{:.2}", row.answers.p99_ms)),
            right(
                row.ratio
                    .map_or(String::new(), |ratio| format!("{:.0} %", ratio * 100.0)),
            ),
            Cell::new(target),
        ]);
    }
    println!("{table}");
}

/// How far the runs of the bare server lay apart: a ratio is no better than that.
fn print_noise(tool: Tool, rows: &[Row]) {
    let bare = |row: &&Row| row.tool == tool && row.server == "bare axum";
    let rates = rows.iter().filter(bare).map(|row| row.answers.rate);
    let least = rates.clone().fold(f64::INFINITY, f64::min);
    let most = rates.fold(0.0, f64::max);
    println!(
        "noise: the bare runs of {} lay between {least:.0}/s and {most:.0}/s",
        tool.name()
    );
}
