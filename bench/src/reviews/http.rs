//! Recordings through `weir serve`: JSON, HTTP and authorization included. Each request has a connection of its own.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weir_reviews::finding::Finding;
use weir_reviews::record::{NewResponse, NewReview};

use super::generate;
use super::recording::{COLUMNS, DIFFERENT, Recording, SHAPES, WRITERS};
use super::table;
use crate::measure::{scatter, threads};
use crate::pinning::Pinning;
use crate::weir;

pub(super) fn run(folder: &Path, binary: &Path, length: Duration) {
    let mut rows = table(COLUMNS);
    for shape in SHAPES {
        let body = |seed| {
            to_json(&generate::review(&mut fastrand::Rng::with_seed(seed), shape, None)).to_string()
        };
        let bodies: Vec<String> = (0..DIFFERENT).map(body).collect();
        for writers in WRITERS {
            let data = folder.join("http");
            let server = weir::start(Pinning::Unpinned, binary, &data, &[]);
            let before = server.cpu_time();
            let figures = threads(writers, length, |caller, n| {
                let number = (scatter(caller, n) % DIFFERENT) as usize;
                let body = bodies.get(number).expect("a body");
                server.send("POST", "/v1/reviews", &weir::admin_headers(), body);
            });
            let cpu_time = server.cpu_time() - before;
            rows.add_row(Recording { shape, writers, figures, cpu_time }.cells());
            server.stop();
            std::fs::remove_dir_all(&data).expect("the folder goes");
        }
    }
    println!("Through the server, each request on a new connection:\n{rows}");
}

fn to_json(review: &NewReview) -> Value {
    let of = &review.head.pull_request;
    let responses: Vec<Value> = review.responses.iter().map(response).collect();
    json!({"owner": of.owner.as_str(), "repo": of.repo.as_str(), "pr_number": of.number, "pr_title": of.title,
        "pr_url": of.url, "files": of.files, "responses": responses})
}

fn response(of: &NewResponse) -> Value {
    let findings: Vec<Value> = of.findings.iter().map(finding).collect();
    json!({"model_id": of.model.as_str(), "status": "success", "input_tokens": of.input_tokens,
        "output_tokens": of.output_tokens, "latency_ms": of.latency_ms, "cost_usd": of.cost.to_string(),
        "findings": findings})
}

fn finding(of: &Finding) -> Value {
    json!({"finding_id": of.id.as_str(), "severity": of.severity.as_str(),
        "category": of.category.as_ref().map(|category| category.as_str()), "file_path": of.file_path,
        "line_start": of.line_start, "line_end": of.line_end, "title": of.title,
        "description": of.description, "suggestion": of.suggestion})
}
