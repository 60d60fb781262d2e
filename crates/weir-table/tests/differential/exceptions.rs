//! Where an oracle is known to answer otherwise, and why that is no fault of ours.
//!
//! An exception names the oracle, the request and the deviation exactly. [`excuses`](crate::excuses) checks that a
//! difference is this deviation and no other; [`adapted`](crate::adapted) changes requests that dynoxide would take
//! wrongly. No exception changes what an oracle holds. Every run counts its exceptions, prints them, and fails when one
//! is met more often than [`Known::per_thousand_max`].
//!
//! Every exception has a test in [`pinned`](crate::pinned) that shows the oracle still does it, but for the one that depends
//! on time. When such a test fails the oracle has changed, and the exception can go. A program in
//! [`excused`](crate::excused) shows that we recognise it.
//!
//! One exception has no variant: dynoxide takes many requests that DynamoDB refuses (an order
//! between booleans, a sum inside a sum, a projection of what an index does not hold). It is
//! therefore asked behind our checks, and only DynamoDB Local is asked without them.

use std::collections::BTreeMap;
use std::fmt;

/// Which oracle is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Dynoxide,
    DynamoDbLocal,
}

/// A known difference; [`Exception::known`] describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exception {
    ConditionBeforeRequest,
    TokenBeforeRequest,
    ScanFilterSeesWholeItem,
    EmptyLastPage,
    RepeatedDelete,
    LonePartitionNeverEnds,
    TransactGetProjection,
    NumberSetByText,
    LazyFallback,
}

/// What is known of an exception.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) oracle: Endpoint,
    /// The request in which it shows.
    pub(crate) request: &'static str,
    /// What the oracle does, and what DynamoDB does.
    pub(crate) deviation: &'static str,
    /// How often it may show in a thousand steps; random programs show it about half as often.
    pub(crate) per_thousand_max: u64,
}

impl Exception {
    pub(crate) fn known(self) -> Known {
        let local = |request, deviation, per_thousand_max| Known {
            oracle: Endpoint::DynamoDbLocal,
            request,
            deviation,
            per_thousand_max,
        };
        let dynoxide = |request, deviation, per_thousand_max| Known {
            oracle: Endpoint::Dynoxide,
            request,
            deviation,
            per_thousand_max,
        };
        match self {
            Exception::ConditionBeforeRequest => local(
                "an update of a key attribute, or a transaction that names an item twice, with a false condition",
                "it refuses the condition, where we refuse the request before any item is read; without the condition \
                 it refuses the request too",
                6,
            ),
            Exception::TokenBeforeRequest => local(
                "an invalid transaction with the token of another one",
                "it refuses the token, where we refuse the request; without the token it refuses the request too",
                2,
            ),
            Exception::ScanFilterSeesWholeItem => local(
                "a scan of an index with a filter on attributes that the index does not hold",
                "it filters by the whole item; to DynamoDB and to us these attributes are missing",
                2,
            ),
            Exception::EmptyLastPage => local(
                "a query whose page is full with the last item that its range can hold",
                "it knows that no page follows; we return one empty page more, as DynamoDB may",
                5,
            ),
            Exception::RepeatedDelete => local(
                "deletes of one item at the same time, in concurrent programs",
                "each of them returns the item that one of them deleted; DynamoDB returns it once",
                2,
            ),
            Exception::LonePartitionNeverEnds => dynoxide(
                "a query with limit 1 of a table without sort key",
                "it returns the same page again and again; DynamoDB ends after the item",
                3,
            ),
            Exception::TransactGetProjection => dynoxide(
                "a transactional read with a projection",
                "it adds the key, or returns no item when the projection finds nothing",
                15,
            ),
            Exception::NumberSetByText => dynoxide(
                "an update that adds elements to a number set, or deletes them, and writes one with an exponent",
                "it compares elements by their text, so that 1E-130 and the same number written out are two; such \
                 elements are replaced by their digits on both sides",
                18,
            ),
            Exception::LazyFallback => dynoxide(
                "an update with `if_not_exists` whose default is a missing attribute that is not needed",
                "it does not read the default; DynamoDB does, and refuses the update; it is asked to set the default \
                 itself, which it refuses",
                5,
            ),
        }
    }
}

/// A few exceptions are always allowed, for runs of few programs.
const ALWAYS_ALLOWED: u64 = 5;

/// The steps of a run and the exceptions met in them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Excused {
    pub(crate) steps: u64,
    pub(crate) counts: BTreeMap<Exception, u64>,
}

impl Excused {
    pub(crate) fn count(&mut self, exception: Exception) {
        *self.counts.entry(exception).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Excused) {
        self.steps += other.steps;
        for (exception, count) in &other.counts {
            *self.counts.entry(*exception).or_default() += count;
        }
    }

    /// The exceptions that were met more often than is known of them.
    pub(crate) fn over_cap(&self) -> Vec<Exception> {
        let is_over = |(exception, count): (&Exception, &u64)| {
            let allowed = exception.known().per_thousand_max * self.steps / 1000;
            (*count > allowed.max(ALWAYS_ALLOWED)).then_some(*exception)
        };
        self.counts.iter().filter_map(is_over).collect()
    }
}

impl fmt::Display for Excused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} steps, {} excused", self.steps, self.counts.values().sum::<u64>())?;
        for (exception, count) in &self.counts {
            let Known { request, deviation, per_thousand_max, .. } = exception.known();
            write!(f, "\n  {count} {exception:?} (at most {per_thousand_max} in 1000 steps)")?;
            write!(f, "\n    {request}: {deviation}")?;
        }
        Ok(())
    }
}

#[test]
fn an_exception_over_its_cap_is_reported() {
    let exception = Exception::ConditionBeforeRequest;
    let mut excused = Excused { steps: 10_000, ..Excused::default() };
    for _ in 0..10 * exception.known().per_thousand_max {
        excused.count(exception);
    }
    assert_eq!(excused.over_cap(), []);
    excused.count(exception);
    assert_eq!(excused.over_cap(), [exception]);
}
