//! Exports counters to object storage as JSON lines, long before they expire.
//!
//! A day is exported [`FINAL_AFTER_DAYS`] days later, when no submission can be metered in it any more. The export sums
//! the shards, so it is exact whatever the totals say. Each org gets one object a day,
//! `{prefix}/{yyyy}/{mm}/{dd}/{org}.jsonl`, and a checkpoint. After a crash between the two, or on two instances at
//! once, the same object is written again.

mod line;

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use weir_table::{Backend, Error as Fault};

use crate::bounds::EXPORT_DAYS_MAX;
use crate::config::EffectiveConfig;
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::deletion::Deleted;
use crate::error::Result;
use crate::ids::{Label, OrgId, Scope};
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
        let now_ms = self.now_ms();
        let today = effective.timezone.day_of(now_ms);
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
        let source = self.totals_source(&Scope::Org(org.clone()), first, now_ms).await?;
        let apps = self.app_sources(org, source.history.org(), now_ms).await?;
        for day in days {
            let (lines, content) = self.lines_of(&source, &apps, day).await?;
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

    /// The lines of an org for a day, and their number. The org has lines if a quota of its own counted any usage; they
    /// then have all usage of the day, also where part of it was counted under quotas per app.
    async fn lines_of(
        &self,
        org: &TotalsSource,
        apps: &[TotalsSource],
        day: OrgDay,
    ) -> Result<(u64, String)> {
        let mut of_org = self.counted(org, day).await?;
        let mut of_apps = Vec::new();
        for app in apps {
            of_apps.extend(self.counted(app, day).await?);
        }
        if !of_org.is_empty() && org.history.org().is_sum_of_apps(day) {
            of_org = summed_as(&org.scope, &of_apps);
        }
        let (mut lines, mut content) = (0, String::new());
        for (scope, label, counters) in of_org.iter().chain(&of_apps) {
            line::write(&mut content, scope, label, day, counters);
            lines += 1;
        }
        Ok((lines, content))
    }

    /// The usage of a scope on a day, by model.
    async fn counted<'a>(
        &self,
        TotalsSource { scope, labels, .. }: &'a TotalsSource,
        day: OrgDay,
    ) -> Result<Vec<(&'a Scope, &'a Label, Counters)>> {
        let mut counted = Vec::new();
        for label in labels {
            let counters = self.sum_shards(scope, label, day).await?;
            if counters.requests > 0 {
                counted.push((scope, label, counters));
            }
        }
        Ok(counted)
    }
}

/// The sum of all, by model, as the usage of one scope.
fn summed_as<'a>(
    scope: &'a Scope,
    all: &[(&'a Scope, &'a Label, Counters)],
) -> Vec<(&'a Scope, &'a Label, Counters)> {
    let mut sums: BTreeMap<&Label, Counters> = BTreeMap::new();
    for (_, label, counters) in all {
        let sum = sums.entry(label).or_default();
        *sum = sum.plus(*counters);
    }
    sums.into_iter().map(|(label, sum)| (scope, label, sum)).collect()
}
