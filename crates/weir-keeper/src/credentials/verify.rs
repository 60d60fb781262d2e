//! Verifies a client's secret.

use weir_table::{Backend, Get, Item};

use super::item;
use super::secret::id_of;
use crate::config::DELETED_AT;
use crate::error::Result;
use crate::ids::Scope;
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// The client, if the secret is its current one or, within the grace period, its previous one. An unknown or deleted
    /// client costs the same hashing as a wrong secret.
    ///
    /// # Errors
    /// Too many secrets are being hashed, or the store fails.
    pub async fn verify_secret(
        &self,
        client_id: &str,
        client_secret: &str,
    ) -> Result<Option<Scope>> {
        let now_ms = self.now_ms();
        let scope = Scope::parse_client_id(client_id).ok();
        let client = match &scope {
            Some(scope) => self.active_client(scope).await?,
            None => None,
        };
        let hash =
            client.as_ref().and_then(|client| item::hash_for(client, id_of(client_secret), now_ms));
        let is_valid = self.inner.hasher.verify(client_secret, hash).await?;
        Ok(scope.filter(|_| is_valid))
    }

    /// The attributes of a client's item that verify its secret; `None` when its org is deleted.
    async fn active_client(&self, scope: &Scope) -> Result<Option<Item>> {
        let get =
            |key| Get::new(self.tables().config.clone(), key).project(item::VERIFY_ATTRIBUTES);
        let Some(_) = scope.app() else {
            return Ok(self.store().get(&get(keys::config(scope))).await?);
        };
        let gets = [get(keys::config(scope)), get(keys::org(scope.org()))];
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        let (client, org) = (found.next().flatten(), found.next().flatten());
        Ok(client.filter(|_| org.is_some_and(|org| org.get(DELETED_AT).is_none())))
    }
}
