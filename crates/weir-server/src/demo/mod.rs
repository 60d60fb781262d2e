//! The demo: a believable data set in every service, and a little traffic that keeps today moving.
//!
//! [`load`] writes up to 30 days of history. It opens nothing itself: the caller gives it an [`App`] on a store whose clock is
//! [`clock`], at the beginning of the history, and whose jobs run only on request. Hour by hour the clock advances, each service does what
//! its users would have done, through the functions that handlers call, and the jobs aggregate. So every rule of the
//! services holds for the history as well.
//!
//! [`DemoService`] is the traffic: a job that acts a few times a second, like any other job of the server.

mod keeper;
mod limiter;
mod orgs;
mod pattern;
mod people;
mod practice;
mod practice_jobs;
mod reviews;
mod setup;
mod traffic;

use weir_framework::app::App;
use weir_framework::jobs::{Failure, Result, RunResult};
use weir_table::clock::Clock;

use self::keeper::KeeperDemo;
use self::limiter::LimiterDemo;
use self::practice::PracticeDemo;
use self::reviews::ReviewsDemo;
pub use self::traffic::DemoService;

/// Days of history, at most.
pub const DAYS_MAX: u64 = 30;
/// Hours of a day.
pub const DAY_HOURS: u64 = 24;
const HOURS: u64 = DAYS_MAX * DAY_HOURS;
const HOUR_MS: u64 = 3_600_000;
/// The seed of everything random, so that every demo begins alike.
const SEED: u64 = 0x5765_6972;
/// Jobs that aggregate what a day brought.
const DAILY_JOBS: [&str; 5] =
    ["limiter-usage", "limiter-maintain", "limiter-propagate", "practice-rollup", "reviews-rollup"];
/// The job that aggregates spend. It decides when an org falls back to a cheaper model, so it runs every hour.
const SPEND_JOB: &str = "keeper-aggregate";

/// The clock of a history that begins so many days before `now_ms`.
#[must_use]
pub fn clock(now_ms: u64, days: u64) -> Clock {
    Clock::manual(now_ms.saturating_sub(hours(days) * HOUR_MS))
}

fn hours(days: u64) -> u64 {
    days.clamp(1, DAYS_MAX) * DAY_HOURS
}

/// The demo of every service.
struct Demo {
    limiter: LimiterDemo,
    keeper: KeeperDemo,
    reviews: ReviewsDemo,
    practice: PracticeDemo,
}

/// Writes the history of so many days. `app` and its store have the clock `clock`; `progress` is called after each hour.
///
/// # Errors
/// The store fails. What was written by then is no complete demo.
pub async fn load(app: &App, clock: &Clock, days: u64, progress: impl Fn()) -> Result<()> {
    let mut demo = Demo {
        limiter: LimiterDemo::create(app, SEED).await?,
        keeper: KeeperDemo::create(app, SEED).await?,
        reviews: ReviewsDemo::open(app, SEED)?,
        practice: PracticeDemo::create(app, SEED).await?,
    };
    let end_ms = millis(clock.now_ms().saturating_add(hours(days) * HOUR_MS));
    // A short history has the last events of a long one.
    for hour in HOURS - hours(days)..HOURS {
        clock.advance_ms(HOUR_MS);
        let now_ms = millis(clock.now_ms());
        let Demo { limiter, keeper, reviews, practice } = &mut demo;
        tokio::try_join!(
            limiter.hour(hour, now_ms),
            keeper.hour(hour, now_ms, end_ms),
            reviews.hour(now_ms),
            practice.hour(hour, now_ms)
        )?;
        run_job(app, SPEND_JOB).await?;
        if hour % 24 == 23 {
            demo.keeper.deliver_notices().await?;
            run_daily_jobs(app).await?;
        }
        progress();
    }
    finish(app, &mut demo).await
}

/// Brings today to the state that the demo shows.
async fn finish(app: &App, demo: &mut Demo) -> Result<()> {
    demo.limiter.finish().await?;
    demo.keeper.finish().await?;
    run_job(app, SPEND_JOB).await?;
    demo.practice.finish().await?;
    run_daily_jobs(app).await?;
    demo.keeper.deliver_notices().await
}

async fn run_daily_jobs(app: &App) -> Result<()> {
    for job in DAILY_JOBS {
        run_job(app, job).await?;
    }
    Ok(())
}

/// Runs a job until it has nothing more to do.
async fn run_job(app: &App, name: &str) -> Result<()> {
    let jobs = app.jobs().ok_or_else(|| Failure::new("the jobs do not run"))?;
    loop {
        match jobs.run_now(name).await? {
            RunResult::Done(done) if done.more => {}
            RunResult::Done(_) => return Ok(()),
            RunResult::Failed(failure) => return Err(failure),
            RunResult::Elsewhere(_) | RunResult::Stopping => {
                return Err(Failure::new(format!("the job {name} cannot run here")));
            }
        }
    }
}

/// The state that a service shares with its handlers.
fn opened<'a, T: 'static>(app: &'a App, name: &str) -> Result<&'a T> {
    app.kept().ok_or_else(|| Failure::new(format!("the {name} is not open")))
}

fn millis(at_ms: u64) -> i64 {
    i64::try_from(at_ms).unwrap_or(i64::MAX)
}
