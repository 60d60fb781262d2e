//! Recomputes counters that go up and down from what they count: by a scan, as the program of the source counts.
//!
//! Counters of actions on a day are recomputed by [`Practice::recount`], and rollups by [`Practice::verify_rollup`]. With these
//! every counter of the table is covered.

use std::fmt;

use weir_table::expr::{Condition, attr, set};
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Item, Key, Query, Write};

use crate::audit::{AuditAction, NewAuditEvent};
use crate::error::{Error, Result};
use crate::ids::{PlanId, ProblemRef, UserId};
use crate::item::{COUNT, TYPE, VERSION, data, id_value};
use crate::keys::{self, TEST_CASE_PREFIX};
use crate::kinds::EntityType;
use crate::plans::{PLANS, same};
use crate::practice::Practice;
use crate::problems::item::STATE;
use crate::usage::Repair;

/// A counter that goes up and down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counter {
    /// All plans, whose number is bounded.
    Plans,
    /// Users of a plan; a plan with users cannot be deleted.
    PlanUsers(PlanId),
    /// Problems that a user has registered, which `max_problems` limits.
    UserProblems(UserId),
    /// Test cases of a problem, whose number is bounded.
    TestCases(ProblemRef),
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Counter::Plans => write!(f, "plans"),
            Counter::PlanUsers(plan) => write!(f, "users of plan {plan}"),
            Counter::UserProblems(user) => write!(f, "problems of user {user}"),
            Counter::TestCases(problem) => write!(f, "test cases of problem {problem}"),
        }
    }
}

impl Counter {
    fn key(&self) -> Key {
        match self {
            Counter::Plans => keys::plan_sequence(),
            Counter::PlanUsers(plan) => keys::plan_users(*plan),
            Counter::UserProblems(user) => keys::problem_count(user),
            Counter::TestCases(problem) => keys::test_case_count(problem),
        }
    }

    /// The attribute with the value.
    fn attribute(&self) -> &'static str {
        if *self == Counter::Plans { PLANS } else { COUNT }
    }

    fn value(&self, item: Option<&Item>) -> u64 {
        let value = item.and_then(|item| item.i64(self.attribute())).unwrap_or_default();
        u64::try_from(value).unwrap_or_default()
    }

    /// The name of the counter in the audit log.
    fn subject(&self) -> String {
        match self {
            Counter::Plans => "plans".to_owned(),
            Counter::PlanUsers(plan) => format!("plan {plan}"),
            Counter::UserProblems(user) => format!("user {user}"),
            Counter::TestCases(problem) => format!("problem {problem}"),
        }
    }
}

/// The result of a recount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterCheck {
    /// The counter.
    pub counter: Counter,
    /// Value of the counter.
    pub counted: u64,
    /// Number of items that it counts.
    pub found: u64,
    /// Users that only the program of the source knows, and that are not counted; only of [`Counter::PlanUsers`]. A
    /// correction counts them, unless another user has the same email address or Google id.
    pub uncounted: u64,
    /// Whether the counter was corrected.
    pub repaired: bool,
}

impl CounterCheck {
    /// Whether the counter differs from what it counts.
    #[must_use]
    pub fn is_different(&self) -> bool {
        self.counted != self.found
    }
}

impl<B: Backend> Practice<B> {
    /// Compares a counter with the number of items that it counts, and corrects it if asked to. Safe while requests come in.
    /// It reads the whole table, except for test cases.
    ///
    /// # Errors
    /// The plan, user or problem does not exist, the counter keeps changing, or the store fails.
    pub async fn recount_counter(
        &self,
        counter: &Counter,
        repair: Repair<'_>,
    ) -> Result<CounterCheck> {
        self.require_owner(counter).await?;
        let uncounted = self.count_strangers(counter, repair).await?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let before = self.item(counter.key()).await?;
            let found = self.count_members(counter).await?;
            // Every change raises a version: if the counter is the same item, nothing changed while the members were read.
            if self.item(counter.key()).await? != before {
                continue;
            }
            let counted = counter.value(before.as_ref());
            let counter = counter.clone();
            let check = CounterCheck { counter, counted, found, uncounted, repaired: false };
            let Repair::By(actor) = repair else { return Ok(check) };
            if !check.is_different() {
                return Ok(check);
            }
            if self.correct_counter(&check, &before.unwrap_or_default(), actor).await? {
                return Ok(CounterCheck { repaired: true, ..check });
            }
        }
        Err(Error::Contended)
    }

    /// Recounts all plans, and the users of each.
    ///
    /// # Errors
    /// A counter keeps changing, or the store fails.
    pub async fn recount_plans(&self, repair: Repair<'_>) -> Result<Vec<CounterCheck>> {
        let mut checks = vec![self.recount_counter(&Counter::Plans, repair).await?];
        let plans = self.scanned(is_type(EntityType::Plan)).await?;
        for plan in plans.iter().filter_map(|item| keys::parse_plan(item.s("PK")?)) {
            match self.recount_counter(&Counter::PlanUsers(plan), repair).await {
                // It was deleted meanwhile.
                Err(error) if error.is_not_found() => {}
                check => checks.push(check?),
            }
        }
        Ok(checks)
    }

    async fn require_owner(&self, counter: &Counter) -> Result<()> {
        match counter {
            Counter::Plans => self.seed_plans().await,
            Counter::PlanUsers(plan) => self.plan(*plan).await.map(|_| ()),
            Counter::UserProblems(user) => self.user(user).await.map(|_| ()),
            Counter::TestCases(problem) => self.problem_summary(problem).await.map(|_| ()),
        }
    }

    async fn count_members(&self, counter: &Counter) -> Result<u64> {
        let query = match counter {
            Counter::TestCases(problem) => {
                let partition = keys::problem_partition(problem);
                let query = Query::partition(self.table().clone(), partition);
                query.begins_with(TEST_CASE_PREFIX)
            }
            Counter::Plans => self.scan(is_type(EntityType::Plan)),
            Counter::PlanUsers(plan) => self.scan(is_on(*plan).and(attr(VERSION).exists())),
            Counter::UserProblems(user) => {
                let is_theirs = data("uid").eq(id_value(user.as_str()));
                let is_problem = is_type(EntityType::Problem).and(attr(STATE).absent());
                self.scan(is_problem.and(is_theirs))
            }
        };
        let mut query = query.count_only();
        let mut count = 0_u64;
        loop {
            let page = self.store().query(&query).await?;
            count = count.saturating_add(page.count);
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(count),
            }
        }
    }

    /// Users of a plan that are not counted; a correction counts them first.
    async fn count_strangers(&self, counter: &Counter, repair: Repair<'_>) -> Result<u64> {
        let Counter::PlanUsers(plan) = counter else { return Ok(0) };
        let strangers = self.scanned(is_on(*plan).and(attr(VERSION).absent())).await?;
        let Repair::By(actor) = repair else { return Ok(strangers.len() as u64) };
        let mut left = 0;
        for user in strangers.iter().filter_map(|item| keys::parse_user(item.s("PK")?)) {
            match self.adopt_user(&user, actor).await {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) if error.is_conflict() => left += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(left)
    }

    fn scan(&self, filter: Condition) -> Query {
        Query::scan(self.table().clone()).filter(filter)
    }

    /// The keys of all items that a filter lets through.
    async fn scanned(&self, filter: Condition) -> Result<Vec<Item>> {
        let mut query = self.scan(filter).project(["PK", "SK"]);
        let mut items = Vec::new();
        loop {
            let page = self.store().query(&query).await?;
            items.extend(page.items);
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(items),
            }
        }
    }

    /// False when the counter has changed meanwhile.
    async fn correct_counter(
        &self,
        check: &CounterCheck,
        before: &Item,
        actor: &str,
    ) -> Result<bool> {
        let CounterCheck { counter, counted, found, .. } = check;
        let event = NewAuditEvent {
            action: AuditAction::CountersRecomputed,
            subject: counter.subject(),
            actor,
            detail: Some(format!("{counter}: {counted} to {found}")),
        };
        let update = set(counter.attribute(), *found).set(TYPE, EntityType::Counter.as_str());
        let is_same = same(before, counter.attribute()).and(same(before, VERSION));
        let update = Write::update(self.table().clone(), counter.key(), update.add(VERSION, 1));
        let writes = vec![update.when(is_same), self.audit_write(event, self.now_ms())?];
        Ok(self.transact(writes).await?.is_applied())
    }
}

fn is_type(of: EntityType) -> Condition {
    attr(TYPE).eq(of.as_str())
}

fn is_on(plan: PlanId) -> Condition {
    is_type(EntityType::User).and(data("plan").eq(plan.get()))
}
