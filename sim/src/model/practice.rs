//! A plain model of the practice service: who is who, what was counted, which runs are public, and where jobs are.

use std::collections::{BTreeMap, BTreeSet};

use weir_calendar::Day;
use weir_practice::ids::{HistoryId, PlanId, UserId};
use weir_practice::jobs::JobRef;
use weir_practice::kinds::{Action, JobStatus};

use crate::check::{Check, Violation};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUser {
    /// The email address, in lower case.
    pub email: String,
    /// The Google account.
    pub google_id: Option<String>,
    /// The plan.
    pub plan: PlanId,
    /// Whether the user may do anything.
    pub is_active: bool,
    /// Whether no plan limits the user.
    pub is_staff: bool,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelJob {
    /// Its status.
    pub status: JobStatus,
    /// Its fencing number: how often it was claimed.
    pub fence: u64,
    /// Claims since it was submitted or retried.
    pub attempts: u64,
    /// The fencing number of the worker that ended it, in its present attempt.
    pub ended_by: Option<u64>,
}

/// Everything that requests have done.
#[derive(Debug, Default)]
pub struct Model {
    /// The users.
    pub users: BTreeMap<UserId, ModelUser>,
    /// The latest day on which each user was counted.
    pub latest: BTreeMap<UserId, Day>,
    /// How often a user did an action on a day.
    pub counts: BTreeMap<(UserId, Day, Action), u64>,
    /// Idempotency keys that were counted, and when each is forgotten, in seconds since 1970.
    pub keys: BTreeMap<(UserId, String), i64>,
    /// Idempotency keys that were ever counted: a request in flight may have read a record that has expired since.
    pub keys_ever: BTreeSet<(UserId, String)>,
    /// Runs, and whether each is public.
    pub runs: BTreeMap<HistoryId, bool>,
    /// Jobs.
    pub jobs: BTreeMap<JobRef, ModelJob>,
    /// Daily limits of plans; none of one that is unlimited.
    pub limits: BTreeMap<(PlanId, Action), u64>,
}

/// One action that was counted.
#[derive(Debug, Clone)]
pub struct Counted<'a> {
    /// The user.
    pub user: &'a UserId,
    /// The action.
    pub action: Action,
    /// The day of the counter.
    pub day: Day,
    /// The day by the clock of the server when the request began.
    pub today: Day,
    /// The idempotency key.
    pub key: Option<&'a str>,
    /// The time of the request, in seconds since 1970.
    pub now_s: i64,
    /// The counter after it.
    pub count: i64,
}

impl Model {
    /// Counts an action, and says which rules that breaks.
    pub fn count(&mut self, counted: &Counted<'_>, key_ttl_s: i64) -> Vec<Violation> {
        let Counted { user, action, day, today, key, now_s, count } = counted.clone();
        let mut violations = Vec::new();
        let mut broken = |check, found: String| violations.push(Violation::new(check, found));
        let sum = self.counts.entry((user.clone(), day, action)).or_default();
        *sum += 1;
        if i64::try_from(*sum) != Ok(count) {
            let found = format!("{user} has {count} of {action} on {day}, and did it {sum} times");
            broken(Check::CounterLog, found);
        }
        match self.users.get(user) {
            None => broken(Check::Standing, format!("{user} is counted and does not exist")),
            Some(ModelUser { is_active: false, .. }) => {
                broken(Check::Standing, format!("{user} is counted and inactive"));
            }
            Some(ModelUser { is_staff: true, .. }) => {}
            Some(ModelUser { plan, .. }) => {
                let limit = self.limits.get(&(*plan, action));
                if limit.is_some_and(|limit| *sum > *limit) {
                    let found = format!("{user} does {action} {sum} times on {day}: {limit:?}");
                    broken(Check::DailyLimit, found);
                }
            }
        }
        let latest = self.latest.get(user).copied();
        let expected = latest.map_or(today, |latest| latest.max(today));
        if day != expected {
            let found = format!("{user} is counted on {day}: today is {today}, latest {latest:?}");
            broken(Check::DayClosed, found);
        }
        self.latest.insert(user.clone(), expected);
        if let Some(key) = key {
            let name = (user.clone(), key.to_owned());
            if self.keys.get(&name).is_some_and(|expires_s| now_s < *expires_s) {
                broken(Check::TakesOnce, format!("{key} of {user} is counted again"));
            }
            self.keys_ever.insert(name.clone());
            self.keys.insert(name, now_s + key_ttl_s);
        }
        violations
    }

    /// Changes a user, and says whether two users share a name now.
    pub fn set_user(&mut self, id: UserId, user: ModelUser) -> Vec<Violation> {
        let shares = |(other, of): (&UserId, &ModelUser)| {
            let same_google = user.google_id.is_some() && of.google_id == user.google_id;
            (*other != id && (of.email == user.email || same_google)).then(|| other.clone())
        };
        let shared = self.users.iter().find_map(shares);
        let found = shared.map(|other| format!("{id} and {other} share a name: {user:?}"));
        self.users.insert(id, user);
        found.map(|found| Violation::new(Check::UniqueNames, found)).into_iter().collect()
    }

    /// Users of a plan.
    #[must_use]
    pub fn users_of(&self, plan: PlanId) -> usize {
        self.users.values().filter(|user| user.plan == plan).count()
    }

    /// Jobs in a status.
    #[must_use]
    pub fn jobs_in(&self, status: JobStatus) -> usize {
        self.jobs.values().filter(|job| job.status == status).count()
    }
}

impl ModelJob {
    /// A job that was submitted.
    #[must_use]
    pub fn submitted(fence: u64) -> ModelJob {
        ModelJob { status: JobStatus::Pending, fence, attempts: 0, ended_by: None }
    }

    /// Moves the job to another status, and says which rules that breaks. `by` is the fencing number of the worker that does
    /// so, and `is_retry` whether an administrator retries it.
    pub fn move_to(&mut self, to: JobStatus, by: Option<u64>, is_retry: bool) -> Vec<Violation> {
        use JobStatus::{Cancelled, Completed, Failed, Pending, Processing};
        let from = std::mem::replace(&mut self.status, to);
        let is_allowed = match (from, to) {
            (Pending, Processing | Cancelled) | (Processing, Completed | Failed | Cancelled) => {
                true
            }
            (Failed, Pending) => is_retry,
            _ => false,
        };
        let mut violations = Vec::new();
        if !is_allowed {
            let found = format!("a job that was {from} is {to}");
            violations.push(Violation::new(Check::JobStatus, found));
        }
        if let Some(by) = by {
            if by != self.fence {
                let found = format!("{by} makes a job {to} that {} holds", self.fence);
                violations.push(Violation::new(Check::Fence, found));
            }
            if let Some(before) = self.ended_by.replace(by) {
                let found = format!("{before} and {by} end a job");
                violations.push(Violation::new(Check::Fence, found));
            }
        }
        if is_retry {
            (self.attempts, self.ended_by) = (0, None);
        }
        violations
    }

    /// A worker claims the job, with this fencing number.
    pub fn claim(&mut self, fence: u64, attempts_max: u64) -> Vec<Violation> {
        let mut violations = Vec::new();
        if fence != self.fence + 1 {
            let found = format!("a claim gets {fence} after {}", self.fence);
            violations.push(Violation::new(Check::Fence, found));
        }
        self.fence = fence;
        self.attempts += 1;
        if self.attempts > attempts_max {
            let found = format!("a job is claimed {} times", self.attempts);
            violations.push(Violation::new(Check::Attempts, found));
        }
        violations
    }
}
