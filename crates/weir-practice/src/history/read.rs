//! Reads runs: one, and the runs of a user.

use weir_table::retry::{Listed, TRIES_MAX, pause};
use weir_table::{Backend, Query};

use super::item::{decode_summary, summary_paths};
use super::{Run, RunSummary};
use crate::error::{Error, Result};
use crate::ids::{HistoryId, UserId};
use crate::keys::{self, GSI1};
use crate::list::PageRequest;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// A run, public or not.
    ///
    /// # Errors
    /// The run is missing, or the store fails.
    pub async fn run(&self, id: &HistoryId) -> Result<Run> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let found = self.item(keys::history(id)).await?;
            let found = found.ok_or_else(|| Error::not_found("run", id))?;
            if let Some(run) = self.read_run(&found).await? {
                return Ok(run);
            }
        }
        Err(Error::damaged(format!("the run {id}"), "an object with its text is missing"))
    }

    /// A page of the runs of a user, newest first. The index may lag.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn runs_of_user(
        &self,
        user: &UserId,
        page: &PageRequest,
    ) -> Result<Listed<RunSummary>> {
        let query = Query::partition(self.table().clone(), keys::own_history_partition(user));
        let query = query.index(GSI1).reverse().project(summary_paths());
        let found = self.store().page(query, page.limit, page.cursor.clone()).await?;
        Ok(found.listed(|item| decode_summary(item).ok()))
    }
}
