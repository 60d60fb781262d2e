//! `weir-bench edge`: the cost of the HTTP edge, compared with a bare axum server in the same run.
//!
//! The routes of `weir serve` add one thing each: the edge alone, authentication, a read of the
//! store, a write. [`footprint`] measures memory, startup and size.

pub(crate) mod bare;
mod footprint;

use std::path::Path;

use serde_json::{Value, json};

use crate::child::Child;
use crate::compare::{self, Case, Contender, Options};
use crate::load::Request;
use crate::pinning::Pinning;
use crate::weir;

const ENTITY: &str = "/v1/namespaces/default/entities/user-0";
const RESOURCE: &str = "gpt-4";
/// A limit that is never reached.
const PLENTY: u64 = 1_000_000_000;
const MINUTE_SECS: u64 = 60;
const TOKEN_SECS: u64 = 36_000;

/// Arguments of `weir-bench edge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: Options,
    /// Send so many requests per second with oha, and count latencies from when each was due.
    #[arg(long)]
    rate: Option<f64>,
}

pub(crate) fn run(args: &Args) {
    let options = &args.options;
    let pinning = options.pinning();
    // The data folder is on the project's disk, because /tmp may be memory.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let bare = Contender { name: "bare axum", start: Box::new(move |_| bare::start(pinning)) };
    let contenders = options.contenders(vec![bare], |binary, data| start(pinning, binary, data));
    compare::run(options, args.rate, folder.path(), &contenders);
    if !options.quick && options.weir_before.is_none() {
        footprint::run(folder.path(), &options.weir());
    }
}

fn start(pinning: Pinning, binary: &Path, data: &Path) -> (Child, Vec<Case>) {
    let server = weir::start(pinning, binary, data, &[]);
    weir::set_limits(&server, RESOURCE, &[("rpm", PLENTY)], MINUTE_SECS);
    weir::admin(&server, "PUT", ENTITY, &json!({}));
    let token = token(&server);
    let get = |path: &str, headers: &[String]| Request {
        method: "GET",
        url: format!("{}{path}", server.origin),
        headers: headers.to_vec(),
        ..Request::default()
    };
    let write = Request {
        headers: vec![token.clone(), weir::JSON.to_owned()],
        ..weir::acquire(&server, 1, RESOURCE, &[("rpm", 1)])
    };
    let authorized = [token];
    let cases = vec![
        Case::http("public route", get("/healthz", &[])),
        Case::http("authenticated route", get("/v1/whoami", &authorized)),
        Case::http("store read", get(ENTITY, &authorized)),
        Case::http("store write", write),
    ];
    (server, cases.into_iter().map(|case| case.against(bare::CASE)).collect())
}

/// The header of a token for the default namespace.
fn token(server: &Child) -> String {
    let body = json!({"name": "bench", "scope": "ns:default", "expires_in": TOKEN_SECS});
    let created: Value = weir::admin(server, "POST", "/v1/tokens", &body);
    format!("authorization: Bearer {}", weir::text(&created, "/access_token"))
}
