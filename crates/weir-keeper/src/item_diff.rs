//! Updates part of an item while concurrent writers may update other parts.

use weir_table::Item;
use weir_table::expr::{Condition, Update, attr};

/// The stored attribute still has its value in `old`, or is still absent.
pub(crate) fn unchanged_since(old: &Item, name: &'static str) -> Condition {
    match old.get(name) {
        Some(value) => attr(name).eq(value.clone()),
        None => attr(name).absent(),
    }
}

/// The update that turns `old` into `new` and touches no other attribute.
pub(crate) fn update_between(old: &Item, new: &Item) -> Update {
    let changed = new.attrs().iter().filter(|(name, value)| old.get(name) != Some(value));
    let update = changed
        .fold(Update::default(), |update, (name, value)| update.set(name.clone(), value.clone()));
    let removed = old.attrs().iter().filter(|(name, _)| new.get(name).is_none());
    removed.fold(update, |update, (name, _)| update.remove(name.clone()))
}
