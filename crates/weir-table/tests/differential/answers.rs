//! What a side answers to a step, and what two answers have to have in common.

use weir_table::request::Extent;
use weir_table::{Item, Name, Query, Result, Transacted, Written};

use crate::program::Step;
use crate::sides::{Fault, Page, Side};

/// The most pages a query of a program can have; more means that it does not end.
const PAGES_MAX: usize = 50;

/// All pages of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pages {
    pub(crate) items: Vec<Item>,
    /// Items returned by each page, and items read for it.
    pub(crate) counts: Vec<(u64, u64)>,
}

/// What a side answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Written(Written),
    Transacted(Transacted),
    Items(Vec<Option<Item>>),
    Pages(Pages),
    Done,
    /// The kind of failure, the field it names, its words.
    Failed(Fault, Option<String>, String),
}

/// Asks `side` to do `step`.
pub(crate) async fn ask(side: &impl Side, step: &Step) -> Answer {
    let answer = try_ask(side, step).await;
    answer.unwrap_or_else(|error| {
        let field = error.field().map(str::to_owned);
        Answer::Failed(Fault::from(&error), field, format!("{error:?}"))
    })
}

async fn try_ask(side: &impl Side, step: &Step) -> Result<Answer> {
    Ok(match step {
        Step::Write(write) => Answer::Written(side.write(write.clone()).await?),
        Step::BatchWrite(writes) => {
            side.batch_write(writes.clone()).await?;
            Answer::Done
        }
        Step::Transact(transaction) => {
            Answer::Transacted(side.transact(transaction.clone()).await?)
        }
        Step::Get(get) => Answer::Items(vec![side.get(get).await?]),
        Step::BatchGet(gets) => Answer::Items(side.batch_get(gets).await?),
        Step::TransactGet(gets) => Answer::Items(side.transact_get(gets).await?),
        Step::Query(query) => Answer::Pages(all_pages(side, query).await?),
        Step::Again | Step::Checkpoint | Step::Reopen => Answer::Done,
    })
}

/// Reads a query to its end.
pub(crate) async fn all_pages(side: &impl Side, query: &Query) -> Result<Pages> {
    let mut pages = Pages::default();
    let mut after = None;
    for _ in 0..PAGES_MAX {
        let Page { items, count, scanned, next } = side.page(query, after).await?;
        pages.items.extend(items);
        pages.counts.push((count, scanned));
        match next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    Ok(pages)
}

/// Whether the answers to `step` agree; `sort` is the sort attribute of an index that is queried.
pub(crate) fn agree(step: &Step, sort: Option<&Name>, ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (Answer::Failed(ours, _, _), Answer::Failed(theirs, _, _)) => {
            ours == theirs && *ours != Fault::Other
        }
        (Answer::Pages(ours), Answer::Pages(theirs)) => match step {
            Step::Query(query) => pages_agree(query, sort, ours, theirs),
            _ => false,
        },
        (ours, theirs) => ours == theirs,
    }
}

/// A table's partition has one order. A scan has none, and an index none among equal sort values,
/// so there pages may hold other items, but all together the same, each page read to its limit.
fn pages_agree(query: &Query, sort: Option<&Name>, ours: &Pages, theirs: &Pages) -> bool {
    let ordered = matches!(query.extent, Extent::Partition { .. }) && query.index.is_none();
    if ordered {
        return ours == theirs;
    }
    let read = |pages: &Pages| pages.counts.iter().map(|(_, read)| *read).collect::<Vec<_>>();
    let returned = |pages: &Pages| pages.counts.iter().map(|(count, _)| count).sum::<u64>();
    let order = |pages: &Pages| match (&query.extent, sort) {
        (Extent::Partition { .. }, Some(sort)) => {
            pages.items.iter().map(|item| item.get(sort).cloned()).collect()
        }
        _ => Vec::new(),
    };
    read(ours) == read(theirs)
        && returned(ours) == returned(theirs)
        && order(ours) == order(theirs)
        && in_any_order(&ours.items) == in_any_order(&theirs.items)
}

/// The items as texts, sorted.
pub(crate) fn in_any_order(items: &[Item]) -> Vec<String> {
    let mut texts: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    texts.sort_unstable();
    texts
}
