//! Renders expression trees as DynamoDB's expression text.
//!
//! Names and values are always placeholders (`#n0`, `:v0`), so no reserved word, dot or quote can be misread. Equal names or
//! values share a placeholder across the expressions of a request.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::convert;
use crate::error::{Error, Result};
use crate::expr::{Change, Compare, Condition, Operand, Path, Step, Term, Update};
use crate::limits;
use crate::request::SortRange;
use crate::value::{Name, Value};

/// The placeholders of one request.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    names: HashMap<Name, usize>,
    values: HashMap<Value, usize>,
}

impl Placeholders {
    /// Names of the `#n…` placeholders; `None` if there are none, because DynamoDB refuses an empty map.
    pub(super) fn names(&self) -> Option<HashMap<String, String>> {
        let names: HashMap<_, _> = self
            .names
            .iter()
            .map(|(name, number)| (format!("#n{number}"), name.to_string()))
            .collect();
        (!names.is_empty()).then_some(names)
    }

    /// Values of the `:v…` placeholders.
    pub(super) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        let values: HashMap<_, _> = self
            .values
            .iter()
            .map(|(value, number)| (format!(":v{number}"), convert::value(value)))
            .collect();
        (!values.is_empty()).then_some(values)
    }

    fn name(&mut self, name: &Name) -> String {
        let next = self.names.len();
        let number = *self.names.entry(name.clone()).or_insert(next);
        format!("#n{number}")
    }

    fn value(&mut self, value: &Value) -> String {
        let next = self.values.len();
        let number = *self.values.entry(value.clone()).or_insert(next);
        format!(":v{number}")
    }

    fn path(&mut self, path: &Path) -> String {
        let mut text = self.name(&path.attribute);
        for step in &path.steps {
            match step {
                Step::Field(name) => {
                    text.push('.');
                    text.push_str(&self.name(name));
                }
                Step::Element(position) => text.push_str(&format!("[{position}]")),
            }
        }
        text
    }

    /// Renders a condition or filter. `at` names it in messages.
    pub(super) fn condition(&mut self, at: &str, condition: &Condition) -> Result<String> {
        let text = self.condition_text(condition);
        bounded(at, text)
    }

    fn condition_text(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(left, compare, right) => {
                let left = self.operand(left);
                let right = self.operand(right);
                format!("{left} {} {right}", sign(*compare))
            }
            Condition::Between(operand, low, high) => {
                let operand = self.operand(operand);
                let low = self.operand(low);
                let high = self.operand(high);
                format!("{operand} BETWEEN {low} AND {high}")
            }
            Condition::In(operand, any) => {
                let operand = self.operand(operand);
                let any: Vec<_> = any.iter().map(|value| self.operand(value)).collect();
                format!("{operand} IN ({})", any.join(", "))
            }
            Condition::Exists(path) => format!("attribute_exists({})", self.path(path)),
            Condition::Absent(path) => format!("attribute_not_exists({})", self.path(path)),
            Condition::IsKind(path, kind) => {
                let path = self.path(path);
                let kind = self.value(&Value::from(kind.name()));
                format!("attribute_type({path}, {kind})")
            }
            Condition::BeginsWith(path, prefix) => {
                let path = self.path(path);
                format!("begins_with({path}, {})", self.operand(prefix))
            }
            Condition::Contains(path, part) => {
                let path = self.path(path);
                format!("contains({path}, {})", self.operand(part))
            }
            Condition::And(all) => self.joined(all, " AND "),
            Condition::Or(any) => self.joined(any, " OR "),
            Condition::Not(inner) => format!("NOT ({})", self.condition_text(inner)),
        }
    }

    /// Puts the parts of a compound in parentheses once; DynamoDB refuses redundant ones.
    fn joined(&mut self, parts: &[Condition], by: &str) -> String {
        if let [only] = parts {
            return self.condition_text(only);
        }
        let texts: Vec<_> = parts
            .iter()
            .map(|part| {
                let text = self.condition_text(part);
                if is_compound(part) { format!("({text})") } else { text }
            })
            .collect();
        texts.join(by)
    }

    fn operand(&mut self, operand: &Operand) -> String {
        match operand {
            Operand::Path(path) => self.path(path),
            Operand::Value(value) => self.value(value),
            Operand::Size(path) => format!("size({})", self.path(path)),
        }
    }

    /// Renders an update; `None` if it changes nothing.
    pub(super) fn update(&mut self, update: &Update) -> Result<Option<String>> {
        let mut set = Vec::new();
        let mut remove = Vec::new();
        let mut add = Vec::new();
        let mut delete = Vec::new();
        for change in &update.changes {
            let path = self.path(change.path());
            match change {
                Change::Set(_, term) => set.push(format!("{path} = {}", self.term(term))),
                Change::Remove(_) => remove.push(path),
                Change::Add(_, value) => add.push(format!("{path} {}", self.value(value))),
                Change::Delete(_, value) => delete.push(format!("{path} {}", self.value(value))),
            }
        }
        let clauses: Vec<_> = [("SET", set), ("REMOVE", remove), ("ADD", add), ("DELETE", delete)]
            .into_iter()
            .filter(|(_, changes)| !changes.is_empty())
            .map(|(clause, changes)| format!("{clause} {}", changes.join(", ")))
            .collect();
        if clauses.is_empty() {
            return Ok(None);
        }
        bounded("update", clauses.join(" ")).map(Some)
    }

    fn term(&mut self, term: &Term) -> String {
        match term {
            Term::Value(value) => self.value(value),
            Term::Path(path) => self.path(path),
            Term::PathOr(path, otherwise) => {
                let path = self.path(path);
                format!("if_not_exists({path}, {})", self.term(otherwise))
            }
            Term::Plus(left, right) => {
                let left = self.term(left);
                format!("{left} + {}", self.term(right))
            }
            Term::Minus(left, right) => {
                let left = self.term(left);
                format!("{left} - {}", self.term(right))
            }
            Term::Append(left, right) => {
                let left = self.term(left);
                format!("list_append({left}, {})", self.term(right))
            }
        }
    }

    /// Renders a projection.
    pub(super) fn projection<'a>(&mut self, paths: impl IntoIterator<Item = &'a Path>) -> String {
        let paths: Vec<_> = paths.into_iter().map(|path| self.path(path)).collect();
        paths.join(", ")
    }

    /// Renders the key condition of a query.
    pub(super) fn key_condition(
        &mut self,
        partition: (&Name, &Value),
        sort: Option<&Name>,
        range: &SortRange,
    ) -> String {
        let mut text = format!("{} = {}", self.name(partition.0), self.value(partition.1));
        let Some(sort) = sort.filter(|_| *range != SortRange::All) else {
            return text;
        };
        let name = self.name(sort);
        let values: Vec<_> =
            range.values().into_iter().map(|value| self.value(&value.to_value())).collect();
        let first = values.first().cloned().unwrap_or_default();
        let last = values.last().cloned().unwrap_or_default();
        let narrowed = match range {
            SortRange::All => return text,
            SortRange::Eq(_) => format!("{name} = {first}"),
            SortRange::Lt(_) => format!("{name} < {first}"),
            SortRange::Le(_) => format!("{name} <= {first}"),
            SortRange::Gt(_) => format!("{name} > {first}"),
            SortRange::Ge(_) => format!("{name} >= {first}"),
            SortRange::Between(..) => format!("{name} BETWEEN {first} AND {last}"),
            SortRange::BeginsWith(_) => format!("begins_with({name}, {first})"),
        };
        text.push_str(" AND ");
        text.push_str(&narrowed);
        text
    }
}

fn is_compound(condition: &Condition) -> bool {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => match parts.as_slice() {
            [only] => is_compound(only),
            _ => true,
        },
        _ => false,
    }
}

fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Eq => "=",
        Compare::Ne => "<>",
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
    }
}

fn bounded(at: &str, text: String) -> Result<String> {
    let max = limits::EXPRESSION_TEXT_MAX;
    if text.len() <= max {
        return Ok(text);
    }
    let problem = format!("has an expression of {} bytes; at most {max} are allowed", text.len());
    Err(Error::invalid(at, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{add, attr, remove, set, size};
    use crate::key::KeyValue;

    fn condition(condition: Condition) -> String {
        Placeholders::default().condition("condition", &condition).unwrap()
    }

    #[test]
    fn conditions_read_as_dynamodb_writes_them() {
        for (tree, text) in [
            (attr("a").eq(1), "#n0 = :v0"),
            (attr("a").ne(attr("b")), "#n0 <> #n1"),
            (size("a").ge(3), "size(#n0) >= :v0"),
            (attr("a").between(1, 9), "#n0 BETWEEN :v0 AND :v1"),
            (attr("a").is_in([1, 2]), "#n0 IN (:v0, :v1)"),
            (attr("a").exists(), "attribute_exists(#n0)"),
            (attr("a.b").absent(), "attribute_not_exists(#n0)"),
            (attr("a").is_kind(crate::value::Kind::Ss), "attribute_type(#n0, :v0)"),
            (attr("a").begins_with("x"), "begins_with(#n0, :v0)"),
            (attr("m").field("x").element(2).contains("y"), "contains(#n0.#n1[2], :v0)"),
            (!attr("a").exists(), "NOT (attribute_exists(#n0))"),
        ] {
            assert_eq!(condition(tree), text);
        }
    }

    #[test]
    fn parentheses_stand_once() {
        let a = || attr("a").eq(1);
        assert_eq!(
            condition(a().or(attr("b").eq(2)).and(a())),
            "(#n0 = :v0 OR #n1 = :v1) AND #n0 = :v0"
        );
        assert_eq!(condition(Condition::And(vec![a()])), "#n0 = :v0");
        let nested = Condition::And(vec![Condition::Or(vec![a()]), a()]);
        assert_eq!(condition(nested), "#n0 = :v0 AND #n0 = :v0");
        let wrapped = Condition::And(vec![Condition::Or(vec![a().and(a())]), a()]);
        assert_eq!(condition(wrapped), "(#n0 = :v0 AND #n0 = :v0) AND #n0 = :v0");
    }

    #[test]
    fn updates_gather_their_clauses() {
        let update = set("a", Term::path("b").plus(1))
            .remove(Path::new("l").element(0))
            .add("n", 1)
            .delete_from("s", Value::strings(["x"]))
            .set_if_absent("c", 1)
            .set("d", Term::path("d").append(Value::list([1])));
        assert_eq!(
            Placeholders::default().update(&update).unwrap().unwrap(),
            "SET #n0 = #n1 + :v0, #n5 = if_not_exists(#n5, :v0), #n6 = list_append(#n6, :v2) \
             REMOVE #n2[0] ADD #n3 :v0 DELETE #n4 :v1"
        );
        assert_eq!(Placeholders::default().update(&Update::default()).unwrap(), None);
    }

    #[test]
    fn one_request_shares_its_placeholders() {
        let mut placeholders = Placeholders::default();
        placeholders.update(&add("a", 1)).unwrap();
        let text =
            placeholders.condition("condition", &attr("a").lt(1).and(attr("b").lt(2))).unwrap();
        assert_eq!(text, "#n0 < :v0 AND #n1 < :v1");
        assert_eq!(placeholders.names().unwrap().len(), 2);
        assert_eq!(placeholders.values().unwrap().len(), 2);
    }

    #[test]
    fn key_conditions_cover_every_range() {
        let text = |range: SortRange| {
            Placeholders::default().key_condition(
                (&"pk".into(), &Value::from("p")),
                Some(&"sk".into()),
                &range,
            )
        };
        let v = || KeyValue::from("x");
        assert_eq!(text(SortRange::All), "#n0 = :v0");
        assert_eq!(text(SortRange::Le(v())), "#n0 = :v0 AND #n1 <= :v1");
        assert_eq!(text(SortRange::Between(v(), v())), "#n0 = :v0 AND #n1 BETWEEN :v1 AND :v1");
        assert_eq!(text(SortRange::BeginsWith(v())), "#n0 = :v0 AND begins_with(#n1, :v1)");
    }

    #[test]
    fn text_longer_than_dynamodb_takes_is_refused() {
        let mut update = remove("a0");
        for number in 1..700 {
            update = update.remove(Path::new(format!("a{number}")));
        }
        let error = Placeholders::default().update(&update).unwrap_err();
        assert_eq!(error.field(), Some("update"));
    }
}
