//! Checking a secret.

use weir_table::{Backend, Get};

use super::item;
use super::secret::id_of;
use crate::error::Result;
use crate::ids::Scope;
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// Whose secret it is: the client's current one or, within the grace period, its previous one. A client that does not
    /// exist costs the same hashing as a secret that is wrong.
    ///
    /// # Errors
    /// Too many secrets are hashed already, or the store fails.
    pub async fn check_secret(
        &self,
        client_id: &str,
        client_secret: &str,
    ) -> Result<Option<Scope>> {
        let now_ms = self.now_ms();
        let scope = Scope::of_client(client_id).ok();
        let client = match &scope {
            Some(scope) => {
                let get = Get::new(self.tables().config.clone(), keys::config(scope));
                self.store().get(&get.project(item::CHECKED)).await?
            }
            None => None,
        };
        let hash =
            client.as_ref().and_then(|client| item::hash_for(client, id_of(client_secret), now_ms));
        let is_good = self.inner.hashing.is_secret_of(client_secret, hash).await?;
        Ok(scope.filter(|_| is_good))
    }
}
