//! The keeper's part of the demo: orgs whose apps ask which model to use, use it, and report what they used.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use weir_framework::app::App;
use weir_framework::jobs::{Failure, Result};
use weir_keeper::Keeper;
use weir_keeper::ids::{AppId, Label, OrgId, RequestId};
use weir_keeper::money::{Price, TokenUse};
use weir_keeper::submit::{CallStatus, Submission};
use weir_keeper::webhooks::DeliveryAttempt;
use weir_table::AnyBackend;

use super::orgs::{ORGS, Org, Today};
use super::{opened, pattern, setup};

const HOUR_MS: i64 = 3_600_000;
/// Micro-USD of a dollar.
const USD: u64 = 1_000_000;
/// Calls that an app makes in its busiest hour, per percent of its org's traffic, in thousandths.
const CALLS_MILLI: u64 = 130;
/// Apps that act at the same time.
const AT_ONCE: usize = 32;
/// Submissions that bring an org to where it is today.
const TODAY_CALLS: u64 = 40;
/// The webhook whose receiver is down.
pub(super) const FAILING_WEBHOOK: &str = "pager";

/// The orgs and their apps.
pub(super) struct KeeperDemo {
    keeper: Keeper<AnyBackend>,
    apps: Vec<AppDemo>,
}

/// An app of an org.
struct AppDemo {
    spec: &'static Org,
    org: OrgId,
    app: AppId,
    share_pct: u64,
    random: fastrand::Rng,
}

impl KeeperDemo {
    /// Opens the orgs that exist.
    pub(super) fn open(app: &App, seed: u64) -> Result<KeeperDemo> {
        let keeper: &Keeper<AnyBackend> = opened(app, "keeper")?;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut apps = Vec::new();
        for spec in &ORGS {
            for (id, _, share_pct) in spec.apps {
                let (org, app, random) = (OrgId::new(spec.id)?, AppId::new(id)?, random.fork());
                apps.push(AppDemo { spec, org, app, share_pct: *share_pct, random });
            }
        }
        Ok(KeeperDemo { keeper: keeper.clone(), apps })
    }

    /// Creates the orgs, with all that an operator configures.
    pub(super) async fn create(app: &App, seed: u64) -> Result<KeeperDemo> {
        let demo = KeeperDemo::open(app, seed)?;
        for spec in &ORGS {
            setup::put_org(&demo.keeper, spec, 100).await?;
        }
        setup::put_webhooks(&demo.keeper).await?;
        setup::put_profiles(&demo.keeper).await?;
        setup::rotate_credentials(&demo.keeper, &ORGS[0]).await?;
        Ok(demo)
    }

    /// The submissions of the hour that ends at `now_ms`. The last day is left to [`KeeperDemo::finish`] where an org is to
    /// be in a certain state.
    pub(super) async fn hour(&mut self, hour: u64, now_ms: i64, end_ms: i64) -> Result<()> {
        setup::reconfigure(&self.keeper, hour).await?;
        let keeper = &self.keeper;
        let apps = stream::iter(self.apps.iter_mut()).map(Ok::<_, Failure>);
        apps.try_for_each_concurrent(AT_ONCE, |app| async move {
            let is_last_day = app.day(now_ms) >= app.day(end_ms);
            match app.spec.today {
                Today::Ordinary | Today::Quiet => app.work(keeper, now_ms).await,
                _ if is_last_day => Ok(()),
                _ => app.work(keeper, now_ms).await,
            }
        })
        .await
    }

    /// Brings every org to the state that it shows today.
    pub(super) async fn finish(&mut self) -> Result<()> {
        let keeper = &self.keeper;
        for app in &mut self.apps {
            let (chain, share) = (app.spec.chain, app.share_pct);
            let targets: Vec<u64> = match app.spec.today {
                Today::Ordinary | Today::Quiet => Vec::new(),
                Today::Near(pct) => vec![pct],
                Today::FallenBack => vec![104, 22],
                Today::Exceeded => vec![101; chain.len()],
            };
            for ((label, quota_usd), pct) in chain.iter().zip(targets) {
                let spend = quota_usd * USD / 100 * pct * share / 100;
                app.spend_today(keeper, &Label::new(label)?, spend).await?;
            }
        }
        Ok(())
    }

    /// One call of some app, as its program makes it now.
    pub(super) async fn act(&mut self, random: &mut fastrand::Rng) -> Result<()> {
        let now_ms = self.keeper.now_ms();
        let Some(app) = random.choice(self.apps.iter_mut()) else { return Ok(()) };
        let activity = pattern::activity(now_ms, app.spec.offset_hours).max(20);
        if random.u64(0..100) >= activity * app.spec.live_pct() / 100 {
            return Ok(());
        }
        let cost = app.spec.hourly_spend(now_ms) / 60 + 2_000;
        app.call(&self.keeper, cost, now_ms, 1).await
    }

    /// Sends the notices that are due, as far as the demo goes: one receiver is down, the others answer.
    pub(super) async fn deliver_notices(&self) -> Result<()> {
        loop {
            let claimed = self.keeper.claim_deliveries(50).await?;
            for delivery in &claimed.deliveries {
                let attempt = match delivery.webhook.as_str() {
                    FAILING_WEBHOOK => DeliveryAttempt {
                        http_status: Some(503),
                        error: Some("the response was 503 Service Unavailable".to_owned()),
                    },
                    _ => DeliveryAttempt { http_status: Some(204), error: None },
                };
                self.keeper.record_delivery(delivery, &attempt).await?;
            }
            if claimed.deliveries.is_empty() {
                return Ok(());
            }
        }
    }
}

impl Org {
    /// What the org would spend in the hour that ends at `now_ms`, in micro-USD.
    fn hourly_spend(&self, now_ms: i64) -> u64 {
        let quota_usd = self.chain.first().map_or(0, |(_, quota)| *quota);
        let day = quota_usd * USD * self.spend_pct / 100;
        let activity = pattern::activity(now_ms - HOUR_MS / 2, self.offset_hours);
        day * activity / pattern::activity_of_day() * self.mood(now_ms) / 100
    }

    /// How busy a day is, in percent of an ordinary one. About one in eight needs a fallback.
    fn mood(&self, at_ms: i64) -> u64 {
        let day = (at_ms + self.offset_hours * HOUR_MS).div_euclid(24 * HOUR_MS);
        let seed = day.unsigned_abs() * 131 + self.name.len() as u64 * 7 + self.spend_pct;
        let mut random = fastrand::Rng::with_seed(seed);
        match random.u64(0..8) {
            0 if self.today != Today::Quiet => random.u64(150..210),
            _ => random.u64(78..118),
        }
    }

    /// How many of its calls are made while the demo runs, in percent: an org near its quota should stay there for a while.
    fn live_pct(&self) -> u64 {
        match self.today {
            Today::Ordinary => 100,
            Today::FallenBack => 60,
            Today::Quiet => 10,
            Today::Near(_) => 15,
            Today::Exceeded => 0,
        }
    }
}

impl AppDemo {
    fn day(&self, at_ms: i64) -> i64 {
        (at_ms + self.spec.offset_hours * HOUR_MS).div_euclid(24 * HOUR_MS)
    }

    /// The calls of the hour that ends at `now_ms`.
    async fn work(&mut self, keeper: &Keeper<AnyBackend>, now_ms: i64) -> Result<()> {
        let spend = self.spec.hourly_spend(now_ms) * self.share_pct / 100;
        let activity = pattern::activity(now_ms - HOUR_MS / 2, self.spec.offset_hours);
        let calls = pattern::count(activity * self.share_pct * CALLS_MILLI / 100, &mut self.random);
        if calls == 0 {
            return Ok(());
        }
        self.call(keeper, spend / calls, now_ms, calls).await
    }

    /// Asks which model to use, and uses it for calls that would cost `cost` each on the first model of the chain.
    async fn call(
        &mut self,
        keeper: &Keeper<AnyBackend>,
        cost: u64,
        now_ms: i64,
        calls: u64,
    ) -> Result<()> {
        let selection = keeper.select(&self.org, &self.app, true).await?;
        // Where every quota is spent, a program waits for tomorrow.
        let Some(model) = selection.decision.model() else { return Ok(()) };
        let first = self.spec.chain.first().map_or("", |(label, _)| label);
        let first = Label::new(first)?;
        let earliest = (now_ms - HOUR_MS).max(selection.today.start_ms);
        let mut submissions = Vec::new();
        for number in 0..calls {
            let cost = cost * self.random.u64(60..140) / 100;
            let tokens = tokens(price(keeper, &first), cost, &mut self.random);
            let span = (now_ms - earliest).max(1);
            let at_ms = earliest + span * i64::try_from(number + 1)? / i64::try_from(calls)?;
            submissions.push(self.submission(keeper, &model.label, tokens, at_ms)?);
        }
        self.submit(keeper, &submissions).await
    }

    /// Spends this much on a model since midnight.
    async fn spend_today(
        &mut self,
        keeper: &Keeper<AnyBackend>,
        label: &Label,
        spend: u64,
    ) -> Result<()> {
        let now_ms = keeper.now_ms();
        let today = keeper.get_org(&self.org).await?.timezone.span_of(now_ms);
        let calls = TODAY_CALLS * self.share_pct / 100 + 1;
        let mut submissions = Vec::new();
        for number in 1..=calls {
            let tokens = tokens(price(keeper, label), spend / calls, &mut self.random);
            let step = (now_ms - today.start_ms) * i64::try_from(number)? / i64::try_from(calls)?;
            submissions.push(self.submission(keeper, label, tokens, today.start_ms + step)?);
        }
        self.submit(keeper, &submissions).await
    }

    async fn submit(&self, keeper: &Keeper<AnyBackend>, all: &[Submission]) -> Result<()> {
        for accepted in keeper.submit_batch(&self.org, &self.app, all).await? {
            accepted?;
        }
        Ok(())
    }

    fn submission(
        &mut self,
        keeper: &Keeper<AnyBackend>,
        label: &Label,
        tokens: TokenUse,
        at_ms: i64,
    ) -> Result<Submission> {
        let model = keeper.catalog().get(label);
        let model = model.ok_or_else(|| Failure::new(format!("there is no label {label}")))?;
        let failed = self.random.u64(0..60) == 0;
        Ok(Submission {
            request_id: request_id(&mut self.random)?,
            label: label.to_string(),
            model: model.model_id.clone(),
            vendor: None,
            tokens,
            region: None,
            stated_cost: None,
            status: if failed { CallStatus::Error } else { CallStatus::Ok },
            at_ms,
        })
    }
}

fn price(keeper: &Keeper<AnyBackend>, label: &Label) -> Price {
    keeper.catalog().get(label).and_then(|model| model.price).unwrap_or(Price::ZERO)
}

/// Tokens that cost about this much: eight of input, a third of them from the cache, for each of output.
fn tokens(price: Price, cost_micros: u64, random: &mut fastrand::Rng) -> TokenUse {
    let ratio = random.u64(5..12);
    let cached = ratio / 3;
    let per_output = price.output
        + (ratio - cached) * price.input
        + cached * price.cache_read.unwrap_or(price.input);
    let output = cost_micros * 1_000_000 / per_output.max(1) + 1;
    TokenUse {
        input: output * (ratio - cached),
        output,
        cached_read: output * cached,
        cached_write: 0,
    }
}

/// A random UUID.
fn request_id(random: &mut fastrand::Rng) -> Result<RequestId> {
    let number = random.u128(..);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let id = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-");
    Ok(RequestId::new(id)?)
}
