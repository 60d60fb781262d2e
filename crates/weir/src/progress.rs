//! Progress bars, on terminals only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

const TICK: Duration = Duration::from_millis(120);

/// A bar of bytes.
pub(crate) fn bytes(title: &str) -> ProgressBar {
    bar(title, Some(0), "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
}

/// A bar of items; only a count if the total is unknown.
pub(crate) fn items(title: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix} {bar:30} {human_pos}/{human_len} items {rate} {eta}",
        None => "{prefix} {spinner} {human_pos} items {rate}",
    };
    bar(title, total, template)
}

/// A bar of hours that are written.
pub(crate) fn hours(total: u64) -> ProgressBar {
    bar("demo data", Some(total), "{prefix} {bar:30} {human_pos}/{human_len} hours {eta}")
}

fn bar(title: &str, total: Option<u64>, template: &str) -> ProgressBar {
    let bar = match total {
        Some(total) => ProgressBar::new(total),
        None => ProgressBar::new_spinner(),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("rate", rate));
    }
    bar.set_prefix(title.to_owned());
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

/// Whole items per second.
fn rate(state: &ProgressState, text: &mut dyn std::fmt::Write) {
    write!(text, "{:.0}/s", state.per_sec()).ok();
}
