//! Finds users: by id, by sign-in, and in lists.

use weir_table::retry::Listed;
use weir_table::{Backend, Item, Key, Query};

use super::User;
use crate::error::{Error, Result};
use crate::fields::Fields;
use crate::ids::{Email, GoogleId, PlanId, UserId};
use crate::keys::{self, IndexKey, List};
use crate::list::PageRequest;
use crate::practice::Practice;

impl<B: Backend> Practice<B> {
    /// A user.
    ///
    /// # Errors
    /// The user does not exist, or the store fails.
    pub async fn user(&self, id: &UserId) -> Result<User> {
        Ok(self.stored_user(id).await?.user)
    }

    /// The user with an email address, in any case. Every read is strongly consistent.
    ///
    /// # Errors
    /// No user has it, or the store fails.
    pub async fn user_by_email(&self, email: &Email) -> Result<User> {
        let login = keys::login_by_email(email);
        let found = self.user_by_reservation(keys::email(email), login).await?;
        let found = found.filter(|user| user.email.normalised() == email.normalised());
        found.ok_or_else(|| Error::not_found("user", email.as_str()))
    }

    /// The user with a Google id. Every read is strongly consistent.
    ///
    /// # Errors
    /// No user has it, or the store fails.
    pub async fn user_by_google_id(&self, id: &GoogleId) -> Result<User> {
        let login = keys::login_by_google(id);
        let found = self.user_by_reservation(keys::google_id(id), login).await?;
        let found = found.filter(|user| user.google_id.as_ref() == Some(id));
        found.ok_or_else(|| Error::not_found("user", id))
    }

    /// The user that a reservation names. Users of the program of the source have none, so the index is asked next.
    async fn user_by_reservation(&self, key: Key, login: IndexKey) -> Result<Option<User>> {
        let id = match self.item(key).await? {
            Some(item) => Fields::of(&item)?.parse::<UserId>("uid")?,
            None => {
                let query = Query::partition(self.table().clone(), login.partition);
                let found = self.store().query(&query.index(login.index).limit(1)).await?;
                let id = found.items.first().and_then(|item| keys::parse_user(item.s("PK")?));
                match id {
                    Some(id) => id,
                    None => return Ok(None),
                }
            }
        };
        match self.user(&id).await {
            Err(error) if error.is_not_found() => Ok(None),
            found => found.map(Some),
        }
    }

    /// A page of users, newest first: all, or those of a plan. The list may lag behind a change by an instant.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn users(&self, plan: Option<PlanId>, page: &PageRequest) -> Result<Listed<User>> {
        let list = plan.map_or(List::Users, List::UsersOfPlan);
        let members = self.members(&list, page).await?;
        let decoded = members.items.iter().map(|item: &Item| User::from_item(item));
        let users: Vec<Option<User>> = decoded.collect::<Result<_>>()?;
        let is_member = |user: &User| plan.is_none_or(|plan| plan == user.plan);
        let items = users.into_iter().flatten().filter(is_member).collect();
        Ok(Listed { items, cursor: members.cursor })
    }
}
