//! A user as items: the user itself, and the copy that a Google id finds.

use weir_table::expr::{Condition, attr};
use weir_table::{Item, Name, Value, Write};

use super::User;
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::Email;
use crate::item::{CREATED, DATA, Data, TYPE, UPDATED, VERSION, data, entity};
use crate::keys::{self, List};
use crate::kinds::EntityType;

impl User {
    /// The item of a user, with the fields of `old` that other programs have added.
    pub(super) fn to_item(&self, old: Option<&Item>, version: i64) -> Item {
        let mut item = old.cloned().unwrap_or_else(|| keys::item(keys::user(&self.id)));
        let mut fields = match item.get(DATA) {
            Some(Value::M(fields)) => fields.clone(),
            _ => weir_table::attrs::Attrs::new(),
        };
        if let Value::M(new) = Value::from(self.data()) {
            for (name, value) in new.iter() {
                fields.insert(name.clone(), value.clone());
            }
        }
        item = item
            .with(TYPE, EntityType::User.as_str())
            .with(DATA, Value::M(fields))
            .with(CREATED, self.created_s)
            .with(UPDATED, self.updated_s)
            .with(VERSION, version);
        let item = keys::login_by_email(&self.email).put_on(item);
        List::Users.user(self.created_s, &self.id).index.put_on(item)
    }

    /// The copy of a user that its Google id finds.
    pub(super) fn to_google_login(&self) -> Option<Item> {
        let google_id = self.google_id.as_ref()?;
        let key = keys::google_login(&self.id);
        let item = entity(key, EntityType::Login, self.data(), self.created_s);
        Some(keys::login_by_google(google_id).put_on(item.with(UPDATED, self.updated_s)))
    }

    fn data(&self) -> Data {
        Data::new()
            .with("em", self.email.as_str())
            .with("nm", self.name.as_str())
            .with_or_null("pic", self.picture_url.as_deref())
            .with_or_null("gid", self.google_id.as_ref().map(|id| id.as_str()))
            .with("plan", self.plan.get())
            .with("act", self.is_active)
            .with("stf", self.is_staff)
    }

    /// Reads an item; `None` if it is no user, or a deleted one.
    pub(crate) fn from_item(item: &Item) -> Result<Option<User>> {
        if item.s(TYPE) != Some(EntityType::User.as_str()) {
            return Ok(None);
        }
        let fields = Fields::of(item)?;
        let id = item.s("PK").and_then(keys::parse_user);
        Ok(Some(User {
            id: id.ok_or_else(|| Error::damaged("a user", "its key is invalid"))?,
            email: Email::new(fields.text("em")?).map_err(|_| fields.wrong("em"))?,
            name: fields.optional_text("nm").unwrap_or_default().to_owned(),
            picture_url: fields.optional_text("pic").map(str::to_owned),
            google_id: fields.parse_optional("gid")?,
            plan: fields.parse("plan")?,
            is_active: fields.flag("act"),
            is_staff: fields.flag("stf"),
            created_s: fields.created_s()?,
            updated_s: fields.updated_s()?,
        }))
    }

    /// In a transaction: requires that the user is active and still has the plan and the staff flag that decided. So a
    /// request that was decided by an old plan is refused once the user has another.
    pub(crate) fn unchanged_standing(&self, table: &Name) -> Write {
        let staff = data("stf");
        let is_same_staff: Condition = if self.is_staff { staff.eq(true) } else { staff.ne(true) };
        let condition = attr(TYPE)
            .eq(EntityType::User.as_str())
            .and(data("plan").eq(self.plan.get()))
            .and(data("act").eq(true))
            .and(is_same_staff);
        Write::check(table.clone(), keys::user(&self.id), condition)
    }
}
