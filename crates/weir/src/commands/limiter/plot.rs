//! Usage as bars.

use std::collections::{BTreeMap, BTreeSet};

use weir_api::limiter::{UsageSnapshot, UsageWindow};

use crate::commands::api_context::tokens;
use crate::{bars, output};

/// Draws one bar per window for each limit; entities and resources are summed.
pub(super) fn usage(snapshots: &[UsageSnapshot]) -> std::io::Result<()> {
    let names: BTreeSet<&String> = snapshots.iter().flat_map(|one| one.used.keys()).collect();
    if names.is_empty() {
        return output::line("no usage");
    }
    for name in names {
        output::line(name)?;
        for line in bars::lines(&sums(snapshots, name), tokens) {
            output::line(line)?;
        }
    }
    Ok(())
}

/// Tokens used of a limit, by window.
fn sums(snapshots: &[UsageSnapshot], name: &str) -> Vec<(String, i64)> {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for snapshot in snapshots {
        let sum = sums.entry(window_label(snapshot)).or_default();
        *sum = sum.saturating_add(snapshot.used.get(name).copied().unwrap_or_default());
    }
    sums.into_iter().map(|(label, sum)| (label.to_owned(), sum)).collect()
}

/// The start of a window, as precise as its length: `2026-01-15T12:00`, `2026-01-15`, `2026-01`.
pub(super) fn window_label(snapshot: &UsageSnapshot) -> &str {
    let characters = match snapshot.window {
        UsageWindow::Hourly => "2026-01-15T12:00".len(),
        UsageWindow::Daily => "2026-01-15".len(),
        UsageWindow::Monthly => "2026-01".len(),
    };
    snapshot.start.get(..characters).unwrap_or(&snapshot.start)
}
