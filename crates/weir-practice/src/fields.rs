//! Reads the fields of an item; an error names the item and the field.

use std::str::FromStr;

use weir_table::attrs::Attrs;
use weir_table::{Item, Value};

use crate::error::{Error, Result};
use crate::item::{CREATED, DATA, UPDATED};
use crate::keys;

/// The fields of an item.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    item: &'a Item,
    data: &'a Attrs,
}

impl<'a> Fields<'a> {
    /// The fields in `dat` of an item.
    ///
    /// # Errors
    /// The item has no `dat`.
    pub fn of(item: &'a Item) -> Result<Fields<'a>> {
        match item.get(DATA) {
            Some(Value::M(data)) => Ok(Fields { item, data }),
            _ => Err(wrong(item, DATA)),
        }
    }

    /// The error of a field that cannot be read.
    #[must_use]
    pub fn wrong(self, name: &str) -> Error {
        wrong(self.item, name)
    }

    /// The item.
    #[must_use]
    pub fn item(self) -> &'a Item {
        self.item
    }

    /// A field; null counts as missing.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a Value> {
        self.data.get(name).filter(|value| **value != Value::Null)
    }

    /// A text.
    ///
    /// # Errors
    /// The field is missing or no text.
    pub fn text(self, name: &str) -> Result<&'a str> {
        self.get(name).and_then(Value::as_s).ok_or_else(|| self.wrong(name))
    }

    /// A text, if the field has one.
    #[must_use]
    pub fn optional_text(self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_s)
    }

    /// A whole number.
    ///
    /// # Errors
    /// The field is missing or no whole number.
    pub fn number(self, name: &str) -> Result<i64> {
        self.get(name).and_then(Value::as_i64).ok_or_else(|| self.wrong(name))
    }

    /// A whole number, if the field has one.
    #[must_use]
    pub fn optional_number(self, name: &str) -> Option<i64> {
        self.get(name).and_then(Value::as_i64)
    }

    /// A flag; a missing one is false.
    #[must_use]
    pub fn flag(self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A text that is parsed, or a number that is parsed as its text: ids are stored as either.
    ///
    /// # Errors
    /// The field is missing or invalid.
    pub fn parse<T: FromStr>(self, name: &str) -> Result<T> {
        self.parse_optional(name)?.ok_or_else(|| self.wrong(name))
    }

    /// Like [`Fields::parse`]; `None` if the field is missing.
    ///
    /// # Errors
    /// The field is invalid.
    pub fn parse_optional<T: FromStr>(self, name: &str) -> Result<Option<T>> {
        let parsed = match self.get(name) {
            None => return Ok(None),
            Some(Value::S(text)) => text.parse().ok(),
            Some(Value::N(number)) => number.to_string().parse().ok(),
            Some(_) => None,
        };
        parsed.map(Some).ok_or_else(|| self.wrong(name))
    }

    /// A list of texts; a missing one is empty.
    ///
    /// # Errors
    /// An element is invalid.
    pub fn parse_list<T: FromStr>(self, name: &str) -> Result<Vec<T>> {
        let values = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::L(values)) => values,
            Some(_) => return Err(self.wrong(name)),
        };
        let parsed = values.iter().map(|value| value.as_s()?.parse().ok());
        parsed.collect::<Option<Vec<T>>>().ok_or_else(|| self.wrong(name))
    }

    /// When the item was created, in seconds since 1970.
    ///
    /// # Errors
    /// The attribute is missing.
    pub fn created_s(self) -> Result<i64> {
        self.item.i64(CREATED).ok_or_else(|| self.wrong(CREATED))
    }

    /// When the item was last changed, in seconds since 1970; items of the source may have only a creation.
    ///
    /// # Errors
    /// Both attributes are missing.
    pub fn updated_s(self) -> Result<i64> {
        self.item.i64(UPDATED).map_or_else(|| self.created_s(), Ok)
    }
}

fn wrong(item: &Item, name: &str) -> Error {
    let key = keys::key_of(item).map_or_else(String::new, |key| key.to_string());
    Error::damaged(format!("the item {key:?}"), format!("{name} is missing or invalid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Tag, UserId};

    #[test]
    fn fields_are_read_or_named() {
        let dat = Value::map([
            ("uid", Value::from(12_345)),
            ("other", "01J".into()),
            ("pic", Value::Null),
            ("act", true.into()),
            ("tag", Value::list(["dp", "graph"])),
        ]);
        let item = Item::new().with("PK", "HIST#7").with("SK", "META").with("dat", dat);
        let item = item.with("crt", 5);
        let fields = Fields::of(&item).unwrap();
        assert_eq!(fields.parse::<UserId>("uid").unwrap().as_str(), "12345");
        assert_eq!(fields.parse::<UserId>("other").unwrap().as_str(), "01J");
        assert_eq!(fields.parse_optional::<UserId>("pic").unwrap(), None);
        assert_eq!(fields.parse_list::<Tag>("tag").unwrap().len(), 2);
        assert_eq!((fields.flag("act"), fields.flag("stf")), (true, false));
        assert_eq!((fields.created_s().unwrap(), fields.updated_s().unwrap()), (5, 5));
        let error = fields.text("nm").unwrap_err().to_string();
        assert_eq!(error, "the item \"HIST#7 | META\" cannot be read: nm is missing or invalid");
        assert!(Fields::of(&Item::new()).is_err());
    }
}
