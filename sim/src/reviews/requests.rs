//! Starts requests and jobs.

use std::sync::Arc;

use weir_reviews::ids::ReviewId;
use weir_reviews::record::{Completion, NewReview};
use weir_reviews::rollup;

use super::clients::{self, Script};
use super::{Op, Outcome, SCRIPTS_MAX, SENT_MAX, Simulation};
use crate::check::Violation;
use crate::run::Simulated as _;

/// Days that a run of the rollup job takes, and deletions that a run of theirs finishes.
const JOB_MAX: u32 = 20;

impl Simulation {
    fn content(&mut self) -> Arc<NewReview> {
        let content = Arc::new(clients::content(&mut self.run.random, self.run.clocks.true_ms()));
        self.remember(&content);
        content
    }

    fn remember(&mut self, content: &Arc<NewReview>) {
        if self.sent.len() == SENT_MAX {
            self.sent.swap_remove(self.run.random.index(SENT_MAX));
        }
        self.sent.push(Arc::clone(content));
    }

    /// The contents that are being recorded.
    fn in_flight(&self) -> Vec<Arc<NewReview>> {
        let recorded = self.run.tasks.iter().filter_map(|task| match &task.op {
            Op::Record { content, .. } => Some(Arc::clone(content)),
            _ => None,
        });
        recorded.collect()
    }

    /// A new content, one that was sent before or is being sent, or one that differs a little.
    fn content_to_record(&mut self) -> Arc<NewReview> {
        let in_flight = self.in_flight();
        if !in_flight.is_empty() && self.run.random.percent(25) {
            return Arc::clone(self.run.random.pick(&in_flight));
        }
        if self.sent.is_empty() || self.run.random.percent(35) {
            return self.content();
        }
        let before = Arc::clone(self.run.random.pick(&self.sent));
        if self.run.random.percent(65) {
            return before;
        }
        let now_ms = self.run.clocks.true_ms();
        let content = Arc::new(clients::changed(&mut self.run.random, &before, now_ms));
        self.remember(&content);
        content
    }

    pub(super) async fn record(&mut self, instance: usize) -> Result<(), Violation> {
        let content = self.content_to_record();
        let replace = self.run.random.percent(40);
        let sent = clients::rebuilt(&mut self.run.random, &content);
        let (id, title) = (id_of(&content), &content.head.pull_request.title);
        self.run.trace.say(format_args!(
            "task {} on {instance} at {}: records {id} {title:?} of {} models, replace {replace}",
            self.run.next_task,
            self.run.clocks.now_ms(instance),
            content.responses.len(),
        ));
        let reviews = self.instances[instance].clone();
        let op = Op::Record { content, replace, ended: false };
        let work = Box::pin(async move { Outcome::Recorded(reviews.record(sent, replace).await) });
        self.start(instance, op, work).await
    }

    /// A client that records step by step makes its next step.
    pub(super) async fn follow_script(&mut self, instance: usize) -> Result<(), Violation> {
        if self.scripts.len() < SCRIPTS_MAX && self.run.random.percent(40) {
            let (content, gives_up) = (self.content(), self.run.random.percent(10));
            self.scripts.push(Script { content, done: 0, gives_up, task: 0 });
        }
        if self.scripts.is_empty() {
            return Ok(());
        }
        let at = self.run.random.index(self.scripts.len());
        let in_flight = self.scripts[at].task;
        // A client that waits too long sends the same again.
        if self.run.tasks.iter().any(|task| task.id == in_flight) && self.run.random.percent(80) {
            return Ok(());
        }
        self.scripts[at].task = self.run.next_task;
        let script = self.scripts[at].clone();
        let id = id_of(&script.content);
        let (task, now_ms) = (self.run.next_task, self.run.clocks.now_ms(instance));
        self.run.trace.say(format_args!(
            "task {task} on {instance} at {now_ms}: step {} of {id}",
            script.done
        ));
        match script.done.checked_sub(1) {
            None => self.open(instance, &script).await,
            Some(number) if number < script.content.responses.len() => {
                self.add(instance, &script, number).await
            }
            Some(_) => self.complete(instance, &script).await,
        }
    }

    async fn open(&mut self, instance: usize, script: &Script) -> Result<(), Violation> {
        let head = clients::rebuilt(&mut self.run.random, &script.content).head;
        let reviews = self.instances[instance].clone();
        let op = Op::Open { content: Arc::clone(&script.content) };
        let work = Box::pin(async move { Outcome::Recorded(reviews.open_review(head).await) });
        self.start(instance, op, work).await
    }

    async fn add(
        &mut self,
        instance: usize,
        script: &Script,
        number: usize,
    ) -> Result<(), Violation> {
        let (id, response) = (id_of(&script.content), &script.content.responses[number]);
        let sent = clients::rebuilt_response(&mut self.run.random, response);
        let response = Arc::new(response.clone());
        let reviews = self.instances[instance].clone();
        let op = Op::Add { id: id.clone(), response, added: false };
        let work = Box::pin(async move { Outcome::Added(reviews.add_response(&id, &sent).await) });
        self.start(instance, op, work).await
    }

    async fn complete(&mut self, instance: usize, script: &Script) -> Result<(), Violation> {
        let id = id_of(&script.content);
        let sent = clients::rebuilt(&mut self.run.random, &script.content).consensus;
        let (completion, sent) = if script.gives_up {
            (Completion::Failed, Completion::Failed)
        } else {
            let consensus = script.content.consensus.clone();
            (Completion::Completed(consensus), Completion::Completed(sent))
        };
        let reviews = self.instances[instance].clone();
        let op = Op::Complete { id: id.clone(), completion, ended: false };
        let work = Box::pin(async move { Outcome::Recorded(reviews.complete(&id, &sent).await) });
        self.start(instance, op, work).await
    }

    pub(super) async fn judge(&mut self, instance: usize) -> Result<(), Violation> {
        let id = clients::any_id(&mut self.run.random);
        let model = clients::any_model(&mut self.run.random);
        let finding = clients::finding_id(self.run.random.index(4));
        let by = clients::user(clients::USERS[self.run.random.index(clients::USERS.len())]);
        let accepted = self.run.random.percent(50);
        self.run.trace.say(format_args!(
            "task {} on {instance}: {by} judges {finding} of {model} in {id}: {accepted}",
            self.run.next_task
        ));
        let reviews = self.instances[instance].clone();
        let of = (model.clone(), finding.clone());
        let op = Op::Feedback { id: id.clone(), of, accepted, by: by.clone(), given: false };
        let work = Box::pin(async move {
            Outcome::Judged(reviews.feedback(&id, &model, &finding, accepted, &by).await)
        });
        self.start(instance, op, work).await
    }

    pub(super) async fn delete(&mut self, instance: usize) -> Result<(), Violation> {
        let id = clients::any_id(&mut self.run.random);
        self.run.trace.say(format_args!("task {} on {instance}: deletes {id}", self.run.next_task));
        let (reviews, op) = (self.instances[instance].clone(), Op::Delete(id.clone()));
        let work = Box::pin(async move { Outcome::Deleted(reviews.delete(&id).await) });
        self.start(instance, op, work).await
    }

    pub(super) async fn read(&mut self, instance: usize) -> Result<(), Violation> {
        let id = clients::any_id(&mut self.run.random);
        self.run.trace.say(format_args!("task {} on {instance}: reads {id}", self.run.next_task));
        let (reviews, op) = (self.instances[instance].clone(), Op::Read(id.clone()));
        let work = Box::pin(async move { Outcome::Read(Box::new(reviews.get_whole(&id).await)) });
        self.start(instance, op, work).await
    }

    pub(super) async fn roll_up(&mut self, instance: usize) -> Result<(), Violation> {
        self.run.trace.say(format_args!("task {} on {instance}: rolls up", self.run.next_task));
        let reviews = self.instances[instance].clone();
        let now_ms = self.run.clocks.now_ms(instance);
        let work = Box::pin(async move {
            let table = reviews.rollup_table();
            let run = rollup::run(reviews.store(), &table, now_ms, u64::from(JOB_MAX));
            Outcome::RolledUp(run.await)
        });
        self.start(instance, Op::Rollup, work).await
    }

    pub(super) async fn resume_deletions(&mut self, instance: usize) -> Result<(), Violation> {
        let now_ms = self.run.clocks.now_ms(instance);
        self.run.trace.say(format_args!(
            "task {} on {instance} at {now_ms}: finishes deletions",
            self.run.next_task
        ));
        let reviews = self.instances[instance].clone();
        let work = Box::pin(async move {
            let resumed = reviews.resume_deletions(JOB_MAX).await;
            let removed = match resumed {
                Ok(_) => reviews.remove_abandoned(now_ms, JOB_MAX).await,
                failed => failed,
            };
            Outcome::Done(removed.map(|_| ()))
        });
        self.start(instance, Op::Deletions, work).await
    }

    pub(super) async fn sweep_raw(&mut self, instance: usize) -> Result<(), Violation> {
        let now_ms = self.run.clocks.now_ms(instance);
        self.run.trace.say(format_args!("task {} on {instance}: sweeps raws", self.run.next_task));
        let reviews = self.instances[instance].clone();
        let work =
            Box::pin(
                async move { Outcome::Done(reviews.sweep_raw(now_ms, JOB_MAX).await.map(|_| ())) },
            );
        self.start(instance, Op::RawSweep, work).await
    }
}

/// The id of a content.
pub(super) fn id_of(content: &NewReview) -> ReviewId {
    content.head.id.clone().expect("clients send an id")
}
