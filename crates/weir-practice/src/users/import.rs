//! Imports users: with their reservations, list entries and the counter of their plan, like users that sign up.

use weir_table::Backend;
use weir_table::retry::{TRIES_MAX, pause};

use super::change::StoredUser;
use super::{User, check};
use crate::error::{Error, Result};
use crate::import::{Imported, OnDifference, Step, step};
use crate::keys;
use crate::practice::Practice;

impl User {
    /// Checks a user from elsewhere, where a name may be empty.
    pub(crate) fn check_import(&self) -> Result<()> {
        let name = Some(self.name.as_str()).filter(|name| !name.is_empty());
        check::user(name, self.picture_url.as_deref())
    }
}

impl<B: Backend> Practice<B> {
    /// Stores a user as it is elsewhere. A deleted user stays deleted.
    ///
    /// # Errors
    /// A field is invalid, another user has the email address or the Google id, the plan does not exist, or the store fails.
    pub(crate) async fn import_user(&self, user: &User, on: OnDifference) -> Result<Imported> {
        user.check_import()?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let item = self.item(keys::user(&user.id)).await?;
            let stored = item.as_ref().map(User::from_item).transpose()?.flatten();
            let old = match (item, stored) {
                (Some(item), Some(user)) => Some(StoredUser { user, item }),
                (Some(_), None) => return Ok(Imported::Kept),
                (None, _) => None,
            };
            let found = old.as_ref().map(|old| (old.user == *user, old.user.updated_s));
            if let Step::Done(done) = step(found, user.updated_s, on) {
                return Ok(done);
            }
            let writes = self.import_writes(old.as_ref(), user);
            if self.commit_user(writes, Vec::new(), user.plan).await? {
                return Ok(Imported::by(old.is_some()));
            }
        }
        Err(Error::Contended)
    }
}
