//! The traffic of a running demo: a few requests a second, so that live pages move.

use std::time::Duration;

use tokio::sync::Mutex;
use weir_framework::api::Api;
use weir_framework::app::{App, Service};
use weir_framework::jobs::{Done, Jobs, PeriodicJob, Placement, Result, RunContext};

use super::keeper::KeeperDemo;
use super::limiter::LimiterDemo;
use super::practice::PracticeDemo;
use super::reviews::ReviewsDemo;

const NAME: &str = "demo-traffic";
/// Time between two ticks.
const TICK: Duration = Duration::from_millis(300);
/// Ticks between two reports of a worker.
const WORK_TICKS: u64 = 9;
/// Of so many ticks, one brings a review.
const REVIEW_TICKS: u64 = 900;

/// The traffic of the demo, as a service of the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoService;

impl Service for DemoService {
    fn open<'a>(&'a self, _: &'a App) -> weir_framework::app::Opening<'a> {
        Box::pin(async { Ok(weir_framework::app::Opened::default()) })
    }

    fn routes(&self, api: Api) -> Api {
        api
    }

    fn jobs(&self, app: &App, jobs: Jobs) -> Jobs {
        jobs.periodic_job(Traffic { app: app.clone(), actors: Mutex::default() })
    }
}

/// The job that acts.
struct Traffic {
    app: App,
    actors: Mutex<Option<Actors>>,
}

/// Who acts.
struct Actors {
    limiter: LimiterDemo,
    keeper: KeeperDemo,
    reviews: ReviewsDemo,
    practice: PracticeDemo,
    random: fastrand::Rng,
    ticks: u64,
}

impl Actors {
    /// Opens the demo. The seed is the time, because ids that were random before must not occur again.
    async fn open(app: &App) -> Result<Actors> {
        let seed = app.now_ms();
        // Jobs that ran in the history are due by its clock.
        if let Some(jobs) = app.jobs() {
            for job in jobs.statuses().iter().filter(|job| job.name != NAME) {
                jobs.wake(&job.name)?;
            }
        }
        Ok(Actors {
            limiter: LimiterDemo::open(app, seed).await?,
            keeper: KeeperDemo::open(app, seed)?,
            reviews: ReviewsDemo::open(app, seed)?,
            practice: PracticeDemo::open(app, seed)?,
            random: fastrand::Rng::with_seed(seed),
            ticks: 0,
        })
    }

    async fn act(&mut self, app: &App) -> Result<()> {
        self.ticks += 1;
        self.limiter.act(app).await?;
        self.keeper.act(&mut self.random).await?;
        if self.random.u64(0..8) == 0 {
            self.practice.act(&mut self.random).await?;
        }
        if self.ticks.is_multiple_of(WORK_TICKS) {
            self.practice.work().await?;
        }
        if self.random.u64(0..REVIEW_TICKS) == 0 {
            self.reviews.act().await?;
        }
        Ok(())
    }
}

impl PeriodicJob for Traffic {
    fn name(&self) -> &str {
        NAME
    }

    fn every(&self) -> Duration {
        TICK
    }

    fn placement(&self) -> Placement {
        Placement::EveryInstance
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        let mut actors = self.actors.lock().await;
        let mut acting = match actors.take() {
            Some(acting) => acting,
            None => Actors::open(&self.app).await?,
        };
        // Who fails begins anew with the next tick.
        acting.act(&self.app).await?;
        *actors = Some(acting);
        Ok(Done::all(1))
    }
}
