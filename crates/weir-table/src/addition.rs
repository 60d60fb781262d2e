//! Additions: the most frequent write, prepared once and applied often.
//!
//! An addition adds numbers to attributes of an item if its guards are true. It is equivalent to the update that
//! [`Add::write`] returns. Because its shape is known beforehand it is checked once, and a back-end may cache where an
//! item stores the numbers (ADR 0026).

use std::sync::Arc;

use crate::check;
use crate::error::{Error, Result};
use crate::expr::{Condition, Update, attr};
use crate::item::Item;
use crate::key::{Key, KeyValue};
use crate::limits;
use crate::request::{Durability, ReturnAttributes, Write, Written};
use crate::spec::TableSpec;
use crate::value::{Kind, Name, Value};

/// A condition of an addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// The attribute is at least a number of the request.
    AtLeast(Name),
    /// The attribute is at most a number of the request.
    AtMost(Name),
    /// The attribute equals a number of the request.
    Equals(Name),
    /// The attribute is missing, or equals a number of the request.
    AbsentOrEquals(Name),
    /// The attribute is missing, or greater than a number of the request.
    AbsentOrOver(Name),
    /// The attribute is missing.
    Absent(Name),
    /// The attribute equals this value.
    Is(Name, Value),
}

impl Guard {
    /// The attribute that the guard reads.
    pub(crate) fn name(&self) -> &Name {
        match self {
            Guard::AtLeast(name)
            | Guard::AtMost(name)
            | Guard::Equals(name)
            | Guard::AbsentOrEquals(name)
            | Guard::AbsentOrOver(name)
            | Guard::Absent(name)
            | Guard::Is(name, _) => name,
        }
    }

    /// Whether the guard compares with a number of the request.
    pub(crate) fn compares(&self) -> bool {
        !matches!(self, Guard::Absent(_) | Guard::Is(..))
    }

    fn condition(&self, than: i64) -> Condition {
        match self {
            Guard::AtLeast(name) => attr(name.clone()).ge(than),
            Guard::AtMost(name) => attr(name.clone()).le(than),
            Guard::Equals(name) => attr(name.clone()).eq(than),
            Guard::AbsentOrEquals(name) => {
                attr(name.clone()).absent().or(attr(name.clone()).eq(than))
            }
            Guard::AbsentOrOver(name) => {
                attr(name.clone()).absent().or(attr(name.clone()).gt(than))
            }
            Guard::Absent(name) => attr(name.clone()).absent(),
            Guard::Is(name, value) => attr(name.clone()).eq(value.clone()),
        }
    }
}

/// The shape of an addition.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The table.
    pub table: Name,
    /// Attributes to add to; a missing one is created.
    pub adds: Vec<Name>,
    /// Conditions on the item; all must be true.
    pub guards: Vec<Guard>,
    /// What the acknowledged write survives.
    pub durability: Durability,
    /// Attributes of the new item to return.
    pub returned: ReturnAttributes,
}

impl Addition {
    /// The addition as an update and its conditions. `add` has a number for each of [`Addition::adds`], `than` one for each
    /// of the [`Addition::guards`] that compare.
    #[must_use]
    pub fn expressions(&self, add: &[i64], than: &[i64]) -> (Update, Vec<Condition>) {
        let adds = self.adds.iter().zip(add);
        let update =
            adds.fold(Update::default(), |update, (name, add)| update.add(name.clone(), *add));
        let mut than = than.iter().copied();
        let conditions = self.guards.iter().map(|guard| {
            let than = if guard.compares() { than.next() } else { None };
            guard.condition(than.unwrap_or_default())
        });
        (update, conditions.collect())
    }
}

/// One addition to one item.
#[derive(Debug, Clone, Copy)]
pub struct Add<'a> {
    /// The prepared addition.
    pub prepared: &'a Arc<Prepared>,
    /// The item's key.
    pub key: &'a Key,
    /// Numbers to add, in the order of [`Addition::adds`].
    pub add: &'a [i64],
    /// Numbers to compare with, in the order of those [`Addition::guards`] that compare.
    pub than: &'a [i64],
}

impl Add<'_> {
    /// The equivalent update.
    #[must_use]
    pub fn write(&self) -> Write {
        let Addition { table, durability, returned, .. } = &self.prepared.addition;
        let (update, condition) = self.prepared.expressions(self.add, self.than);
        let write = Write::update(table.clone(), self.key.clone(), update);
        Write { condition, durability: *durability, returned: Some(*returned), ..write }
    }

    /// Checks the numbers and the key of the request.
    pub(crate) fn check(&self) -> Result<()> {
        let prepared = self.prepared;
        let wanted = (prepared.addition.adds.len(), prepared.compared);
        let given = (self.add.len(), self.than.len());
        if given != wanted {
            let problem =
                format!("got {given:?} numbers to add and to compare with, expected {wanted:?}");
            return Err(Error::invalid("numbers", problem));
        }
        if prepared.is_plain(self.key) { Ok(()) } else { prepared.spec.check_key(self.key) }
    }
}

/// The result of an addition.
#[derive(Debug)]
pub enum Added<T> {
    /// The numbers were added; what was read of the new item.
    Done(T),
    /// A guard was false for this item, which is unchanged.
    Refused(Option<Item>),
}

impl<T> Added<T> {
    /// The result of the equivalent update.
    pub(crate) fn from_written(written: Written, read: impl Fn(&Item) -> T) -> Added<T> {
        match written {
            Written::Applied(item) => Added::Done(read(&item.unwrap_or_default())),
            Written::Refused(item) => Added::Refused(item),
        }
    }
}

/// An addition that was checked against its table's schema.
#[derive(Debug)]
pub struct Prepared {
    addition: Addition,
    spec: Arc<TableSpec>,
    /// Number of guards that compare.
    compared: usize,
    /// Kinds of the table's key attributes.
    kinds: (Option<Kind>, Option<Kind>),
}

impl Prepared {
    pub(crate) fn new(addition: Addition, spec: Arc<TableSpec>) -> Result<Prepared> {
        let compared = addition.guards.iter().filter(|guard| guard.compares()).count();
        let kinds = (
            spec.declared(&spec.partition),
            spec.sort.as_ref().and_then(|name| spec.declared(name)),
        );
        let prepared = Prepared { addition, spec, compared, kinds };
        let adds = vec![0; prepared.addition.adds.len()];
        let than = vec![0; compared];
        let (update, condition) = prepared.expressions(&adds, &than);
        check::update(&prepared.spec, &update, condition.as_ref())?;
        Ok(prepared)
    }

    /// The addition's shape.
    #[must_use]
    pub fn addition(&self) -> &Addition {
        &self.addition
    }

    /// Whether a key is valid text of allowed length, as nearly all are. Other keys need the full check.
    fn is_plain(&self, key: &Key) -> bool {
        let is_text = |value: &KeyValue, max: usize| match value {
            KeyValue::S(text) => (1..=max).contains(&text.len()),
            KeyValue::N(_) | KeyValue::B(_) => false,
        };
        self.kinds == (Some(Kind::S), key.sort.as_ref().map(|_| Kind::S))
            && is_text(&key.partition, limits::PARTITION_KEY_MAX)
            && key.sort.as_ref().is_none_or(|sort| is_text(sort, limits::SORT_KEY_MAX))
    }

    fn expressions(&self, add: &[i64], than: &[i64]) -> (Update, Option<Condition>) {
        let (update, conditions) = self.addition.expressions(add, than);
        (update, conditions.into_iter().reduce(Condition::and))
    }
}
