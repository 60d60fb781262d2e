//! Recounts of counters that go up and down.

use weir_api::practice::{CounterRecount, RecountCountersRequest, RecountCountersResponse};

use crate::commands::api_context::{ApiContext, header};
use crate::failure::Failure;
use crate::output;

/// Counts again, and shows each counter. Fails when a counter differs and stays so, so that a script sees it.
pub(super) async fn recount(
    context: &ApiContext<'_>,
    path: &str,
    repair: bool,
) -> Result<(), Failure> {
    let request = RecountCountersRequest { repair };
    let mut recounted: RecountCountersResponse = context.api.post(path, &request).await?;
    // The shorter name first, so that plan 2 comes before plan 10.
    recounted.counters.sort_by_cached_key(|one| (one.counter.len(), one.counter.clone()));
    context.print(&recounted, |recounted| counters(&recounted.counters))?;
    let wrong = |one: &&CounterRecount| one.counted != one.found && !one.is_repaired;
    match recounted.counters.iter().filter(wrong).count() as u64 {
        0 => Ok(()),
        count => Err(Failure::differs(format!(
            "{} from what was counted",
            if count == 1 {
                "1 counter differs".to_owned()
            } else {
                format!("{count} counters differ")
            }
        ))
        .help("correct them with --repair")),
    }
}

fn counters(all: &[CounterRecount]) -> std::io::Result<()> {
    let rows = all.iter().map(|one| {
        vec![
            one.counter.clone(),
            output::thousands(one.counted),
            output::thousands(one.found),
            output::thousands(one.uncounted),
            output::yes_or_no(one.is_repaired),
        ]
    });
    output::table(
        header(["counter", "counted", "found", "not counted", "corrected"]),
        rows,
        &[1, 2, 3],
    )
}
