//! The common form of stored items, as in the source: `tp` with the type, `dat` with the fields under short names, `crt`
//! and `upd` with times in seconds, `ttl` with the expiry.
//!
//! Programs of the source read some fields without asking whether they exist, so an optional field is null, not absent:
//! [`Data::with_or_null`].

use weir_table::attrs::Attrs;
use weir_table::expr::{Operand, Path, attr};
use weir_table::{Item, Key, Value};

use crate::keys::{self, ListEntry};
use crate::kinds::EntityType;
use crate::table::TTL;

/// Type of the item.
pub const TYPE: &str = "tp";
/// Fields of the item.
pub const DATA: &str = "dat";
/// When the item was created, in seconds since 1970.
pub const CREATED: &str = "crt";
/// When the item was last changed, in seconds since 1970.
pub const UPDATED: &str = "upd";
/// Value of a counter. It is no field of `dat`, because only an attribute can be added to before it exists.
pub const COUNT: &str = "n";
/// Number that every change of the item raises, for conditional writes.
pub const VERSION: &str = "ver";

/// The fields of an item, under construction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Data(Attrs);

impl Data {
    /// No fields.
    #[must_use]
    pub fn new() -> Data {
        Data::default()
    }

    /// The same fields with one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Data {
        self.0.insert(name.into(), value.into());
        self
    }

    /// The same fields with one more, which is null without a value.
    #[must_use]
    pub fn with_or_null(self, name: &str, value: Option<impl Into<Value>>) -> Data {
        self.with(name, value.map_or(Value::Null, Into::into))
    }
}

impl From<Data> for Value {
    fn from(data: Data) -> Value {
        Value::M(data.0)
    }
}

/// A new item.
#[must_use]
pub fn entity(key: Key, of: EntityType, data: Data, created_s: i64) -> Item {
    keys::item(key)
        .with(TYPE, of.as_str())
        .with(DATA, data)
        .with(CREATED, created_s)
        .with(UPDATED, created_s)
}

/// The small item that carries an entry of a list.
#[must_use]
pub fn list_entry(entry: ListEntry) -> Item {
    let item = keys::item(entry.key).with(TYPE, EntityType::ListEntry.as_str());
    entry.index.put_on(item)
}

/// The path of a field, for updates and projections.
#[must_use]
pub fn field(name: &str) -> Path {
    Path::new(DATA).field(name)
}

/// A field in a condition.
#[must_use]
pub fn data(name: &str) -> Operand {
    attr(DATA).field(name)
}

/// An id as the source stores it: a number if it is one, else a text.
#[must_use]
pub fn id_value(id: &str) -> Value {
    match id.parse::<i64>() {
        Ok(number) if number >= 0 && number.to_string() == id => number.into(),
        _ => id.into(),
    }
}

/// Seconds of a time in milliseconds.
#[must_use]
pub fn secs(at_ms: i64) -> i64 {
    at_ms.div_euclid(1000)
}

/// When an item expires so many days after a time, in seconds since 1970.
#[must_use]
pub fn expiry(from_ms: i64, days: u32) -> i64 {
    secs(from_ms).saturating_add(i64::from(days) * 86_400)
}

/// Whether an item has expired, although the store may not have removed it yet.
#[must_use]
pub fn is_expired(item: &Item, now_ms: i64) -> bool {
    item.i64(TTL).is_some_and(|ttl| ttl <= secs(now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PlanId, UserId};
    use crate::keys::List;

    #[test]
    fn an_item_has_the_form_of_the_source() {
        let user = UserId::new("12345").unwrap();
        let data = Data::new()
            .with("em", "ann@example.com")
            .with_or_null("pic", None::<&str>)
            .with("act", true);
        let item = entity(keys::user(&user), EntityType::User, data, 1_759_917_600);
        let dat = Value::map([
            ("em", Value::from("ann@example.com")),
            ("pic", Value::Null),
            ("act", true.into()),
        ]);
        let expected = Item::new()
            .with("PK", "USR#12345")
            .with("SK", "META")
            .with("tp", "usr")
            .with("dat", dat)
            .with("crt", 1_759_917_600)
            .with("upd", 1_759_917_600);
        assert_eq!(item, expected);
        assert_eq!(field("em").find(&item).and_then(Value::as_s), Some("ann@example.com"));
    }

    #[test]
    fn an_entry_of_a_list_is_a_small_item_beside_its_member() {
        let user = UserId::new("12345").unwrap();
        let entry = List::UsersOfPlan(PlanId::FREE).user(1_759_917_600, &user);
        let expected = Item::new()
            .with("PK", "USR#12345")
            .with("SK", "IDX#PLAN")
            .with("tp", "idx")
            .with("GSI2PK", "LIST#USR#PLAN#1")
            .with("GSI2SK", "1759917600#12345");
        assert_eq!(list_entry(entry), expected);
    }

    #[test]
    fn ids_of_the_source_are_stored_as_numbers() {
        assert_eq!(id_value("12345"), Value::from(12_345));
        for text in ["007", "-1", "1520E", "01JAB3XK5N8Q2R7T9V0W1Y4Z6C", "99999999999999999999"] {
            assert_eq!(id_value(text), Value::from(text));
        }
    }

    #[test]
    fn an_item_expires_at_its_second() {
        let item = Item::new().with(TTL, expiry(1_000_999, 1));
        assert_eq!(item.i64(TTL), Some(87_400));
        assert!(is_expired(&item, 87_400_000) && !is_expired(&item, 87_399_999));
        assert!(!is_expired(&Item::new(), i64::MAX));
    }
}
