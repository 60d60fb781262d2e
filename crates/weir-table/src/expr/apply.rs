//! Applies an update to an item. Pure; the update has passed [`super::check`].

use super::path::{Path, Step};
use super::update::{Change, Term, Update};
use crate::error::{Error, Result};
use crate::item::{Attrs, Item};
use crate::number::Number;
use crate::value::{Name, Value};

/// Applies `update` to `old` and returns the new item.
///
/// # Errors
/// A term reads a missing value or one of the wrong kind, or a path does not exist.
pub fn apply(update: &Update, old: &Item) -> Result<Item> {
    let mut new = old.clone();
    let mut removed_elements: Vec<&Path> = Vec::new();
    let mut changes: Vec<&Change> = update.changes.iter().collect();
    // Positions past the end of a list append, in the order of positions.
    changes.sort_by_key(|change| match change.path().steps.last() {
        Some(Step::Element(position)) => *position,
        _ => 0,
    });
    for change in changes {
        match change {
            Change::Set(path, term) => put(new.attrs_mut(), path, evaluate(term, path, old)?)?,
            Change::Add(path, value) => {
                let sum = added(path, path.find(old), value)?;
                put(new.attrs_mut(), path, sum)?;
            }
            Change::Delete(path, elements) => match path.find(old) {
                None => check_parent(new.attrs_mut(), path)?,
                Some(set) => match without(path, set, elements)? {
                    Some(rest) => put(new.attrs_mut(), path, rest)?,
                    None => take(new.attrs_mut(), path)?,
                },
            },
            Change::Remove(path) if matches!(path.steps.last(), Some(Step::Element(_))) => {
                removed_elements.push(path);
            }
            Change::Remove(path) => take(new.attrs_mut(), path)?,
        }
    }
    // Elements are removed last and from the back, because positions are those of the old list.
    removed_elements.sort_by(|a, b| b.steps.last().cmp(&a.steps.last()));
    for path in removed_elements {
        take(new.attrs_mut(), path)?;
    }
    Ok(new)
}

/// Attributes with their old or new values; `None` for a missing one.
pub(crate) type Changed = Vec<(Name, Option<Value>)>;

/// Applies `update` to `item` in place. Returns the old values of the changed attributes, sorted by name, or `None`, with
/// nothing changed, for an update that reaches into attributes.
///
/// # Errors
/// As [`apply`]; the item is unchanged.
pub(crate) fn apply_in_place(update: &Update, item: &mut Item) -> Result<Option<Changed>> {
    if update.changes.iter().any(|change| !change.path().steps.is_empty()) {
        return Ok(None);
    }
    // All terms read the old item, so all are evaluated first.
    let mut changed: Changed = Vec::with_capacity(update.changes.len());
    let mut places = Vec::with_capacity(update.changes.len());
    for change in &update.changes {
        let name = &change.path().attribute;
        let (place, old) = item.attrs().find(name).unzip();
        let new = match change {
            Change::Set(path, term) => Some(evaluate(term, path, item)?),
            Change::Add(path, value) => Some(added(path, old, value)?),
            Change::Delete(path, elements) => {
                old.map(|set| without(path, set, elements)).transpose()?.flatten()
            }
            Change::Remove(_) => None,
        };
        if old != new.as_ref() {
            changed.push((name.clone(), new));
            places.push(place);
        }
    }
    let attrs = item.attrs_mut();
    // Added and removed attributes shift the others, so they are last.
    for ((_, value), place) in changed.iter_mut().zip(&mut places) {
        *place = place.filter(|_| value.is_some());
        if let Some(value) = place.and_then(|place| attrs.at_mut(place)).zip(value.as_mut()) {
            std::mem::swap(value.0, value.1);
        }
    }
    for ((name, value), _) in changed.iter_mut().zip(places).filter(|(_, place)| place.is_none()) {
        *value = attrs.swap(name, value.take());
    }
    changed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(Some(changed))
}

fn evaluate(term: &Term, target: &Path, old: &Item) -> Result<Value> {
    let number = |term: &Term| -> Result<Number> {
        let value = evaluate(term, target, old)?;
        value.as_n().ok_or_else(|| {
            Error::invalid(
                target.to_string(),
                format!("arithmetic needs a number, and an operand is {}", value.kind()),
            )
        })
    };
    let list = |term: &Term| -> Result<Vec<Value>> {
        match evaluate(term, target, old)? {
            Value::L(list) => Ok(list),
            other => Err(Error::invalid(
                target.to_string(),
                format!("appending needs lists, and an operand is {}", other.kind()),
            )),
        }
    };
    match term {
        Term::Value(value) => Ok(value.clone()),
        Term::Path(path) => path.find(old).cloned().ok_or_else(|| {
            Error::invalid(
                path.to_string(),
                "the update reads this attribute, but the item has none",
            )
        }),
        // DynamoDB evaluates the other term even if it is not needed, and refuses a missing value.
        Term::PathOr(path, otherwise) => {
            let otherwise = evaluate(otherwise, target, old)?;
            Ok(path.find(old).cloned().unwrap_or(otherwise))
        }
        Term::Plus(left, right) => sum(target, number(left)?.checked_add(number(right)?)),
        Term::Minus(left, right) => sum(target, number(left)?.checked_sub(number(right)?)),
        Term::Append(left, right) => {
            let mut all = list(left)?;
            all.extend(list(right)?);
            Ok(Value::L(all))
        }
    }
}

fn sum(target: &Path, sum: Result<Number, crate::number::NumberError>) -> Result<Value> {
    sum.map(Value::N)
        .map_err(|problem| Error::invalid(target.to_string(), format!("the result {problem}")))
}

fn added(path: &Path, old: Option<&Value>, value: &Value) -> Result<Value> {
    match (old, value) {
        (None, value) => Ok(value.clone()),
        (Some(Value::N(old)), Value::N(new)) => sum(path, old.checked_add(*new)),
        (Some(Value::Ss(old)), Value::Ss(new)) => Ok(Value::Ss(old | new)),
        (Some(Value::Ns(old)), Value::Ns(new)) => Ok(Value::Ns(old | new)),
        (Some(Value::Bs(old)), Value::Bs(new)) => Ok(Value::Bs(old | new)),
        (Some(old), value) => Err(mismatch(path, "add", old, value)),
    }
}

fn without(path: &Path, set: &Value, elements: &Value) -> Result<Option<Value>> {
    Ok(match (set, elements) {
        (Value::Ss(set), Value::Ss(gone)) => {
            Some(set - gone).filter(|s| !s.is_empty()).map(Value::Ss)
        }
        (Value::Ns(set), Value::Ns(gone)) => {
            Some(set - gone).filter(|s| !s.is_empty()).map(Value::Ns)
        }
        (Value::Bs(set), Value::Bs(gone)) => {
            Some(set - gone).filter(|s| !s.is_empty()).map(Value::Bs)
        }
        (set, elements) => return Err(mismatch(path, "delete from", set, elements)),
    })
}

fn mismatch(path: &Path, verb: &str, old: &Value, value: &Value) -> Error {
    Error::invalid(
        path.to_string(),
        format!("cannot {verb} a value of kind {} with one of kind {}", old.kind(), value.kind()),
    )
}

fn nowhere(path: &Path) -> Error {
    Error::invalid(path.to_string(), "the path leads into a value that the item does not have")
}

fn put(attrs: &mut Attrs, path: &Path, value: Value) -> Result<()> {
    let Some((last, before)) = path.steps.split_last() else {
        attrs.insert(path.attribute.clone(), value);
        return Ok(());
    };
    let parent = descend(attrs, path, before).ok_or_else(|| nowhere(path))?;
    match (last, parent) {
        (Step::Field(name), Value::M(map)) => {
            map.insert(name.clone(), value);
        }
        (Step::Element(position), Value::L(list)) => match list.get_mut(*position) {
            Some(slot) => *slot = value,
            None => list.push(value),
        },
        _ => return Err(nowhere(path)),
    }
    Ok(())
}

/// Deleting from a missing set is allowed, but not from one in a missing map or list.
fn check_parent(attrs: &mut Attrs, path: &Path) -> Result<()> {
    let Some((last, before)) = path.steps.split_last() else {
        return Ok(());
    };
    match (last, descend(attrs, path, before)) {
        (Step::Field(_), Some(Value::M(_))) | (Step::Element(_), Some(Value::L(_))) => Ok(()),
        _ => Err(nowhere(path)),
    }
}

fn take(attrs: &mut Attrs, path: &Path) -> Result<()> {
    let Some((last, before)) = path.steps.split_last() else {
        attrs.remove(&path.attribute);
        return Ok(());
    };
    let parent = descend(attrs, path, before).ok_or_else(|| nowhere(path))?;
    match (last, parent) {
        (Step::Field(name), Value::M(map)) => {
            map.remove(name);
        }
        (Step::Element(position), Value::L(list)) if *position < list.len() => {
            list.remove(*position);
        }
        (Step::Element(_), Value::L(_)) => {}
        _ => return Err(nowhere(path)),
    }
    Ok(())
}

fn descend<'a>(attrs: &'a mut Attrs, path: &Path, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(attrs.get_mut(&path.attribute)?, |value, step| match (step, value) {
        (Step::Field(name), Value::M(map)) => map.get_mut(name),
        (Step::Element(position), Value::L(list)) => list.get_mut(*position),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{add, delete_from, remove, set};
    use super::*;

    #[test]
    fn terms_read_the_item_as_it_was() {
        let old = Item::new().with("a", 1).with("b", 2);
        let swap = set("a", Term::path("b")).set("b", Term::path("a"));
        assert_eq!(apply(&swap, &old).unwrap(), Item::new().with("a", 2).with("b", 1));
    }

    #[test]
    fn an_item_changed_in_its_place_is_the_item_that_an_update_makes() {
        let old = Item::new()
            .with("a", 1)
            .with("b", 2)
            .with("same", 3)
            .with("set", Value::strings(["x", "y"]))
            .with("one", Value::strings(["x"]));
        let update = set("a", Term::path("b"))
            .set("b", Term::path("a").plus(5))
            .set("same", 3)
            .set("new", "n")
            .add("count", 4)
            .remove("gone")
            .delete_from("set", Value::strings(["x"]))
            .delete_from("one", Value::strings(["x"]));
        let mut item = old.clone();
        let before = apply_in_place(&update, &mut item).unwrap().unwrap();
        assert_eq!(item, apply(&update, &old).unwrap());
        let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "count", "new", "one", "set"]);
        for (name, value) in before {
            item.attrs_mut().swap(&name, value);
        }
        assert_eq!(item, old);
        let inside = set(Path::new("a").field("x"), 1);
        assert!(apply_in_place(&inside, &mut item).unwrap().is_none());
        assert!(apply_in_place(&add("set", 1), &mut item).is_err());
        assert_eq!(item, old);
    }

    #[test]
    fn sets_and_lists_change_by_element() {
        let old = Item::new()
            .with("set", Value::strings(["a"]))
            .with("list", Value::list([10, 11, 12, 13]));
        let update = delete_from("set", Value::strings(["a"]))
            .remove(Path::new("list").element(0))
            .remove(Path::new("list").element(2))
            .set(Path::new("list").element(9), 14);
        let new = apply(&update, &old).unwrap();
        assert_eq!(new, Item::new().with("list", Value::list([11, 13, 14])));
    }

    #[test]
    fn wrong_kinds_name_the_path() {
        let old = Item::new().with("s", "x");
        assert_eq!(apply(&add("s", 1), &old).unwrap_err().field(), Some("s"));
        assert_eq!(apply(&set("t", Term::path("gone")), &old).unwrap_err().field(), Some("gone"));
        let unneeded = set("t", Term::path_or("s", Term::path("gone")));
        assert_eq!(apply(&unneeded, &old).unwrap_err().field(), Some("gone"));
        let deep = remove(Path::new("s").field("x"));
        assert_eq!(apply(&deep, &old).unwrap_err().field(), Some("s.x"));
        let deep = delete_from(Path::new("s").field("x"), Value::strings(["a"]));
        assert_eq!(apply(&deep, &old).unwrap_err().field(), Some("s.x"));
    }
}
