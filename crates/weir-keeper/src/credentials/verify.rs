//! Verifies a client's secret.

use weir_table::{Backend, Get};

use super::item;
use super::secret::id_of;
use crate::error::Result;
use crate::ids::Scope;
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// The client, if the secret is its current one or, within the grace period, its previous one. An unknown client
    /// costs the same hashing as a wrong secret.
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
            Some(scope) => {
                let get = Get::new(self.tables().config.clone(), keys::config(scope));
                self.store().get(&get.project(item::VERIFY_ATTRIBUTES)).await?
            }
            None => None,
        };
        let hash =
            client.as_ref().and_then(|client| item::hash_for(client, id_of(client_secret), now_ms));
        let is_valid = self.inner.hasher.verify(client_secret, hash).await?;
        Ok(scope.filter(|_| is_valid))
    }
}
