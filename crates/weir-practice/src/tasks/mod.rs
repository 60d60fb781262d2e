//! Results of tasks of the task queue. A result expires 30 days after its last write, unless configured otherwise.
//!
//! The last write wins, with one exception: a task that has ended does not go back. A task queue delivers reports late and
//! twice, so a worker's `STARTED` can come after the `SUCCESS` of another.

use weir_table::expr::{attr, set};
use weir_table::id::shaped;
use weir_table::{Backend, Item, Value, Write, Written};

use crate::bounds::{ERROR_MESSAGE_MAX, ITEM_BYTES_MAX};
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::TaskId;
use crate::item::{CREATED, DATA, Data, TYPE, UPDATED, data, expiry, is_expired, secs};
use crate::keys;
use crate::kinds::EntityType;
use crate::practice::Practice;
use crate::table::TTL;

const STATUS: &str = "sts";
const RESULT: &str = "res";
const TRACEBACK: &str = "trc";

/// Levels of a result: those of the store, less the one of `dat`.
const RESULT_LEVELS_MAX: usize = weir_table::limits::NESTING_MAX - 2;
/// States of tasks that have ended.
const ENDED: [&str; 3] = ["SUCCESS", "FAILURE", "REVOKED"];

weir_table::ids! {
    /// State of a task: one of the task queue, like `STARTED`, or one that a program defines.
    TaskStatus, "status", |text| shaped(text, 32, is_capital, is_capital),
        "a status of a task: 1 to 32 capital letters and `_`";
}

fn is_capital(b: u8) -> bool {
    b.is_ascii_uppercase() || b == b'_'
}

impl TaskStatus {
    /// Whether the task has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        ENDED.contains(&self.as_str())
    }
}

/// A result to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTaskResult {
    /// State of the task.
    pub status: TaskStatus,
    /// The result of the task.
    pub result: Option<Value>,
    /// Where the task failed.
    pub traceback: Option<String>,
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskResult {
    /// The task.
    pub task: TaskId,
    /// State of the task.
    pub status: TaskStatus,
    /// The result of the task.
    pub result: Option<Value>,
    /// Where the task failed.
    pub traceback: Option<String>,
    /// When the task was first reported, in seconds since 1970.
    pub created_s: i64,
    /// When the result was last written, in seconds since 1970.
    pub updated_s: i64,
    /// When the result expires, in seconds since 1970; `None` if the program of the source stored it without an expiry.
    pub expires_s: Option<i64>,
}

impl<B: Backend> Practice<B> {
    /// Stores the result of a task, and replaces an earlier one.
    ///
    /// # Errors
    /// The task has ended and this result is of an earlier state; a field is too large; the store fails.
    pub async fn put_task_result(&self, task: &TaskId, new: &NewTaskResult) -> Result<TaskResult> {
        check(new)?;
        let now_ms = self.now_ms();
        let now_s = secs(now_ms);
        let data_now = Data::new()
            .with(STATUS, new.status.as_str())
            .with_or_null(RESULT, new.result.clone())
            .with_or_null(TRACEBACK, new.traceback.as_deref());
        let update = set(DATA, data_now)
            .set(TYPE, EntityType::TaskResult.as_str())
            .set(UPDATED, now_s)
            .set(TTL, expiry(now_ms, self.settings().task_result_days))
            .set_if_absent(CREATED, now_s);
        let mut write = Write::update(self.table().clone(), keys::task(task), update);
        if !new.status.is_ended() {
            // An expired result counts as absent, although the store may not have removed it yet.
            let has_ended = data(STATUS).is_in(ENDED);
            write = write.when((!has_ended).or(attr(TTL).le(now_s)));
        }
        match self.write(write).await? {
            Written::Applied(Some(item)) => read(task, &item),
            Written::Applied(None) => {
                Err(Error::damaged("a task result", "the store returned none"))
            }
            Written::Refused(_) => {
                Err(Error::conflict(format!("the task {task} has ended; {} is late", new.status)))
            }
        }
    }

    /// The result of a task.
    ///
    /// # Errors
    /// There is none, or it has expired; the store fails.
    pub async fn task_result(&self, task: &TaskId) -> Result<TaskResult> {
        let item = self.item(keys::task(task)).await?;
        let alive = item.filter(|item| !is_expired(item, self.now_ms()));
        read(task, &alive.ok_or_else(|| Error::not_found("task", task))?)
    }
}

fn check(new: &NewTaskResult) -> Result<()> {
    let traceback = new.traceback.as_ref().map_or(0, String::len);
    if traceback > ERROR_MESSAGE_MAX {
        let problem = format!("has {traceback} bytes; at most {ERROR_MESSAGE_MAX}");
        return Err(Error::too_large("traceback", problem));
    }
    if new.result.as_ref().is_some_and(|result| !fits_in_levels(result, RESULT_LEVELS_MAX)) {
        let problem = format!("has more than {RESULT_LEVELS_MAX} levels");
        return Err(Error::too_large("result", problem));
    }
    let max = ITEM_BYTES_MAX - ERROR_MESSAGE_MAX;
    let result = new.result.as_ref().map_or(0, Value::size);
    if result > max {
        return Err(Error::too_large("result", format!("has {result} bytes; at most {max}")));
    }
    Ok(())
}

fn fits_in_levels(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match value {
        Value::L(values) => values.iter().all(|value| fits_in_levels(value, below)),
        Value::M(map) => map.values().all(|value| fits_in_levels(value, below)),
        _ => true,
    }
}

fn read(task: &TaskId, item: &Item) -> Result<TaskResult> {
    let fields = Fields::of(item)?;
    Ok(TaskResult {
        task: task.clone(),
        status: fields.parse(STATUS)?,
        result: fields.get(RESULT).cloned(),
        traceback: fields.optional_text(TRACEBACK).map(str::to_owned),
        created_s: fields.created_s()?,
        updated_s: fields.updated_s()?,
        expires_s: item.i64(TTL),
    })
}
