//! Many submissions at once, each answered by itself.
//!
//! 1. Each is planned. An id that comes twice in the batch is planned once; the second is its duplicate, or contradicts it.
//! 2. Those of one shard make a group, which adds to the shard once. Groups are packed into transactions of at most 100
//!    writes, one after the other, so that none of ours gets into the way of another.
//! 3. A transaction that finds duplicates does nothing. They are answered by their records, and the rest is tried again.
//! 4. A transaction that gets into another's way too often is taken apart: each submission then goes by itself, so that only
//!    those fail that are contended.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use weir_table::limits::TRANSACT_MAX;
use weir_table::{Backend, Consistency, Error as Fault, Transacted, Transaction, Verdict, Write};

use super::count::{Counted, reused, settled};
use super::plan::{Addition, Planned};
use super::record::Record;
use super::{Accepted, Owner, Submission};
use crate::bounds::{BATCH_MAX, BATCH_TRIES_MAX};
use crate::config::Effective;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::error::{Error, Result};
use crate::ids::{AppId, Label, OrgId, RequestId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::money::MicroUsd;
use crate::retry::pause;

/// Where a submission of the batch stands.
enum Standing {
    /// It is to be counted.
    Waits(Planned),
    /// It was counted, now or before.
    Counted(Record, Again),
    /// It came earlier in the batch, at this place.
    Repeats(usize),
    /// It cannot be counted.
    Failed(Error),
}

/// Whether a submission had been counted before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

/// The totals that submissions are in.
type Totals = HashMap<(Label, OrgDay), MicroUsd>;

impl<B: Backend> Keeper<B> {
    /// Counts up to [`BATCH_MAX`] submissions. The answers are in their order; one that fails fails alone.
    ///
    /// # Errors
    /// There are too many, the org or app does not exist, or the totals cannot be read; what was counted is then
    /// counted, and all can be sent again.
    pub async fn submit_batch(
        &self,
        org: &OrgId,
        app: &AppId,
        submissions: &[Submission],
    ) -> Result<Vec<Result<Accepted>>> {
        if submissions.len() > BATCH_MAX {
            let problem = format!("are {}; a batch has at most {BATCH_MAX}", submissions.len());
            return Err(Error::invalid("requests", problem));
        }
        let now_ms = self.now_ms();
        let effective = self.effective(org, Some(app)).await?;
        let mut all = self.plan_all((org, app), &effective, submissions, now_ms).await;
        for mut part in pack(&all) {
            self.count_part((org, app), &mut all, &mut part, now_ms).await;
        }
        let totals = self.totals_of(&effective.scope(), &all).await?;
        Ok(self.answers(&effective, submissions, all, &totals))
    }

    async fn plan_all(
        &self,
        owner: Owner<'_>,
        effective: &Effective,
        submissions: &[Submission],
        now_ms: i64,
    ) -> Vec<Standing> {
        let mut first: BTreeMap<&RequestId, usize> = BTreeMap::new();
        let mut all = Vec::with_capacity(submissions.len());
        for (place, submission) in submissions.iter().enumerate() {
            let standing = match first.entry(&submission.request_id) {
                Entry::Occupied(earlier) => Standing::Repeats(*earlier.get()),
                Entry::Vacant(free) => {
                    free.insert(place);
                    match self.plan(owner, effective, submission, now_ms).await {
                        Ok(planned) => Standing::Waits(planned),
                        Err(error) => match self.known_or(error, owner, submission, now_ms).await {
                            Ok(record) => Standing::Counted(record, Again::Yes),
                            Err(error) => Standing::Failed(error),
                        },
                    }
                }
            };
            all.push(standing);
        }
        all
    }

    /// Counts the submissions at these places in one transaction; those that are duplicates fall out.
    async fn count_part(
        &self,
        owner: Owner<'_>,
        all: &mut [Standing],
        part: &mut Vec<usize>,
        now_ms: i64,
    ) {
        let mut token = self.transaction_token();
        let mut attempt = 0;
        while !part.is_empty() && attempt < BATCH_TRIES_MAX {
            pause(attempt).await;
            let Ok(writes) = self.writes_of(owner, all, part, now_ms) else { break };
            match self.store().transact(Transaction { writes, token: token.clone() }).await {
                Ok(Transacted::Applied) => {
                    return part.iter().for_each(|place| counted(all, *place));
                }
                Ok(Transacted::Refused(verdicts)) => {
                    let before = part.len();
                    fall_out(all, part, &verdicts);
                    // Each refusal ends at least one submission, so it need not be bounded by tries.
                    attempt += u32::from(part.len() == before);
                    token = self.transaction_token();
                }
                Err(Fault::Conflict) => attempt += 1,
                Err(fault) => {
                    return part.iter().for_each(|place| failed(all, *place, &fault));
                }
            }
        }
        for place in part.iter() {
            self.count_alone(owner, all, *place, now_ms).await;
        }
    }

    async fn count_alone(&self, owner: Owner<'_>, all: &mut [Standing], place: usize, now_ms: i64) {
        let Some(standing) = all.get_mut(place) else { return };
        let Standing::Waits(planned) = &*standing else { return };
        *standing = match self.count(owner, planned, now_ms).await {
            Ok(Counted::Now) => Standing::Counted(planned.record.clone(), Again::No),
            Ok(Counted::Before(record)) => Standing::Counted(record, Again::Yes),
            Err(error) => Standing::Failed(error),
        };
    }

    /// The records of the submissions at these places, in their order, and what they add together.
    fn writes_of(
        &self,
        owner: Owner<'_>,
        all: &[Standing],
        part: &[usize],
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let planned = || part.iter().filter_map(|place| waiting(all, *place));
        let table = &self.tables().request_dedup;
        let records = planned().map(|planned| Record::write(planned, table.clone(), owner, now_ms));
        let mut additions: BTreeMap<_, Addition> = BTreeMap::new();
        for addition in planned().flat_map(Planned::additions) {
            match additions.entry(addition.key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(addition);
                }
                Entry::Occupied(mut there) => there.get_mut().merge(&addition)?,
            }
        }
        let usage = &self.tables().usage_agg_sharded;
        let additions = additions.into_values().map(|add| add.write(usage.clone(), now_ms));
        Ok(records.chain(additions).collect())
    }

    /// The totals that the counted ones are in, read once each.
    async fn totals_of(&self, scope: &Scope, all: &[Standing]) -> Result<Totals> {
        let mut named: Vec<(Label, OrgDay)> = Vec::new();
        for standing in all {
            if let Standing::Counted(record, _) = standing
                && !named.iter().any(|(label, day)| *label == record.label && *day == record.day)
            {
                named.push((record.label.clone(), record.day));
            }
        }
        let keys = named.iter().map(|(label, day)| keys::total(scope, label, *day));
        let items = self.batch_get(&self.tables().daily_total, keys, Consistency::Eventual).await?;
        let costs = items
            .iter()
            .map(|item| item.as_ref().map_or(MicroUsd::ZERO, |item| Counters::decode(item).cost));
        Ok(named.into_iter().zip(costs).collect())
    }

    fn answers(
        &self,
        effective: &Effective,
        submissions: &[Submission],
        all: Vec<Standing>,
        totals: &Totals,
    ) -> Vec<Result<Accepted>> {
        let mut answers: Vec<Result<Accepted>> = Vec::with_capacity(all.len());
        for (submission, standing) in submissions.iter().zip(all) {
            let answer = match standing {
                Standing::Counted(record, again) => {
                    let known = totals.get(&(record.label.clone(), record.day));
                    let total = known.copied().unwrap_or_default();
                    let id = submission.request_id.clone();
                    let answer = self.answer(effective, id, &record, total);
                    Ok(if again == Again::Yes { answer.again() } else { answer })
                }
                Standing::Failed(error) => Err(error),
                Standing::Waits(_) => Err(Error::Contended),
                Standing::Repeats(earlier) => {
                    repeated(submission, submissions.get(earlier), answers.get(earlier))
                }
            };
            answers.push(answer);
        }
        answers
    }
}

/// The answer to the second of an id in one batch.
fn repeated(
    submission: &Submission,
    earlier: Option<&Submission>,
    answer: Option<&Result<Accepted>>,
) -> Result<Accepted> {
    if earlier.is_none_or(|earlier| earlier.hash() != submission.hash()) {
        return Err(reused(&submission.request_id));
    }
    match answer {
        Some(Ok(accepted)) => Ok(accepted.clone().again()),
        Some(Err(error)) => Err(error.told_again()),
        None => Err(Error::Contended),
    }
}

fn waiting(all: &[Standing], place: usize) -> Option<&Planned> {
    match all.get(place) {
        Some(Standing::Waits(planned)) => Some(planned),
        _ => None,
    }
}

/// The submission at `place` was counted just now.
fn counted(all: &mut [Standing], place: usize) {
    if let Some(standing) = all.get_mut(place)
        && let Standing::Waits(planned) = standing
    {
        *standing = Standing::Counted(planned.record.clone(), Again::No);
    }
}

fn failed(all: &mut [Standing], place: usize, fault: &Fault) {
    if let Some(standing) = all.get_mut(place) {
        *standing = Standing::Failed(Error::Store(crate::error::told_again(fault)));
    }
}

/// Settles those whose records were there, and takes them out of the part.
fn fall_out(all: &mut [Standing], part: &mut Vec<usize>, verdicts: &[Verdict]) {
    let mut verdicts = verdicts.iter();
    part.retain(|place| {
        let verdict = verdicts.next();
        let Some(Verdict::Failed(_)) = verdict else { return true };
        let Some(standing) = all.get_mut(*place) else { return false };
        if let Standing::Waits(planned) = &*standing {
            *standing = match settled(planned, verdict) {
                Ok(record) => Standing::Counted(record, Again::Yes),
                Err(error) => Standing::Failed(error),
            };
        }
        false
    });
}

/// Places of submissions, in parts that make one transaction each: no more than [`TRANSACT_MAX`] writes, and those of one
/// shard together where they fit.
fn pack(all: &[Standing]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for place in 0..all.len() {
        if let Some(planned) = waiting(all, place) {
            let Record { label, day, shard, .. } = &planned.record;
            groups.entry((label, day, shard, &planned.scope)).or_default().push(place);
        }
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for group in groups.into_values() {
        let adds = group.first().and_then(|place| waiting(all, *place));
        let adds = adds.map_or(1, |planned| 1 + usize::from(planned.own.is_some()));
        for piece in group.chunks(TRANSACT_MAX - adds) {
            let size = piece.len() + adds;
            match parts.last_mut() {
                Some(part) if size <= room => part.extend(piece),
                _ => {
                    parts.push(piece.to_vec());
                    room = TRANSACT_MAX;
                }
            }
            room -= size;
        }
    }
    parts
}
