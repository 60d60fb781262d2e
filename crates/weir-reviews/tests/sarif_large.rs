//! A file as large as allowed is read in little memory. It is the only test of its program, because it measures the process.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like the tests"
)]

use std::io::{self, Read};

use weir_reviews::Error;
use weir_reviews::bounds::{FINDINGS_MAX, SARIF_BYTES_MAX};
use weir_reviews::finding::Severity;
use weir_reviews::sarif::{self, Excess, ReadOptions};

const RESULTS: u64 = 100_000;
/// How much more memory the process may use, in KiB. The file is 50 MiB.
const GROWTH_MAX_KIB: u64 = 16 * 1024;

/// Writes a file while it is read: its rules stand behind its results, as some linters write them.
struct Generated {
    part: Vec<u8>,
    at: usize,
    next: u64,
    written: u64,
}

impl Generated {
    fn new() -> Generated {
        let part = br#"{"version":"2.1.0","runs":[{"results":["#.to_vec();
        Generated { part, at: 0, next: 0, written: 0 }
    }

    fn refill(&mut self) {
        let index = self.next;
        self.next += 1;
        self.at = 0;
        self.part = match index {
            index if index < RESULTS => result(index).into_bytes(),
            RESULTS => br#"],"tool":{"driver":{"name":"lint","rules":[{"id":"R"}]}}}]}"#.to_vec(),
            _ => Vec::new(),
        };
    }
}

fn result(index: u64) -> String {
    let level = if index % 1_000 == 999 { "error" } else { "note" };
    let comma = if index == 0 { "" } else { "," };
    let text = "lorem ipsum ".repeat(20);
    format!(
        r#"{comma}{{"ruleId":"R","level":"{level}","message":{{"text":"{index} {text}"}},"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"src/f{index}.py"}},"region":{{"startLine":{},"snippet":{{"text":"{}"}}}}}}}}]}}"#,
        index % 500 + 1,
        "x".repeat(85)
    )
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.len() {
            self.refill();
        }
        let count = (&self.part[self.at..]).read(buffer)?;
        self.at += count;
        self.written += count as u64;
        Ok(count)
    }
}

/// The most memory that the process ever used, in KiB.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_file_of_50_mb_is_read_in_little_memory() {
    let before = peak_memory_kib();
    let mut file = Generated::new();
    let keep = ReadOptions { on_excess: Excess::KeepWorst, ..ReadOptions::default() };
    let models = sarif::read(&mut file, &keep).unwrap();
    let growth = peak_memory_kib() - before;
    println!("{} bytes, {growth} KiB", file.written);
    assert!(
        (SARIF_BYTES_MAX / 20 * 19..=SARIF_BYTES_MAX).contains(&file.written),
        "{}",
        file.written
    );
    assert!(growth <= GROWTH_MAX_KIB, "{growth} KiB");

    let [model] = models.as_slice() else { panic!("{} models", models.len()) };
    assert_eq!(model.findings.len(), FINDINGS_MAX);
    assert_eq!(model.skipped.over_bound, RESULTS - FINDINGS_MAX as u64);
    let errors = model.findings.iter().filter(|found| found.severity == Severity::High);
    assert_eq!(errors.count() as u64, RESULTS / 1_000);

    // Otherwise reading ends at the first result that is too many.
    let mut file = Generated::new();
    let error = sarif::read(&mut file, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(file.next < FINDINGS_MAX as u64 + 100, "{} results were read", file.next);
}
