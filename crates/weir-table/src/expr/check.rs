//! Validation of expressions, independent of items and back-ends.

use std::borrow::Cow;

use super::condition::{Compare, Condition, Operand};
use super::path::Path;
use super::text;
use super::update::{Change, Term, Update};
use crate::error::{Error, Result};
use crate::limits;
use crate::spec::TableSpec;
use crate::value::{Kind, Value};

/// Checks a condition or filter. `at` names it in messages: `condition`, `filter`.
///
/// # Errors
/// Names the invalid path or parameter.
pub fn condition(at: &str, condition: &Condition) -> Result<()> {
    let mut operators = 0;
    check_condition(at, condition, &mut operators, 0)?;
    if operators > limits::EXPRESSION_OPERATORS_MAX {
        let max = limits::EXPRESSION_OPERATORS_MAX;
        return Err(Error::invalid(at, format!("has {operators} operators; at most {max}")));
    }
    text::bounded(at, text::of_condition(condition))
}

fn check_condition(
    at: &str,
    condition: &Condition,
    operators: &mut usize,
    depth: usize,
) -> Result<()> {
    *operators += operators_of(condition);
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
            any.iter().chain([operand]).try_for_each(|operand| check_operand(at, operand))?;
            check_distinct(operand, any)
        }
        Condition::Exists(path) | Condition::Absent(path) | Condition::IsKind(path, _) => {
            check_path(at, path)
        }
        Condition::BeginsWith(path, prefix) => {
            check_path(at, path)?;
            check_operand(at, prefix)?;
            check_distinct(&Operand::Path(path.clone()), [prefix])?;
            let kind = match prefix {
                Operand::Value(value) => value.kind(),
                Operand::Size(_) => Kind::N,
                Operand::Path(_) => return Ok(()),
            };
            if matches!(kind, Kind::S | Kind::B) {
                return Ok(());
            }
            let problem = format!("begins_with takes S or B, not {kind}");
            Err(Error::invalid(path.to_string(), problem))
        }
        Condition::Contains(path, part) => {
            check_path(at, path)?;
            check_operand(at, part)?;
            check_distinct(&Operand::Path(path.clone()), [part])
        }
        Condition::And(all) | Condition::Or(all) => {
            if all.is_empty() {
                return Err(Error::invalid(at, "has an empty list of conditions"));
            }
            all.iter().try_for_each(|inner| check_condition(at, inner, operators, depth + 1))
        }
        Condition::Not(inner) => check_condition(at, inner, operators, depth + 1),
    }
}

/// Operators that DynamoDB counts for a condition without its parts.
fn operators_of(condition: &Condition) -> usize {
    let sizes = |operands: &[&Operand]| {
        let is_size = |operand: &&&Operand| matches!(operand, Operand::Size(_));
        operands.iter().filter(is_size).count()
    };
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.len().saturating_sub(1),
        Condition::Compare(left, _, right) => 1 + sizes(&[left, right]),
        Condition::Between(operand, low, high) => 1 + sizes(&[operand, low, high]),
        Condition::In(operand, any) => {
            1 + sizes(&[operand]) + any.iter().map(|value| sizes(&[value])).sum::<usize>()
        }
        _ => 1,
    }
}

/// DynamoDB refuses to compare an attribute with itself.
fn check_distinct<'a>(
    first: &Operand,
    others: impl IntoIterator<Item = &'a Operand>,
) -> Result<()> {
    match first {
        Operand::Path(path) if others.into_iter().any(|other| other == first) => {
            Err(Error::invalid(path.to_string(), "is compared with itself"))
        }
        _ => Ok(()),
    }
}

fn check_compare(at: &str, left: &Operand, compare: Compare, right: &Operand) -> Result<()> {
    check_operand(at, left)?;
    check_operand(at, right)?;
    check_distinct(left, [right])?;
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
    }
    Ok(())
}

fn check_between(at: &str, operand: &Operand, low: &Operand, high: &Operand) -> Result<()> {
    [operand, low, high].into_iter().try_for_each(|operand| check_operand(at, operand))?;
    check_distinct(operand, [low, high])?;
    for bound in [operand, low, high].into_iter().filter_map(literal) {
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
                format!("BETWEEN bounds are of kinds {} and {}", low.kind(), high.kind()),
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
    if let Operand::Value(value) = operand { Some(value) } else { None }
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
        return Err(Error::invalid(at, "has a path without an attribute name"));
    }
    if path.steps.len() >= limits::NESTING_MAX {
        let max = limits::NESTING_MAX;
        return Err(Error::invalid(path.to_string(), format!("has more than {max} steps")));
    }
    Ok(())
}

/// Checks a value: no empty set anywhere, not nested too deep.
///
/// # Errors
/// Names the path, starting with `at`.
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
    if empty { Err(Error::invalid(at, "a set must not be empty")) } else { Ok(()) }
}

/// Checks an update against its table.
///
/// # Errors
/// Names the invalid path: a key attribute, two changes that overlap, a wrong kind.
pub fn update(spec: &TableSpec, update: &Update) -> Result<()> {
    if update.changes.len() > limits::EXPRESSION_OPERATORS_MAX {
        let max = limits::EXPRESSION_OPERATORS_MAX;
        return Err(Error::invalid("update", format!("has more than {max} changes")));
    }
    for (position, change) in update.changes.iter().enumerate() {
        let path = change.path();
        check_path("update", path)?;
        if spec.is_key(&path.attribute) {
            return Err(Error::invalid(path.to_string(), "a key attribute cannot be changed"));
        }
        if update.changes.iter().skip(position + 1).any(|other| path.overlaps(other.path())) {
            return Err(Error::invalid(path.to_string(), "two changes of one update overlap here"));
        }
        check_change(path, change)?;
    }
    text::bounded("update", text::of_update(update))
}

fn check_change(path: &Path, change: &Change) -> Result<()> {
    let at = match path.steps.as_slice() {
        [] => Cow::Borrowed(path.attribute.as_str()),
        _ => Cow::Owned(path.to_string()),
    };
    match change {
        Change::Set(_, term) => check_term(&at, term, 0),
        Change::Remove(_) => Ok(()),
        Change::Add(_, value) => {
            self::value(&at, value)?;
            if matches!(value.kind(), Kind::N | Kind::Ss | Kind::Ns | Kind::Bs) {
                return Ok(());
            }
            Err(Error::invalid(at, format!("add takes a number or a set, not {}", value.kind())))
        }
        Change::Delete(_, value) => {
            self::value(&at, value)?;
            if matches!(value.kind(), Kind::Ss | Kind::Ns | Kind::Bs) {
                return Ok(());
            }
            Err(Error::invalid(at, format!("delete takes a set, not {}", value.kind())))
        }
    }
}

/// Sums and appends are allowed only at the top of a term, as in DynamoDB's grammar.
fn check_term(at: &str, term: &Term, depth: usize) -> Result<()> {
    if depth > limits::NESTING_MAX {
        return Err(Error::invalid(
            at,
            format!("is nested more than {} deep", limits::NESTING_MAX),
        ));
    }
    let operand = |side: &Term, wanted: Kind, what: &str| match side {
        Term::Value(value) if value.kind() != wanted => {
            Err(Error::invalid(at, format!("{what} takes {wanted}, not {}", value.kind())))
        }
        _ => check_term(at, side, depth + 1),
    };
    match term {
        Term::Value(value) => self::value(at, value),
        Term::Path(path) => check_path(at, path),
        Term::PathOr(path, otherwise) => {
            check_path(at, path)?;
            if matches!(&**otherwise, Term::Path(other) if other == path) {
                return Err(Error::invalid(path.to_string(), "must not be its own default"));
            }
            check_term(at, otherwise, depth + 1)
        }
        Term::Plus(..) | Term::Minus(..) | Term::Append(..) if depth > 0 => Err(Error::invalid(
            at,
            "a sum or an appended list cannot be part of another term; use two updates",
        )),
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

/// Collects the attributes that an update reads.
pub(crate) fn read_by<'a>(update: &'a Update, into: &mut Vec<&'a crate::value::Name>) {
    fn read<'a>(term: &'a Term, into: &mut Vec<&'a crate::value::Name>) {
        match term {
            Term::Value(_) => {}
            Term::Path(path) => into.push(&path.attribute),
            Term::PathOr(path, otherwise) => {
                into.push(&path.attribute);
                read(otherwise, into);
            }
            Term::Plus(left, right) | Term::Minus(left, right) | Term::Append(left, right) => {
                read(left, into);
                read(right, into);
            }
        }
    }
    for change in &update.changes {
        if let Change::Set(_, term) = change {
            read(term, into);
        }
    }
}

/// Collects the attributes that a condition names.
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

#[cfg(test)]
mod tests {
    use super::super::{attr, set, size};
    use super::*;

    fn field(condition: Condition) -> Option<String> {
        let checked = super::condition("condition", &condition);
        checked.err().and_then(|e| e.field().map(str::to_owned))
    }

    #[test]
    fn an_attribute_is_not_compared_with_itself() {
        let a = || attr("a");
        for condition in [
            a().eq(a()),
            a().between(a(), 1),
            a().is_in([attr("b"), a()]),
            a().contains(a()),
            a().begins_with(a()),
        ] {
            assert_eq!(field(condition).as_deref(), Some("a"));
        }
        let element = || a().element(0);
        assert_eq!(field(element().lt(element())).as_deref(), Some("a[0]"));
        for condition in [size("a").eq(size("a")), size("a").eq(a()), a().eq(a().field("a"))] {
            assert_eq!(field(condition), None);
        }
    }

    #[test]
    fn kinds_are_checked_where_dynamodb_checks_them() {
        for (condition, refused) in [
            (size("a").lt(true), Some("a")),
            (size("a").lt("3"), None),
            (size("a").ne(Value::Null), None),
            (Operand::from(true).between(attr("a"), attr("b")), Some("condition")),
            (attr("a").begins_with(size("b")), Some("a")),
            (attr("a").contains(Value::list([1])), None),
        ] {
            let shown = format!("{condition:?}");
            assert_eq!(field(condition).as_deref(), refused, "{shown}");
        }
    }

    #[test]
    fn operators_are_counted_as_dynamodb_counts_them() {
        let any = |part: Condition, times| Condition::Or(vec![part; times]);
        let equal = || attr("a").eq(1);
        assert_eq!(field(any(equal(), 150)), None);
        assert_eq!(field(any(equal(), 151)).as_deref(), Some("condition"));
        assert_eq!(field(any(!equal(), 100)), None);
        assert_eq!(field(any(!equal(), 101)).as_deref(), Some("condition"));
        assert_eq!(field(any(size("a").eq(1), 100)), None);
        assert_eq!(field(any(size("a").eq(1), 101)).as_deref(), Some("condition"));
    }

    #[test]
    fn sums_stand_at_the_top_of_a_term() {
        let spec = TableSpec::new("things", "pk", Kind::S);
        let check = |term: Term| update(&spec, &set("x", term)).err();
        let sum = || Term::path("a").plus(1);
        assert!(check(sum()).is_none());
        assert!(check(Term::path_or("a", 1).minus(Term::path_or("b", 2))).is_none());
        assert!(check(Term::path_or("a", Term::path("a"))).is_some());
        for nested in [sum().plus(1), Term::path_or("a", sum()), sum().append(sum())] {
            assert_eq!(
                check(nested).and_then(|e| e.field().map(str::to_owned)).as_deref(),
                Some("x")
            );
        }
    }
}
