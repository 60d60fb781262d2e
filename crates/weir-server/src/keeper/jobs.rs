//! What the keeper does in the background.
//!
//! | job | does | where |
//! |---|---|---|
//! | `keeper-aggregate` | sums up what the counters' changes made dirty, every aggregate interval | follows the feed |
//! | `keeper-catch-up` | sums up today and yesterday of every org, for what the feed missed | alone |
//! | `keeper-notices` | sends signed notices to webhooks | everywhere |
//! | `keeper-prices` | fetches prices, once a day | alone |
//! | `keeper-export` | exports counters to object storage | alone |

use std::time::Duration;

use parking_lot::Mutex;
use weir_keeper::Keeper;
use weir_keeper::bounds::BOOK_BYTES_MAX;
use weir_keeper::export::Exports;
use weir_table::AnyBackend;

use super::deliver::Deliver;
use super::summing::{Aggregate, CatchUp};
use crate::outbound::Outbound;
use weir_framework::app::App;
use weir_framework::jobs::{Done, Failure, Jobs, Periodic, Result, Turn};

/// How long between two fetches of prices.
const PRICES_EVERY: Duration = Duration::from_secs(24 * 3600);
/// How long between two looks for days to export: they become final once a day, in each time zone.
const EXPORT_EVERY: Duration = Duration::from_secs(3600);
/// Orgs that a round of an export looks at.
const EXPORT_ORGS: u32 = 10;
const FILE: &str = "file://";

type Budgets = Keeper<AnyBackend>;

/// What jobs need to know beside the keeper.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) aggregate_every: Duration,
    pub(super) catch_up_every: Duration,
    pub(super) prices: Option<String>,
}

/// Declares the jobs of a keeper.
pub(super) fn declare(app: &App, keeper: &Budgets, wanted: &Wanted, jobs: Jobs) -> Jobs {
    let outbound = Outbound::new();
    let jobs = jobs
        .counting(Aggregate::new(app, keeper, wanted.aggregate_every))
        .periodic(CatchUp::new(app, keeper, wanted.catch_up_every))
        .periodic(Deliver::new(app, keeper.clone(), outbound.clone(), wanted.aggregate_every));
    let jobs = match &wanted.prices {
        Some(from) => {
            jobs.periodic(Prices { keeper: keeper.clone(), from: from.clone(), outbound })
        }
        None => jobs,
    };
    match app.kept::<Exports>() {
        Some(to) => jobs.periodic(Export {
            keeper: keeper.clone(),
            to: to.clone(),
            passed: Mutex::default(),
        }),
        None => jobs,
    }
}

/// Fetches prices. When that fails, those of before hold.
struct Prices {
    keeper: Budgets,
    from: String,
    outbound: Outbound,
}

impl Prices {
    async fn fetch(&self) -> Result<Vec<u8>> {
        if let Some(file) = self.from.strip_prefix(FILE) {
            let size = tokio::fs::metadata(file).await?.len();
            if size > BOOK_BYTES_MAX as u64 {
                return Err(Failure::new(format!(
                    "the file is longer than {BOOK_BYTES_MAX} bytes"
                )));
            }
            return Ok(tokio::fs::read(file).await?);
        }
        let answer = self.outbound.get(&self.from, BOOK_BYTES_MAX).await?;
        match answer.status.is_success() {
            true => Ok(answer.body.into()),
            false => Err(Failure::new(format!("the answer was {}", answer.status))),
        }
    }
}

impl Periodic for Prices {
    fn name(&self) -> &str {
        "keeper-prices"
    }

    fn every(&self) -> Duration {
        PRICES_EVERY
    }

    async fn run(&self, _: &Turn) -> Result<Done> {
        let models = self.keeper.refresh_prices(&self.fetch().await?).await?;
        Ok(Done::all(models as u64))
    }
}

/// Exports counters.
struct Export {
    keeper: Budgets,
    to: Exports,
    /// Where the next round goes on.
    passed: Mutex<Option<String>>,
}

impl Periodic for Export {
    fn name(&self) -> &str {
        "keeper-export"
    }

    fn every(&self) -> Duration {
        EXPORT_EVERY
    }

    async fn run(&self, _: &Turn) -> Result<Done> {
        let cursor = self.passed.lock().take();
        let exported = self.keeper.export_counters(&self.to, EXPORT_ORGS, cursor).await?;
        // Orgs that are behind go on in the next pass over all of them.
        let more = exported.next.is_some();
        let behind = exported.behind_days;
        let detail = (behind > 0).then(|| format!("an org is {behind} days behind"));
        *self.passed.lock() = exported.next;
        Ok(Done { items: exported.objects, more, detail })
    }
}
