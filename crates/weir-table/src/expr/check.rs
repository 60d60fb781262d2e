//! What can be said of an expression before any item is seen. The same on every back-end.

use super::condition::{Compare, Condition, Operand};
use super::path::Path;
use super::update::{Change, Term, Update};
use crate::error::{Error, Result};
use crate::limits;
use crate::spec::TableSpec;
use crate::value::{Kind, Value};

/// Checks a condition or filter. `at` names it in messages: `condition`, `filter`.
///
/// # Errors
/// Names the path or parameter that is wrong.
pub fn condition(at: &str, condition: &Condition) -> Result<()> {
    let mut operators = 0;
    check_condition(at, condition, &mut operators, 0)?;
    if operators > limits::EXPRESSION_OPERATORS_MAX {
        let max = limits::EXPRESSION_OPERATORS_MAX;
        return Err(Error::invalid(
            at,
            format!("has {operators} operators; at most {max}"),
        ));
    }
    Ok(())
}

fn check_condition(
    at: &str,
    condition: &Condition,
    operators: &mut usize,
    depth: usize,
) -> Result<()> {
    *operators += 1;
    if depth > limits::NESTING_MAX {
        return Err(Error::invalid(
            at,
            format!("is nested more than {} deep", limits::NESTING_MAX),
        ));
    }
    match condition {
        Condition::Compare(left, compare, right) => check_compare(at, left, *compare, right),
        Condition::Between(operand, low, high) => check_between(at, operand, low, high),
        Condition::In(operand, any) => {
            if any.is_empty() || any.len() > limits::IN_MAX {
                let max = limits::IN_MAX;
                return Err(Error::invalid(
                    at,
                    format!("IN takes 1 to {max} values, not {}", any.len()),
                ));
            }
            any.iter()
                .chain([operand])
                .try_for_each(|operand| check_operand(at, operand))
        }
        Condition::Exists(path) | Condition::Absent(path) | Condition::IsKind(path, _) => {
            check_path(at, path)
        }
        Condition::BeginsWith(path, prefix) => {
            check_path(at, path)?;
            check_operand(at, prefix)?;
            match literal(prefix) {
                Some(value) if !matches!(value.kind(), Kind::S | Kind::B) => Err(Error::invalid(
                    path.to_string(),
                    format!("begins_with takes S or B, not {}", value.kind()),
                )),
                _ => Ok(()),
            }
        }
        Condition::Contains(path, part) => {
            check_path(at, path)?;
            check_operand(at, part)
        }
        Condition::And(all) | Condition::Or(all) => {
            if all.is_empty() {
                return Err(Error::invalid(at, "an empty list of conditions"));
            }
            all.iter()
                .try_for_each(|inner| check_condition(at, inner, operators, depth + 1))
        }
        Condition::Not(inner) => check_condition(at, inner, operators, depth + 1),
    }
}

fn check_compare(at: &str, left: &Operand, compare: Compare, right: &Operand) -> Result<()> {
    check_operand(at, left)?;
    check_operand(at, right)?;
    let ordered = !matches!(compare, Compare::Eq | Compare::Ne);
    for (operand, other) in [(left, right), (right, left)] {
        let Some(value) = literal(operand) else {
            continue;
        };
        if ordered && !is_ordered(value) {
            return Err(Error::invalid(
                named(at, other),
                format!("{compare:?} compares S, N or B, not {}", value.kind()),
            ));
        }
        if matches!(other, Operand::Size(_)) && value.kind() != Kind::N {
            return Err(Error::invalid(
                named(at, other),
                format!("a size is compared with a number, not {}", value.kind()),
            ));
        }
    }
    Ok(())
}

fn check_between(at: &str, operand: &Operand, low: &Operand, high: &Operand) -> Result<()> {
    [operand, low, high]
        .into_iter()
        .try_for_each(|operand| check_operand(at, operand))?;
    for bound in [low, high].into_iter().filter_map(literal) {
        if !is_ordered(bound) {
            return Err(Error::invalid(
                named(at, operand),
                format!("BETWEEN takes S, N or B, not {}", bound.kind()),
            ));
        }
    }
    if let (Some(low), Some(high)) = (literal(low), literal(high)) {
        if low.kind() != high.kind() {
            return Err(Error::invalid(
                named(at, operand),
                format!(
                    "BETWEEN bounds are of kinds {} and {}",
                    low.kind(),
                    high.kind()
                ),
            ));
        }
        if is_greater(low, high) {
            return Err(Error::invalid(
                named(at, operand),
                "BETWEEN has its bounds the wrong way round",
            ));
        }
    }
    Ok(())
}

fn is_ordered(value: &Value) -> bool {
    matches!(value.kind(), Kind::S | Kind::N | Kind::B)
}

fn is_greater(low: &Value, high: &Value) -> bool {
    match (low, high) {
        (Value::S(low), Value::S(high)) => low > high,
        (Value::N(low), Value::N(high)) => low > high,
        (Value::B(low), Value::B(high)) => low > high,
        _ => false,
    }
}

fn literal(operand: &Operand) -> Option<&Value> {
    if let Operand::Value(value) = operand {
        Some(value)
    } else {
        None
    }
}

fn named(at: &str, operand: &Operand) -> String {
    match operand {
        Operand::Path(path) | Operand::Size(path) => path.to_string(),
        Operand::Value(_) => at.to_owned(),
    }
}

fn check_operand(at: &str, operand: &Operand) -> Result<()> {
    match operand {
        Operand::Path(path) | Operand::Size(path) => check_path(at, path),
        Operand::Value(value) => self::value(at, value),
    }
}

fn check_path(at: &str, path: &Path) -> Result<()> {
    if path.attribute.is_empty() {
        return Err(Error::invalid(at, "a path without an attribute name"));
    }
    if path.steps.len() >= limits::NESTING_MAX {
        let max = limits::NESTING_MAX;
        return Err(Error::invalid(
            path.to_string(),
            format!("a path of more than {max} steps"),
        ));
    }
    Ok(())
}

/// Checks a value: no empty set anywhere, not nested too deep.
///
/// # Errors
/// Names the place, starting with `at`.
pub fn value(at: &str, value: &Value) -> Result<()> {
    value_at(at, value, 1)
}

fn value_at(at: &str, value: &Value, depth: usize) -> Result<()> {
    if depth > limits::NESTING_MAX {
        return Err(Error::invalid(
            at,
            format!("is nested more than {} deep", limits::NESTING_MAX),
        ));
    }
    let empty = match value {
        Value::Ss(set) => set.is_empty(),
        Value::Ns(set) => set.is_empty(),
        Value::Bs(set) => set.is_empty(),
        Value::L(list) => {
            for (position, inner) in list.iter().enumerate() {
                value_at(&format!("{at}[{position}]"), inner, depth + 1)?;
            }
            false
        }
        Value::M(map) => {
            for (name, inner) in map {
                value_at(&format!("{at}.{name}"), inner, depth + 1)?;
            }
            false
        }
        _ => false,
    };
    if empty {
        Err(Error::invalid(at, "a set must not be empty"))
    } else {
        Ok(())
    }
}

/// Checks an update against the table it is for.
///
/// # Errors
/// Names the path that is wrong: a key attribute, two changes that overlap, a wrong kind.
pub fn update(spec: &TableSpec, update: &Update) -> Result<()> {
    if update.changes.len() > limits::EXPRESSION_OPERATORS_MAX {
        let max = limits::EXPRESSION_OPERATORS_MAX;
        return Err(Error::invalid("update", format!("more than {max} changes")));
    }
    for (position, change) in update.changes.iter().enumerate() {
        let path = change.path();
        check_path("update", path)?;
        if spec.is_key(&path.attribute) {
            return Err(Error::invalid(
                path.to_string(),
                "a key attribute cannot be changed",
            ));
        }
        if update
            .changes
            .iter()
            .skip(position + 1)
            .any(|other| path.overlaps(other.path()))
        {
            return Err(Error::invalid(
                path.to_string(),
                "two changes of one update overlap here",
            ));
        }
        check_change(path, change)?;
    }
    Ok(())
}

fn check_change(path: &Path, change: &Change) -> Result<()> {
    let at = path.to_string();
    match change {
        Change::Set(_, term) => check_term(&at, term, 0),
        Change::Remove(_) => Ok(()),
        Change::Add(_, value) => {
            self::value(&at, value)?;
            if matches!(value.kind(), Kind::N | Kind::Ss | Kind::Ns | Kind::Bs) {
                return Ok(());
            }
            Err(Error::invalid(
                at,
                format!("add takes a number or a set, not {}", value.kind()),
            ))
        }
        Change::Delete(_, value) => {
            self::value(&at, value)?;
            if matches!(value.kind(), Kind::Ss | Kind::Ns | Kind::Bs) {
                return Ok(());
            }
            Err(Error::invalid(
                at,
                format!("delete takes a set, not {}", value.kind()),
            ))
        }
    }
}

fn check_term(at: &str, term: &Term, depth: usize) -> Result<()> {
    if depth > limits::NESTING_MAX {
        return Err(Error::invalid(
            at,
            format!("is nested more than {} deep", limits::NESTING_MAX),
        ));
    }
    let operand = |side: &Term, wanted: Kind, what: &str| match side {
        Term::Value(value) if value.kind() != wanted => Err(Error::invalid(
            at,
            format!("{what} takes {wanted}, not {}", value.kind()),
        )),
        _ => check_term(at, side, depth + 1),
    };
    match term {
        Term::Value(value) => self::value(at, value),
        Term::Path(path) => check_path(at, path),
        Term::PathOr(path, otherwise) => {
            check_path(at, path)?;
            check_term(at, otherwise, depth + 1)
        }
        Term::Plus(left, right) | Term::Minus(left, right) => {
            operand(left, Kind::N, "arithmetic")?;
            operand(right, Kind::N, "arithmetic")
        }
        Term::Append(left, right) => {
            operand(left, Kind::L, "append")?;
            operand(right, Kind::L, "append")
        }
    }
}

/// Collects the attributes a condition names.
pub fn attributes<'a>(condition: &'a Condition, into: &mut Vec<&'a crate::value::Name>) {
    let mut operand = |operand: &'a Operand| {
        if let Operand::Path(path) | Operand::Size(path) = operand {
            into.push(&path.attribute);
        }
    };
    match condition {
        Condition::Compare(left, _, right) => [left, right].into_iter().for_each(operand),
        Condition::Between(value, low, high) => [value, low, high].into_iter().for_each(operand),
        Condition::In(value, any) => any.iter().chain([value]).for_each(operand),
        Condition::Exists(path) | Condition::Absent(path) | Condition::IsKind(path, _) => {
            into.push(&path.attribute);
        }
        Condition::BeginsWith(path, other) | Condition::Contains(path, other) => {
            operand(other);
            into.push(&path.attribute);
        }
        Condition::And(all) | Condition::Or(all) => {
            all.iter().for_each(|inner| attributes(inner, into));
        }
        Condition::Not(inner) => attributes(inner, into),
    }
}
