//! Upper bound of the length of an expression's text.
//!
//! DynamoDB limits the text, with placeholders for names and values. Every back-end enforces that limit, so the length is
//! computed from the tree with the longest possible placeholders.

use super::condition::{Condition, Operand};
use super::path::{Path, Step};
use super::update::{Change, Term, Update};
use crate::error::{Error, Result};
use crate::limits;

/// Bytes of `#n999` and `:v999`.
const PLACEHOLDER: usize = 5;
/// Bytes of `[` and `]` and a list position.
const ELEMENT: usize = 22;

/// Refuses an expression that is too long for DynamoDB.
pub(super) fn bounded(at: &str, bytes: usize) -> Result<()> {
    let max = limits::EXPRESSION_TEXT_MAX;
    if bytes <= max {
        return Ok(());
    }
    let problem = format!("has an expression of {bytes} bytes; at most {max} are allowed");
    Err(Error::invalid(at, problem))
}

/// Bytes of a condition's text.
pub(super) fn of_condition(condition: &Condition) -> usize {
    match condition {
        Condition::Compare(left, _, right) => operand(left) + " <> ".len() + operand(right),
        Condition::Between(value, low, high) => {
            operand(value) + " BETWEEN  AND ".len() + operand(low) + operand(high)
        }
        Condition::In(value, any) => {
            let any: usize = any.iter().map(|value| operand(value) + ", ".len()).sum();
            operand(value) + " IN ()".len() + any
        }
        Condition::Exists(at) => "attribute_exists()".len() + path(at),
        Condition::Absent(at) => "attribute_not_exists()".len() + path(at),
        Condition::IsKind(at, _) => "attribute_type(, )".len() + path(at) + PLACEHOLDER,
        Condition::BeginsWith(at, prefix) => "begins_with(, )".len() + path(at) + operand(prefix),
        Condition::Contains(at, part) => "contains(, )".len() + path(at) + operand(part),
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().map(|part| "() AND ".len() + of_condition(part)).sum()
        }
        Condition::Not(inner) => "NOT ()".len() + of_condition(inner),
    }
}

/// Bytes of an update's text.
pub(super) fn of_update(update: &Update) -> usize {
    let changes: usize = update
        .changes
        .iter()
        .map(|change| match change {
            Change::Set(at, value) => path(at) + " = , ".len() + term(value),
            Change::Remove(at) => path(at) + ", ".len(),
            Change::Add(at, _) | Change::Delete(at, _) => path(at) + " , ".len() + PLACEHOLDER,
        })
        .sum();
    "SET  REMOVE  ADD  DELETE ".len() + changes
}

fn term(term: &Term) -> usize {
    match term {
        Term::Value(_) => PLACEHOLDER,
        Term::Path(at) => path(at),
        Term::PathOr(at, otherwise) => "if_not_exists(, )".len() + path(at) + self::term(otherwise),
        Term::Plus(left, right) | Term::Minus(left, right) => {
            self::term(left) + " + ".len() + self::term(right)
        }
        Term::Append(left, right) => "list_append(, )".len() + self::term(left) + self::term(right),
    }
}

fn operand(operand: &Operand) -> usize {
    match operand {
        Operand::Value(_) => PLACEHOLDER,
        Operand::Path(at) => path(at),
        Operand::Size(at) => "size()".len() + path(at),
    }
}

fn path(path: &Path) -> usize {
    let steps = path.steps.iter().map(|step| match step {
        Step::Field(_) => ".".len() + PLACEHOLDER,
        Step::Element(_) => ELEMENT,
    });
    PLACEHOLDER + steps.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::super::{attr, set, size};
    use super::*;

    #[test]
    fn every_kind_of_condition_has_its_length() {
        for (condition, text) in [
            (attr("a").ne(1), "#n999 <> :v999"),
            (attr("a").between(1, 2), "#n999 BETWEEN :v999 AND :v999"),
            (attr("a").exists(), "attribute_exists(#n999)"),
            (attr("a").absent(), "attribute_not_exists(#n999)"),
            (attr("a").field("b").contains(1), "contains(#n999.#n999, :v999)"),
            (!size("a").ne(1), "NOT (size(#n999) <> :v999)"),
        ] {
            assert_eq!(of_condition(&condition), text.len(), "{text}");
        }
        let update = set("a", Term::path_or("b", 1).plus(1));
        let text = "SET  REMOVE  ADD  DELETE #n999 = if_not_exists(#n999, :v999) + :v999, ";
        assert_eq!(of_update(&update), text.len());
    }

    #[test]
    fn too_long_is_refused_by_name() {
        assert!(bounded("filter", 4096).is_ok());
        assert_eq!(bounded("filter", 4097).unwrap_err().field(), Some("filter"));
    }
}
