//! Checks every response of a keeper.

use weir_keeper::Error;
use weir_keeper::decide::StickyState;
use weir_keeper::ids::{AppId, Label, OrgId, Scope};
use weir_keeper::keys;
use weir_keeper::select::Selection;
use weir_keeper::submit::{Accepted, Submission};
use weir_keeper::table::TTL;
use weir_table::feed::Position;

use super::commits::total;
use super::{Op, Outcome, Simulation, last_part};
use crate::check::{Check, Violation};
use crate::model::ledger::is_same_call;
use crate::task::{Task, at_once};

/// The largest quota: a sum may stop there.
const LARGEST_QUOTA: u128 = 1_000_000_000_000_000;
/// Days of history that a run is asked for at its end.
const HISTORY_DAYS_MAX: usize = 80;

/// The further of two positions of the feed.
fn further(one: &Position, two: &Position) -> Position {
    match (one, two) {
        (Position::After(first), Position::After(second)) if first > second => one.clone(),
        _ => two.clone(),
    }
}

impl Simulation {
    /// Checks the response to a request.
    pub(super) fn check_answer(
        &mut self,
        task: &Task<Op, Outcome>,
        outcome: Outcome,
    ) -> Vec<Violation> {
        let is_alone = self.run.commits - task.began_at == task.commits && task.faults == 0;
        match (outcome, &task.op) {
            (Outcome::Submitted(Ok(results)), Op::Submit { submissions, .. }) => {
                let mut violations = Vec::new();
                for (submission, result) in submissions.iter().zip(&results) {
                    violations.extend(self.check_submitted(task, submission, result));
                }
                violations
            }
            (Outcome::Submitted(Err(error)), _) => {
                self.run.trace.say(format_args!("  task {}: {error}", task.id));
                Vec::new()
            }
            (Outcome::Selected(result), Op::Select { org, app, force }) => match *result {
                Ok(selection) => {
                    self.check_selection(task, (org, app, *force), &selection, is_alone)
                }
                Err(error) => {
                    self.run.trace.say(format_args!("  task {}: {error}", task.id));
                    let is_open = matches!(error, Error::Overflow(_));
                    let found = format!("a selection fails: {error}");
                    is_open
                        .then(|| Violation::new(Check::TotalComplete, found))
                        .into_iter()
                        .collect()
                }
            },
            (Outcome::Done(done), op) => {
                self.run.trace.say(format_args!("  task {}: {done:?}", task.id));
                match op {
                    Op::Aggregate(next) if done.is_ok() => {
                        self.position = further(&self.position, next);
                        Vec::new()
                    }
                    Op::FullPass if done.is_ok() && is_alone => self.check_totals(task.now_ms),
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn check_submitted(
        &mut self,
        task: &Task<Op, Outcome>,
        submission: &Submission,
        result: &weir_keeper::Result<Accepted>,
    ) -> Option<Violation> {
        let Op::Submit { org, app, counted, .. } = &task.op else { return None };
        let id = &submission.request_id;
        let said = match result {
            Ok(accepted) if accepted.duplicate => "a duplicate".to_owned(),
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        self.run.trace.say(format_args!("  task {}: {id}: {said}", task.id));
        let known = self.ledger.counted.get(&(org.clone(), app.clone(), id.clone()));
        let Op::Submit { submissions, .. } = &task.op else { return None };
        let is_repeated = submissions.iter().filter(|other| other.request_id == *id).count() > 1;
        let violation = |check, found: &str| {
            Some(Violation::new(check, format!("submission {id} {found}: {said}")))
        };
        match result {
            Ok(accepted) if !accepted.duplicate && !counted.contains(id) => {
                violation(Check::Counted, "is not counted")
            }
            Ok(accepted) if accepted.duplicate && known.is_none() => {
                violation(Check::Counted, "was never counted")
            }
            // Within a batch, the first of an id decides for the others.
            Err(Error::AlreadyExists(_)) if !is_repeated => match known {
                Some(known) if known == submission => violation(Check::Counted, "is the same"),
                Some(known) if is_same_call(known, submission) => {
                    violation(Check::RebuiltRetry, "differs in its timestamp only")
                }
                None => violation(Check::Counted, "was never counted"),
                Some(_) => None,
            },
            _ => None,
        }
    }

    fn check_selection(
        &mut self,
        task: &Task<Op, Outcome>,
        (org, app, force): (&OrgId, &AppId, bool),
        selection: &Selection,
        is_alone: bool,
    ) -> Vec<Violation> {
        let chosen = selection.decision.model();
        let label = chosen.map(|model| model.label.clone());
        let (org_name, shown) = (last_part(org), label.as_ref().map(Label::as_str));
        self.run.trace.say(format_args!(
            "  task {}: {app} of {org_name} is to use {shown:?}, {}",
            task.id, selection.decision.reason
        ));
        let is_stale =
            task.id < self.stale_before || self.run.store.with(|state| state.rates.stale > 0);
        let (Some(chosen), true) = (chosen, is_alone && !is_stale) else { return Vec::new() };
        let scope = match selection.response.quota_status.scope {
            weir_keeper::config::QuotaScope::Org => Scope::Org(org.clone()),
            weir_keeper::config::QuotaScope::App => Scope::App(org.clone(), app.clone()),
        };
        let day = selection.today.day;
        let mut violations = Vec::new();
        let key = keys::total(&scope, &chosen.label, day);
        let recorded = self.run.store.item(&self.settings.tables.daily_total, &key);
        let recorded = recorded.as_ref().map(total).unwrap_or_default().cost;
        let submitted = self.ledger.sum(&(scope.clone(), chosen.label.clone(), day)).cost;
        let spent = if force { submitted } else { recorded };
        let quota = u128::from(chosen.quota.0);
        if spent >= quota {
            let found = format!("{} is recommended, with {spent} of {quota} spent", chosen.label);
            violations.push(Violation::new(Check::Open, found));
        }
        violations.extend(self.check_fallback(task.now_ms, &scope, selection));
        violations
    }

    /// The chain does not go back behind the recorded fallback.
    fn check_fallback(
        &self,
        now_ms: i64,
        scope: &Scope,
        selection: &Selection,
    ) -> Option<Violation> {
        let key = keys::sticky(scope, selection.today.day);
        let item = self.run.store.item(&self.settings.tables.sticky_state, &key)?;
        if item.i64(TTL).is_some_and(|until| until <= now_ms.div_euclid(1000)) {
            return None;
        }
        let sticky = StickyState::decode(&item).ok()?;
        let models = &selection.decision.models;
        let floor = models.iter().position(|model| model.label == sticky.label)?;
        let chosen = selection.decision.recommended?;
        let found = format!(
            "{} is recommended, after a fallback to {}",
            models[chosen].label, sticky.label
        );
        (chosen < floor).then(|| Violation::new(Check::Sticky, found))
    }

    /// After a full pass, the totals of today are what was submitted.
    fn check_totals(&self, now_ms: i64) -> Vec<Violation> {
        self.observe_at(now_ms);
        let mut violations = Vec::new();
        for ((scope, label, day), sum) in &self.ledger.sums {
            let today = at_once(self.observer.today(scope));
            if today.ok() != Some(*day) {
                continue;
            }
            let key = keys::total(scope, label, *day);
            let stored = self.run.store.item(&self.settings.tables.daily_total, &key);
            let stored = stored.as_ref().map(total).unwrap_or_default();
            if stored.cost < sum.cost.min(LARGEST_QUOTA) || stored.requests < sum.requests {
                let found = format!("{key} is {stored:?} after a full pass, of {sum:?}");
                violations.push(Violation::new(Check::TotalComplete, found));
            }
        }
        violations
    }

    /// At the end, the days of an org have all its submissions.
    pub(super) fn check_history(&mut self) -> Result<(), Violation> {
        for number in 0..self.orgs {
            let org = super::clients::org(number);
            let of_apps = self
                .ledger
                .sums
                .iter()
                .filter(|((scope, ..), _)| scope.app().is_some() && *scope.org() == org);
            let mut days = std::collections::BTreeMap::new();
            for ((_, _, day), sum) in of_apps {
                *days.entry(*day).or_insert(0) += sum.requests;
            }
            let Some(last) = days.keys().next_back().copied() else { continue };
            let mut now_ms = self.run.clocks.true_ms();
            for _ in 0..HISTORY_DAYS_MAX {
                self.observe_at(now_ms);
                let today = at_once(self.observer.today(&Scope::Org(org.clone())));
                if today.is_ok_and(|today| last < today) {
                    break;
                }
                now_ms += 86_400_000;
            }
            let first = days.keys().next().copied().unwrap_or(last);
            if first.days_until(last) > HISTORY_DAYS_MAX as i32 {
                continue;
            }
            let sum: u128 = days.values().sum();
            let found: u128 = days
                .keys()
                .filter_map(|day| {
                    at_once(self.observer.day_totals(&Scope::Org(org.clone()), *day)).ok()
                })
                .map(|totals| u128::from(totals.totals.requests))
                .sum();
            if found != sum {
                let found = format!(
                    "the history of org {number} has {found} of {sum} submissions: {days:?}"
                );
                self.run.report(vec![Violation::new(Check::History, found)])?;
            }
        }
        Ok(())
    }
}
