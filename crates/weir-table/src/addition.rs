//! Additions: the commonest write, prepared once and done often.
//!
//! An addition adds numbers to attributes of an item if its guards hold. It is an update like any other, and
//! [`Add::write`] says which one. Because its shape is known beforehand it is checked once, and a back-end may
//! remember where an item has the numbers.

use std::sync::Arc;

use crate::check;
use crate::error::{Error, Result};
use crate::expr::{Condition, Update, attr};
use crate::item::Item;
use crate::key::{Key, KeyValue};
use crate::limits;
use crate::request::{Durability, Told, Write, Written};
use crate::spec::TableSpec;
use crate::value::{Kind, Name, Value};

/// What must hold of an item for numbers to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// The attribute is at least the number that comes with the request.
    AtLeast(Name),
    /// There is no such attribute, or it is greater than the number that comes with the request.
    AbsentOrOver(Name),
    /// The attribute is this.
    Is(Name, Value),
}

impl Guard {
    /// The attribute it looks at.
    pub(crate) fn name(&self) -> &Name {
        match self {
            Guard::AtLeast(name) | Guard::AbsentOrOver(name) | Guard::Is(name, _) => name,
        }
    }

    /// Whether it compares with a number of the request.
    pub(crate) fn compares(&self) -> bool {
        matches!(self, Guard::AtLeast(_) | Guard::AbsentOrOver(_))
    }

    fn condition(&self, than: i64) -> Condition {
        match self {
            Guard::AtLeast(name) => attr(name.clone()).ge(than),
            Guard::AbsentOrOver(name) => {
                attr(name.clone()).absent().or(attr(name.clone()).gt(than))
            }
            Guard::Is(name, value) => attr(name.clone()).eq(value.clone()),
        }
    }
}

/// The shape of an addition.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The table.
    pub table: Name,
    /// The attributes that are added to; one that an item lacks is made.
    pub adds: Vec<Name>,
    /// What must hold.
    pub guards: Vec<Guard>,
    /// What the write survives.
    pub durability: Durability,
    /// What need be told of the item after it.
    pub told: Told,
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
    /// What has been prepared.
    pub prepared: &'a Arc<Prepared>,
    /// The item.
    pub key: &'a Key,
    /// What is added, in the order of [`Addition::adds`].
    pub add: &'a [i64],
    /// What is compared with, in the order of those [`Addition::guards`] that compare.
    pub than: &'a [i64],
}

impl Add<'_> {
    /// The same as an update.
    #[must_use]
    pub fn write(&self) -> Write {
        let Addition { table, durability, told, .. } = &self.prepared.addition;
        let (update, condition) = self.prepared.expressions(self.add, self.than);
        let write = Write::update(table.clone(), self.key.clone(), update);
        Write { condition, durability: *durability, told: Some(*told), ..write }
    }

    /// Checks what comes with a request.
    pub(crate) fn check(&self) -> Result<()> {
        let prepared = self.prepared;
        let wanted = (prepared.addition.adds.len(), prepared.compared);
        let given = (self.add.len(), self.than.len());
        if given != wanted {
            let problem = format!("has {given:?} to add and compare with; {wanted:?} are wanted");
            return Err(Error::invalid("numbers", problem));
        }
        if prepared.is_plain(self.key) { Ok(()) } else { prepared.spec.check_key(self.key) }
    }
}

/// What became of an addition.
#[derive(Debug)]
pub enum Added<T> {
    /// It was done; what was read of the item after it.
    Done(T),
    /// A guard did not hold of this item, which is as it was.
    Refused(Option<Item>),
}

impl<T> Added<T> {
    /// What an update came to.
    pub(crate) fn of(written: Written, read: impl Fn(&Item) -> T) -> Added<T> {
        match written {
            Written::Applied(item) => Added::Done(read(&item.unwrap_or_default())),
            Written::Refused(item) => Added::Refused(item),
        }
    }
}

/// An addition that has been checked, for one table as it is.
#[derive(Debug)]
pub struct Prepared {
    addition: Addition,
    spec: Arc<TableSpec>,
    /// Guards that compare.
    compared: usize,
    /// Of the table's key.
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

    /// The shape.
    #[must_use]
    pub fn addition(&self) -> &Addition {
        &self.addition
    }

    /// Whether a key is one that needs no closer look, as nearly all are.
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
