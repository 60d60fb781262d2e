//! `weir-bench keeper`: submissions and model selections over HTTP, on the embedded store.
//!
//! The server syncs a submission to disk before it responds, so the benchmark also prints how many
//! syncs per second the disk can do.

mod disk;
mod tenant;

use std::path::Path;

use self::tenant::Tenant;
use crate::child::Child;
use crate::compare::{self, Case, Options};
use crate::pinning::Pinning;
use crate::weir;

/// Submissions in a batch.
const BATCH: u64 = 100;
/// Disables the rates per client, which a load generator exceeds.
const SETTINGS: [(&str, &str); 2] =
    [("WEIR_KEEPER_SELECTION_RATE", "0"), ("WEIR_KEEPER_SUBMISSION_RATE", "10000000")];

/// Arguments of `weir-bench keeper`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(Args { options }: &Args) {
    // The data folder is on the project's disk, because /tmp may be memory.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let (pinning, quick) = (options.pinning(), options.quick);
    let start = |binary: &Path, data: &Path| start(pinning, binary, data, quick);
    let contenders = options.contenders(Vec::new(), start);
    compare::run(options, None, folder.path(), &contenders);
    if !quick && options.weir_before.is_none() {
        disk::print_sync_rate(folder.path(), options.connections);
    }
}

fn start(pinning: Pinning, binary: &Path, data: &Path, quick: bool) -> (Child, Vec<Case>) {
    let server = weir::start(pinning, binary, data, &SETTINGS);
    let org = Tenant::create(&server, "550e8400-e29b-41d4-a716-446655440000", "ORG");
    let mut cases = vec![
        Case::http("model selection", org.selection(&server, None)),
        Case::http("submission", org.submission(&server)),
    ];
    if !quick {
        let app = Tenant::create(&server, "550e8400-e29b-41d4-a716-446655440001", "APP");
        let etag = app.selection_etag(&server);
        let batch = app.batch(&server, BATCH);
        cases.extend([
            Case::http("model selection, quota per app", app.selection(&server, None)),
            Case::http("model selection, not modified", app.selection(&server, Some(&etag))),
            Case::http("submission, quota per app", app.submission(&server)),
            Case::http("submissions in batches of 100", batch).operations(BATCH),
        ]);
    }
    (server, cases)
}
