//! The update that makes one version of an item of another, and the conditions of writers that have read it.

use weir_table::expr::{Condition, Path, Update, attr};
use weir_table::{Item, Name, Value};

use crate::item::{DATA, UPDATED, VERSION, field};

/// Random text of an item that its key alone does not identify: the key may be deleted and used again.
pub(crate) const REVISION: &str = "rev";

/// The version of an item; one that another program wrote has none.
pub(crate) fn version_of(item: &Item) -> u64 {
    item.i64(VERSION).and_then(|version| u64::try_from(version).ok()).unwrap_or_default()
}

/// The condition that an item is still as it was read.
pub(crate) fn unchanged(item: &Item) -> Condition {
    let same = |name: &'static str| match item.get(name) {
        Some(value) => attr(name).eq(value.clone()),
        None => attr(name).absent(),
    };
    attr("PK").exists().and(same(VERSION)).and(same(REVISION))
}

/// Raises the version of an item, and sets the time of its last change.
pub(crate) fn touch(item: &mut Item, now_s: i64) {
    item.set(VERSION, version_of(item) + 1);
    item.set(UPDATED, now_s);
}

/// Sets a field of an item.
pub(crate) fn set_field(item: &mut Item, name: &str, value: impl Into<Value>) {
    if let Some(Value::M(data)) = item.attrs_mut().get_mut(DATA) {
        data.insert(Name::from(name), value.into());
    }
}

/// The update from one version of an item to another. It names only what differs, so fields that another program sets at the
/// same time stay.
pub(crate) fn update_between(old: &Item, new: &Item) -> Update {
    let mut update = Update::default();
    for (name, before, after) in old.attrs().differences(new.attrs()) {
        if name == DATA
            && let (Some(Value::M(before)), Some(Value::M(after))) = (before, after)
        {
            for (name, _, value) in before.differences(after) {
                update = change(update, field(name), value);
            }
        } else {
            update = change(update, Path::new(name.clone()), after);
        }
    }
    update
}

fn change(update: Update, path: Path, value: Option<&Value>) -> Update {
    match value {
        Some(value) => update.set(path, value.clone()),
        None => update.remove(path),
    }
}

#[cfg(test)]
mod tests {
    use weir_table::expr::{remove, set};

    use super::*;

    #[test]
    fn an_update_names_only_what_differs() {
        let dat = |pairs: &[(&str, i64)]| Value::map(pairs.iter().copied());
        let old = Item::new().with("PK", "a").with("GSI2PK", "l");
        let old = old.with("dat", dat(&[("a", 1), ("b", 2), ("c", 3)]));
        let mut new = old.clone().with("dat", dat(&[("a", 1), ("b", 5), ("d", 4)]));
        new.remove("GSI2PK");
        touch(&mut new, 7);
        let expected = remove("GSI2PK")
            .set(field("b"), 5)
            .remove(field("c"))
            .set(field("d"), 4)
            .set("upd", 7)
            .set("ver", 1_u64);
        assert_eq!(update_between(&old, &new), expected);
        assert_eq!(update_between(&old, &old), Update::default());
        let mut other = old.clone();
        set_field(&mut other, "b", 9);
        assert_eq!(update_between(&old, &other), set(field("b"), 9));
    }
}
