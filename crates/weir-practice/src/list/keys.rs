//! Keys of the two indexes, and the lists in them.
//!
//! An item has one value per index, so most entries of lists are small items beside their owner, written in the same
//! transaction ([`ListEntry`]). Entries have no data: a list is read as in the source, keys first, then the items.

use weir_calendar::Day;
use weir_table::expr::{Update, remove, set};
use weir_table::{Item, Key, Name};

use crate::ids::{Email, GoogleId, HistoryId, JobId, PlanId, Platform, ProblemRef, Tag, UserId};
use crate::keys::{
    META, history, job, job_partition, job_prefix, millis, plan, problem, problem_partition,
    rollup_partition, seconds, user, user_partition, user_rollup,
};
use crate::kinds::{JobStatus, JobType, ProblemStatus};

/// Index of sign-ins and of the runs of users, with whole items.
pub const GSI1: &str = "GSI1";
/// Index of the public feed and of all lists, with keys only.
pub const GSI2: &str = "GSI2";

/// The key of an item in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexKey {
    /// The index.
    pub index: &'static str,
    /// Its partition.
    pub partition: String,
    /// The sort key in it.
    pub sort: String,
}

impl IndexKey {
    /// The item, in the index.
    #[must_use]
    pub fn put_on(self, item: Item) -> Item {
        let (partition, sort) = index_attributes(self.index);
        item.with(partition, self.partition).with(sort, self.sort)
    }

    /// The update that puts an item into the index, or moves it there.
    #[must_use]
    pub fn join(self) -> Update {
        let (partition, sort) = index_attributes(self.index);
        set(partition, self.partition).set(sort, self.sort)
    }

    /// The update that takes an item out of an index.
    #[must_use]
    pub fn leave(index: &str) -> Update {
        let (partition, sort) = index_attributes(index);
        remove(partition).remove(sort)
    }
}

/// Names of the attributes with the keys of an index.
#[must_use]
pub fn index_attributes(index: &str) -> (Name, Name) {
    (format!("{index}PK").into(), format!("{index}SK").into())
}

/// Finds a user by the email address as it was given.
#[must_use]
pub fn login_by_email(email: &Email) -> IndexKey {
    login(email.as_str())
}

/// Finds the copy of a user by its Google id.
#[must_use]
pub fn login_by_google(id: &GoogleId) -> IndexKey {
    login(id.as_str())
}

fn login(name: &str) -> IndexKey {
    IndexKey { index: GSI1, partition: format!("USR#{name}"), sort: META.to_owned() }
}

/// Partition of the runs of a user in [`GSI1`].
#[must_use]
pub fn own_history_partition(user: &UserId) -> String {
    format!("USR#{user}#HIST")
}

/// A run in the history of its user.
#[must_use]
pub fn run_of_user(user: &UserId, created_s: i64, id: &HistoryId) -> IndexKey {
    let sort = by_time(created_s, id);
    IndexKey { index: GSI1, partition: own_history_partition(user), sort }
}

/// A list in [`GSI2`]. Each method makes the entry of one member; a list has members of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum List {
    /// Public runs, by time: all of them, or those of a day in UTC.
    Feed(Option<Day>),
    /// All users, by creation.
    Users,
    /// Users of a plan, by creation.
    UsersOfPlan(PlanId),
    /// All plans, by creation.
    Plans,
    /// Problems that are not deleted, by creation.
    Problems,
    /// Problems in a status, by creation.
    ProblemsOfStatus(ProblemStatus),
    /// Problems of a platform that are not deleted, by creation.
    ProblemsOfPlatform(Platform),
    /// Problems with a tag that are not deleted, by creation.
    ProblemsWithTag(Tag),
    /// All jobs of a type, by creation.
    Jobs(JobType),
    /// Jobs of a type in a status, by creation.
    JobsOfStatus(JobType, JobStatus),
    /// Claimed jobs of a type, by the end of their lease.
    JobLeases(JobType),
    /// Users who were active on a day, by how much they used.
    TopUsers(Day),
}

/// An entry of a list: the item that carries it, and its key in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// The item: the member itself, or a small item beside it.
    pub key: Key,
    /// Its key in the list.
    pub index: IndexKey,
}

impl List {
    /// Its partition in [`GSI2`].
    #[must_use]
    pub fn partition(&self) -> String {
        match self {
            List::Feed(None) => "HIST#PUBLIC".to_owned(),
            List::Feed(Some(day)) => format!("HIST#PUBLIC#{}", day.compact()),
            List::Users => "LIST#USR".to_owned(),
            List::UsersOfPlan(plan) => format!("LIST#USR#PLAN#{plan}"),
            List::Plans => "LIST#PLAN".to_owned(),
            List::Problems => "LIST#PROB".to_owned(),
            List::ProblemsOfStatus(status) => format!("LIST#PROB#STATUS#{status}"),
            List::ProblemsOfPlatform(platform) => format!("LIST#PROB#PLATFORM#{platform}"),
            List::ProblemsWithTag(tag) => format!("LIST#PROB#TAG#{tag}"),
            List::Jobs(of) => format!("LIST#{}", job_prefix(*of)),
            List::JobsOfStatus(of, status) => format!("LIST#{}#STATUS#{status}", job_prefix(*of)),
            List::JobLeases(of) => format!("LIST#{}#LEASE", job_prefix(*of)),
            List::TopUsers(day) => rollup_partition(*day),
        }
    }

    /// Sort key of the small item that carries an entry; `None` if the member carries it itself.
    fn satellite(&self) -> Option<String> {
        match self {
            List::UsersOfPlan(_) => Some("IDX#PLAN".to_owned()),
            List::ProblemsOfStatus(status) => Some(format!("IDX#STATUS#{status}")),
            List::ProblemsOfPlatform(_) => Some("IDX#PLATFORM".to_owned()),
            List::ProblemsWithTag(tag) => Some(format!("IDX#TAG#{tag}")),
            List::JobsOfStatus(..) => Some("IDX#STATUS".to_owned()),
            List::JobLeases(_) => Some("IDX#LEASE".to_owned()),
            _ => None,
        }
    }

    fn entry(&self, member: Key, partition: String, sort: String) -> ListEntry {
        let key = self.satellite().map_or(member, |satellite| Key::new(partition, satellite));
        ListEntry { key, index: IndexKey { index: GSI2, partition: self.partition(), sort } }
    }

    /// The entry of a public run in [`List::Feed`].
    #[must_use]
    pub fn run(&self, created_s: i64, id: &HistoryId) -> ListEntry {
        self.entry(history(id), String::new(), by_time(created_s, id))
    }

    /// The entry of a user in [`List::Users`] or [`List::UsersOfPlan`].
    #[must_use]
    pub fn user(&self, created_s: i64, id: &UserId) -> ListEntry {
        self.entry(user(id), user_partition(id), by_time(created_s, id))
    }

    /// The entry of a plan in [`List::Plans`].
    #[must_use]
    pub fn plan(&self, created_s: i64, id: PlanId) -> ListEntry {
        self.entry(plan(id), String::new(), by_time(created_s, id))
    }

    /// The entry of a problem in a list of problems.
    #[must_use]
    pub fn problem(&self, created_s: i64, of: &ProblemRef) -> ListEntry {
        let sort = format!("{}#{}#{}", seconds(created_s), of.platform, of.id);
        self.entry(problem(of), problem_partition(of), sort)
    }

    /// The entry of a job in [`List::Jobs`] or [`List::JobsOfStatus`].
    #[must_use]
    pub fn job(&self, created_s: i64, of: JobType, id: &JobId) -> ListEntry {
        self.entry(job(of, id), job_partition(of, id), by_time(created_s, id))
    }

    /// The entry of a claimed job in [`List::JobLeases`].
    #[must_use]
    pub fn lease(until_ms: i64, of: JobType, id: &JobId) -> ListEntry {
        let sort = format!("{}#{id}", millis(until_ms));
        List::JobLeases(of).entry(job(of, id), job_partition(of, id), sort)
    }

    /// The entry of a user in [`List::TopUsers`].
    #[must_use]
    pub fn top_user(day: Day, total: u64, id: &UserId) -> ListEntry {
        List::TopUsers(day).entry(user_rollup(day, id), String::new(), format!("{total:012}#{id}"))
    }
}

fn by_time(created_s: i64, id: impl std::fmt::Display) -> String {
    format!("{}#{id}", seconds(created_s))
}
