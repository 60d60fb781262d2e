//! Submits a batch: every submission gets its own result.
//!
//! 1. Each submission is planned. A request id that occurs twice is planned once; the second is a duplicate or a conflict.
//! 2. Submissions of one shard form a group that increments the shard once. Groups are packed into transactions of at most
//!    100 writes, which run one after the other, so that they do not conflict with each other.
//! 3. A transaction that meets duplicates applies nothing. They are resolved from their records, and the rest is retried.
//! 4. A transaction that keeps conflicting is split: each submission then runs alone, so that only contended ones fail.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use weir_table::limits::TRANSACT_MAX;
use weir_table::{Backend, Error as Fault, Get, Transacted, Transaction, Verdict, Write};

use super::dedup_record::DedupRecord;
use super::plan::{CounterIncrement, PlannedSubmission};
use super::transaction::{RecordOutcome, conflicting_payload, existing_record};
use super::{Accepted, Owner, Submission};
use crate::bounds::{BATCH_MAX, BATCH_TRIES_MAX};
use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::error::{Error, Result, repeat_fault};
use crate::ids::{AppId, Label, OrgId, RequestId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::retry::pause;

/// Progress of one submission of the batch.
enum Progress {
    /// The submission is planned and not yet metered.
    Planned(PlannedSubmission),
    /// The submission is metered: by this call, or before as a duplicate.
    Metered { record: DedupRecord, is_duplicate: bool },
    /// Its request id occurs earlier in the batch, at this index.
    RepeatOf(usize),
    /// The submission cannot be metered.
    Failed(Error),
}

/// Spend by label and day.
type Totals = HashMap<(Label, OrgDay), MicroUsd>;

impl<B: Backend> Keeper<B> {
    /// Meters up to [`BATCH_MAX`] submissions. Results are in the order of the submissions; each fails alone.
    ///
    /// # Errors
    /// There are too many, the org or app does not exist, or the totals cannot be read. Submissions metered by then stay
    /// metered, and the whole batch can be sent again.
    pub async fn submit_batch(
        &self,
        org: &OrgId,
        app: &AppId,
        submissions: &[Submission],
    ) -> Result<Vec<Result<Accepted>>> {
        if submissions.len() > BATCH_MAX {
            let problem = format!("has {} entries; at most {BATCH_MAX} allowed", submissions.len());
            return Err(Error::invalid("requests", problem));
        }
        let now_ms = self.now_ms();
        let effective = self.effective_config(org, Some(app)).await?;
        let mut all = self.plan_all((org, app), &effective, submissions, now_ms).await;
        for mut chunk in pack_chunks(&all) {
            self.meter_chunk((org, app), &mut all, &mut chunk, now_ms).await;
        }
        let totals = self.batch_totals(&effective.scope(), &all).await?;
        Ok(self.batch_results(&effective, submissions, all, &totals))
    }

    async fn plan_all(
        &self,
        owner: Owner<'_>,
        effective: &EffectiveConfig,
        submissions: &[Submission],
        now_ms: i64,
    ) -> Vec<Progress> {
        let mut first: BTreeMap<&RequestId, usize> = BTreeMap::new();
        let mut all = Vec::with_capacity(submissions.len());
        for (index, submission) in submissions.iter().enumerate() {
            let progress = match first.entry(&submission.request_id) {
                Entry::Occupied(earlier) => Progress::RepeatOf(*earlier.get()),
                Entry::Vacant(free) => {
                    free.insert(index);
                    match self.plan(owner, effective, submission, now_ms).await {
                        Ok(planned) => Progress::Planned(planned),
                        Err(error) => Progress::duplicate(
                            self.duplicate_or(error, owner, submission, now_ms).await,
                        ),
                    }
                }
            };
            all.push(progress);
        }
        all
    }

    /// Meters the submissions at these indexes in one transaction; duplicates leave the chunk.
    async fn meter_chunk(
        &self,
        owner: Owner<'_>,
        all: &mut [Progress],
        chunk: &mut Vec<usize>,
        now_ms: i64,
    ) {
        let mut token = self.transaction_token();
        let mut attempt = 0;
        while !chunk.is_empty() && attempt < BATCH_TRIES_MAX {
            pause(attempt).await;
            let writes = self.chunk_writes(owner, all, chunk, now_ms);
            match self.store().transact(Transaction { writes, token: token.clone() }).await {
                Ok(Transacted::Applied) => {
                    return chunk.iter().for_each(|index| set_metered(all, *index));
                }
                Ok(Transacted::Refused(verdicts)) => {
                    let before = chunk.len();
                    resolve_duplicates(all, chunk, &verdicts);
                    // Each refusal resolves at least one submission, so only the others count as attempts.
                    attempt += u32::from(chunk.len() == before);
                    token = self.transaction_token();
                }
                Err(Fault::Conflict) => attempt += 1,
                Err(fault) => {
                    return chunk.iter().for_each(|index| set_failed(all, *index, &fault));
                }
            }
        }
        for index in chunk.iter() {
            self.meter_alone(owner, all, *index, now_ms).await;
        }
    }

    async fn meter_alone(&self, owner: Owner<'_>, all: &mut [Progress], index: usize, now_ms: i64) {
        let Some(progress) = all.get_mut(index) else { return };
        let Progress::Planned(planned) = &*progress else { return };
        *progress = match self.record(owner, planned, now_ms).await {
            Ok(RecordOutcome::Recorded) => {
                Progress::Metered { record: planned.record.clone(), is_duplicate: false }
            }
            Ok(RecordOutcome::Duplicate(record)) => Progress::duplicate(Ok(record)),
            Err(error) => Progress::Failed(error),
        };
    }

    /// The records of the submissions at these indexes, in order, then the merged increments.
    fn chunk_writes(
        &self,
        owner: Owner<'_>,
        all: &[Progress],
        chunk: &[usize],
        now_ms: i64,
    ) -> Vec<Write> {
        let planned = || chunk.iter().filter_map(|index| planned_at(all, *index));
        let table = &self.tables().request_dedup;
        let records =
            planned().map(|planned| DedupRecord::write(planned, table.clone(), owner, now_ms));
        let mut increments: BTreeMap<_, CounterIncrement> = BTreeMap::new();
        for increment in planned().flat_map(PlannedSubmission::increments) {
            match increments.entry(increment.key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(increment);
                }
                Entry::Occupied(mut existing) => existing.get_mut().merge(&increment),
            }
        }
        let usage = &self.tables().usage_agg_sharded;
        let increments = increments.into_values().map(|add| add.write(usage.clone(), now_ms));
        records.chain(increments).collect()
    }

    /// The daily totals that the metered submissions belong to, each read once.
    async fn batch_totals(&self, scope: &Scope, all: &[Progress]) -> Result<Totals> {
        let mut named: Vec<(Label, OrgDay)> = Vec::new();
        for progress in all {
            if let Progress::Metered { record, .. } = progress
                && !named.iter().any(|(label, day)| *label == record.label && *day == record.day)
            {
                named.push((record.label.clone(), record.day));
            }
        }
        let table = &self.tables().daily_total;
        let gets = named.iter().map(|(label, day)| {
            Get::new(table.clone(), keys::total(scope, label, *day)).eventual()
        });
        let items = self.batch_get(gets).await?;
        let costs = items.iter().map(|item| Counters::spend_of_total(item.as_ref()));
        Ok(named.into_iter().zip(costs).collect())
    }

    fn batch_results(
        &self,
        effective: &EffectiveConfig,
        submissions: &[Submission],
        all: Vec<Progress>,
        totals: &Totals,
    ) -> Vec<Result<Accepted>> {
        let mut results: Vec<Result<Accepted>> = Vec::with_capacity(all.len());
        for (submission, progress) in submissions.iter().zip(all) {
            let result = match progress {
                Progress::Metered { record, is_duplicate } => {
                    let total = totals.get(&(record.label.clone(), record.day));
                    let total = total.copied().unwrap_or_default();
                    let id = submission.request_id.clone();
                    let accepted = self.accepted(effective, id, &record, total);
                    Ok(Accepted { duplicate: is_duplicate, ..accepted })
                }
                Progress::Failed(error) => Err(error),
                Progress::Planned(_) => Err(Error::Contended),
                Progress::RepeatOf(earlier) => {
                    repeated(submission, submissions.get(earlier), results.get(earlier))
                }
            };
            results.push(result);
        }
        results
    }
}

impl Progress {
    /// A submission that was metered before, or failed.
    fn duplicate(record: Result<DedupRecord>) -> Progress {
        match record {
            Ok(record) => Progress::Metered { record, is_duplicate: true },
            Err(error) => Progress::Failed(error),
        }
    }
}

/// The result of a submission whose request id occurs earlier in the batch.
fn repeated(
    submission: &Submission,
    earlier: Option<&Submission>,
    result: Option<&Result<Accepted>>,
) -> Result<Accepted> {
    if earlier.is_none_or(|earlier| earlier.hash() != submission.hash()) {
        return Err(conflicting_payload(&submission.request_id));
    }
    match result {
        Some(Ok(accepted)) => Ok(Accepted { duplicate: true, ..accepted.clone() }),
        Some(Err(error)) => Err(error.repeat()),
        None => Err(Error::Contended),
    }
}

fn planned_at(all: &[Progress], index: usize) -> Option<&PlannedSubmission> {
    match all.get(index) {
        Some(Progress::Planned(planned)) => Some(planned),
        _ => None,
    }
}

fn set_metered(all: &mut [Progress], index: usize) {
    if let Some(progress) = all.get_mut(index)
        && let Progress::Planned(planned) = progress
    {
        *progress = Progress::Metered { record: planned.record.clone(), is_duplicate: false };
    }
}

fn set_failed(all: &mut [Progress], index: usize, fault: &Fault) {
    if let Some(progress) = all.get_mut(index) {
        *progress = Progress::Failed(Error::Store(repeat_fault(fault)));
    }
}

/// Resolves the submissions whose records exist, and removes them from the chunk.
fn resolve_duplicates(all: &mut [Progress], chunk: &mut Vec<usize>, verdicts: &[Verdict]) {
    let mut verdicts = verdicts.iter();
    chunk.retain(|index| {
        let verdict = verdicts.next();
        let Some(Verdict::Failed(_)) = verdict else { return true };
        let Some(progress) = all.get_mut(*index) else { return false };
        if let Progress::Planned(planned) = &*progress {
            *progress = Progress::duplicate(existing_record(planned, verdict));
        }
        false
    });
}

/// Splits the planned submissions into chunks of one transaction each: at most [`TRANSACT_MAX`] writes, with the
/// submissions of one shard together where they fit.
fn pack_chunks(all: &[Progress]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for index in 0..all.len() {
        if let Some(planned) = planned_at(all, index) {
            let DedupRecord { label, day, shard, .. } = &planned.record;
            groups.entry((label, day, shard, &planned.scope)).or_default().push(index);
        }
    }
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for group in groups.into_values() {
        let planned = group.first().and_then(|index| planned_at(all, *index));
        let increments = planned.map_or(1, |planned| 1 + usize::from(planned.app_scope.is_some()));
        for piece in group.chunks(TRANSACT_MAX - increments) {
            let size = piece.len() + increments;
            match chunks.last_mut() {
                Some(chunk) if size <= room => chunk.extend(piece),
                _ => {
                    chunks.push(piece.to_vec());
                    room = TRANSACT_MAX;
                }
            }
            room -= size;
        }
    }
    chunks
}
