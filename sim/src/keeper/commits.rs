//! Checks every write of counters, totals and fallbacks.

use weir_keeper::day::OrgDay;
use weir_keeper::ids::{Label, Scope};
use weir_keeper::keys;
use weir_keeper::table::TTL;
use weir_table::{Item, Key, Value};

use super::{Op, Simulation, Sums};
use crate::check::{Check, Violation};
use crate::model::ledger::Sum;
use crate::store::{Commit, ItemChange};

/// The label, day and shard that a submission is counted in.
type CounterId = (Label, OrgDay, u8);

impl Simulation {
    /// Checks what a request wrote.
    pub(super) fn check_commit(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        let tables = self.settings.tables.clone();
        let now_ms = self.run.tasks[index].now_ms;
        let mut violations = self.check_counting(index, commit);
        for change in &commit.changes {
            if change.table == tables.daily_total.as_str() {
                violations.extend(self.check_total(change));
            } else if change.table == tables.sticky_state.as_str() {
                violations.extend(check_sticky(change, now_ms));
            }
        }
        violations
    }

    /// Each submission is counted once, and in full.
    fn check_counting(&mut self, index: usize, commit: &Commit) -> Vec<Violation> {
        let tables = self.settings.tables.clone();
        let now_ms = self.run.tasks[index].now_ms;
        let Op::Submit { org, app, submissions, counted } = &mut self.run.tasks[index].op else {
            return Vec::new();
        };
        let mut violations = Vec::new();
        let mut expected: Sums<CounterId> = Sums::new();
        for change in commit.changes.iter().filter(|c| c.table == tables.request_dedup.as_str()) {
            let is_record = |id| keys::request(org, app, id) == change.key;
            let of = submissions.iter().find(|one| is_record(&one.request_id));
            let (Some(one), Some(record)) = (of, &change.new) else { continue };
            let id = (org.clone(), app.clone(), one.request_id.clone());
            let is_free = change.old.as_ref().is_none_or(|old| {
                old.i64(TTL).is_some_and(|until| until <= now_ms.div_euclid(1000))
            });
            if !is_free {
                let found = format!("submission {} is counted again", one.request_id);
                violations.push(Violation::new(Check::CountedOnce, found));
            }
            self.run.trace.say(format_args!("  task {} counts {}", commit.task, one.request_id));
            counted.push(one.request_id.clone());
            self.ledger.counted.insert(id, one.clone());
            if let Some(counter) = counter_id(record) {
                expected.entry(counter).or_default().add(one);
            }
        }
        let scopes = [Scope::App(org.clone(), app.clone()), Scope::Org(org.clone())];
        let mut found: [Sums<CounterId>; 2] = Default::default();
        for change in commit.changes.iter().filter(|c| c.table == tables.usage_agg_sharded.as_str())
        {
            let Some((scope, counter)) = parse_usage(&change.key) else { continue };
            let sum = growth(change);
            let total = (scope.clone(), counter.0.clone(), counter.1);
            self.ledger.sums.entry(total).or_default().add_all(sum);
            match scopes.iter().position(|of| *of == scope) {
                Some(at) => found[at].entry(counter).or_default().add_all(sum),
                None => {
                    let found = format!("{scope:?} is counted for {}", scopes[0].client_id());
                    violations.push(Violation::new(Check::Counted, found));
                }
            }
        }
        let [of_app, of_org] = found;
        // Where the quota was the org's at the time of the call, the org has a counter too.
        let is_part = |(id, sum): (&CounterId, &Sum)| {
            expected.get(id).is_some_and(|all| sum.requests <= all.requests && sum.cost <= all.cost)
        };
        if of_app != expected || !of_org.iter().all(is_part) {
            let found = format!("submitted {expected:?}, counted {of_app:?} and {of_org:?}");
            violations.push(Violation::new(Check::Counted, found));
        }
        violations
    }

    /// A total never goes back, and is never more than what was submitted.
    fn check_total(&self, change: &ItemChange) -> Option<Violation> {
        let Value::S(pk) = change.key.partition.to_value() else { return None };
        let Value::S(sk) = change.key.sort.as_ref()?.to_value() else { return None };
        let (scope, label) = keys::parse_total(&pk)?;
        let day = keys::parse_day(&sk)?;
        let (old, new) = (change.old.as_ref().map(total), total(change.new.as_ref()?));
        let sum = self.ledger.sum(&(scope, label, day));
        let goes_back = old.is_some_and(|old| new.cost < old.cost || new.requests < old.requests);
        if !goes_back && new.cost <= sum.cost && new.requests <= sum.requests {
            return None;
        }
        let found = format!("{}: {old:?} becomes {new:?} of {sum:?}", change.key);
        Some(Violation::new(Check::TotalGrows, found))
    }
}

/// A fallback does not move back, unless the config changed or the last one is over.
fn check_sticky(change: &ItemChange, now_ms: i64) -> Option<Violation> {
    let (old, new) = (change.old.as_ref()?, change.new.as_ref()?);
    let number = |item: &Item, name| item.i64(name);
    let is_over = number(old, TTL).is_some_and(|until| until <= now_ms.div_euclid(1000));
    let same = number(old, "config_version") == number(new, "config_version");
    let index = "active_model_index";
    let moves_on = number(old, index) < number(new, index);
    let found = format!("{}: {old:?} becomes {new:?}", change.key);
    (same && !is_over && !moves_on).then(|| Violation::new(Check::Sticky, found))
}

/// The numbers of a stored counter.
pub(super) fn total(item: &Item) -> Sum {
    let number = |name: &str| {
        let number = item.get(name).and_then(Value::as_n).and_then(|number| number.to_i128());
        number.unwrap_or_default().unsigned_abs()
    };
    Sum {
        cost: number("cost_usd_micros"),
        input: number("input_tokens"),
        requests: number("requests"),
    }
}

fn growth(change: &ItemChange) -> Sum {
    let (old, new) = (change.old.as_ref().map(total), change.new.as_ref().map(total));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    Sum {
        cost: new.cost.saturating_sub(old.cost),
        input: new.input.saturating_sub(old.input),
        requests: new.requests.saturating_sub(old.requests),
    }
}

fn counter_id(record: &Item) -> Option<CounterId> {
    let label = Label::new(record.s("model_label")?).ok()?;
    let shard = u8::try_from(record.i64("shard_id")?).ok()?;
    Some((label, OrgDay::from_compact(record.s("org_day")?)?, shard))
}

fn parse_usage(key: &Key) -> Option<(Scope, CounterId)> {
    let Value::S(pk) = key.partition.to_value() else { return None };
    let Value::S(sk) = key.sort.as_ref()?.to_value() else { return None };
    let (scope, label, shard) = keys::parse_usage(&pk)?;
    Some((scope, (label, keys::parse_day(&sk)?, shard)))
}
