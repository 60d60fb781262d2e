//! What the disk allows.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long it is synced.
const LENGTH: Duration = Duration::from_secs(2);
/// Bytes between two syncs: about what 64 submissions are.
const RECORD: usize = 32 * 1024;

/// Appends and syncs, one after the other, and tells how often that goes and what it allows.
pub(super) fn tell(folder: &Path, connections: usize) {
    let mut file = std::fs::File::create(folder.join("synced")).expect("a file");
    let record = vec![7_u8; RECORD];
    let (begun, mut syncs) = (Instant::now(), 0_u32);
    while begun.elapsed() < LENGTH {
        file.write_all(&record).and_then(|()| file.sync_data()).expect("a sync");
        syncs += 1;
    }
    let rate = f64::from(syncs) / begun.elapsed().as_secs_f64();
    println!(
        "the disk syncs {} KiB {rate:.0} times a second; with {connections} submissions for each that is {:.0}/s, 60 % of \
         it {:.0}/s",
        RECORD / 1024,
        rate * connections as f64,
        rate * connections as f64 * 0.6
    );
}
