//! The usage log: one item for each action that was counted.

use weir_calendar::Day;
use weir_table::retry::Listed;
use weir_table::{Backend, Item, Query, Value, Write};

use super::request::UsageRequest;
use crate::error::Result;
use crate::fields::Fields;
use crate::ids::{EventId, ProblemId, UserId};
use crate::item::{Data, entity, id_value, secs};
use crate::keys;
use crate::kinds::{Action, EntityType};
use crate::list::PageRequest;
use crate::practice::Practice;
use crate::table::TTL;

/// An action that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLogEntry {
    /// Time of the request, in milliseconds since 1970; whole seconds when the program of the source wrote it.
    pub at_ms: i64,
    /// The action.
    pub action: Action,
    /// The problem it was about.
    pub problem_id: Option<ProblemId>,
    /// Further details: a map.
    pub metadata: Option<Value>,
}

impl UsageLogEntry {
    /// Reads a log item; `None` if its key has another form.
    pub(crate) fn from_item(item: &Item) -> Result<Option<UsageLogEntry>> {
        let Some((at_ms, action, _)) = item.s("SK").and_then(keys::parse_usage_log) else {
            return Ok(None);
        };
        let fields = Fields::of(item)?;
        Ok(Some(UsageLogEntry {
            at_ms,
            action,
            problem_id: fields.parse_optional("pid")?,
            metadata: fields.get("met").cloned(),
        }))
    }
}

impl<B: Backend> Practice<B> {
    pub(super) fn log_write(
        &self,
        user: &UserId,
        request: &UsageRequest,
        day: Day,
        now_ms: i64,
    ) -> Write {
        let id = EventId::next(self.event_ids(), now_ms);
        Write::put(self.table().clone(), self.log_item((user, &id), request, day, now_ms))
    }

    /// The item of an action.
    pub(super) fn log_item(
        &self,
        (user, id): (&UserId, &EventId),
        request: &UsageRequest,
        day: Day,
        now_ms: i64,
    ) -> Item {
        let key = keys::usage_log(user, day, now_ms, request.action, id);
        let data = Data::new()
            .with("act", request.action.as_str())
            .with_or_null("pid", request.problem_id.as_ref().map(|id| id_value(id.as_str())))
            .with_or_null("met", request.metadata.clone());
        let item = entity(key, EntityType::UsageLog, data, secs(now_ms));
        item.with(TTL, self.usage_expiry(day))
    }

    /// A page of a user's log of a day, newest first.
    ///
    /// # Errors
    /// The user does not exist, the cursor is not of this log, or the store fails.
    pub async fn usage_log(
        &self,
        user: &UserId,
        day: Day,
        page: &PageRequest,
    ) -> Result<Listed<UsageLogEntry>> {
        self.user(user).await?;
        let query = self.log_query(user, day).reverse();
        let found = self.store().page(query, page.limit, page.cursor.clone()).await?;
        let decoded = found.items.iter().map(UsageLogEntry::from_item);
        let items: Vec<Option<UsageLogEntry>> = decoded.collect::<Result<_>>()?;
        Ok(Listed { items: items.into_iter().flatten().collect(), cursor: found.cursor })
    }

    /// The log of a user on a day, oldest first.
    pub(crate) fn log_query(&self, user: &UserId, day: Day) -> Query {
        Query::partition(self.table().clone(), keys::usage_partition(user, day))
            .begins_with(keys::USAGE_LOG_PREFIX)
    }
}
