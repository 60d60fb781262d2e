//! Copies the items of one table, page by page.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::task::JoinSet;
use weir_table::{Error, Item, Page, Query, Result, TableSpec, Write, limits};

use super::digest;
use super::position::{Position, Stage};
use super::{Copy, is_of_the_installation, retry};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::{output, progress};

/// Items per page. The position is stored after each page.
const PAGE_ITEMS: u32 = 1000;
/// Pages per second when the rate is limited.
const PAGES_PER_SECOND: u32 = 4;
/// Concurrent batches.
const BATCHES_AT_ONCE: usize = 8;
/// Items between two progress messages when there is no terminal for a bar.
const NOTE_EVERY: u64 = 100_000;

impl Copy<'_> {
    /// Copies the rest of a table. Returns the number of items.
    pub(super) async fn transfer(
        &self,
        spec: &TableSpec,
        position: &mut Position,
    ) -> std::result::Result<u64, Failure> {
        let mut copied = 0;
        let bar = progress::items(&format!("{}: copying", spec.name), self.total(spec).await?);
        bar.set_position(position.items);
        let pace = Pace::new(self.args.rate);
        while position.stage == Stage::Copying {
            let page = match self.page(spec, position, pace.page_items()).await {
                Err(Error::Invalid { field, .. }) if field == "cursor" => {
                    output::note(format!(
                        "{}: the source no longer has the position where the copy stopped; starting again",
                        spec.name
                    ));
                    *position = Position::start(&spec.name, &self.source);
                    continue;
                }
                page => page?,
            };
            let arrived = self.deliver(spec, page.items).await?;
            note(&bar, &spec.name, position.items, arrived);
            position.items += arrived;
            copied += arrived;
            if page.cursor.is_none() {
                position.stage = Stage::Copied;
            }
            position.cursor = page.cursor;
            position.save(self.to).await?;
            pace.keep(page.scanned).await;
        }
        bar.finish_and_clear();
        Ok(copied)
    }

    /// The number of items, if counting is cheap.
    async fn total(&self, spec: &TableSpec) -> Result<Option<u64>> {
        if !self.args.from.is_embedded() {
            return Ok(None);
        }
        let mut query = Query::scan(spec.name.as_str()).count_only();
        let mut total = 0;
        loop {
            let page = self.from.query(&query).await?;
            total += page.count;
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return Ok(Some(total)),
            }
        }
    }

    async fn page(&self, spec: &TableSpec, position: &Position, items: u32) -> Result<Page> {
        let mut query = Query::scan(spec.name.as_str()).limit(items);
        query.cursor.clone_from(&position.cursor);
        retry::transient(|| self.from.query(&query)).await
    }

    /// Writes a whole page. Returns the number of items.
    async fn deliver(&self, spec: &TableSpec, items: Vec<Item>) -> Result<u64> {
        let is_copied = |item: &Item| {
            !digest::is_expired(spec, item, self.now_s) && !is_of_the_installation(spec, item)
        };
        let items: Vec<_> = items.into_iter().filter(is_copied).collect();
        let arrived = items.len() as u64;
        let mut batches = JoinSet::new();
        for batch in items.chunks(limits::BATCH_WRITE_MAX) {
            if batches.len() >= BATCHES_AT_ONCE {
                joined(batches.join_next().await)?;
            }
            let puts = batch.iter().map(|item| Write::put(spec.name.as_str(), item.clone()));
            batches.spawn(deliver_batch(self.to.clone(), puts.collect()));
        }
        while !batches.is_empty() {
            joined(batches.join_next().await)?;
        }
        Ok(arrived)
    }
}

async fn deliver_batch(to: Tables, writes: Vec<Write>) -> Result<()> {
    retry::transient(|| to.batch_write(writes.clone())).await
}

fn joined(ended: Option<std::result::Result<Result<()>, tokio::task::JoinError>>) -> Result<()> {
    match ended {
        Some(Ok(written)) => written,
        Some(Err(error)) => Err(Error::backend("writing a batch", error)),
        None => Ok(()),
    }
}

fn note(bar: &ProgressBar, table: &str, before: u64, arrived: u64) {
    bar.inc(arrived);
    let after = before + arrived;
    if bar.is_hidden() && after / NOTE_EVERY > before / NOTE_EVERY {
        output::note(format!("{table}: {} copied", output::counted(after, "item")));
    }
}

/// Limits the number of items per second.
struct Pace {
    rate: Option<u32>,
    started: Instant,
    done: std::cell::Cell<u64>,
}

impl Pace {
    fn new(rate: Option<u32>) -> Pace {
        Pace { rate, started: Instant::now(), done: std::cell::Cell::new(0) }
    }

    fn page_items(&self) -> u32 {
        let paced = |rate: u32| (rate / PAGES_PER_SECOND).clamp(1, PAGE_ITEMS);
        self.rate.map_or(PAGE_ITEMS, paced)
    }

    /// Waits until `items` more are due.
    async fn keep(&self, items: u64) {
        self.done.set(self.done.get() + items);
        if let Some(rate) = self.rate {
            let due = Duration::from_secs_f64(self.done.get() as f64 / f64::from(rate));
            tokio::time::sleep(due.saturating_sub(self.started.elapsed())).await;
        }
    }
}
