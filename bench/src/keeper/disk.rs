//! The rate at which the disk syncs, which bounds submissions.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_secs(2);
/// Bytes between two syncs: about the size of 64 submissions.
const RECORD_BYTES: usize = 32 * 1024;

/// Appends and syncs in a loop, and prints the rate and the submissions per second it allows.
pub(super) fn print_sync_rate(folder: &Path, connections: usize) {
    let mut file = std::fs::File::create(folder.join("synced")).expect("a file");
    let record = vec![7_u8; RECORD_BYTES];
    let (begin, mut syncs) = (Instant::now(), 0_u32);
    while begin.elapsed() < LENGTH {
        file.write_all(&record).and_then(|()| file.sync_data()).expect("a sync");
        syncs += 1;
    }
    let rate = f64::from(syncs) / begin.elapsed().as_secs_f64();
    println!(
        "The disk syncs {} KiB {rate:.0} times per second. With {connections} submissions per sync \
         that allows {:.0} submissions per second.",
        RECORD_BYTES / 1024,
        rate * connections as f64,
    );
}
