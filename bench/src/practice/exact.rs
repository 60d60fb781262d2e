//! Whether the counters of users equal the log and what the server allowed.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::seed::{self, Volumes};
use crate::child::Child;
use crate::measure::scatter;
use crate::weir;

const NOTHING: Value = Value::Null;

/// What the server allowed since the start, by user.
pub(super) struct AllowedCounts {
    allowed: Vec<AtomicU64>,
    /// The users that are checked, with the counts of the day at the start.
    sample: Vec<(u64, u64)>,
    date: String,
    /// The number of the next request of all runs.
    next: AtomicU64,
}

impl AllowedCounts {
    /// Reads what a sample of users has used on the day so far.
    pub(super) fn start(server: &Child, volumes: Volumes, users: u64) -> AllowedCounts {
        let user = |number| scatter(5, number) % volumes.users;
        let mut numbers: Vec<u64> = (0..users).map(user).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let date = weir::text(&usage(server, 0), "/date");
        let sample = numbers.into_iter().map(|user| (user, counted(&usage(server, user))));
        AllowedCounts {
            allowed: (0..volumes.users).map(|_| AtomicU64::new(0)).collect(),
            sample: sample.collect(),
            date,
            next: AtomicU64::new(0),
        }
    }

    /// Notes that a request of a user was allowed.
    pub(super) fn add(&self, user: u64) {
        self.allowed.get(user as usize).expect("a user").fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the numbers of so many requests and returns the first.
    pub(super) fn reserve_numbers(&self, requests: u64) -> u64 {
        self.next.fetch_add(requests, Ordering::Relaxed)
    }

    /// Compares counter, log and responses of each user of the sample, and prints the result.
    pub(super) fn check(&self, server: &Child) {
        let (mut actions, mut differences) = (0, 0);
        for (user, before) in &self.sample {
            let allowed = self.allowed.get(*user as usize).expect("a user").load(Ordering::Relaxed);
            let usage = usage(server, *user);
            assert_eq!(weir::text(&usage, "/date"), self.date, "the day changed meanwhile");
            let (counter, logged) = (counted(&usage), self.logged(server, *user));
            let is_exact = counter == logged && counter == before + allowed;
            if !is_exact {
                println!(
                    "user {user}: counter {counter}, log {logged}, {before} + {allowed} allowed"
                );
            }
            differences += u64::from(!is_exact);
            actions += counter;
        }
        println!(
            "Exactness: {} users with {actions} actions today; {differences} with a counter that differs from the log \
             or from the responses",
            self.sample.len(),
        );
        assert_eq!(differences, 0, "counters are not exact");
    }

    /// Entries of a user's log of the day.
    fn logged(&self, server: &Child, user: u64) -> u64 {
        let (mut count, mut cursor) = (0, String::new());
        loop {
            let path = format!("{}/log?date={}&limit=100{cursor}", path(user), self.date);
            let page = weir::admin(server, "GET", &path, &NOTHING);
            count += page.pointer("/items").and_then(Value::as_array).map_or(0, Vec::len) as u64;
            match page.pointer("/next_cursor").and_then(Value::as_str) {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return count,
            }
        }
    }
}

fn path(user: u64) -> String {
    format!("/v1/practice/users/{}/usage", seed::user_id(user))
}

fn usage(server: &Child, user: u64) -> Value {
    weir::admin(server, "GET", &path(user), &NOTHING)
}

/// Counts of all actions.
fn counted(usage: &Value) -> u64 {
    let actions = usage.pointer("/actions").and_then(Value::as_array);
    let counts = actions.into_iter().flatten().filter_map(|action| action.get("count")?.as_u64());
    counts.sum()
}
