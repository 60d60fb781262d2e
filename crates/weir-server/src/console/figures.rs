//! Budgets of all orgs added up, remembered for a few seconds: every open console shows them, and they take a read of
//! every org.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use weir_api::console::BudgetsOverview;
use weir_framework::app::App;
use weir_framework::{ApiError, Code};
use weir_keeper::decide::Status;
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::OrgId;
use weir_keeper::money::{MicroUsd, Percent};
use weir_keeper::today::OrgToday;

use crate::keeper::budgets::{ReadableOrgs, series_days};
use crate::keeper::convert::{budget, model_budgets};
use crate::keeper::error::KeeperError;
use crate::keeper::path::keeper;

/// How long the figures of all orgs are remembered.
const REMEMBERED: Duration = Duration::from_secs(5);
/// How long a failure to read them is remembered, so that those who wait for the same read do not repeat it one after the other.
const FAILURE_REMEMBERED: Duration = Duration::from_secs(1);
/// Orgs that are added up at most.
const ORGS_MAX: usize = 10_000;
/// Orgs of a page.
const PAGE: u32 = 100;
/// Orgs that the overview lists.
const TOP: usize = 10;
/// Share of its quotas from which an org needs attention, in hundredths of a percent.
const ATTENTION: u64 = 8_000;
/// Today, and the same day of last week.
const DAYS_AGO: [usize; 2] = [0, 7];

/// The present day of the orgs that a caller may read.
#[derive(Debug)]
pub(super) struct Figures {
    /// The orgs.
    pub(super) orgs: Vec<OrgToday>,
    /// Whether these are all.
    pub(super) is_complete: bool,
}

/// The figures of all orgs. Whoever reads them holds the lock, so that others wait for the same result.
#[derive(Debug, Default)]
pub(super) struct AllFigures(Mutex<LastRead>);

/// The figures as last read, and when reading them failed.
#[derive(Debug, Default)]
struct LastRead {
    figures: Option<(Instant, Arc<Figures>)>,
    failed: Option<Instant>,
}

/// The figures of the orgs that a caller may read.
pub(super) async fn figures(app: &App, orgs: &ReadableOrgs) -> Result<Arc<Figures>, KeeperError> {
    let ReadableOrgs::These(orgs) = orgs else { return all(app).await };
    let keeper = keeper(app)?;
    let records = keeper.org_records(orgs).await?;
    let orgs = keeper.orgs_today(records, &DAYS_AGO).await?;
    Ok(Arc::new(Figures { orgs, is_complete: true }))
}

async fn all(app: &App) -> Result<Arc<Figures>, KeeperError> {
    let AllFigures(last) = app.kept_by("console")?;
    let mut last = last.lock().await;
    if let Some((at, figures)) = &last.figures
        && at.elapsed() < REMEMBERED
    {
        return Ok(Arc::clone(figures));
    }
    if last.failed.is_some_and(|at| at.elapsed() < FAILURE_REMEMBERED) {
        let detail = "reading the figures of all orgs failed a moment ago";
        return Err(ApiError::new(Code::SERVICE_UNAVAILABLE, detail).into());
    }
    let read = read_all(app).await;
    last.failed = read.is_err().then(Instant::now);
    let figures = Arc::new(read?);
    last.figures = Some((Instant::now(), Arc::clone(&figures)));
    Ok(figures)
}

async fn read_all(app: &App) -> Result<Figures, KeeperError> {
    let keeper = keeper(app)?;
    let (mut orgs, mut cursor) = (Vec::new(), None);
    while orgs.len() < ORGS_MAX {
        let page = keeper.list_org_records(PAGE, cursor, Deleted::Hidden).await?;
        orgs.extend(keeper.orgs_today(page.items, &DAYS_AGO).await?);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(Figures { orgs, is_complete: true });
        }
    }
    Ok(Figures { orgs, is_complete: false })
}

/// The part of the overview with budgets.
pub(super) async fn budgets(app: &App, orgs: &ReadableOrgs) -> Result<BudgetsOverview, ApiError> {
    let figures = figures(app, orgs).await?;
    let all = || figures.orgs.iter();
    let sum = |amount: fn(&OrgToday) -> u64| all().map(amount).fold(0, u64::saturating_add);
    let count = |matches: fn(&&OrgToday) -> bool| all().filter(matches).count() as u64;
    let only: Option<BTreeSet<OrgId>> = match orgs {
        ReadableOrgs::All => None,
        ReadableOrgs::These(orgs) => Some(orgs.iter().cloned().collect()),
    };
    let failing = keeper(app)?.failing_webhooks(only.as_ref()).await.map_err(KeeperError::from)?;
    Ok(BudgetsOverview {
        orgs: figures.orgs.len() as u64,
        is_complete: figures.is_complete,
        spent_usd_micros: sum(|org| org.totals.cost.0),
        quota_usd_micros: sum(|org| org.quota.0),
        spent_7_days_ago_usd_micros: sum(|org| org.days.last().copied().unwrap_or_default().0),
        requests: sum(|org| org.totals.requests),
        above_80_pct: count(|org| org.used.hundredths() > ATTENTION),
        exceeded: count(|org| org.status == Status::Exceeded),
        webhooks_failing: failing,
        models: model_budgets(all()),
        top: top(app, &figures.orgs).await?.into_iter().map(budget).collect(),
    })
}

/// The orgs with the highest share of their quotas spent, with their series.
async fn top(app: &App, orgs: &[OrgToday]) -> Result<Vec<OrgToday>, KeeperError> {
    let share =
        |org: &&OrgToday| -> Reverse<(Percent, MicroUsd)> { Reverse((org.used, org.totals.cost)) };
    let mut spending: Vec<&OrgToday> =
        orgs.iter().filter(|org| org.totals.cost > MicroUsd::ZERO).collect();
    spending.sort_by_key(share);
    let ids = spending.iter().take(TOP).map(|org| org.config.org_id.clone());
    let keeper = keeper(app)?;
    let records = keeper.org_records(&ids.collect::<Vec<_>>()).await?;
    Ok(keeper.orgs_today(records, &series_days()).await?)
}
