//! The limiter's part of the demo: two tenants, teams whose members share their limits, and programs.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use weir_framework::app::App;
use weir_framework::jobs::{Failure, Result};
use weir_limiter::acquire::{Acquire, Acquired};
use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig, OnUnavailable};
use weir_limiter::entities::NewEntity;
use weir_limiter::ids::{EntityId, LimitName, NamespaceName, Resource};
use weir_limiter::lease::Settle;
use weir_limiter::{Limiter, Namespace};
use weir_table::AnyBackend;

use super::people::everybody;
use super::{opened, pattern};
use crate::limiter::acquire::count;

const OPERATOR: &str = "ruth.adeyemi";
const TENANTS: [&str; 2] = ["default", "mobile"];
const DAY_SECS: u64 = 86_400;
/// Requests under way at a time.
const AT_ONCE: usize = 32;

/// A model and its limits: requests and tokens per minute, and tokens per day where it has such a limit.
struct Model {
    name: &'static str,
    rpm: u64,
    tpm: u64,
    tpd: u64,
}

const MODELS: [Model; 5] = [
    Model { name: "gpt-4o", rpm: 90, tpm: 90_000, tpd: 900_000 },
    Model { name: "claude-sonnet-4-5", rpm: 60, tpm: 80_000, tpd: 700_000 },
    Model { name: "claude-haiku-4-5", rpm: 240, tpm: 200_000, tpd: 4_000_000 },
    Model { name: "gemini-2.5-flash", rpm: 300, tpm: 400_000, tpd: 5_000_000 },
    Model { name: "text-embedding-3-large", rpm: 900, tpm: 1_000_000, tpd: 20_000_000 },
];

/// A team: its tenant, id and name, its number of members, and the models that they use.
type Team = (usize, &'static str, &'static str, usize, &'static [usize]);

const TEAMS: [Team; 5] = [
    (0, "team-search", "Search and ranking", 8, &[0, 4, 2]),
    (0, "team-support", "Customer support", 9, &[2, 1]),
    (0, "team-growth", "Growth", 6, &[0, 3]),
    (0, "team-data", "Data platform", 5, &[1, 4, 3]),
    (1, "assistant", "In-app assistant", 7, &[2, 3]),
];
/// How many members' limits a team has.
const TEAM_LIMITS: u64 = 6;
/// Programs: the id, the name, the models that they use, and their demand in percent of a person's.
const PROGRAMS: [(&str, &str, &[usize], u64); 4] = [
    ("nightly-batch", "Nightly batch", &[0, 1], 260),
    ("eval-runner", "Evaluation runner", &[1, 0], 190),
    ("ci-bot", "CI bot", &[2], 150),
    ("indexer", "Document indexer", &[4], 220),
];
/// The program that overdraws its bucket.
const DEBTOR: &str = "nightly-batch";
/// Of so many requests while the demo runs, one is the debtor's, and is refused for hours.
const DEBTOR_TURNS: u64 = 18;

/// An entity that asks for tokens.
#[derive(Clone)]
struct Member {
    tenant: usize,
    id: EntityId,
    name: String,
    team: Option<&'static str>,
    models: &'static [usize],
    demand: u64,
}

/// The entities that acquire tokens.
fn members() -> Result<Vec<Member>> {
    let mut people = everybody();
    let mut members = Vec::new();
    for (tenant, team, _, count, models) in TEAMS {
        for (number, person) in people.by_ref().take(count).enumerate() {
            let demand = 40 + 25 * number as u64 % 90;
            let id = EntityId::new(person.id())?;
            let team = Some(team);
            members.push(Member { tenant, id, name: person.name(), team, models, demand });
        }
    }
    for (id, name, models, demand) in PROGRAMS {
        let (id, name) = (EntityId::new(id)?, name.to_owned());
        members.push(Member { tenant: 0, id, name, team: None, models, demand });
    }
    Ok(members)
}

/// The tenants and their entities.
pub(super) struct LimiterDemo {
    tenants: Vec<Namespace<AnyBackend>>,
    members: Vec<Member>,
    random: fastrand::Rng,
}

impl LimiterDemo {
    /// Opens the tenants that exist.
    pub(super) async fn open(app: &App, seed: u64) -> Result<LimiterDemo> {
        let limiter: &Limiter<AnyBackend> = opened(app, "limiter")?;
        let mut tenants = Vec::new();
        for name in TENANTS {
            tenants.push(limiter.namespace(&NamespaceName::new(name)?).await?);
        }
        Ok(LimiterDemo { tenants, members: members()?, random: fastrand::Rng::with_seed(seed) })
    }

    /// Creates and configures the tenants.
    pub(super) async fn create(app: &App, seed: u64) -> Result<LimiterDemo> {
        let limiter: &Limiter<AnyBackend> = opened(app, "limiter")?;
        for name in TENANTS {
            limiter.create_namespace(&NamespaceName::new(name)?, OPERATOR).await?;
        }
        let demo = LimiterDemo::open(app, seed).await?;
        for tenant in &demo.tenants {
            configure(tenant).await?;
        }
        for (tenant, id, name, ..) in TEAMS {
            let (tenant, team) = (demo.tenant(tenant)?, EntityId::new(id)?);
            let entity = NewEntity { name: name.to_owned(), ..NewEntity::default() };
            tenant.put_entity(&team, entity, OPERATOR).await?;
            for model in &MODELS {
                let level = Level::Entity(team.clone(), Some(Resource::new(model.name)?));
                tenant.set_limits(&level, config(limits(model, TEAM_LIMITS)?), OPERATOR).await?;
            }
        }
        for member in &demo.members {
            demo.put_member(member).await?;
        }
        Ok(demo)
    }

    async fn put_member(&self, member: &Member) -> Result<()> {
        let tenant = self.tenant(member.tenant)?;
        let kind = if member.team.is_some() { "person" } else { "program" };
        let entity = NewEntity {
            name: member.name.clone(),
            parent: member.team.map(EntityId::new).transpose()?,
            cascade: member.team.is_some(),
            metadata: BTreeMap::from([("kind".to_owned(), kind.to_owned())]),
        };
        tenant.put_entity(&member.id, entity, OPERATOR).await?;
        if member.team.is_none() {
            for model in member.models.iter().filter_map(|model| MODELS.get(*model)) {
                let level = Level::Entity(member.id.clone(), Some(Resource::new(model.name)?));
                tenant.set_limits(&level, config(limits(model, 2)?), OPERATOR).await?;
            }
        }
        Ok(())
    }

    fn tenant(&self, number: usize) -> Result<&Namespace<AnyBackend>> {
        self.tenants.get(number).ok_or_else(|| Failure::new("there is no such tenant"))
    }

    /// The requests of an hour that ends at `at_ms`.
    pub(super) async fn hour(&mut self, hour: u64, at_ms: i64) -> Result<()> {
        self.reconfigure(hour).await?;
        let mut requests = Vec::new();
        for member in &self.members {
            // A program works at night.
            let offset = if member.team.is_some() { 1 } else { 13 };
            let activity = pattern::activity(at_ms, offset);
            for (rank, model) in member.models.iter().enumerate() {
                // The first model is used every hour, the others now and then.
                if rank > 0 && self.random.u64(0..3) > 0 {
                    continue;
                }
                let share = activity * member.demand / 100 / (rank as u64 + 1);
                let share = share * self.random.u64(60..140) / 100;
                if share > 3 {
                    requests.push(request(member, *model, share, &mut self.random)?);
                }
            }
        }
        let this = &*self;
        let taken = stream::iter(requests).map(Ok::<_, Failure>);
        let acquire = |(tenant, acquire): (usize, Acquire)| async move {
            this.tenant(tenant)?.acquire(&acquire).await?;
            Ok(())
        };
        taken.try_for_each_concurrent(AT_ONCE, acquire).await
    }

    /// Changes of limits in the course of the month, which the audit log shows.
    async fn reconfigure(&self, hour: u64) -> Result<()> {
        let (model, times, actor) = match hour {
            226 => (1, 8, "felix.brandt"),
            490 => (0, 9, OPERATOR),
            _ => return Ok(()),
        };
        let Some(model) = MODELS.get::<usize>(model) else { return Ok(()) };
        let level = Level::Entity(EntityId::new("team-search")?, Some(Resource::new(model.name)?));
        self.tenant(0)?.set_limits(&level, config(limits(model, times)?), actor).await?;
        Ok(())
    }

    /// Overdraws a bucket: a program used far more than it had asked for.
    pub(super) async fn finish(&mut self) -> Result<()> {
        let (tenant, model) = (self.tenant(0)?, &MODELS[0]);
        let (id, resource) = (EntityId::new(DEBTOR)?, Resource::new(model.name)?);
        let take = amounts(20, 40_000)?;
        if let Acquired::Granted(granted) =
            tenant.acquire(&Acquire::new(id, resource, take)).await?
        {
            let used = amounts(20, model.tpd * 2 + 310_000)?;
            tenant.settle(&granted.grant, &Settle::CommitActual(used), None).await?;
        }
        Ok(())
    }

    /// One request, as a person would send it now.
    pub(super) async fn act(&mut self, app: &App) -> Result<()> {
        let debtor = self.members.iter().find(|member| member.id.as_str() == DEBTOR);
        let is_turn = self.random.u64(0..DEBTOR_TURNS) == 0;
        let debtor = debtor.filter(|_| is_turn);
        let member = debtor.or_else(|| self.random.choice(&self.members)).cloned();
        let Some(member) = member else { return Ok(()) };
        let Some(model) = self.random.choice(member.models) else { return Ok(()) };
        let share = self.random.u64(1..6);
        let (tenant, acquire) = request(&member, *model, share, &mut self.random)?;
        let tenant = self.tenant(tenant)?;
        let acquired = tenant.acquire(&acquire).await?;
        count(app, tenant, &acquire, &acquired).map_err(|error| Failure::new(error.detail))?;
        Ok(())
    }
}

/// A request for `share` percent of what the model allows in a minute.
fn request(
    member: &Member,
    model: usize,
    share: u64,
    random: &mut fastrand::Rng,
) -> Result<(usize, Acquire)> {
    let model = MODELS.get(model).ok_or_else(|| Failure::new("there is no such model"))?;
    let share = share.min(95);
    let tokens = model.tpm * share * random.u64(70..100) / 10_000;
    let take = amounts((model.rpm * share / 100).max(1), tokens)?;
    Ok((member.tenant, Acquire::new(member.id.clone(), Resource::new(model.name)?, take)))
}

fn amounts(requests: u64, tokens: u64) -> Result<BTreeMap<LimitName, i64>> {
    let amount = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    Ok(BTreeMap::from([
        (LimitName::new("rpm")?, amount(requests)),
        (LimitName::new("tpm")?, amount(tokens)),
        (LimitName::new("tpd")?, amount(tokens)),
    ]))
}

/// The limits of a tenant as a whole and of each model.
async fn configure(tenant: &Namespace<AnyBackend>) -> Result<()> {
    let smallest = Model { name: "", rpm: 30, tpm: 40_000, tpd: 400_000 };
    let system =
        LevelConfig { on_unavailable: Some(OnUnavailable::Block), ..config(limits(&smallest, 1)?) };
    tenant.set_limits(&Level::System, system, OPERATOR).await?;
    for model in &MODELS {
        let level = Level::Resource(Resource::new(model.name)?);
        tenant.set_limits(&level, config(limits(model, 1)?), OPERATOR).await?;
    }
    Ok(())
}

fn config(limits: Vec<Limit>) -> LevelConfig {
    LevelConfig { limits, ..LevelConfig::default() }
}

/// The limits of a model, `times` over.
fn limits(model: &Model, times: u64) -> Result<Vec<Limit>> {
    let tpd = model.tpd * times;
    Ok(vec![
        Limit::per_minute(LimitName::new("rpm")?, model.rpm * times),
        Limit::per_minute(LimitName::new("tpm")?, model.tpm * times),
        Limit {
            name: LimitName::new("tpd")?,
            capacity: tpd,
            refill_amount: tpd,
            refill_period_seconds: DAY_SECS,
        },
    ])
}
