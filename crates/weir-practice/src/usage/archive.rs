//! Archives the usage log of a day to the object storage, part by part.
//!
//! A checkpoint has the number of parts and the last item in them. A part begins after the checkpoint and has a fixed number
//! of lines, and a day that is archived does not change any more. So a part that is stored twice is the same, and a job that
//! is killed leaves no gap and no double. The log items stay until they expire.

use std::collections::VecDeque;

use serde_json::Value as Json;
use weir_calendar::Day;
use weir_table::limits::BATCH_GET_MAX;
use weir_table::request::SortRange;
use weir_table::{Backend, Item, Query, Write};

use super::archive_part;
use super::log::UsageLogEntry;
use super::recount::Repair;
use crate::bounds::ARCHIVE_PART_LINES;
use crate::day::end_of;
use crate::error::Result;
use crate::fields::Fields;
use crate::ids::UserId;
use crate::item::{Data, VERSION, entity, expiry, secs};
use crate::keys::{self, find};
use crate::kinds::EntityType;
use crate::objects::usage_archive;
use crate::plans::same;
use crate::practice::Practice;
use crate::table::TTL;

/// The actor of the job in the audit log.
const ACTOR: &str = "practice-archive";
/// Users that are read at once.
const USERS_PAGE: u32 = 100;

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArchiveReport {
    /// Parts stored.
    pub parts: u64,
    /// Lines in them.
    pub lines: u64,
    /// Days whose archive is complete now.
    pub days: u64,
    /// Whether there is more to archive.
    pub more: bool,
}

/// How much of a day is archived.
#[derive(Debug, Clone, Default)]
struct Position {
    parts: u32,
    lines: u64,
    /// The last user in the archive.
    user: Option<UserId>,
    /// The last log item of that user in it; `None` if all are.
    after: Option<String>,
    is_done: bool,
}

impl Position {
    fn read(item: Option<&Item>) -> Result<Position> {
        let Some(item) = item else { return Ok(Position::default()) };
        let fields = Fields::of(item)?;
        let number = |name: &str| fields.number(name).map(|n| u64::try_from(n).unwrap_or_default());
        Ok(Position {
            parts: u32::try_from(number("parts")?).map_err(|_| fields.wrong("parts"))?,
            lines: number("lines")?,
            user: fields.parse_optional("uid")?,
            after: fields.optional_text("after").map(str::to_owned),
            is_done: fields.flag("done"),
        })
    }

    fn to_data(&self) -> Data {
        Data::new()
            .with("parts", self.parts)
            .with("lines", self.lines)
            .with_or_null("uid", self.user.as_ref().map(|user| user.as_str()))
            .with_or_null("after", self.after.as_deref())
            .with("done", self.is_done)
    }
}

impl<B: Backend> Practice<B> {
    /// Archives usage logs that are old enough: at most so many parts. Does nothing without an archive.
    ///
    /// # Errors
    /// The store or the object storage fails; the next run continues.
    pub async fn archive_usage(&self, parts_max: u64) -> Result<ArchiveReport> {
        let mut report = ArchiveReport::default();
        let Some(days) = self.settings().usage_archive_days else { return Ok(report) };
        let today = self.day_of(self.now_ms());
        let ages = i64::from(days)..i64::from(self.settings().usage_days);
        let due: Vec<Day> = ages.rev().map(|age| today.plus_days(-age)).collect();
        let mut steps = 0;
        for days in due.chunks(BATCH_GET_MAX) {
            let keys = days.iter().map(|day| keys::archive_checkpoint(*day)).collect();
            let checkpoints = self.items(keys).await?;
            for day in days {
                let mut checkpoint = find(&checkpoints, &keys::archive_checkpoint(*day)).cloned();
                while !Position::read(checkpoint.as_ref())?.is_done {
                    if steps == parts_max {
                        return Ok(ArchiveReport { more: true, ..report });
                    }
                    steps += 1;
                    let stored = self.archive_part(*day, checkpoint, &mut report).await?;
                    let Some(stored) = stored else {
                        return Ok(ArchiveReport { more: true, ..report });
                    };
                    checkpoint = Some(stored);
                }
            }
        }
        Ok(report)
    }

    /// Stores the next part of a day. Returns its checkpoint, or `None` when another instance was faster.
    async fn archive_part(
        &self,
        day: Day,
        checkpoint: Option<Item>,
        report: &mut ArchiveReport,
    ) -> Result<Option<Item>> {
        if checkpoint.is_none() {
            // The rollup names the users, so it must have all of them.
            self.verify_rollup(day, Repair::By(ACTOR)).await?;
        }
        let mut position = Position::read(checkpoint.as_ref())?;
        let lines = self.archive_lines(day, &mut position).await?;
        if !lines.is_empty() {
            position.parts += 1;
            position.lines += lines.len() as u64;
            let name = usage_archive(day, position.parts);
            self.objects().put(&name, archive_part::encode(&lines)?).await?;
        }
        let old = checkpoint.unwrap_or_default();
        let version = old.i64(VERSION).unwrap_or_default() + 1;
        let settings = self.settings();
        let key = keys::archive_checkpoint(day);
        let now_s = secs(self.now_ms());
        let item = entity(key, EntityType::Checkpoint, position.to_data(), now_s)
            .with(VERSION, version)
            .with(TTL, expiry(end_of(&settings.zone, day), settings.rollup_days));
        let write = Write::put(self.table().clone(), item.clone()).when(same(&old, VERSION));
        if !self.write(write).await?.is_applied() {
            return Ok(None);
        }
        report.parts += u64::from(!lines.is_empty());
        report.lines += lines.len() as u64;
        report.days += u64::from(position.is_done);
        Ok(Some(item))
    }

    /// The lines of the next part; moves the position behind them.
    async fn archive_lines(&self, day: Day, position: &mut Position) -> Result<Vec<Json>> {
        let mut lines = Vec::new();
        let mut users = VecDeque::new();
        while lines.len() < ARCHIVE_PART_LINES {
            if let (Some(user), Some(after)) = (&position.user, &position.after) {
                let rest = u32::try_from(ARCHIVE_PART_LINES - lines.len()).unwrap_or(u32::MAX);
                let query =
                    Query::partition(self.table().clone(), keys::usage_partition(user, day));
                let query = query.sort(SortRange::Gt(after.as_str().into())).limit(rest);
                let page = self.store().query(&query).await?;
                for item in &page.items {
                    let entry = UsageLogEntry::from_item(item)?;
                    lines.extend(entry.map(|entry| archive_part::line(user, day, &entry)));
                }
                let last = page.items.last().and_then(|item| item.s("SK"));
                position.after = page.cursor.and_then(|_| last.map(str::to_owned));
                continue;
            }
            if users.is_empty() {
                users = self.archive_users(day, position.user.as_ref()).await?;
            }
            let Some(user) = users.pop_front() else {
                position.is_done = true;
                break;
            };
            position.user = Some(user);
            position.after = Some(keys::USAGE_LOG_PREFIX.to_owned());
        }
        Ok(lines)
    }

    /// Users of a day after this one, in the order of their keys.
    async fn archive_users(&self, day: Day, after: Option<&UserId>) -> Result<VecDeque<UserId>> {
        let after = after.map_or_else(|| keys::USER_PREFIX.to_owned(), keys::user_partition);
        let query = Query::partition(self.table().clone(), keys::rollup_partition(day));
        let query = query.sort(SortRange::Gt(after.into())).limit(USERS_PAGE);
        let page = self.store().query(&query).await?;
        Ok(page.items.iter().filter_map(|item| keys::parse_user(item.s("SK")?)).collect())
    }

    /// Removes the metadata of a user from the archive of a day.
    pub(crate) async fn erase_from_archive(&self, user: &UserId, day: Day) -> Result<()> {
        let checkpoint = self.item(keys::archive_checkpoint(day)).await?;
        // One more: a part may be stored before its checkpoint.
        for part in 1..=Position::read(checkpoint.as_ref())?.parts.saturating_add(1) {
            let name = usage_archive(day, part);
            let Some(bytes) = self.objects().get(&name).await? else { continue };
            let mut lines = archive_part::decode(&bytes)?;
            if archive_part::anonymise(&mut lines, user) {
                self.objects().put(&name, archive_part::encode(&lines)?).await?;
            }
        }
        Ok(())
    }
}
