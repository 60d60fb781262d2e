//! Changing part of an item, while others may change other parts of it.

use weir_table::Item;
use weir_table::expr::{Condition, Update, attr};

/// The item has an attribute as `old` has it, or has none as well.
pub(crate) fn as_in(old: &Item, name: &'static str) -> Condition {
    match old.get(name) {
        Some(value) => attr(name).eq(value.clone()),
        None => attr(name).absent(),
    }
}

/// What makes `new` of `old`; it leaves alone what others changed meanwhile.
pub(crate) fn difference(old: &Item, new: &Item) -> Update {
    let changed = new.attrs().iter().filter(|(name, value)| old.get(name) != Some(value));
    let update = changed
        .fold(Update::default(), |update, (name, value)| update.set(name.clone(), value.clone()));
    let gone = old.attrs().iter().filter(|(name, _)| new.get(name).is_none());
    gone.fold(update, |update, (name, _)| update.remove(name.clone()))
}
