//! Compares records field by field. Pure.

use serde_json::Value as Json;

use super::entity::Entity;
use super::record::Record;

/// Longest value that a difference shows, in characters.
const SHOWN_MAX: usize = 80;

/// How both sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Our table lacks the record of a row.
    Missing,
    /// PostgreSQL lacks the row of a record.
    Extra,
    /// A field differs.
    Field,
    /// The row cannot be copied.
    BadRow,
}

impl DifferenceKind {
    /// Its name: `missing`, `extra`, `field`, `bad_row`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            DifferenceKind::Missing => "missing",
            DifferenceKind::Extra => "extra",
            DifferenceKind::Field => "field",
            DifferenceKind::BadRow => "bad_row",
        }
    }
}

/// A difference between both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// How.
    pub kind: DifferenceKind,
    /// The table.
    pub entity: Entity,
    /// The id of the row, or of the record that has none.
    pub id: String,
    /// The field; empty if the whole record is.
    pub field: String,
    /// The value in PostgreSQL, shortened.
    pub postgres: String,
    /// The value in our table, shortened.
    pub weir: String,
}

impl Difference {
    /// A whole record that one side lacks.
    pub(super) fn whole(kind: DifferenceKind, entity: Entity, id: impl ToString) -> Difference {
        let (field, postgres, weir) = (String::new(), String::new(), String::new());
        Difference { kind, entity, id: id.to_string(), field, postgres, weir }
    }

    /// A value that differs.
    pub(super) fn value(
        (entity, id): (Entity, &str),
        field: &str,
        postgres: &Json,
        weir: &Json,
    ) -> Difference {
        Difference {
            field: field.to_owned(),
            postgres: shown(postgres),
            weir: shown(weir),
            ..Difference::whole(DifferenceKind::Field, entity, id)
        }
    }
}

/// The fields in which two records differ.
pub(super) fn differences(of: (Entity, &str), row: &Record, stored: &Record) -> Vec<Difference> {
    let pairs = row.fields().into_iter().zip(stored.fields());
    pairs
        .filter(|((_, left), (_, right))| left != right)
        .map(|((field, left), (_, right))| Difference::value(of, field, &left, &right))
        .collect()
}

/// A value; of a long text its length and its start.
fn shown(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let count = text.chars().count();
    if count <= SHOWN_MAX {
        return text;
    }
    let start: String = text.chars().take(SHOWN_MAX).collect();
    format!("{start}… ({count} characters)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::{Email, PlanId, UserId};
    use crate::users::User;

    #[test]
    fn a_difference_names_the_field_and_both_values() {
        let user = User {
            id: UserId::new("7").unwrap(),
            email: Email::new("ann@example.com").unwrap(),
            name: "Ann".into(),
            picture_url: None,
            google_id: None,
            plan: PlanId::FREE,
            is_active: true,
            is_staff: false,
            created_s: 5,
            updated_s: 5,
        };
        let row = Record::User(user.clone());
        assert_eq!(differences((Entity::Users, "7"), &row, &row), []);
        let stored = Record::User(User { name: "Anna".into(), ..user });
        let [difference] = &differences((Entity::Users, "7"), &row, &stored)[..] else { panic!() };
        assert_eq!((difference.entity.table(), difference.id.as_str()), ("users", "7"));
        assert_eq!(difference.field, "name");
        assert_eq!((difference.postgres.as_str(), difference.weir.as_str()), ("Ann", "Anna"));
        let long = shown(&json!("x".repeat(100)));
        assert!(long.ends_with("… (100 characters)"), "{long}");
    }
}
