//! Whether a difference is exactly one of the known [`exceptions`](crate::exceptions). Where the two answers do not show
//! it, the oracle is asked once more, without the part of the request that it gets wrong.

use weir_table::embedded::Embedded;
use weir_table::expr::eval;
use weir_table::request::{Action, Extent};
use weir_table::{
    Consistency, Get, Item, KeyValue, Name, Query, SortRange, Store, TableSpec, Transacted,
    Transaction, Write, Written,
};

use crate::answers::{Answer, PAGES_MAX, Pages, agree, ask, in_any_order};
use crate::exceptions::{Endpoint, Exception};
use crate::program::{Step, index_holds};
use crate::run::Reference;
use crate::shapes::{PARTITION, SORT};
use crate::sides::Fault;

/// Two answers that do not agree, and who gave them.
#[derive(Debug)]
pub(crate) struct Difference<'a> {
    pub(crate) store: &'a Store<Embedded>,
    pub(crate) reference: &'a Reference,
    /// The table that the step is about, when it is about one.
    pub(crate) spec: Option<&'a TableSpec>,
    /// The sort attribute of the table or index that the step queries.
    pub(crate) sort: Option<&'a Name>,
    pub(crate) step: &'a Step,
    pub(crate) ours: &'a Answer,
    pub(crate) theirs: &'a Answer,
}

impl Difference<'_> {
    /// The exception that explains it.
    pub(crate) async fn excuse(&self) -> Option<Exception> {
        match self.reference.endpoint {
            Endpoint::DynamoDbLocal => self.excuse_local().await,
            Endpoint::Dynoxide => self.excuse_dynoxide(),
        }
    }

    async fn excuse_local(&self) -> Option<Exception> {
        match (self.step, self.ours, self.theirs) {
            (
                Step::Transact(transaction),
                Answer::Failed(Fault::Invalid, ..),
                Answer::Failed(Fault::TokenReused, ..),
            ) => {
                let step = Step::Transact(Transaction { token: None, ..transaction.clone() });
                let is_invalid = match self.reference.ask(&step).await {
                    Answer::Transacted(Transacted::Refused(_)) => {
                        self.is_refused_without_condition(&step).await
                    }
                    theirs => agree(&step, None, self.ours, &theirs),
                };
                is_invalid.then_some(Exception::TokenBeforeRequest)
            }
            (
                step,
                Answer::Failed(Fault::Invalid, ..),
                Answer::Written(Written::Refused(_)) | Answer::Transacted(Transacted::Refused(_)),
            ) => {
                let is_known = self.is_refused_without_condition(step).await;
                is_known.then_some(Exception::ConditionBeforeRequest)
            }
            (Step::Query(query), Answer::Pages(ours), Answer::Pages(theirs)) => {
                if self.is_scan_filter(query, ours, theirs).await {
                    return Some(Exception::ScanFilterSeesWholeItem);
                }
                self.is_empty_last_page(query, ours).await.then_some(Exception::EmptyLastPage)
            }
            _ => None,
        }
    }

    fn excuse_dynoxide(&self) -> Option<Exception> {
        match (self.step, self.ours, self.theirs) {
            (Step::Query(query), Answer::Pages(ours), Answer::Pages(theirs)) => {
                let is_known = self.is_lone_partition(query, ours, theirs);
                is_known.then_some(Exception::LonePartitionNeverEnds)
            }
            (Step::TransactGet(gets), Answer::Items(ours), Answer::Items(theirs)) => {
                let is_known = is_transact_get_projection(gets, ours, theirs);
                is_known.then_some(Exception::TransactGetProjection)
            }
            _ => None,
        }
    }

    /// Whether the request changes a key attribute or names an item twice, and the oracle refuses it as we do once no
    /// condition is in the way.
    async fn is_refused_without_condition(&self, step: &Step) -> bool {
        let unconditional = |write: &Write| {
            let action = match &write.action {
                // A check has nothing but its condition.
                Action::Check(key) => Action::Delete(key.clone()),
                action => action.clone(),
            };
            Write { action, condition: None, ..write.clone() }
        };
        let step = match step {
            Step::Write(write) if changes_key(write) => Step::Write(unconditional(write)),
            Step::Add(add) if changes_key(&add.write()) => Step::Write(unconditional(&add.write())),
            Step::Transact(Transaction { writes, .. }) => {
                let names_twice = matches!(self.ours, Answer::Failed(_, Some(field), _) if field.starts_with("writes["));
                if !names_twice && !writes.iter().any(changes_key) {
                    return false;
                }
                Step::Transact(Transaction::new(writes.iter().map(unconditional)))
            }
            _ => return false,
        };
        matches!(self.reference.ask(&step).await, Answer::Failed(Fault::Invalid, ..))
    }

    /// Whether each side returns what its reading of the filter selects: ours by what the index holds of an item, the
    /// oracle by the whole item.
    async fn is_scan_filter(&self, query: &Query, ours: &Pages, theirs: &Pages) -> bool {
        let (Some(spec), Some(filter)) = (self.spec, &query.filter) else {
            return false;
        };
        let is_scan = matches!(query.extent, Extent::Everything { .. });
        if !is_scan || index_holds(std::slice::from_ref(spec), query) {
            return false;
        }
        let plain = Query { projection: None, count_only: false, ..query.clone() };
        let unfiltered = Query { filter: None, ..plain.clone() };
        let whole = Query { index: None, consistency: Consistency::Strong, ..unfiltered.clone() };
        let pages =
            async |query: &Query| match self.reference.ask(&Step::Query(query.clone())).await {
                Answer::Pages(pages) => pages.items,
                _ => Vec::new(),
            };
        let (indexed, items) = (pages(&unfiltered).await, pages(&whole).await);
        let is_kept_whole = |entry: &&Item| {
            let same = |item: &&Item| spec.key_of(item).ok() == spec.key_of(entry).ok();
            items.iter().find(same).is_some_and(|item| eval::holds(filter, item))
        };
        let by_index: Vec<Item> =
            indexed.iter().filter(|item| eval::holds(filter, item)).cloned().collect();
        let by_item: Vec<Item> = indexed.iter().filter(is_kept_whole).cloned().collect();
        let Answer::Pages(our_items) = ask(self.store, &Step::Query(plain.clone())).await else {
            return false;
        };
        let read = |pages: &Pages| pages.counts.iter().map(|(_, read)| *read).collect::<Vec<_>>();
        in_any_order(&our_items.items) == in_any_order(&by_index)
            && in_any_order(&pages(&plain).await) == in_any_order(&by_item)
            && returned(ours) == by_index.len() as u64
            && returned(theirs) == by_item.len() as u64
            && read(ours) == read(theirs)
    }

    /// Whether ours has one empty page more, after a page that is full and ends at the last item that the range can hold.
    async fn is_empty_last_page(&self, query: &Query, ours: &Pages) -> bool {
        let mut shorter = ours.clone();
        let last = shorter.counts.pop();
        let full = shorter.counts.last().map(|(_, read)| *read);
        if last != Some((0, 0))
            || full != query.limit.map(u64::from)
            || !agree(self.step, self.sort, &Answer::Pages(shorter), self.theirs)
        {
            return false;
        }
        let Some(sort) = self.sort else {
            // Only one item can be in the partition of a table without sort key.
            return query.index.is_none() && matches!(query.extent, Extent::Partition { .. });
        };
        let Some(bound) = far_bound(query) else { return false };
        let unfiltered =
            Query { filter: None, projection: None, count_only: false, ..query.clone() };
        match self.reference.ask(&Step::Query(unfiltered)).await {
            Answer::Pages(pages) => {
                pages.items.last().and_then(|item| item.get(sort)) == Some(&bound.to_value())
            }
            _ => false,
        }
    }

    /// Whether the oracle repeats the one page that we return, until it is asked no more.
    fn is_lone_partition(&self, query: &Query, ours: &Pages, theirs: &Pages) -> bool {
        let is_alone = query.index.is_none() && self.spec.is_some_and(|spec| spec.sort.is_none());
        let [page, (0, 0)] = ours.counts.as_slice() else { return false };
        let repeated = std::iter::repeat_n(&ours.items, PAGES_MAX).flatten();
        is_alone
            && query.limit == Some(1)
            && theirs.counts == vec![*page; PAGES_MAX]
            && theirs.items.iter().eq(repeated)
    }
}

fn returned(pages: &Pages) -> u64 {
    pages.counts.iter().map(|(count, _)| count).sum()
}

/// The last sort value of a query's range, in its order.
fn far_bound(query: &Query) -> Option<&KeyValue> {
    let Extent::Partition { sort, reverse, .. } = &query.extent else {
        return None;
    };
    match (sort, reverse) {
        (SortRange::Le(bound) | SortRange::Between(_, bound), false)
        | (SortRange::Ge(bound) | SortRange::Between(bound, _), true) => Some(bound),
        _ => None,
    }
}

fn changes_key(write: &Write) -> bool {
    match &write.action {
        Action::Update(_, update) => {
            let is_key = |name: &Name| [PARTITION, SORT].contains(&name.as_str());
            update.changes.iter().any(|change| is_key(&change.path().attribute))
        }
        Action::Put(_) | Action::Delete(_) | Action::Check(_) => false,
    }
}

fn is_transact_get_projection(
    gets: &[Get],
    ours: &[Option<Item>],
    theirs: &[Option<Item>],
) -> bool {
    let pairs = ours.iter().zip(theirs);
    (gets.len(), gets.len()) == (ours.len(), theirs.len())
        && gets.iter().zip(pairs).all(|(get, (ours, theirs))| {
            ours == theirs || get.projection.is_some() && is_ours_and_key(get, ours, theirs)
        })
}

/// Whether `theirs` is `ours` with the key added, or nothing where `ours` is empty.
fn is_ours_and_key(get: &Get, ours: &Option<Item>, theirs: &Option<Item>) -> bool {
    let Some(ours) = ours else { return false };
    let Some(theirs) = theirs else {
        return ours.is_empty();
    };
    let mut expected = ours.clone().with(PARTITION, get.key.partition.to_value());
    if let Some(sort) = &get.key.sort {
        expected.set(SORT, sort.to_value());
    }
    *theirs == expected
}
