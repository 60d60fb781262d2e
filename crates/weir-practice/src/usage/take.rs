//! Takes one action of a user's daily limit.

use weir_calendar::Day;
use weir_table::expr::{Update, attr, set};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Write};

use super::decide::{Decision, Standing, counted_day, decide};
use super::idempotency;
use super::request::{Outcome, UsageAnswer, UsageRequest};
use crate::day::end_of;
use crate::error::{Error, Result};
use crate::faults::{self, Fault};
use crate::ids::UserId;
use crate::item::{COUNT, CREATED, TYPE, UPDATED, expiry, secs};
use crate::keys::{self, find};
use crate::kinds::EntityType;
use crate::plans::{Access, PlanLimit, count_of};
use crate::practice::Practice;
use crate::table::TTL;

/// The latest day on which a user was counted.
pub(super) const DAY: &str = "day";

/// The latest day on which a user was counted, of its item.
pub(crate) fn latest_day(item: Option<&Item>) -> Option<Day> {
    item.and_then(|item| Day::from_compact(item.s(DAY)?))
}

/// The stored state that a request depends on, as it was read.
struct Snapshot {
    access: Access,
    latest: Option<Day>,
    day: Day,
    counter: Option<Item>,
    record: Option<Item>,
}

impl<B: Backend> Practice<B> {
    /// Takes one action of a user's daily limit, and logs it. A refusal is an answer, and writes nothing.
    ///
    /// # Errors
    /// A field is invalid, the user does not exist or is inactive, the idempotency key was used for another request, or the
    /// store fails; then the request may have been counted, and is safely repeated only with an idempotency key.
    pub async fn take_usage(&self, user: &UserId, request: &UsageRequest) -> Result<UsageAnswer> {
        request.check()?;
        // The clock is asked once, so a request that is tried again at midnight stays on its day.
        let now_ms = self.now_ms();
        let mut clock_ahead_ms = None;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let snapshot = self.usage_snapshot(user, request, now_ms).await?;
            if attempt == 0 {
                let read_ms = snapshot.counter.as_ref().and_then(|item| item.i64(UPDATED));
                let read_ms = read_ms.map(|at_s| at_s.saturating_mul(1000));
                clock_ahead_ms = self.clock_watch().observe(read_ms, now_ms);
            }
            if let Some(answer) = self.try_take(&snapshot, request, now_ms).await? {
                return Ok(UsageAnswer { clock_ahead_ms, ..answer });
            }
        }
        Err(Error::Contended)
    }

    /// Reads what a request depends on, in one call unless the plan is another than the last time or the day another than
    /// the clock says.
    async fn usage_snapshot(
        &self,
        user: &UserId,
        request: &UsageRequest,
        now_ms: i64,
    ) -> Result<Snapshot> {
        let today = self.day_of(now_ms);
        let count_key = keys::action_count(user, today, request.action);
        let plan = self.plan_hints().get(user);
        let (day_key, plan_key) = (keys::latest_day(user), keys::plan(plan));
        let record_key = request.idempotency_key.as_ref();
        let record_key = record_key.map(|key| idempotency::key(user, key, today));
        let mut keys = vec![keys::user(user), day_key.clone(), count_key.clone(), plan_key];
        keys.extend(record_key.clone());
        let items = self.items(keys).await?;
        let access = self.access_of(user, &items).await?;
        let latest = latest_day(find(&items, &day_key));
        let latest = latest.filter(|_| !faults::is(Fault::DayReopened));
        let day = counted_day(today, latest);
        let counter = match find(&items, &count_key) {
            counter if day == today => counter.cloned(),
            _ => self.item(keys::action_count(user, day, request.action)).await?,
        };
        let record = record_key.and_then(|key| find(&items, &key).cloned());
        Ok(Snapshot { access, latest, day, counter, record })
    }

    /// Decides, and writes what is allowed. `None` when something has changed since the snapshot.
    async fn try_take(
        &self,
        snapshot: &Snapshot,
        request: &UsageRequest,
        now_ms: i64,
    ) -> Result<Option<UsageAnswer>> {
        let zone = &self.settings().zone;
        if let Some(outcome) = idempotency::replay(snapshot.record.as_ref(), request, now_ms)? {
            return Ok(Some(UsageAnswer { is_replay: true, ..outcome.answer(true, zone) }));
        }
        let user = &snapshot.access.user;
        let standing = Standing {
            is_active: user.is_active,
            is_staff: user.is_staff,
            limit: snapshot.access.plan.fields.limit(request.action),
        };
        let (action, day, limit) = (request.action, snapshot.day, standing.limit());
        let outcome = |count| Outcome { action, day, count, limit };
        match decide(standing, count_of(snapshot.counter.as_ref())) {
            Decision::Forbid => Err(Error::forbidden("the user is inactive")),
            Decision::Refuse { count } => Ok(Some(outcome(count).answer(false, zone))),
            Decision::Allow { count } => {
                let writes = self.usage_writes(snapshot, request, outcome(count), now_ms);
                if !self.transact(writes).await?.is_applied() {
                    return Ok(None);
                }
                self.clock_watch().wrote(now_ms);
                Ok(Some(outcome(count).answer(true, zone)))
            }
        }
    }

    fn usage_writes(
        &self,
        snapshot: &Snapshot,
        request: &UsageRequest,
        outcome: Outcome,
        now_ms: i64,
    ) -> Vec<Write> {
        let user = &snapshot.access.user;
        let mut writes = vec![
            self.day_write(&user.id, snapshot, now_ms),
            self.count_write(&user.id, outcome, now_ms),
            self.log_write(&user.id, request, outcome.day, now_ms),
        ];
        if !faults::is(Fault::StandingUnchecked) {
            writes.push(user.unchanged_standing(self.table()));
        }
        if let Some(key) = &request.idempotency_key {
            let key = idempotency::key(&user.id, key, self.day_of(now_ms));
            let times = (now_ms, end_of(&self.settings().zone, outcome.day));
            writes.push(idempotency::record(self.table(), key, request, outcome, times));
        }
        writes
    }

    /// Requires that the user was counted on no later day, and notes a new one.
    fn day_write(&self, user: &UserId, snapshot: &Snapshot, now_ms: i64) -> Write {
        let (key, day) = (keys::latest_day(user), snapshot.day.compact());
        if snapshot.latest == Some(snapshot.day) {
            return Write::check(self.table().clone(), key, attr(DAY).eq(day));
        }
        self.new_day_write(user, snapshot.day, now_ms)
    }

    /// Notes the latest day of a user, on condition that it is not earlier than the one before.
    pub(super) fn new_day_write(&self, user: &UserId, day: Day, now_ms: i64) -> Write {
        let (key, day) = (keys::latest_day(user), day.compact());
        let update = set(DAY, day.as_str())
            .set(TYPE, EntityType::LatestDay.as_str())
            .set(UPDATED, secs(now_ms))
            .set_if_absent(CREATED, secs(now_ms));
        let write = Write::update(self.table().clone(), key, update);
        if faults::is(Fault::DayReopened) {
            return write;
        }
        write.when(attr(DAY).absent().or(attr(DAY).le(day)))
    }

    fn count_write(&self, user: &UserId, outcome: Outcome, now_ms: i64) -> Write {
        let key = keys::action_count(user, outcome.day, outcome.action);
        let update = self.counter_update(outcome.day, now_ms).add(COUNT, 1);
        let write = Write::update(self.table().clone(), key, update);
        match outcome.limit {
            PlanLimit::Unlimited => write,
            PlanLimit::AtMost(_) if faults::is(Fault::CounterUnconditional) => write,
            PlanLimit::AtMost(limit) => {
                write.when(attr(COUNT).absent().or(attr(COUNT).lt(i64::from(limit))))
            }
        }
    }

    /// The attributes of a counter of a day beside its value. It expires together with the log of the day.
    pub(super) fn counter_update(&self, day: Day, now_ms: i64) -> Update {
        set(TYPE, EntityType::Counter.as_str())
            .set_if_absent(CREATED, secs(now_ms))
            .set(UPDATED, secs(now_ms))
            .set(TTL, self.usage_expiry(day))
    }

    /// When the counters and the log of a day expire, in seconds since 1970.
    pub(crate) fn usage_expiry(&self, day: Day) -> i64 {
        expiry(end_of(&self.settings().zone, day), self.settings().usage_days)
    }
}
