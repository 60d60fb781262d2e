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

/// What the rounds of a route came to.
struct Row {
    server: &'static str,
    route: &'static str,
    tool: Tool,
    /// The middle ones of all rounds.
    answers: Answers,
    /// Beside the mean of the bare runs before and after: of every round, in order of size.
    ratios: Vec<f64>,
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
            body: "",
        },
        counts: false,
    };
    let mut read = route("read of the store", &counter, vec![token.clone()]);
    read.counts = true;
    let mut write = route("write to the store", &counter, vec![token.clone(), json_body]);
    write.counts = true;
    write.request.method = "POST";
    write.request.body = r#"{"by":1}"#;
    let open = route("hello, open", "/hello", Vec::new());
    let routes = vec![open, route("hello, token", &guarded, vec![token]), read, write];
    for Route { request, .. } in &routes {
        let path = request.url.trim_start_matches(&weir.origin);
        weir.ask(request.method, path, &request.headers, request.body);
    }
    routes
}

/// Bare, a route, bare, the next route, …, bare; and that a few times, because what else a machine
/// does comes and goes.
fn closed_loop(
    load: &Load,
    tool: Tool,
    hello: &Request,
    routes: &[Route],
    rounds: usize,
) -> Vec<Row> {
    let mut bare = vec![load.run(tool, hello)];
    let mut measured: Vec<(Vec<Answers>, Vec<f64>)> = vec![Default::default(); routes.len()];
    for round in 1..=rounds {
        for (route, (answers, ratios)) in routes.iter().zip(&mut measured) {
            let before = bare.last().map_or(f64::NAN, |bare| bare.rate);
            let told = load.run(tool, &route.request);
            let after = load.run(tool, hello);
            let ratio = told.rate * 2.0 / (before + after.rate);
            progress(&format!("round {round}, {}", route.name), tool, told, Some(ratio));
            answers.push(told);
            ratios.push(ratio);
            bare.push(after);
        }
    }
    let first = bare.first().map_or(f64::NAN, |bare| bare.rate);
    let to_first = bare.iter().map(|bare| bare.rate / first).collect();
    let mut rows = vec![Row::new("bare axum", "hello", tool, &bare, to_first, false)];
    for (route, (answers, ratios)) in routes.iter().zip(measured) {
        let row = Row::new("weir", route.name, tool, &answers, ratios, route.counts);
        rows.push(row);
    }
    rows
}

impl Row {
    fn new(
        server: &'static str,
        route: &'static str,
        tool: Tool,
        answers: &[Answers],
        mut ratios: Vec<f64>,
        counts: bool,
    ) -> Row {
        ratios.sort_by(f64::total_cmp);
        let of = |figure: fn(&Answers) -> f64| {
            let mut all: Vec<f64> = answers.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            middle(&all).unwrap_or(f64::NAN)
        };
        Row {
            server,
            route,
            tool,
            answers: Answers {
                rate: of(|answers| answers.rate),
                p50_ms: of(|answers| answers.p50_ms),
                p99_ms: of(|answers| answers.p99_ms),
            },
            ratios,
            counts,
        }
    }
}

fn middle(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

/// Each at about half of what oha measured of it.
fn open_loop(load: &Load, hello: &Request, routes: &[Route], measured: &[Row]) -> Vec<Row> {
    let all = std::iter::once(("bare axum", "hello", hello));
    let all = all.chain(routes.iter().map(|route| ("weir", route.name, &route.request)));
    let open = |(server, name, request)| {
        let of_it = |row: &&Row| row.tool == Tool::Oha && row.route == name;
        let row = measured.iter().find(of_it).expect("a closed loop");
        let tool = Tool::OhaAt((row.answers.rate * OPEN_LOOP).round());
        let answers = load.run(tool, request);
        progress(name, tool, answers, None);
        Row::new(server, name, tool, &[answers], Vec::new(), false)
    };
    all.map(open).collect()
}

fn progress(what: &str, tool: Tool, answers: Answers, ratio: Option<f64>) {
    let (tool, rate) = (tool.name(), answers.rate);
    let ratio = ratio.map_or(String::new(), |ratio| format!(", {:.0} %", ratio * 100.0));
    println!("  {what}, {tool}: {rate:.0}/s{ratio}");
    std::io::stdout().flush().expect("stdout");
}

fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "server", "route", "tool", "req/s", "p50 ms", "p99 ms", "of bare", "range", "target",
    ]);
    for row in rows {
        let ratio = middle(&row.ratios);
        let target = match ratio {
            Some(ratio) if row.counts && ratio >= TARGET => "≥ 45 %: met",
            Some(_) if row.counts => "≥ 45 %: missed",
            _ => "",
        };
        let range = match (row.ratios.first(), row.ratios.last()) {
            (Some(least), Some(most)) => format!("{:.0}–{:.0} %", least * 100.0, most * 100.0),
            _ => String::new(),
        };
        // The bare server beside itself: its range is the noise.
        let ratio = ratio.filter(|_| row.server == "weir");
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(row.server),
            Cell::new(row.route),
            Cell::new(row.tool.name()),
            right(format!("{:.0}", row.answers.rate)),
            right(format!("{:.2}", row.answers.p50_ms)),
            right(format!("{:.2}", row.answers.p99_ms)),
            right(ratio.map_or(String::new(), |ratio| format!("{:.0} %", ratio * 100.0))),
            right(range),
            Cell::new(target),
        ]);
    }
    println!("{table}");
    println!(
        "figures are the middle ones of all rounds; the range of the bare rows, beside their own first, is the noise"
    );
}
