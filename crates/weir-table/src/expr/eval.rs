//! Evaluates conditions. Pure; the condition has passed [`super::check`].

use std::borrow::Cow;
use std::cmp::Ordering;

use super::condition::{Compare, Condition, Operand};
use crate::item::Item;
use crate::value::Value;

/// Whether `condition` is true for `item`; a missing item has no attributes.
#[must_use]
pub fn holds(condition: &Condition, item: &Item) -> bool {
    match condition {
        Condition::Compare(left, compare, right) => {
            compare_values(resolve(left, item), *compare, resolve(right, item))
        }
        Condition::Between(operand, low, high) => {
            let value = resolve(operand, item);
            compare_values(value.clone(), Compare::Ge, resolve(low, item))
                && compare_values(value, Compare::Le, resolve(high, item))
        }
        Condition::In(operand, any) => {
            let value = resolve(operand, item);
            any.iter().any(|other| compare_values(value.clone(), Compare::Eq, resolve(other, item)))
        }
        Condition::Exists(path) => path.find(item).is_some(),
        Condition::Absent(path) => path.find(item).is_none(),
        Condition::IsKind(path, kind) => path.find(item).is_some_and(|value| value.kind() == *kind),
        Condition::BeginsWith(path, prefix) => match (path.find(item), resolve(prefix, item)) {
            (Some(value), Some(prefix)) => begins_with(value, &prefix),
            _ => false,
        },
        Condition::Contains(path, part) => match (path.find(item), resolve(part, item)) {
            (Some(value), Some(part)) => contains(value, &part),
            _ => false,
        },
        Condition::And(all) => all.iter().all(|condition| holds(condition, item)),
        Condition::Or(any) => any.iter().any(|condition| holds(condition, item)),
        Condition::Not(condition) => !holds(condition, item),
    }
}

fn resolve<'a>(operand: &'a Operand, item: &'a Item) -> Option<Cow<'a, Value>> {
    match operand {
        Operand::Value(value) => Some(Cow::Borrowed(value)),
        Operand::Path(path) => path.find(item).map(Cow::Borrowed),
        Operand::Size(path) => {
            let size = size_of(path.find(item)?)?;
            Some(Cow::Owned(Value::from(u64::try_from(size).unwrap_or(u64::MAX))))
        }
    }
}

/// The `size()` of a value: UTF-16 units of text, as on DynamoDB, or bytes, or elements. Numbers and booleans have none.
fn size_of(value: &Value) -> Option<usize> {
    match value {
        Value::S(text) => Some(text.encode_utf16().count()),
        Value::B(bytes) => Some(bytes.len()),
        Value::L(list) => Some(list.len()),
        Value::M(map) => Some(map.len()),
        Value::Ss(set) => Some(set.len()),
        Value::Ns(set) => Some(set.len()),
        Value::Bs(set) => Some(set.len()),
        Value::N(_) | Value::Bool(_) | Value::Null => None,
    }
}

fn compare_values(
    left: Option<Cow<'_, Value>>,
    compare: Compare,
    right: Option<Cow<'_, Value>>,
) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        // A missing value differs from everything and has no order.
        return compare == Compare::Ne;
    };
    match compare {
        Compare::Eq => left == right,
        Compare::Ne => left != right,
        Compare::Lt => order(&left, &right) == Some(Ordering::Less),
        Compare::Le => matches!(order(&left, &right), Some(Ordering::Less | Ordering::Equal)),
        Compare::Gt => order(&left, &right) == Some(Ordering::Greater),
        Compare::Ge => matches!(order(&left, &right), Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::S(left), Value::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::N(left), Value::N(right)) => Some(left.cmp(right)),
        (Value::B(left), Value::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn begins_with(value: &Value, prefix: &Value) -> bool {
    match (value, prefix) {
        (Value::S(text), Value::S(prefix)) => text.starts_with(prefix.as_str()),
        (Value::B(bytes), Value::B(prefix)) => bytes.starts_with(prefix),
        _ => false,
    }
}

fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::S(text), Value::S(part)) => text.contains(part.as_str()),
        (Value::B(bytes), Value::B(part)) => {
            part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
        }
        (Value::Ss(set), Value::S(part)) => set.contains(part),
        (Value::Ns(set), Value::N(part)) => set.contains(part),
        (Value::Bs(set), Value::B(part)) => set.contains(part),
        (Value::L(list), part) => list.contains(part),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{attr, size};
    use super::*;

    #[test]
    fn missing_and_mistyped_attributes_compare_as_dynamodb_does() {
        let item = Item::new().with("n", 5).with("s", "five");
        assert!(holds(&attr("n").ge(5), &item));
        assert!(holds(&attr("gone").ne(5), &item));
        assert!(!holds(&attr("gone").eq(5), &item));
        assert!(!holds(&attr("gone").lt(5), &item));
        assert!(holds(&attr("s").ne(5), &item));
        assert!(!holds(&attr("s").gt(5), &item));
        assert!(holds(&!attr("s").gt(5), &item));
        assert!(!holds(&size("n").ge(0), &item));
        assert!(holds(&size("s").eq(4), &item));
        assert!(holds(&size("s").eq(3), &Item::new().with("s", "é𝄞")));
        assert!(holds(&attr("n").between(5, 5), &item));
        assert!(holds(&attr("n").is_in([4, 5]), &item));
    }
}
