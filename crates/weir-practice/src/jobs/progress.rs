//! Progress steps of a job, in one order for all readers.
//!
//! A reader of a stream asks for the steps after the last one it has. So a later step must have a later key, whichever server
//! takes it: its time is that of the server's clock, but at least one millisecond after the step before.

use weir_table::retry::{Listed, PAGE_MAX, pause};
use weir_table::{Backend, Item, Query, Value, Write};

use crate::bounds::{PROGRESS_CLOCKS_DIFFER_SECS, PROGRESS_STEPS_PER_SECOND_MAX};
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::EventId;
use crate::item::{Data, entity, expiry, is_expired, secs};
use crate::jobs::{JobRef, Lease, check};
use crate::keys::{self, PROGRESS_PREFIX};
use crate::kinds::{EntityType, JobStatus, StepStatus};
use crate::list::PageRequest;
use crate::practice::Practice;
use crate::table::TTL;

const STEP: &str = "stp";
const MESSAGE: &str = "msg";
const STATUS: &str = "sts";
const POSITION: &str = "pos";

/// Attempts to record a step while others are recorded.
const TRIES_MAX: u32 = 8;

/// A progress step to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStep {
    /// Name of the step.
    pub step: String,
    /// Message for people.
    pub message: String,
    /// State of the step.
    pub status: StepStatus,
}

/// A progress step of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressStep {
    /// Position among the steps of the job: the id of its server-sent event.
    pub position: String,
    /// When it was reported, in milliseconds since 1970.
    pub at_ms: i64,
    /// Name of the step.
    pub step: String,
    /// Message for people.
    pub message: String,
    /// State of the step.
    pub status: StepStatus,
}

/// Whether a progress step was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// The step was recorded.
    Recorded(ProgressStep),
    /// The job has as many steps in this second as it may.
    RateLimited {
        /// When the next step may be recorded, in milliseconds.
        retry_after_ms: i64,
    },
}

/// Steps for a stream of server-sent events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressEvents {
    /// The steps, oldest first, without those that have expired.
    pub steps: Vec<ProgressStep>,
    /// The position to go on after: that of the last step that was read, expired or not.
    pub position: Option<String>,
    /// Whether more steps are stored.
    pub more: bool,
    /// State of the job.
    pub status: JobStatus,
    /// Whether these are the last steps: the job has ended.
    pub is_end: bool,
}

/// What the lease knows of the steps so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ProgressState {
    /// Time in the key of the newest step.
    pub(super) last_ms: Option<i64>,
    /// Second in which steps are counted.
    pub(super) second: i64,
    /// Steps in that second.
    pub(super) count: u32,
}

impl ProgressState {
    /// The state after one more step, or how long the step must wait, in milliseconds.
    fn admit(self, now_ms: i64) -> Result<ProgressState, i64> {
        let now_s = secs(now_ms);
        // A clock that is slightly behind counts on in the second of the other; one far behind begins anew.
        let is_same = (now_s..=now_s + PROGRESS_CLOCKS_DIFFER_SECS).contains(&self.second);
        let (second, count) = if is_same { (self.second, self.count) } else { (now_s, 0) };
        if count >= PROGRESS_STEPS_PER_SECOND_MAX {
            return Err((second + 1) * 1000 - now_ms);
        }
        let next_ms = self.last_ms.map_or(now_ms, |last_ms| now_ms.max(last_ms.saturating_add(1)));
        Ok(ProgressState { last_ms: Some(next_ms), second, count: count + 1 })
    }
}

impl ProgressStep {
    /// The step on the item of the lease.
    pub(super) fn to_value(&self) -> Value {
        let data =
            Data::new().with(POSITION, self.position.as_str()).with(STEP, self.step.as_str());
        data.with(MESSAGE, self.message.as_str()).with(STATUS, self.status.as_str()).into()
    }

    pub(super) fn from_value(value: &Value) -> Option<ProgressStep> {
        let Value::M(map) = value else { return None };
        let text = |name: &str| map.get(name).and_then(Value::as_s);
        let position = text(POSITION)?.to_owned();
        Some(ProgressStep {
            at_ms: keys::parse_progress(&sort_key(&position))?.0,
            position,
            step: text(STEP)?.to_owned(),
            message: text(MESSAGE)?.to_owned(),
            status: text(STATUS)?.parse().ok()?,
        })
    }

    /// Reads the item of a step; `None` if another program wrote it in another form.
    fn read(item: &Item) -> Option<ProgressStep> {
        let position = item.s("SK")?.strip_prefix(PROGRESS_PREFIX)?.to_owned();
        let fields = Fields::of(item).ok()?;
        Some(ProgressStep {
            at_ms: keys::parse_progress(item.s("SK")?)?.0,
            position,
            step: fields.text(STEP).ok()?.to_owned(),
            message: fields.optional_text(MESSAGE).unwrap_or_default().to_owned(),
            status: fields.parse(STATUS).ok()?,
        })
    }
}

fn sort_key(position: &str) -> String {
    format!("{PROGRESS_PREFIX}{position}")
}

impl<B: Backend> Practice<B> {
    /// Records a progress step of the worker with this fencing number, and extends its lease.
    ///
    /// # Errors
    /// The worker no longer holds the job, the job does not exist, a field is invalid, or the store fails.
    pub async fn report_progress(
        &self,
        job: &JobRef,
        fence: u64,
        new: &NewStep,
    ) -> Result<Reported> {
        check::step(new)?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let read = self.lease_item(job).await?;
            let before = read.held_by(job, fence)?;
            let now_ms = self.now_ms();
            let progress = match read.progress.admit(now_ms) {
                Ok(progress) => progress,
                Err(retry_after_ms) => return Ok(Reported::RateLimited { retry_after_ms }),
            };
            let until_ms = now_ms.saturating_add(before.lease_ms);
            let lease = Lease { until_ms, ..before.clone() };
            let (step, item) =
                self.new_step(job, new, progress.last_ms.unwrap_or(now_ms), now_ms)?;
            let last_ms = read.progress.last_ms;
            let writes = vec![
                Write::put(self.table().clone(), item),
                self.record_step(job, last_ms, &lease, (progress, &step)),
            ];
            if self.transact(writes).await?.is_applied() {
                return Ok(Reported::Recorded(step));
            }
        }
        Err(Error::Contended)
    }

    fn new_step(
        &self,
        job: &JobRef,
        new: &NewStep,
        at_ms: i64,
        now_ms: i64,
    ) -> Result<(ProgressStep, Item)> {
        let id = EventId::next(self.event_ids(), at_ms);
        let data = Data::new()
            .with(STEP, new.step.as_str())
            .with(MESSAGE, new.message.as_str())
            .with(STATUS, new.status.as_str());
        let key = keys::progress(job.job_type, &job.id, at_ms, &id);
        let item = entity(key, EntityType::JobProgress, data, secs(now_ms))
            .with(TTL, expiry(at_ms, self.settings().job_progress_days));
        let unreadable = || Error::damaged("a new progress step", "its key has another form");
        let step = ProgressStep::read(&item).ok_or_else(unreadable)?;
        Ok((step, item))
    }

    /// A page of the progress steps of a job, oldest first.
    ///
    /// # Errors
    /// The job does not exist, the cursor is not of this list, or the store fails.
    pub async fn progress(&self, job: &JobRef, page: &PageRequest) -> Result<Listed<ProgressStep>> {
        let partition = keys::job_partition(job.job_type, &job.id);
        let query = Query::partition(self.table().clone(), partition).begins_with(PROGRESS_PREFIX);
        let found = self.store().page(query, page.limit, page.cursor.clone()).await?;
        if found.items.is_empty() {
            self.job_status(job).await?;
        }
        Ok(found.listed(self.is_alive()))
    }

    fn is_alive(&self) -> impl FnMut(&Item) -> Option<ProgressStep> {
        let now_ms = self.now_ms();
        move |item| ProgressStep::read(item).filter(|_| !is_expired(item, now_ms))
    }

    /// The steps after the last one that a reader has, at most 100: for a stream of server-sent events, whose ids are
    /// positions. `None` begins with the first step.
    ///
    /// # Errors
    /// The job does not exist, the position is invalid, or the store fails.
    pub async fn progress_after(
        &self,
        job: &JobRef,
        last_event_id: Option<&str>,
        limit: u32,
    ) -> Result<ProgressEvents> {
        let after = last_event_id.map(sort_key);
        if let Some(after) = &after
            && keys::parse_progress(after).is_none()
        {
            return Err(Error::invalid("Last-Event-ID", "is not the position of a progress step"));
        }
        // The status first: a job that has ended gets no step later, so these are all.
        let status = self.job_status(job).await?;
        let limit = limit.clamp(1, PAGE_MAX - 1);
        let from = after.clone().unwrap_or_else(|| PROGRESS_PREFIX.to_owned());
        let partition = keys::job_partition(job.job_type, &job.id);
        let query = Query::partition(self.table().clone(), partition)
            .between(from, format!("{PROGRESS_PREFIX}~"));
        // One more: a range includes the step that the reader has.
        let found = self.store().page(query, limit + 1, None).await?;
        let is_new = |item: &&Item| item.s("SK") != after.as_deref();
        let items: Vec<&Item> = found.items.iter().filter(is_new).collect();
        let is_all = found.cursor.is_none() && items.len() <= limit as usize;
        let read = items.get(..limit as usize).unwrap_or(&items);
        let mut positions = read.iter().filter_map(|item| {
            let key = item.s("SK").filter(|key| keys::parse_progress(key).is_some())?;
            key.strip_prefix(PROGRESS_PREFIX)
        });
        let position = positions.next_back().or(last_event_id).map(str::to_owned);
        let has_moved = position.as_deref() != last_event_id;
        let steps = read.iter().copied().filter_map(self.is_alive()).collect();
        let has_ended = !matches!(status, JobStatus::Pending | JobStatus::Processing);
        let is_end = is_all && has_ended;
        Ok(ProgressEvents { steps, position, more: !is_all && has_moved, status, is_end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_759_917_600_500;

    #[test]
    fn steps_of_one_millisecond_are_in_order() {
        let first = ProgressState::default().admit(NOW_MS).unwrap();
        let second = first.admit(NOW_MS).unwrap();
        let behind = second.admit(NOW_MS - 400).unwrap();
        assert_eq!(first.last_ms, Some(NOW_MS));
        assert_eq!(second.last_ms, Some(NOW_MS + 1));
        assert_eq!((behind.last_ms, behind.count), (Some(NOW_MS + 2), 3));
    }

    #[test]
    fn a_second_has_a_bounded_number_of_steps() {
        let full = ProgressState {
            last_ms: None,
            second: secs(NOW_MS),
            count: PROGRESS_STEPS_PER_SECOND_MAX,
        };
        assert_eq!(full.admit(NOW_MS), Err(500));
        assert_eq!(full.admit(NOW_MS - 1_000), Err(1_500), "a clock one second behind");
        assert_eq!(full.admit(NOW_MS + 500).unwrap().count, 1);
        assert_eq!(full.admit(NOW_MS - 3_600_000).unwrap().count, 1, "a clock that was set back");
    }
}
