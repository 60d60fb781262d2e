//! Submits jobs, each once.

use sha2::{Digest as _, Sha256};
use weir_table::expr::attr;
use weir_table::{Backend, Write};

use crate::error::{Error, Result};
use crate::ids::{IdempotencyKey, JobId};
use crate::item::{list_entry, secs};
use crate::jobs::items::{REQUEST_HASH, StoredJob};
use crate::jobs::lease::LeaseItem;
use crate::jobs::{JobRef, NewJob, Submitted, check};
use crate::keys::List;
use crate::kinds::{JobStatus, JobType};
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// Submits a job. The same job under the same id, or with the same idempotency key, is one job, however often and
    /// whenever it is submitted.
    ///
    /// # Errors
    /// A field is invalid; the id or the key belongs to a job with other content; the store fails.
    pub async fn submit_job(&self, job_type: JobType, new: &NewJob) -> Result<Submitted> {
        check::new_job(job_type, new)?;
        let now_ms = self.now_ms();
        let id = match (&new.id, &new.idempotency_key) {
            (Some(id), _) => id.clone(),
            (None, Some(key)) => id_of_key(key)?,
            (None, None) => JobId::next(self.event_ids(), now_ms),
        };
        let job = JobRef { job_type, id };
        let hash = request_hash(job_type, new);
        let created_s = secs(now_ms);
        let item = self.job_item(&job, new, created_s).await?.with(REQUEST_HASH, hash.as_str());
        let fitted = self.fit_job(&job, item).await?;
        let entry = List::JobsOfStatus(job_type, JobStatus::Pending);
        let entry = list_entry(entry.job(created_s, job_type, &job.id));
        let put = Write::put(self.table().clone(), fitted.item.clone()).when(attr("PK").absent());
        let mut writes = vec![put, Write::put(self.table().clone(), entry)];
        writes.extend(fitted.unmark(self.table()));
        if self.transact(writes).await?.is_applied() {
            let stored = StoredJob { job, item: fitted.item, lease: LeaseItem::default() };
            return Ok(Submitted { job: self.whole_job(&stored).await?, is_new: true });
        }
        self.discard(fitted.objects()).await;
        let found = self.find_job(&job).await?;
        // A mark of an object was claimed by the sweep: the request took an hour.
        let stored = found.ok_or(Error::Contended)?;
        if stored.item.s(REQUEST_HASH) != Some(&hash) {
            let problem = format!("the job {job} exists with other content");
            return Err(Error::conflict(problem));
        }
        Ok(Submitted { job: self.whole_job(&stored).await?, is_new: false })
    }
}

/// The id of the job that was submitted with a key. It is made of the key, so that no record of keys is needed.
fn id_of_key(key: &IdempotencyKey) -> Result<JobId> {
    let digest = Sha256::digest(key.as_str());
    JobId::new(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Hash of a request, which shows whether the same job is submitted again. It is stored, so it must not change.
fn request_hash(of: JobType, new: &NewJob) -> String {
    let fields = &new.fields;
    let mut parts = vec![
        Some(of.as_str()),
        fields.platform.as_ref().map(|platform| platform.as_str()),
        fields.problem_id.as_ref().map(|id| id.as_str()),
        fields.title.as_deref(),
        fields.problem_url.as_deref(),
        fields.problem_identifier.as_deref(),
        fields.language.as_deref(),
        fields.task_id.as_ref().map(|task| task.as_str()),
        new.solution_code.as_deref(),
        new.constraints.as_deref(),
    ];
    parts.extend(fields.tags.iter().map(|tag| Some(tag.as_str())));
    let mut hash = Sha256::new();
    for part in parts {
        // The length separates the parts; a missing one differs from an empty one.
        let length = part.map_or(u64::MAX, |text| text.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(part.unwrap_or_default());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_ids_of_keys_are_stable() {
        let key = IdempotencyKey::new("request-1").unwrap();
        assert_eq!(id_of_key(&key).unwrap().as_str(), "19f1064b619d49d35392eac7261cd726");
        let hash = |new: &NewJob| request_hash(JobType::ScriptGeneration, new);
        let with = |code: Option<&str>| NewJob {
            solution_code: code.map(str::to_owned),
            ..NewJob::default()
        };
        assert_ne!(hash(&with(None)), hash(&with(Some(""))));
        let expected = "01e53d94a415c6f57274266529077e4c61a353a2da45c3276c0b34ee89562555";
        assert_eq!(hash(&with(None)), expected);
    }
}
