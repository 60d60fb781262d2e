//! Background jobs of the keeper.
//!
//! | job | does | where |
//! |---|---|---|
//! | `keeper-aggregate` | updates totals from changed counters, every aggregate interval | follows the change feed |
//! | `keeper-catch-up` | updates totals of today and yesterday of every org, in case the feed missed a change | one instance |
//! | `keeper-notices` | sends signed notices to webhooks | every instance |
//! | `keeper-prices` | downloads prices, once a day | one instance |
//! | `keeper-purge` | removes orgs and apps that were deleted 30 days ago | one instance |
//! | `keeper-export` | exports counters to object storage | one instance |

use std::time::Duration;

use parking_lot::Mutex;
use weir_keeper::Keeper;
use weir_keeper::bounds::BOOK_BYTES_MAX;
use weir_keeper::export::ExportTarget;
use weir_table::AnyBackend;

use super::deletion::Purge;
use super::deliver::{Deliver, WebhookSender};
use super::http_client::{HttpClient, send};
use super::summing::{Aggregate, CatchUp};
use weir_framework::app::App;
use weir_framework::jobs::{Done, Failure, Jobs, PeriodicJob, Result, RunContext};

/// Interval between two downloads of prices.
const PRICES_EVERY: Duration = Duration::from_secs(24 * 3600);
/// Interval between two searches for days to export: a day becomes final once, in each time zone.
const EXPORT_EVERY: Duration = Duration::from_secs(3600);
/// Orgs that one run of the export visits.
const EXPORT_ORGS: u32 = 10;
const FILE: &str = "file://";

type Budgets = Keeper<AnyBackend>;

/// Settings of the jobs.
#[derive(Debug, Clone)]
pub(super) struct JobOptions {
    pub(super) aggregate_every: Duration,
    pub(super) catch_up_every: Duration,
    pub(super) prices: Option<String>,
}

/// Declares the jobs of a keeper.
pub(super) fn declare(
    app: &App,
    keeper: &Budgets,
    (http, sender): (&HttpClient, &WebhookSender),
    options: &JobOptions,
    jobs: Jobs,
) -> Jobs {
    let jobs = jobs
        .feed_job(Aggregate::new(app, keeper, options.aggregate_every))
        .periodic_job(CatchUp::new(app, keeper, options.catch_up_every))
        .periodic_job(Purge { app: app.clone(), keeper: keeper.clone() })
        .periodic_job(Deliver::new(app, keeper.clone(), sender.clone(), options.aggregate_every));
    let jobs = match &options.prices {
        Some(from) => {
            let http = http.clone();
            jobs.periodic_job(Prices { keeper: keeper.clone(), from: from.clone(), http })
        }
        None => jobs,
    };
    match app.kept::<ExportTarget>() {
        Some(to) => jobs.periodic_job(Export {
            keeper: keeper.clone(),
            to: to.clone(),
            cursor: Mutex::default(),
        }),
        None => jobs,
    }
}

/// Downloads prices. When that fails, the earlier ones stay in force.
struct Prices {
    keeper: Budgets,
    from: String,
    http: HttpClient,
}

impl Prices {
    async fn download(&self) -> Result<Vec<u8>> {
        if let Some(file) = self.from.strip_prefix(FILE) {
            let size = tokio::fs::metadata(file).await?.len();
            if size > BOOK_BYTES_MAX as u64 {
                return Err(Failure::new(format!(
                    "the file is longer than {BOOK_BYTES_MAX} bytes"
                )));
            }
            return Ok(tokio::fs::read(file).await?);
        }
        let (status, body) = send(self.http.get(&self.from)?, BOOK_BYTES_MAX).await?;
        match status.is_success() {
            true => Ok(body),
            false => Err(Failure::new(format!("the response was {status}"))),
        }
    }
}

impl PeriodicJob for Prices {
    fn name(&self) -> &str {
        "keeper-prices"
    }

    fn every(&self) -> Duration {
        PRICES_EVERY
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let models = self.keeper.refresh_prices(&self.download().await?).await?;
        Ok(Done::all(models as u64))
    }
}

/// Exports counters.
struct Export {
    keeper: Budgets,
    to: ExportTarget,
    /// Where the next run continues.
    cursor: Mutex<Option<String>>,
}

impl PeriodicJob for Export {
    fn name(&self) -> &str {
        "keeper-export"
    }

    fn every(&self) -> Duration {
        EXPORT_EVERY
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let cursor = self.cursor.lock().take();
        let exported = self.keeper.export_counters(&self.to, EXPORT_ORGS, cursor).await?;
        // Orgs that are behind continue in the next pass over all orgs.
        let more = exported.next.is_some();
        let behind = exported.behind_days;
        let detail = (behind > 0).then(|| format!("an org is {behind} days behind"));
        *self.cursor.lock() = exported.next;
        Ok(Done { items: exported.objects, more, detail })
    }
}
