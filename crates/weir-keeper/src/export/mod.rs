//! Counters go to object storage as JSON lines, long before they expire.
//!
//! A day is exported once nothing can be counted in it any more: [`FINAL_AFTER_DAYS`] days later. Its shards are summed up
//! then, so what is exported is exact whatever became of the totals. Each org has one object a day,
//! `{prefix}/{yyyy}/{mm}/{dd}/{org}.jsonl`, and a mark of how far it is exported. A crash between the two writes the same
//! object again, and so do two instances at once.

mod line;

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use weir_table::{Backend, Error as Fault};

use crate::bounds::EXPORT_DAYS_MAX;
use crate::config::Effective;
use crate::day::OrgDay;
use crate::error::Result;
use crate::ids::{OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::totals::Part;

/// After how many days nothing can be counted in a day any more: what is told may be a day late, and days may be short.
pub const FINAL_AFTER_DAYS: usize = 3;

/// Where counters are exported to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Exports {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Exports {
    /// A place in object storage, below a prefix.
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> Exports {
        Exports { objects, prefix: Path::from(prefix) }
    }

    /// Writes an object, whole or not at all, in place of one of the same name.
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

/// What a part of an export came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exported {
    /// Objects that were written.
    pub objects: u64,
    /// Lines in them.
    pub lines: u64,
    /// How many days the org that is furthest behind still has to be exported.
    pub behind_days: u64,
    /// Where to go on with the orgs; nothing at the end.
    pub next: Option<String>,
}

impl<B: Backend> Keeper<B> {
    /// Exports the days that are final of the next `limit` orgs, up to [`EXPORT_DAYS_MAX`] days of each.
    ///
    /// # Errors
    /// The cursor is not of this list, the object storage or the store fails. What was exported stays so.
    pub async fn export_counters(
        &self,
        to: &Exports,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Exported> {
        let page = self.list_orgs(limit, cursor).await?;
        let mut exported = Exported { next: page.cursor, ..Exported::default() };
        for effective in &page.items {
            self.export_org(to, effective, &mut exported).await?;
        }
        Ok(exported)
    }

    async fn export_org(
        &self,
        to: &Exports,
        effective: &Effective,
        exported: &mut Exported,
    ) -> Result<()> {
        let today = effective.timezone.day_of(self.now_ms());
        let mut back = std::iter::successors(Some(today), |day| day.previous());
        let Some(last) = back.nth(FINAL_AFTER_DAYS) else { return Ok(()) };
        let org = &effective.org_id;
        let done = self.mark(keys::exported(org)).await?;
        let kept = usize::try_from(self.settings().retention_days).unwrap_or(usize::MAX);
        let oldest = back.nth(kept.saturating_sub(FINAL_AFTER_DAYS)).unwrap_or(last);
        let first = done.and_then(OrgDay::next).unwrap_or(oldest).max(oldest);
        let days = std::iter::successors(Some(first), |day| day.next());
        let days: Vec<OrgDay> = days.take_while(|day| *day <= last).take(EXPORT_DAYS_MAX).collect();
        let Some(until) = days.last().copied() else { return Ok(()) };
        let apps = self.parts_of(org).await?;
        for day in days {
            let (lines, content) = self.lines_of(effective, &apps, day).await?;
            if lines > 0 {
                to.put(org, day, content).await?;
                exported.objects += 1;
                exported.lines += lines;
            }
        }
        self.move_mark(keys::exported(org), until).await?;
        let behind = u64::try_from(until.days_until(last)).unwrap_or_default();
        exported.behind_days = exported.behind_days.max(behind);
        Ok(())
    }

    /// Everything that was counted for an org on a day, and how many lines that is.
    async fn lines_of(
        &self,
        effective: &Effective,
        apps: &[Part],
        day: OrgDay,
    ) -> Result<(u64, String)> {
        let (mut lines, mut content) = (0, String::new());
        let org = Scope::Org(effective.org_id.clone());
        let labels = self.labels_of(&org, effective).await?;
        let of_apps = apps.iter().map(|app| (&app.scope, &app.labels));
        for (scope, labels) in [(&org, &labels)].into_iter().chain(of_apps) {
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
