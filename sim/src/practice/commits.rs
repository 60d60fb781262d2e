//! Follows every write with the model.

use weir_calendar::Day;
use weir_practice::bounds::IDEMPOTENCY_TTL_SECS;
use weir_practice::ids::{HistoryId, PlanId, UserId};
use weir_practice::item::{COUNT, field};
use weir_practice::jobs::JobRef;
use weir_practice::keys::{self, List};
use weir_practice::kinds::{Action, JobStatus};
use weir_table::{Item, Key, Value};

use super::{Op, Simulation};
use crate::check::{Check, Violation};
use crate::model::practice::{Counted, ModelJob, ModelUser};
use crate::store::{Commit, ItemChange};

/// What an item is.
enum Stored {
    User(UserId),
    LatestDay(UserId),
    Count(UserId, Day, Action),
    Log(UserId, Day, Action),
    PlanUsers(PlanId),
    Run(HistoryId),
    Job(JobRef),
    Lease(JobRef),
    Other,
}

fn text(key: &Key) -> Option<(String, String)> {
    let part = |value: Value| value.as_s().map(str::to_owned);
    Some((part(key.partition.to_value())?, part(key.sort.as_ref()?.to_value())?))
}

fn stored(key: &Key) -> Stored {
    let Some((partition, sort)) = text(key) else { return Stored::Other };
    if let Some((user, day)) = keys::parse_usage_day(&partition) {
        if let Some(action) = keys::parse_action_count(&sort) {
            return Stored::Count(user, day, action);
        }
        if let Some((_, action, _)) = keys::parse_usage_log(&sort) {
            return Stored::Log(user, day, action);
        }
    }
    if let Some((job_type, id)) = keys::parse_job(&partition) {
        let lease = List::lease(0, job_type, &id).key;
        let job = JobRef { job_type, id };
        return match sort.as_str() {
            keys::META => Stored::Job(job),
            _ if *key == lease => Stored::Lease(job),
            _ => Stored::Other,
        };
    }
    if let Some(plan) = keys::parse_plan(&partition).filter(|plan| *key == keys::plan_users(*plan))
    {
        return Stored::PlanUsers(plan);
    }
    if let Some(run) = keys::parse_history(&partition) {
        return Stored::Run(run);
    }
    match (keys::parse_user(&partition), sort.as_str()) {
        (Some(user), keys::META) => Stored::User(user),
        (Some(user), _) if *key == keys::latest_day(&user) => Stored::LatestDay(user),
        _ => Stored::Other,
    }
}

fn string<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    field(name).find(item).and_then(Value::as_s)
}

fn flag(item: &Item, name: &str) -> bool {
    field(name).find(item) == Some(&Value::Bool(true))
}

fn status(item: &Item) -> Option<JobStatus> {
    string(item, "sts")?.parse().ok()
}

fn model_user(item: &Item) -> Option<ModelUser> {
    let plan = u64::try_from(field("plan").find(item)?.as_i64()?).ok()?;
    Some(ModelUser {
        email: string(item, "em")?.to_lowercase(),
        google_id: string(item, "gid").map(str::to_owned),
        plan: PlanId::new(plan).ok()?,
        is_active: flag(item, "act"),
        is_staff: flag(item, "stf"),
    })
}

impl Simulation {
    pub(super) fn check_commit(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        let mut violations = Vec::new();
        for change in &commit.changes {
            let Some(new) = &change.new else { continue };
            violations.extend(match stored(&change.key) {
                Stored::User(id) => match model_user(new) {
                    Some(user) => self.model.set_user(id, user),
                    None => vec![Violation::new(Check::Standing, format!("{id} is {new:?}"))],
                },
                Stored::LatestDay(user) => self.day_moved(index, user, change),
                Stored::Count(user, day, action) => {
                    self.counted(index, (&user, day, action), (change, commit))
                }
                Stored::Run(id) => self.run_changed(id, new),
                Stored::Job(job) => self.job_changed(index, &job, change),
                Stored::Lease(job) => self.lease_changed(index, &job, change, commit),
                Stored::Log(..) | Stored::PlanUsers(_) | Stored::Other => Vec::new(),
            });
        }
        violations.extend(self.check_plan_users(commit));
        violations.extend(check_logs(commit));
        violations
    }

    fn counted(
        &mut self,
        index: usize,
        (user, day, action): (&UserId, Day, Action),
        (change, commit): (&ItemChange, &Commit),
    ) -> Vec<Violation> {
        let task = &mut self.run.tasks[index];
        let Op::Use { request, counted, .. } = &mut task.op else {
            let found = format!("{user} is counted by another request");
            return vec![Violation::new(Check::CounterLog, found)];
        };
        debug_assert!(commit.changes.len() > 1, "a counter alone");
        let mut violations = Vec::new();
        if std::mem::replace(counted, true) {
            let found = format!("a request of {user} is counted twice");
            violations.push(Violation::new(Check::TakesOnce, found));
        }
        let counted = Counted {
            user,
            action,
            day,
            today: Day::utc(task.now_ms),
            key: request.idempotency_key.as_ref().map(|key| key.as_str()),
            now_s: task.now_ms.div_euclid(1000),
            count: change.new.as_ref().and_then(|item| item.i64(COUNT)).unwrap_or_default(),
        };
        violations.extend(self.model.count(&counted, IDEMPOTENCY_TTL_SECS));
        violations
    }

    /// The latest day of a user moves back only when an administrator resets it.
    fn day_moved(&mut self, index: usize, user: UserId, change: &ItemChange) -> Vec<Violation> {
        let day = |item: &Option<Item>| Day::from_compact(item.as_ref()?.s("day")?);
        let (before, after) = (day(&change.old), day(&change.new));
        let is_reset = matches!(self.run.tasks[index].op, Op::ResetDay);
        if let (true, Some(after)) = (is_reset, after) {
            self.model.latest.insert(user, after);
            return Vec::new();
        }
        if before <= after {
            return Vec::new();
        }
        let found = format!("the latest day of {user} is {after:?} after {before:?}");
        vec![Violation::new(Check::DayClosed, found)]
    }

    /// A run carries its entry in the feed while it is public, and only then.
    fn run_changed(&mut self, id: HistoryId, new: &Item) -> Vec<Violation> {
        let (is_public, is_listed) = (flag(new, "pub"), new.get("GSI2PK").is_some());
        let found = format!("{id} is public: {is_public}, and in the feed: {is_listed}");
        self.model.runs.insert(id, is_public);
        if is_public == is_listed {
            return Vec::new();
        }
        vec![Violation::new(Check::Feed, found)]
    }

    fn job_changed(&mut self, index: usize, job: &JobRef, change: &ItemChange) -> Vec<Violation> {
        let (by, is_retry) = match &self.run.tasks[index].op {
            Op::End { job: of, fence, .. } if of == job => (Some(*fence), false),
            Op::Retry => (None, true),
            _ => (None, false),
        };
        let Some(to) = change.new.as_ref().and_then(status) else { return Vec::new() };
        match self.model.jobs.get_mut(job) {
            Some(known) => known.move_to(to, by, is_retry),
            None => {
                self.model.jobs.insert(job.clone(), ModelJob::submitted(0));
                Vec::new()
            }
        }
    }

    /// Fencing numbers grow by claims, and a lease is held exactly while its job is being processed.
    fn lease_changed(
        &mut self,
        index: usize,
        job: &JobRef,
        change: &ItemChange,
        commit: &Commit,
    ) -> Vec<Violation> {
        let fence = |item: &Option<Item>| {
            let number = item.as_ref().and_then(|item| item.i64("fen")).unwrap_or_default();
            number.unsigned_abs()
        };
        let (before, after) = (fence(&change.old), fence(&change.new));
        let mut violations = Vec::new();
        let attempts_max = u64::from(self.settings.job_attempts_max);
        if before != after {
            if let Op::Claim { took } = &mut self.run.tasks[index].op {
                *took = Some((job.clone(), after));
            }
            if let Some(known) = self.model.jobs.get_mut(job) {
                violations.extend(known.claim(after, attempts_max));
            }
        } else if let Op::Beat { fence, .. } = &self.run.tasks[index].op
            && *fence != after
        {
            let found = format!("{fence} extends the lease of {after}");
            violations.push(Violation::new(Check::Fence, found));
        }
        // The item of the job may come later in the same transaction.
        let meta = keys::job(job.job_type, &job.id);
        let in_commit = commit.changes.iter().find(|change| change.key == meta);
        let status_now = match in_commit {
            Some(change) => change.new.as_ref().and_then(status),
            None => self.model.jobs.get(job).map(|job| job.status),
        };
        let is_held = change.new.as_ref().is_some_and(|item| item.s("wrk").is_some());
        if is_held != (status_now == Some(JobStatus::Processing)) {
            let found = format!("the lease of {job} is held: {is_held}, and it is {status_now:?}");
            violations.push(Violation::new(Check::LeaseHeld, found));
        }
        violations
    }

    /// The counter of a plan is the number of its users.
    fn check_plan_users(&self, commit: &Commit) -> Vec<Violation> {
        let mut violations = Vec::new();
        for change in &commit.changes {
            let Stored::PlanUsers(plan) = stored(&change.key) else { continue };
            let counted = change.new.as_ref().and_then(|item| item.i64(COUNT)).unwrap_or_default();
            let users = self.model.users_of(plan);
            if i64::try_from(users) != Ok(counted) {
                let found = format!("plan {plan} has {users} users, and counts {counted}");
                violations.push(Violation::new(Check::PlanUsers, found));
            }
        }
        violations
    }
}

/// Every counter is raised together with its log, and never alone.
fn check_logs(commit: &Commit) -> Vec<Violation> {
    let (mut counted, mut logged) = (Vec::new(), Vec::new());
    for change in &commit.changes {
        match stored(&change.key) {
            Stored::Count(user, day, action) => counted.push((user, day, action)),
            Stored::Log(user, day, action) => logged.push((user, day, action)),
            _ => {}
        }
    }
    if counted == logged {
        return Vec::new();
    }
    vec![Violation::new(Check::CounterLog, format!("{counted:?} is counted, {logged:?} logged"))]
}
