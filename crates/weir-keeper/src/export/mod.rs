//! Exports counters to object storage as JSON lines, long before they expire.
//!
//! A day is exported [`FINAL_AFTER_DAYS`] days later, when no submission can be metered in it any more. The export sums
//! the shards, so it is exact whatever the totals say. Each org gets one object a day,
//! `{prefix}/{yyyy}/{mm}/{dd}/{org}.jsonl`, and a checkpoint. After a crash between the two, or on two instances at
//! once, the same object is written again.

mod line;

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use weir_table::{Backend, Error as Fault};

use crate::bounds::EXPORT_DAYS_MAX;
use crate::config::EffectiveConfig;
use crate::day::OrgDay;
use crate::deletion::Deleted;
use crate::error::Result;
use crate::ids::{OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::totals::TotalsSource;

/// Days after which no submission can be metered in a day any more: submissions may be a day late, and days may be
/// short.
pub const FINAL_AFTER_DAYS: usize = 3;

/// Where counters are exported to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ExportTarget {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl ExportTarget {
    /// A target in object storage, below a prefix.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> ExportTarget {
        ExportTarget { objects, prefix: Path::from(prefix) }
    }

    /// Writes an object atomically, replacing one of the same name.
    async fn put(&self, org: &OrgId, day: OrgDay, content: String) -> Result<()> {
        let day = day.to_string();
        let parts = self.prefix.parts().map(|part| part.as_ref().to_owned());
        let name = day.split('-').map(str::to_owned).chain([format!("{org}.jsonl")]);
        let at: Path = parts.chain(name).collect();
        let failed = |source| Fault::backend("writing an export of counters", source);
        self.objects.put(&at, content.into_bytes().into()).await.map_err(failed)?;
        Ok(())
    }
}

/// The result of one page of an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Objects written.
    pub objects: u64,
    /// Lines written.
    pub lines: u64,
    /// Days that remain to be exported, of the org that is furthest behind.
    pub behind_days: u64,
    /// Cursor of the next page of orgs; `None` at the end.
    pub next: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// Exports the final days of the next `limit` orgs, up to [`EXPORT_DAYS_MAX`] days each.
    ///
    /// # Errors
    /// The cursor is not of this list, or the object storage or the store fails. Exported days stay exported.
    pub async fn export_counters(
        &self,
        to: &ExportTarget,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<ExportReport> {
        let page = self.list_orgs(limit, cursor, Deleted::Included).await?;
        let mut report = ExportReport { next: page.cursor, ..ExportReport::default() };
        for effective in &page.items {
            self.export_org(to, effective, &mut report).await?;
        }
        Ok(report)
    }

    async fn export_org(
        &self,
        to: &ExportTarget,
        effective: &EffectiveConfig,
        report: &mut ExportReport,
    ) -> Result<()> {
        let today = effective.timezone.day_of(self.now_ms());
        let mut back = std::iter::successors(Some(today), |day| day.previous());
        let Some(last) = back.nth(FINAL_AFTER_DAYS) else { return Ok(()) };
        let org = &effective.org_id;
        let done = self.day_checkpoint(keys::export_checkpoint(org)).await?;
        let retention_days = usize::try_from(self.settings().retention_days).unwrap_or(usize::MAX);
        let oldest = back.nth(retention_days.saturating_sub(FINAL_AFTER_DAYS)).unwrap_or(last);
        let first = done.and_then(OrgDay::next).unwrap_or(oldest).max(oldest);
        let days = std::iter::successors(Some(first), |day| day.next());
        let days: Vec<OrgDay> = days.take_while(|day| *day <= last).take(EXPORT_DAYS_MAX).collect();
        let Some(until) = days.last().copied() else { return Ok(()) };
        let apps = self.app_sources(org).await?;
        for day in days {
            let (lines, content) = self.lines_of(effective, &apps, day).await?;
            if lines > 0 {
                to.put(org, day, content).await?;
                report.objects += 1;
                report.lines += lines;
            }
        }
        self.advance_day_checkpoint(keys::export_checkpoint(org), until).await?;
        let behind = u64::try_from(until.days_until(last)).unwrap_or_default();
        report.behind_days = report.behind_days.max(behind);
        Ok(())
    }

    /// The lines of an org for a day, and their number.
    async fn lines_of(
        &self,
        effective: &EffectiveConfig,
        apps: &[TotalsSource],
        day: OrgDay,
    ) -> Result<(u64, String)> {
        let (mut lines, mut content) = (0, String::new());
        let org = Scope::Org(effective.org_id.clone());
        let labels = self.usable_labels(&org, effective).await?;
        let app_labels = apps.iter().map(|app| (&app.scope, &app.labels));
        for (scope, labels) in [(&org, &labels)].into_iter().chain(app_labels) {
            for label in labels {
                let counters = self.sum_shards(scope, label, day).await?;
                if counters.requests > 0 {
                    line::write(&mut content, scope, label, day, &counters);
                    lines += 1;
                }
            }
        }
        Ok((lines, content))
    }
}
