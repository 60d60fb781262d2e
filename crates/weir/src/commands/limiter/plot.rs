//! Usage as bars.

use std::collections::{BTreeMap, BTreeSet};

use weir_server::limiter::shapes::LimitName;
use weir_server::limiter::usage::{Snapshot, Window};

use crate::commands::api_context::tokens;
use crate::{bars, output};

/// Draws each limit: a bar for each window, entities and resources together.
pub(super) fn usage(snapshots: &[Snapshot]) -> std::io::Result<()> {
    let names: BTreeSet<&LimitName> = snapshots.iter().flat_map(|one| one.used.keys()).collect();
    if names.is_empty() {
        return output::line("nothing was used");
    }
    for name in names {
        output::line(name.as_str())?;
        for line in bars::lines(&sums(snapshots, name), tokens) {
            output::line(line)?;
        }
    }
    Ok(())
}

/// What was used of a limit, by window.
fn sums(snapshots: &[Snapshot], name: &LimitName) -> Vec<(String, i64)> {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for snapshot in snapshots {
        let sum = sums.entry(short(&snapshot.start, snapshot.window)).or_default();
        *sum = sum.saturating_add(snapshot.used.get(name).copied().unwrap_or_default());
    }
    sums.into_iter().map(|(start, sum)| (start.to_owned(), sum)).collect()
}

/// A window's beginning, as far as it matters.
pub(super) fn short(start: &str, window: Window) -> &str {
    let characters = match window {
        Window::Hourly => "2026-01-15T12:00".len(),
        Window::Daily => "2026-01-15".len(),
        Window::Monthly => "2026-01".len(),
    };
    start.get(..characters).unwrap_or(start)
}
