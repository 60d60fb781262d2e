//! Reads the attributes of an item; an error names the item and the attribute.

use std::str::FromStr;

use weir_table::{Item, Value};

use crate::error::{Error, Result};
use crate::keys::{self, ReviewRef};
use crate::money::MicroUsd;
use crate::time::parse_rfc3339;

/// The attributes of an item.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a Item);

impl<'a> Fields<'a> {
    pub(crate) fn wrong(self, name: &str) -> Error {
        let key = keys::key_of(self.0).map_or_else(String::new, |key| key.to_string());
        Error::damaged(format!("the item {key:?}"), format!("{name} is missing or invalid"))
    }

    pub(crate) fn text(self, name: &str) -> Result<&'a str> {
        self.0.s(name).ok_or_else(|| self.wrong(name))
    }

    pub(crate) fn number(self, name: &str) -> Result<u64> {
        let number = self.0.i64(name).and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| self.wrong(name))
    }

    pub(crate) fn line(self, name: &str) -> Result<u32> {
        u32::try_from(self.number(name)?).map_err(|_| self.wrong(name))
    }

    pub(crate) fn is_true(self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn parse<T: FromStr>(self, name: &str) -> Result<T> {
        self.text(name)?.parse().map_err(|_| self.wrong(name))
    }

    pub(crate) fn parse_optional<T: FromStr>(self, name: &str) -> Result<Option<T>> {
        match self.0.s(name) {
            Some(_) => self.parse(name).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn time(self, name: &str) -> Result<i64> {
        parse_rfc3339(name, self.text(name)?).map_err(|_| self.wrong(name))
    }

    pub(crate) fn cost(self, name: &str) -> Result<MicroUsd> {
        let dollars = self.0.get(name).and_then(Value::as_n);
        dollars.and_then(MicroUsd::from_number).ok_or_else(|| self.wrong(name))
    }

    /// A list of texts.
    pub(crate) fn parse_list<T: FromStr>(self, name: &str) -> Result<Vec<T>> {
        let Some(Value::L(values)) = self.0.get(name) else { return Err(self.wrong(name)) };
        let parsed = values.iter().map(|value| value.as_s()?.parse().ok());
        parsed.collect::<Option<Vec<T>>>().ok_or_else(|| self.wrong(name))
    }

    /// The review that an item of its partition belongs to.
    pub(crate) fn review_ref(self) -> Result<ReviewRef> {
        self.0.s("PK").and_then(keys::parse_review_partition).ok_or_else(|| self.wrong("PK"))
    }
}
