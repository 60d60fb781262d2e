//! Checks every response.

use weir_practice::Error;
use weir_practice::kinds::JobStatus;
use weir_practice::usage::UsageAnswer;

use super::{Op, Outcome, Simulation, Worker};
use crate::check::{Check, Violation};
use crate::task::Task;

fn wrong(found: String) -> Vec<Violation> {
    vec![Violation::new(Check::Response, found)]
}

fn say<T>(result: &weir_practice::Result<T>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

impl Simulation {
    pub(super) fn check_answer(
        &mut self,
        task: &Task<Op, Outcome>,
        outcome: Outcome,
    ) -> Vec<Violation> {
        // Nobody else wrote anything, and no call failed: the model says what the response must be.
        let is_alone = self.run.commits - task.began_at == task.commits && task.faults == 0;
        let said = match &outcome {
            Outcome::Used(Ok(answer)) => {
                format!("{} {} on {}", answer.allowed, answer.count, answer.day)
            }
            Outcome::Used(result) => say(result),
            Outcome::Changed(result) => say(result),
            Outcome::Claimed(result) => say(result),
            Outcome::Ended(result) => say(result),
        };
        self.run.trace.say(format_args!("  task {}: {said}", task.id));
        match outcome {
            Outcome::Used(result) => self.check_use(task, &result, is_alone),
            Outcome::Changed(result) => self.check_change(task, &result, is_alone),
            Outcome::Claimed(result) => self.check_claim(task, *result),
            Outcome::Ended(result) => self.check_end(task, *result),
        }
    }

    fn check_use(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_practice::Result<UsageAnswer>,
        is_alone: bool,
    ) -> Vec<Violation> {
        let Op::Use { user, request, counted } = &task.op else { return Vec::new() };
        let key = request.idempotency_key.as_ref().map(|key| key.as_str().to_owned());
        let is_known = key.is_some_and(|key| self.model.keys_ever.contains(&(user.clone(), key)));
        match result {
            Ok(answer) if answer.is_replay => {
                if is_known && !counted {
                    return Vec::new();
                }
                wrong(format!("{user} gets a replay: known {is_known}, counted {counted}"))
            }
            Ok(answer) if answer.allowed != *counted => {
                wrong(format!("{user} is allowed: {}, and counted: {counted}", answer.allowed))
            }
            Ok(answer) if !answer.allowed && is_alone => {
                let name = (user.clone(), answer.day, request.action);
                let count = self.model.counts.get(&name).copied().unwrap_or_default();
                let plan = self.model.users.get(user).map(|user| user.plan);
                let limit = plan.and_then(|plan| self.model.limits.get(&(plan, request.action)));
                if answer.count == count && limit.is_some_and(|limit| count >= *limit) {
                    return Vec::new();
                }
                wrong(format!("{user} is refused with {count} of {limit:?}"))
            }
            Err(Error::Forbidden(_)) if is_alone => {
                match self.model.users.get(user).is_some_and(|user| !user.is_active) {
                    true => Vec::new(),
                    false => wrong(format!("{user} is forbidden, and active")),
                }
            }
            Err(error) if error.is_not_found() && self.model.users.contains_key(user) => {
                wrong(format!("{user} exists: {error}"))
            }
            Err(error @ (Error::Conflict(_) | Error::Damaged { .. })) => {
                wrong(format!("{user}: {error}"))
            }
            _ => Vec::new(),
        }
    }

    fn check_change(
        &self,
        task: &Task<Op, Outcome>,
        result: &weir_practice::Result<()>,
        is_alone: bool,
    ) -> Vec<Violation> {
        match (&task.op, result) {
            (Op::SignUp { id }, Ok(())) if !self.model.users.contains_key(id) => {
                wrong(format!("{id} signed up and does not exist"))
            }
            (Op::Record(id), Ok(())) if !self.model.runs.contains_key(id) => {
                wrong(format!("{id} was recorded and does not exist"))
            }
            (Op::SetVisibility { run, is_public }, Ok(()))
                if is_alone && self.model.runs.get(run) != Some(is_public) =>
            {
                wrong(format!("{run} was made public: {is_public}, and is not so"))
            }
            (Op::Beat { job, fence }, Ok(())) if is_alone => {
                match self.model.jobs.get(job).is_some_and(|job| job.fence == *fence) {
                    true => Vec::new(),
                    false => wrong(format!("{fence} holds {job} no more, and its beat is fine")),
                }
            }
            (_, Err(error @ Error::Damaged { .. })) => wrong(error.to_string()),
            _ => Vec::new(),
        }
    }

    fn check_claim(
        &mut self,
        task: &Task<Op, Outcome>,
        result: weir_practice::Result<Option<weir_practice::jobs::Claimed>>,
    ) -> Vec<Violation> {
        let Op::Claim { took } = &task.op else { return Vec::new() };
        match result {
            Ok(Some(claimed)) => {
                let (job, fence) = (claimed.job.summary.job, claimed.lease.fence);
                if *took != Some((job.clone(), fence)) {
                    return wrong(format!("{fence} of {job} is answered, {took:?} was written"));
                }
                self.hire(Worker { job, fence });
                Vec::new()
            }
            Ok(None) if took.is_some() => wrong(format!("{took:?} was written and no answer")),
            Err(error @ Error::Damaged { .. }) => wrong(error.to_string()),
            _ => Vec::new(),
        }
    }

    fn check_end(
        &self,
        task: &Task<Op, Outcome>,
        result: weir_practice::Result<weir_practice::jobs::Job>,
    ) -> Vec<Violation> {
        let job = match result {
            Ok(job) => job.summary,
            Err(error @ Error::Damaged { .. }) => return wrong(error.to_string()),
            Err(_) => return Vec::new(),
        };
        let Some(known) = self.model.jobs.get(&job.job) else {
            return wrong(format!("{} does not exist", job.job));
        };
        let expected = match &task.op {
            Op::End { completes: true, .. } => JobStatus::Completed,
            Op::End { .. } => JobStatus::Failed,
            Op::Cancel => JobStatus::Cancelled,
            _ => JobStatus::Pending,
        };
        if job.status != expected {
            return wrong(format!("{} is {}, {expected} was asked for", job.job, job.status));
        }
        // A completed job stays so, and one worker has completed it.
        if let Op::End { fence, completes: true, .. } = &task.op
            && (known.status != expected || known.ended_by != Some(*fence))
        {
            return wrong(format!("{fence} completed {}: {known:?}", job.job));
        }
        Vec::new()
    }
}
