//! Object storage: texts that are too large for an item, and the archive of usage logs.
//!
//! A writer marks an object ([`object_mark`](crate::keys::object_mark)) before it stores it, and the transaction of the item that names it
//! removes the mark. A transaction that drops an object marks it again. So a sweep over due marks finds every object that
//! no item names, whatever failed.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{Error as ObjectError, ObjectStore, ObjectStoreExt as _};
use weir_calendar::Day;

use crate::error::{Error, Result};
use crate::ids::{EventId, HistoryId, JobId, ProblemRef, TaskId, TestCaseId};
use crate::kinds::JobType;

/// Object storage, below a prefix. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Option<Arc<dyn ObjectStore>>,
    prefix: Path,
}

impl Objects {
    /// Object storage, below a prefix.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Objects {
        Objects { store: Some(store), prefix: Path::from(prefix) }
    }

    /// No object storage: items that do not fit are refused, and nothing is archived.
    #[must_use]
    pub fn unavailable() -> Objects {
        Objects { store: None, prefix: Path::default() }
    }

    /// Whether there is an object storage.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.store.is_some()
    }

    /// Stores an object.
    ///
    /// # Errors
    /// The object storage fails, or none is configured.
    pub async fn put(&self, name: &str, content: Vec<u8>) -> Result<()> {
        self.store()?.put(&self.path(name)?, content.into()).await.map_err(failed)?;
        Ok(())
    }

    /// Reads an object; `None` if it does not exist.
    ///
    /// # Errors
    /// The object storage fails, or none is configured.
    pub async fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.store()?.get(&self.path(name)?).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(failed)?.to_vec())),
            Err(ObjectError::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Deletes an object; a missing one is fine.
    ///
    /// # Errors
    /// The object storage fails, or none is configured.
    pub async fn delete(&self, name: &str) -> Result<()> {
        match self.store()?.delete(&self.path(name)?).await {
            Ok(()) | Err(ObjectError::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    fn store(&self) -> Result<&dyn ObjectStore> {
        let missing = || Error::Objects("none is configured".to_owned());
        self.store.as_deref().ok_or_else(missing)
    }

    fn path(&self, name: &str) -> Result<Path> {
        let path = Path::parse(name)
            .map_err(|_| Error::damaged(format!("the object {name:?}"), "its name is invalid"))?;
        Ok(self.prefix.parts().chain(path.parts()).collect())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: ObjectError) -> Error {
    Error::Objects(error.to_string())
}

/// The item whose text is in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectOwner {
    /// A problem.
    Problem(ProblemRef),
    /// A test case.
    TestCase(ProblemRef, TestCaseId),
    /// A recorded run.
    History(HistoryId),
    /// A job.
    Job(JobType, JobId),
    /// A task result.
    Task(TaskId),
}

impl ObjectOwner {
    /// A new name for an object with a field of the item; no two objects share one.
    #[must_use]
    pub fn object_name(&self, field: &str, id: &EventId) -> String {
        let folder = match self {
            ObjectOwner::Problem(problem) => format!("problems/{problem}"),
            ObjectOwner::TestCase(problem, case) => format!("problems/{problem}/testcases/{case}"),
            ObjectOwner::History(history) => format!("history/{history}"),
            ObjectOwner::Job(of, job) => format!("jobs/{of}/{job}"),
            ObjectOwner::Task(task) => format!("tasks/{task}"),
        };
        format!("{folder}/{field}-{id}")
    }
}

/// Name of a part of the archive of a day's usage log: JSON lines, compressed.
#[must_use]
pub fn usage_archive(day: Day, part: u32) -> String {
    format!("usage/{}/{part:06}.jsonl.gz", day.compact())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::OBJECT_NAME_MAX;
    use crate::ids::{Platform, ProblemId};

    #[test]
    fn the_names_of_objects_are_stable() {
        let id = EventId::new("01JAB3XK5N8Q2R7T9V0W1Y4Z6C").unwrap();
        let problem = ProblemRef {
            platform: Platform::new("baekjoon").unwrap(),
            id: ProblemId::new("1000").unwrap(),
        };
        let case = TestCaseId::new("7").unwrap();
        let job = JobId::new("9").unwrap();
        for (owner, field, expected) in [
            (ObjectOwner::Problem(problem.clone()), "sol", "problems/baekjoon/1000/sol-"),
            (
                ObjectOwner::TestCase(problem, case),
                "inp",
                "problems/baekjoon/1000/testcases/7/inp-",
            ),
            (ObjectOwner::History(HistoryId::new("5000").unwrap()), "cod", "history/5000/cod-"),
            (
                ObjectOwner::Job(JobType::ScriptGeneration, job),
                "gen",
                "jobs/script-generation/9/gen-",
            ),
            (ObjectOwner::Task(TaskId::new("t-1").unwrap()), "res", "tasks/t-1/res-"),
        ] {
            assert_eq!(owner.object_name(field, &id), format!("{expected}{id}"));
        }
        let day = Day::from_compact("20251008").unwrap();
        assert_eq!(usage_archive(day, 1), "usage/20251008/000001.jsonl.gz");
    }

    #[test]
    fn the_longest_name_fits() {
        let problem = ProblemRef {
            platform: Platform::new("p".repeat(32)).unwrap(),
            id: ProblemId::new("i".repeat(128)).unwrap(),
        };
        let case = TestCaseId::new("t".repeat(64)).unwrap();
        let id = EventId::new("01JAB3XK5N8Q2R7T9V0W1Y4Z6C").unwrap();
        let name = ObjectOwner::TestCase(problem, case).object_name("inp", &id);
        assert!(name.len() <= OBJECT_NAME_MAX);
        assert!(Objects::unavailable().path(&name).is_ok());
    }
}
