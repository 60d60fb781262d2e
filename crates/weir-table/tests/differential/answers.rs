//! What a side answers to a step, and what two answers have to have in common.

use weir_table::request::Extent;
use weir_table::{Error, Item, Name, Query, Result, Transacted, Written};

use crate::program::Step;
use crate::sides::{Fault, Page, Side};

/// The most pages a query of a program can have; more means that it does not end.
pub(crate) const PAGES_MAX: usize = 50;

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
    try_ask(side, step).await.unwrap_or_else(|error| Answer::failed(&error))
}

impl Answer {
    pub(crate) fn failed(error: &Error) -> Answer {
        let field = error.field().map(str::to_owned);
        Answer::Failed(Fault::from(error), field, format!("{error:?}"))
    }
}

async fn try_ask(side: &impl Side, step: &Step) -> Result<Answer> {
    Ok(match step {
        Step::Write(write) => Answer::Written(side.write(write.clone()).await?),
        Step::Add(add) => Answer::Written(add.selected(side.write(add.write()).await?)),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weir_table::{Key, Number, Query, Value, Write};

    use super::*;

    fn set(numbers: &[&str]) -> Item {
        let numbers: BTreeSet<Number> = numbers.iter().map(|text| text.parse().unwrap()).collect();
        Item::new().with("ns", Value::Ns(numbers))
    }

    fn are_equal(ours: &[&str], theirs: &[&str]) -> bool {
        let (ours, theirs) = (set(ours), set(theirs));
        let write = Step::Write(Write::delete("t0", Key::partition(1)));
        let written = |item: &Item| Answer::Written(Written::Applied(Some(item.clone())));
        let as_image = agree(&write, None, &written(&ours), &written(&theirs));
        let query = Step::Query(Query::scan("t0"));
        let page = |item: Item| Answer::Pages(Pages { items: vec![item], counts: vec![(1, 1)] });
        let as_page = agree(&query, None, &page(ours), &page(theirs));
        assert_eq!(as_image, as_page);
        as_image
    }

    #[test]
    fn number_sets_are_compared_as_decimals() {
        assert!(are_equal(&["1E-130", "100", "-2.50"], &["-25e-1", "1E+2", "0.1e-129"]));
        let ours = ["1E-130", "9.9E125", "12345678901234567890123456789012345678"];
        assert!(are_equal(&ours, &ours));
        // An altered element, a lost one and one too many.
        assert!(!are_equal(&ours, &["1E-129", ours[1], ours[2]]));
        assert!(!are_equal(&ours, &[ours[0], ours[1], "12345678901234567890123456789012345679"]));
        assert!(!are_equal(&ours, &[ours[0], ours[1]]));
        assert!(!are_equal(&ours, &[ours[0], ours[1], ours[2], "2E-130"]));
    }
}
